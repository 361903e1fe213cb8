"""Chats in tokens, held to what Transformers 5.24 makes of the makers' own templates (`tools/make_chat_samples.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.presets import decoder
from tests.trainer.in_engine import run_in_engine
from tpu_studio.wire.pretrained.template import TEMPLATES

pytestmark = pytest.mark.engine
PROGRAM = Path(__file__).with_name("program_chats.py")
IDS = [one.id for one in TEMPLATES]


@pytest.fixture(scope="module")
def made() -> Any:
    return run_in_engine(PROGRAM, "templates")


def has_system(one: dict[str, Any]) -> bool:
    return bool(one["turns"][0][0] == "system")


@pytest.mark.parametrize("id", IDS)
def test_a_chat_is_the_tokens_that_transformers_makes_of_the_makers_template(made: Any, id: str) -> None:
    found = made[id]["chats"]
    assert len(found) >= 4
    for one in found:
        assert one["ours_asked"] == one["asked"], one["turns"]
        if not (id.startswith("mistral") and has_system(one)):  # see below
            assert one["ours"] == one["whole"], one["turns"]


@pytest.mark.parametrize("id", ["mistral", "mistral-nemo"])
def test_what_mistrals_system_says_stands_where_it_stands_when_an_answer_is_asked_for(made: Any, id: str) -> None:
    """Their template leaves it out of a chat that ends with an answer, so nothing would be learned under it."""
    for one in filter(has_system, made[id]["chats"]):
        asked = one["asked"]
        assert one["ours"][: len(asked)] == asked != one["whole"][: len(asked)]


@pytest.mark.parametrize("id", IDS)
def test_answers_alone_are_learned_and_the_token_that_ends_each(made: Any, id: str) -> None:
    for one in made[id]["chats"]:
        answers = [text for role, text in one["turns"] if role == "assistant"]
        if id == "qwen3":  # it writes each after its thoughts, which earlier ones have lost: the last alone is learned
            answers = answers[-1:]
        blank = " " if id == "mistral" else ""
        assert one["said"] == "".join(f"{blank}{answer}" for answer in answers)
        assert one["ends"] == len(answers)


@pytest.mark.parametrize("id", IDS)
def test_what_somebody_types_becomes_no_mark(made: Any, id: str) -> None:
    typed, plain = made[id]["typed"]
    assert typed == plain


LONG = "a long way to go and many words to say before it ends "


def test_a_data_set_is_chats_of_one_length_and_its_weights_are_the_answers(tmp_path: Path) -> None:
    folder, table = decoder("smollm", tmp_path), tmp_path / "pairs.jsonl"
    rows = [{"prompt": f"What is {n}?", "completion": f"A number: {n}."} for n in range(20)]
    table.write_text("\n".join(map(json.dumps, rows)))
    found = run_in_engine(PROGRAM, "opened", str(folder), str(table), "60")
    assert found["spec"] == found["shapes"] and found["spec"]["weight"] == [[60], "float32"] and found["follows"]
    assert (len(found["texts"]), found["unseen"]) == (16, 4)
    for x, said in found["texts"]:
        number = said.removeprefix("A number: ").removesuffix(".")
        assert x.rstrip("\0").startswith(f"### Instruction:\nWhat is {number}?\n\n### Response:\nA number: {number}")
    assert found["description"]["chat_template"] == "plain" and found["description"]["shortened"] == 0
    assert 0.1 < found["tokens_a_byte"] < 1.1


def test_of_long_chats_the_earliest_go_and_then_the_end_and_all_is_counted(tmp_path: Path) -> None:
    folder, table = decoder("smollm", tmp_path), tmp_path / "chats.jsonl"
    short = [("user", "Early?"), ("assistant", "Soon."), ("user", "Late?"), ("assistant", "Then.")]
    old = [("system", "Be."), ("user", LONG * 3), ("assistant", "Old."), ("user", "New?"), ("assistant", "Last.")]
    wordy, unheard = [("user", "Go?"), ("assistant", LONG * 9)], [("user", LONG * 9), ("assistant", "No.")]
    kinds = [*[short] * 20, *[old] * 6, *[wordy] * 6, *[unheard] * 3]
    lines = [{"messages": [{"role": role, "content": text} for role, text in one]} for one in kinds]
    table.write_text("\n".join(map(json.dumps, lines)))
    found = run_in_engine(PROGRAM, "opened", str(folder), str(table), "90")
    said = [one for _, one in found["texts"]]
    assert set(said) - {"Soon.Then.", "Last."} == {one for one in said if (LONG * 9).startswith(one)} != set()
    assert all("Be." in x and "Old." not in x for x, one in found["texts"] if one == "Last.")
    assert (found["description"]["shortened"], found["description"]["left_out"]) == (12, 3)
    assert found["broken"][-1] == ["3 chats", "chat-too-long"]
    assert all(count > 0 for count in found["learned"])

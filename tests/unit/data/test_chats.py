"""Questions with their answers, and chats: which columns they are, who says what, and why a line is none."""

from __future__ import annotations

import csv
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arro3.core as arrow
import arro3.io as arrow_io
import pytest

from tpu_studio.data import chats, csvfile, stretches, tablefile
from tpu_studio.data.chatlayout import Layout, layout_of
from tpu_studio.data.guess import guess, guess_job
from tpu_studio.data.look import Look, look
from tpu_studio.data.textlayout import of_path
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.domain.sentences import say
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.pretrained.template import Turn

GOOD = [{"prompt": f"{n}?", "completion": f"{n}."} for n in range(40)]


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in rows), encoding="utf-8")
    return path


def job(path: Path, **data: Any) -> Job:
    return parse({"model": {"name": "pretrained-lm"}, "data": {"kind": "text", "path": str(path), **data}})


def read(path: Path, **data: Any) -> chats.Chats:
    return chats.read(job(path, **data), path, Watch())


def told(*said: tuple[str, str], role: str = "role", content: str = "content") -> list[dict[str, str]]:
    return [{role: who, content: text} for who, text in said]


@pytest.mark.parametrize(
    ("names", "layout"),
    [
        (["prompt", "completion"], Layout(question="prompt", answer="completion")),
        (["id", "Question", "Answer"], Layout(question="Question", answer="Answer")),
        (["instruction", "input", "output"], Layout(question="instruction", answer="output", more="input")),
        (["instruction", "context", "response"], Layout(question="instruction", answer="response", more="context")),
        (
            ["system_prompt", "question", "response"],
            Layout(question="question", answer="response", system="system_prompt"),
        ),
        (["input", "output"], Layout(question="input", answer="output")),
        (["prompt", "messages"], Layout(chat="messages")),
        (["id", "conversations", "system"], Layout(chat="conversations", system="system")),
        (["text", "label"], Layout()),
        ([], Layout()),
    ],
)
def test_columns_are_known_by_their_names(names: list[str], layout: Layout) -> None:
    assert layout_of(names) == layout


@pytest.mark.parametrize(
    ("row", "turns"),
    [
        ({"prompt": " a ", "completion": "b\n"}, [("user", "a"), ("assistant", "b")]),
        ({"question": "2 + 2", "answer": 4}, [("user", "2 + 2"), ("assistant", "4")]),
        ({"instruction": "Sum", "input": "1 2", "output": "3"}, [("user", "Sum\n\n1 2"), ("assistant", "3")]),
        ({"instruction": "Hi", "input": "", "output": "Ho"}, [("user", "Hi"), ("assistant", "Ho")]),
        ({"instruction": "Hi", "input": None, "output": "Ho"}, [("user", "Hi"), ("assistant", "Ho")]),
        (
            {"system": "Be.", "prompt": "a", "response": "b"},
            [("system", "Be."), ("user", "a"), ("assistant", "b")],
        ),
        (
            {"messages": told(("system", "Be."), ("user", "a"), ("assistant", "b"), ("user", "left"))},
            [("system", "Be."), ("user", "a"), ("assistant", "b")],
        ),
        (
            {
                "conversations": told(
                    ("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d"), role="from", content="value"
                )
            },
            [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")],
        ),
    ],
)
def test_who_says_what(tmp_path: Path, row: dict[str, Any], turns: list[Any]) -> None:
    found = read(written(tmp_path / "a.jsonl", [row] * 12))
    assert found.chats[0] == tuple(Turn(role, text) for role, text in turns)
    assert (len(found.chats), found.whole, found.broken_count) == (12, 12, 0)


@pytest.mark.parametrize(
    ("messages", "where", "why"),
    [
        ([{"content": "a"}], "messages[0].role", "chat-no-role"),
        ([{"role": "", "content": "a"}], "messages[0].role", "chat-no-role"),
        (told(("user", "a"), ("tool", "b")), "messages[1].role", "chat-unknown-role"),
        ([{"role": "user", "content": [{"type": "image"}]}], "messages[0].content", "chat-no-text"),
        ([{"role": "user", "content": {"text": "a"}}], "messages[0].content", "chat-no-text"),
        (told(("user", "a"), ("assistant", " ")), "messages[1].content", "chat-empty"),
        ([{"role": "user"}], "messages[0].content", "chat-empty"),
        (told(("user", "a")), "messages", "chat-no-answer"),
        (told(("system", "a")), "messages", "chat-no-answer"),
        (told(("assistant", "a")), "messages[0]", "chat-order"),
        (told(("user", "a"), ("user", "b"), ("assistant", "c")), "messages[1]", "chat-order"),
        (told(("user", "a"), ("system", "b"), ("assistant", "c")), "messages[1]", "chat-order"),
        ([], "messages", "chat-no-list"),
        ("hello", "messages", "chat-no-list"),
        ([["user", "a"]], "messages", "chat-no-list"),
        (None, "messages", "chat-no-list"),
        ({"role": "user"}, "messages", "chat-no-list"),
    ],
)
def test_a_line_that_is_no_chat_is_named_with_its_field(tmp_path: Path, messages: Any, where: str, why: str) -> None:
    good = {"messages": told(("user", "a"), ("assistant", "b"))}
    path = written(tmp_path / "a.jsonl", [*[good] * 40, {"messages": messages}])
    found = read(path)
    assert [(one.item, one.why) for one in found.broken] == [(f"line 41, {where}", why)]
    with pytest.raises(DataError) as refused:
        read(path, max_broken_share=0.0)
    said = say(refused.value)
    assert (
        refused.value.id == "data-too-broken"
        and f"line 41, {where}" in said.meaning
        and "cannot be read" not in said.meaning
    )


def test_empty_answers_and_lists_in_a_column_are_named(tmp_path: Path) -> None:
    odd = [{"prompt": "a", "completion": ""}, {"prompt": ["a"], "completion": "b"}, {"prompt": "a"}, "no json", "[1]"]
    found = read(written(tmp_path / "a.jsonl", [*GOOD, *odd]), max_broken_share=0.5)
    assert [(one.item, one.why) for one in found.broken] == [
        ("line 41, completion", "chat-empty"),
        ("line 42, prompt", "chat-no-text"),
        ("line 43, completion", "chat-empty"),
        ("line 44", "not-json"),
        ("line 45", "not-json"),
    ]


def test_a_csv_has_the_same_chats(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "Question", "Answer"])
        table.writerows([n, f"{n}, or what?", "a\nb" if n else ""] for n in range(30))
    found = read(path)
    assert len(found.chats) == 29 and found.chats[0][1] == Turn("assistant", "a\nb")
    assert [(one.item, one.why) for one in found.broken] == [("line 2, Answer", "chat-empty")]


def test_the_person_says_which_column_is_which(tmp_path: Path) -> None:
    rows = [{"what": f"{n}?", "said": "so", "note": "x"} for n in range(12)]
    path = written(tmp_path / "a.jsonl", rows)
    with pytest.raises(DataError) as unclear:
        read(path)
    assert (unclear.value.id, unclear.value.facts["columns"]) == ("data-no-chats", ["what", "said", "note"])
    with pytest.raises(DataError, match="data-no-chats"):
        read(path, target="said")
    found = read(path, target="said", columns={"what": "text"})
    assert found.chats[1] == (Turn("user", "1?"), Turn("assistant", "so"))
    with pytest.raises(DataError, match="data-target-missing"):
        read(path, target="say", columns={"what": "text"})
    chat = [{"talk": told(("user", "a"), ("assistant", "b")), "id": n} for n in range(12)]
    assert read(written(tmp_path / "b.jsonl", chat), target="talk").chats[0][1].text == "b"


def test_what_is_no_table_or_has_too_few_is_refused(tmp_path: Path) -> None:
    plain = tmp_path / "a.txt"
    plain.write_text("Once upon a time")
    for path, id in ((plain, "data-no-chats"), (written(tmp_path / "b.jsonl", GOOD[:5]), "data-too-few")):
        with pytest.raises(DataError, match=id):
            chats.read(job(path, task="instruction"), path, Watch())


def test_what_is_dropped_is_taken_for_what_its_columns_say(tmp_path: Path) -> None:
    pairs = written(tmp_path / "a.jsonl", GOOD)
    table = tmp_path / "a.csv"
    table.write_text("question;answer\n" + "why;so\n" * 20)
    sorted_ones = written(tmp_path / "b.jsonl", [{"text": "some words here", "label": "x"}] * 20)
    assert [of_path(one).id for one in (pairs, table, sorted_ones)] == ["instruction"] * 2 + ["text-classification"]
    assert guess(pairs)["data.kind"] == guess(table)["data.kind"] == "text"
    assert guess_job(pairs).model.name == "pretrained-lm"
    seen = look(guess_job(pairs))
    assert (seen.task, seen.target, seen.examples, seen.validation) == ("instruction", "completion", 40, 8)
    assert seen.input_shape == (64,) == (seen.numbers["tokens_each"],)
    assert {one["kept"] for one in seen.preview["texts"]} == {True, False}
    assert Look.from_json(json.loads(json.dumps(seen.to_json()))) == seen


def test_of_a_large_file_a_part_is_looked_at_and_all_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "SAMPLE_BYTES", 4_000)
    path = written(tmp_path / "a.jsonl", [{"prompt": f"{n:06d}?", "completion": "y" * 40} for n in range(1000)])
    found = chats.examine(job(path), path, Watch())
    assert len(found.chats) < 60 and found.sampled and found.whole == pytest.approx(1000, rel=0.03)
    assert len(read(path).chats) == 1000
    with pytest.raises(Cancelled):
        chats.read(job(path), path, Watch(None, lambda: True))


def test_json_that_nests_without_end_and_names_twice_are_lines_that_are_none(tmp_path: Path) -> None:
    odd = ["[" * 100_000, '{"prompt": "a", "prompt": "b", "completion": "c"}', '{"prompt": {"x": 1, "x": 2}}']
    found = read(written(tmp_path / "a.jsonl", [*GOOD, *odd]), max_broken_share=0.5)
    assert [one.why for one in found.broken] == ["not-json", "name-twice", "name-twice"]


def test_a_plain_text_and_a_model_of_texts_are_as_before(tmp_path: Path) -> None:
    plain = tmp_path / "a.txt"
    plain.write_text("Once upon a time there was a fox.\n" * 90)
    assert look(job(plain)).task == "language-model"
    pairs = written(tmp_path / "a.jsonl", GOOD)
    assert look(job(pairs)).task == "instruction"
    assert look(job(pairs).with_values({"model.name": "gpt-nano"})).task == "language-model"


TEXT, NUMBER = arrow.DataType.string(), arrow.DataType.float64()


def as_parquet(path: Path, each: int, parts: dict[str, arrow.Array]) -> Path:
    """A table of chats of so many turns, all of whose fields are *parts*."""
    fields = [arrow.Field(name, part.type, nullable=True) for name, part in parts.items()]
    turns = arrow.struct_array(list(parts.values()), fields=fields)
    places = arrow.Array(list(range(0, len(turns) + 1, each)), arrow.DataType.int32())
    arrow_io.write_parquet(arrow.Table.from_pydict({"messages": arrow.list_array(places, turns)}), path)
    return path


def read_or_told(path: Path) -> object:
    try:
        return read(tablefile.found(path, Watch()).file).chats
    except DataError as error:
        return error.id, {why for _, why in error.facts["first"]}


def test_chats_in_parquet_are_those_of_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    rows = [{"messages": told(("user", f"{n}?"), ("assistant", "Äh, so."))} for n in range(20)]
    flat = [message for row in rows for message in row["messages"]]
    parts = {name: arrow.Array([message[name] for message in flat], TEXT) for name in ("role", "content")}
    lines, parquet = written(tmp_path / "a.jsonl", rows), as_parquet(tmp_path / "a.parquet", 2, parts)
    assert read(tablefile.found(parquet, Watch()).file).chats == read(lines).chats
    assert look(job(parquet)).numbers == look(job(lines)).numbers


@pytest.mark.parametrize("kind", [NUMBER, arrow.DataType.float32(), arrow.DataType.int64()])
@pytest.mark.parametrize("weights", [(None, 0, 1), (None, None, None)])
def test_what_else_a_message_has_is_left_out_of_parquet_and_of_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: arrow.DataType, weights: tuple[int | None, ...]
) -> None:
    """Messages with a weight, as SlimOrca's, were no chats, or the file was said to be damaged."""
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    asked = told(("system", "Be."), ("human", "a"), ("gpt", "b"), role="from", content="value")
    parts = {name: arrow.Array([one[name] for one in asked] * 20, TEXT) for name in ("from", "value")}
    parquet = as_parquet(tmp_path / "a.parquet", 3, {**parts, "weight": arrow.Array([*weights] * 20, kind)})
    row = {"messages": [{**one, "weight": weight} for one, weight in zip(asked, weights, strict=True)]}
    assert read_or_told(parquet) == read(written(tmp_path / "a.jsonl", [row] * 20)).chats


@pytest.mark.parametrize("text", [["a"], 3.5, None, "a"])
def test_what_is_said_in_parquet_is_a_text_or_its_line_is_named_as_in_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: object
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    places = arrow.Array(list(range(41)), arrow.DataType.int32())
    said = arrow.list_array(places, arrow.Array(["a"] * 40, TEXT))
    if not isinstance(text, list):
        said = arrow.Array([text] * 40, TEXT if isinstance(text, str) else NUMBER)
    parts = {"role": arrow.Array(["user", "assistant"] * 20, TEXT), "content": said}
    parquet = as_parquet(tmp_path / "a.parquet", 2, parts)
    rows = [{"messages": told(("user", text), ("assistant", text))}] * 20  # type: ignore[arg-type]
    assert read_or_told(parquet) == read_or_told(written(tmp_path / "a.jsonl", rows))


def test_a_name_that_the_first_line_does_not_have_counts_as_well(tmp_path: Path) -> None:
    rows = [{"instruction": "Hi", "output": "Ho"}, *[{"output": "3", "instruction": "Sum", "input": "1 2"}] * 12]
    assert read(written(tmp_path / "a.jsonl", rows)).chats[1][0] == Turn("user", "Sum\n\n1 2")


def test_of_the_first_lines_no_value_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of two million numbers in a hundred lines took twenty-four times their file."""

    class Said(str):
        pass

    seen: list[weakref.ref[Said]] = []
    most = [0]

    def objects(*_: object) -> Iterator[tuple[int, int, dict[str, Any]]]:
        for line in range(1, 60):
            text = Said("?")
            seen.append(weakref.ref(text))
            most[0] = max(most[0], sum(one() is not None for one in seen))
            yield line, line, {f"x{line}": text, "question": "q", "answer": "a"}

    monkeypatch.setattr(chats.jsonlines, "objects", objects)
    (tmp_path / "a.jsonl").write_text("{}")
    layout, _, _ = chats._lines(job(tmp_path / "a.jsonl"), tmp_path / "a.jsonl", chats.RowTally(), Watch(), whole=True)
    assert (layout.question, layout.answer) == ("question", "answer") and most[0] <= 2


def test_lines_of_very_many_names_are_no_chats(tmp_path: Path) -> None:
    """Ten lines of 39 MB took 0.9 GB."""
    path = written(tmp_path / "c.jsonl", [{f"n{line}-{name}": 1 for name in range(3000)} for line in range(20)])
    with pytest.raises(DataError, match="data-too-many-names"):
        read(path)


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_a_few_very_long_chats_are_a_sample_of_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Sixty of 2 MB each were too few: seven of them were looked at."""
    monkeypatch.setattr(chats, "SAMPLE_BYTES", 4_000)
    monkeypatch.setattr(csvfile, "SMALL", 4_000)
    monkeypatch.setattr(stretches, "SIZE", 400)
    path = tmp_path / f"a{ending}"
    if ending == ".csv":
        path.write_text("prompt,completion\n" + f"a?,{'y' * 1000}\n" * 60)
    else:
        written(path, [{"prompt": "a?", "completion": "y" * 1000}] * 60)
    found = chats.examine(job(path), path, Watch())
    assert len(found.chats) < 10 and found.whole == pytest.approx(60, rel=0.1)
    assert look(job(path)).examples == found.whole
    monkeypatch.setattr(chats, "SAMPLE_BYTES", 16_000)
    few = written(tmp_path / "b.jsonl", [{"prompt": "a?", "completion": "y" * 1000}] * 9)
    with pytest.raises(DataError, match="data-too-few"):
        chats.examine(job(few), few, Watch())


@pytest.mark.parametrize("letters", [140_000, 1_100_000])
def test_a_first_line_with_a_very_long_cell_is_of_no_chats(tmp_path: Path, letters: int) -> None:
    """It was a mistake of the program, wherever a file may be dropped."""
    csv.field_size_limit(131_072)  # as in a process that has read none
    path = tmp_path / "a.csv"
    path.write_text(f"question,{'a' * letters}\nb,c\n")
    assert not of_path(path).has_chats
    assert what_is(path).kind == "data"

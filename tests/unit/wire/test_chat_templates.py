"""Which chat template a folder brings: known by its marks and by tokens that are there, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.presets import decoder
from tpu_studio.wire import schema
from tpu_studio.wire.pretrained import reading, template
from tpu_studio.wire.pretrained.template import PLAIN, TEMPLATES, UNKNOWN

CHATML = "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n'}}"
ASKS = "{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}"


def test_the_setting_names_each_template() -> None:
    assert set(schema.BY_PATH["data.chat_template"].choices) == {one.id for one in TEMPLATES}


@pytest.mark.parametrize(
    ("jinja", "id"),
    [
        (CHATML + ASKS, "chatml"),
        (f"'<|im_start|>system\nYou are a helpful assistant.<|im_end|>'{CHATML}{ASKS}", "qwen2"),
        (f"'<|im_start|>system\nYou are Dolphin, an AI.<|im_end|>'{CHATML}{ASKS}", UNKNOWN),
        (CHATML, UNKNOWN),  # how an answer begins, it does not say
        ("{{ bos_token }}" + CHATML + ASKS, UNKNOWN),
        (CHATML + ASKS + "<|tool_list_start|>", UNKNOWN),
        (CHATML + ASKS + "<think>", UNKNOWN),
        ("[INST] <<SYS>>", UNKNOWN),
        ("[INST] <|im_start|>", UNKNOWN),
        ("<|user|>", UNKNOWN),
        ("{{ messages[0]['content'] }}", UNKNOWN),
        (CHATML + ASKS + " " * template.LONGEST, UNKNOWN),
        ("bos_token <|start_header_id|> 'Today Date: ' | trim", UNKNOWN),
        ("<start_of_turn> of some kind", UNKNOWN),
    ],
)
def test_a_template_is_known_by_its_marks_or_not_at_all(jinja: str, id: str) -> None:
    assert template.recognised(jinja) == id


def test_a_folder_tells_its_own_and_those_that_its_tokens_are_there_for(tmp_path: Path) -> None:
    folder = decoder("qwen2", tmp_path)
    assert reading.read(folder).template == ""
    assert {"chatml", "qwen2.5", PLAIN} <= set(reading.read(folder).templates)
    before = reading.read(folder).sha256
    config = {"chat_template": [{"name": "rag", "template": "?"}, {"name": "default", "template": CHATML + ASKS}]}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    assert reading.read(folder).template == "chatml"
    assert reading.read(folder).sha256 == before  # what it begins from are its weights and its tokens
    (folder / "chat_template.jinja").write_text("{{ one of its own }}")  # counts more, as to Transformers
    assert reading.read(folder).template == UNKNOWN
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text("[not json")
    assert reading.read(folder).template == UNKNOWN


def test_a_template_whose_tokens_are_not_there_is_none_that_is_known(tmp_path: Path) -> None:
    folder = decoder("gemma3", tmp_path)
    (folder / "chat_template.jinja").write_text(CHATML + ASKS)
    assert (reading.read(folder).template, reading.read(folder).templates) == (UNKNOWN, (PLAIN,))


def test_a_mark_that_is_no_token_by_itself_is_none(tmp_path: Path) -> None:
    """Of an added token that is not "special" the library makes one of any text that says it."""
    folder = decoder("qwen2", tmp_path)
    tree = json.loads((folder / "tokenizer.json").read_text())
    for one in tree["added_tokens"]:
        one["special"] = one["content"] == "<|endoftext|>"
    (folder / "tokenizer.json").write_text(json.dumps(tree))
    assert reading.read(folder).templates == (PLAIN,)


def test_templates_by_name_are_read_whatever_else_stands_there() -> None:
    """A list as a name was an error that nobody caught."""
    odd: list[object] = [{"name": ["x"], "template": "a"}, {"name": {}, "template": "b"}, 7, None]
    assert template.of_config([*odd, {"name": "default", "template": "c"}]) == "c"
    assert template.of_config(odd) == template.of_config([{"name": "default", "template": 7}]) == ""


def test_without_a_token_that_ends_a_text_no_answer_ends() -> None:
    """It was no word that whoever asks a result listens for."""
    with pytest.raises(KeyError):
        template.ends(PLAIN, frozenset({"<|im_start|>"}))

"""A `tokenizer.json` of a result that somebody sent: only such parts as the program itself writes are begun."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.data import tokens
from tpu_studio.wire.errors import RunError

LEARNED: dict[str, Any] = {
    "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel"},
    "post_processor": None,
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"[PAD]": 0, "a": 1}, "merges": []},
}
WORDS: dict[str, Any] = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": {"[PAD]": 0, "[UNK]": 1},
}
PAD = {"SpecialToken": {"id": "[PAD]", "type_id": 0}}
TEXT, TEXT_B = ({"Sequence": {"id": one, "type_id": 0}} for one in "AB")


def template(*single: dict[str, Any], ids: list[int] | None = None) -> dict[str, Any]:
    of_pad = {"id": "[PAD]", "ids": ids or [0], "tokens": ["[PAD]"] * len(ids or [0])}
    return {
        "type": "TemplateProcessing",
        "single": list(single),
        "pair": [TEXT, TEXT_B],
        "special_tokens": {"[PAD]": of_pad},
    }


ADDED = {"id": 0, "content": "a", "lstrip": False, "rstrip": False}
GROWS = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
HOSTILE: dict[str, dict[str, Any]] = {
    "grows": {"normalizer": {"type": "Sequence", "normalizers": [GROWS] * 6}},
    "searches for ever": {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}}},
    "panics": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "numbers beyond a table": {"model": {"type": "BPE", "vocab": {"[PAD]": 0, "a": 4_000_000_000}, "merges": []}},
    "numbers with gaps": {"model": {"type": "BPE", "vocab": {"[PAD]": 0, "a": 100_000}, "merges": []}},
    "one number twice": {"model": {"type": "BPE", "vocab": {"[PAD]": 0, "a": 1, "b": 1}, "merges": []}},
    "no parts": {"model": []},
    "a letter before each piece, which panics": {"model": LEARNED["model"] | {"continuing_subword_prefix": "##"}},
    "unknown is no token": {"model": LEARNED["model"] | {"unk_token": "[UNK]"}},
    "another text each time": {"model": LEARNED["model"] | {"dropout": 0.9}},
    "words for ever": {"model": WORDS | {"max_input_chars_per_word": 1 << 63}},
    "words without what is unknown": {"model": WORDS | {"vocab": {"[PAD]": 0}}},
    "a second text, which panics": {"post_processor": template(TEXT_B)},
    "the text many times": {"post_processor": template(*[TEXT] * 2)},
    "tokens without end": {"post_processor": template(*[PAD] * 20, TEXT)},
    "a token of many": {"post_processor": template(PAD, TEXT, ids=[0] * 10_000)},
    "a token beyond a table": {"post_processor": template(PAD, TEXT, ids=[4_000_000_000])},
    "a token that is not there": {"post_processor": template({"SpecialToken": {"id": "x", "type_id": 0}}, TEXT)},
    "an added token beyond a table": {"added_tokens": [ADDED | {"id": 4_000_000_000}]},
    "an added token of nothing": {"added_tokens": [ADDED | {"content": ""}]},
    "blanks looked for again at each blank": {"added_tokens": [ADDED | {"lstrip": True}]},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_parts_that_the_program_does_not_write_are_not_begun(what: str) -> None:
    tokens.check_parts(json.dumps(LEARNED).encode())
    tokens.check_parts(json.dumps(LEARNED | {"model": WORDS, "post_processor": template(PAD, TEXT, PAD)}).encode())
    with pytest.raises(ValueError, match="it is no tokenizer of ours"):
        tokens.check_parts(json.dumps(LEARNED | HOSTILE[what]).encode())


def test_two_parts_with_one_name_are_refused_of_which_the_library_may_build_the_other() -> None:
    once = json.dumps(LEARNED | {"added_tokens": [ADDED]})
    twice = once.replace('"normalizer": null', '"normalizer": {"type": "Precompiled"}, "normalizer": null')
    assert json.loads(tokens.check_parts(once.encode())) == json.loads(once)
    with pytest.raises(ValueError, match="twice"):
        tokens.check_parts(twice.encode())


def test_a_file_of_any_size_is_not_read_whole(tmp_path: Path) -> None:
    file = b" " * (tokens.FILE_BYTES + 1)
    (tmp_path / "tokenizer.json").write_bytes(file)
    with pytest.raises(RunError) as refusal:
        tokens.of_description({"tokenizer_sha256": hashlib.sha256(file).hexdigest(), "folder": str(tmp_path)})
    assert refusal.value.id == "result-unreadable" and "are read at most" in str(refusal.value.facts["raw"])


def test_of_long_texts_the_library_is_given_some_at_a_time_and_their_beginnings() -> None:
    """It cuts up all that it is given before it leaves out what has no room: a hundred times its letters of memory."""
    texts = ["x" * 1_000_000, "y", "\ud800", *["z" * 200_000] * 5]
    batches = list(tokens._batches(texts, 64_000))
    assert [one for batch in batches for one in batch] == ["x" * 64_000, "y", "?", *["z" * 64_000] * 5]
    assert max(sum(map(len, batch)) for batch in batches) <= 600_000
    assert len(list(tokens._batches(["z" * 200_000] * 9, 200_000))) == 3

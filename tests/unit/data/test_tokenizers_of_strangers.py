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
GROWS = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
HOSTILE: dict[str, dict[str, Any]] = {
    "grows": {"normalizer": {"type": "Sequence", "normalizers": [GROWS] * 6}},
    "searches for ever": {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}}},
    "panics": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "numbers beyond a table": {"model": {"type": "BPE", "vocab": {"[PAD]": 0, "a": 4_000_000_000}, "merges": []}},
    "no parts": {"model": []},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_parts_that_the_program_does_not_write_are_not_begun(what: str) -> None:
    tokens.check_parts(json.dumps(LEARNED).encode())
    with pytest.raises(ValueError, match="it is no tokenizer of ours"):
        tokens.check_parts(json.dumps(LEARNED | HOSTILE[what]).encode())


def test_a_file_of_any_size_is_not_read_whole(tmp_path: Path) -> None:
    file = b" " * (tokens.FILE_BYTES + 1)
    (tmp_path / "tokenizer.json").write_bytes(file)
    with pytest.raises(RunError) as refusal:
        tokens.of_description({"tokenizer_sha256": hashlib.sha256(file).hexdigest(), "folder": str(tmp_path)})
    assert refusal.value.id == "result-unreadable" and "are read at most" in str(refusal.value.facts["raw"])

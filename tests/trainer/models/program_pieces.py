"""Run in the engine: a text to continue, cut into learned pieces and put together again; texts of many kinds opened."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import continuing, tokens
from tpu_studio.data.look import look
from tpu_studio.data.sources import open_data
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.job import parse

MIXED = "Größe 中文 🦊 [PAD] naïve façade.\n\n\tHe said: 'no'  and   went.\r\n" * 40

WORD = bytes(33 + place for place in range(90)) * 200


def cut_up() -> dict[str, Any]:
    raw = np.frombuffer(MIXED.encode(), np.uint8)
    cutter = continuing.learn(raw[: len(raw) // 2], 400)
    tokens, size = cutter.encode(raw)
    pieces = [cutter.piece(int(token)) for token in tokens]
    fox = np.frombuffer("🦄".encode(), np.uint8)  # never seen, so it takes several tokens
    unseen, _ = cutter.encode(fox)
    return {
        "same": b"".join(pieces) == raw.tobytes(),
        "size": size == len(raw),
        "vocabulary": cutter.vocabulary,
        "fewer": len(tokens) < len(raw) / 2,
        "parts": [len(cutter.piece(int(token))) for token in unseen],
        "nothing": cutter.piece(0) == b"" and 0 not in tokens,
        "longest": longest_of_one_word(),
        "refused": [why_not_in_pieces_of(letters) for letters in (1000, 1001, 14_000_000)],
        "longest_blank": longest_of_one_word((b" " * 7 + b"\t" * 3) * 1800),
        "longest_odd": longest_of_one_word((b"ab\x1c" * 30) * 200),  # to Python a blank, to the library a letter
        "told_apart": longest_told_apart(),
        "asked_for": words_asked_for(),
        "file": hashlib.sha256(cutter.file).hexdigest(),
    }


def words_asked_for() -> int:
    """Of texts in which no word comes twice, how many are learned from; each has a hundred letters."""
    asked = 0

    def texts() -> Iterator[str]:
        nonlocal asked
        for asked in range(10**6):
            yield f"{asked:0100d} "

    tokens.learned_from(texts(), 300, least=2)
    return asked


def longest_told_apart() -> int:
    """The same of what texts are told apart by."""
    return max(map(len, json.loads(tokens.learn([WORD.decode()], 1024).file)["model"]["vocab"]))


def longest_of_one_word(text: bytes = WORD) -> int:
    """Letters of the longest piece of a *text* in which 90 letters, or blanks, come again and again without a border
    between words."""
    raw = np.frombuffer(text, np.uint8)
    cutter = continuing.learn(raw, 1024)
    tokens, _ = cutter.encode(raw)
    assert b"".join(cutter.piece(int(token)) for token in tokens) == raw.tobytes()
    return max(len(cutter.piece(int(token))) for token in tokens)


def why_not_in_pieces_of(letters: int) -> str:
    """What is said of a tokenizer that somebody sent with a piece of so many letters."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tree = {
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level | {"add_prefix_space": True},
        "model": {"type": "BPE", "vocab": {"[PAD]": 0, "a": 1, "A" * letters: 2}, "merges": []},
    }
    try:
        continuing.of_tokens(continuing.PieceTokens(json.dumps(tree).encode()))
    except StudioError as error:
        return str(error.facts["raw"])
    return ""


def opened(job: str) -> dict[str, Any]:
    """The job's text as the look counts it and as it is opened."""
    parsed = parse(json.loads(job))
    try:
        seen, found = look(parsed), open_data(parsed)
    except StudioError as error:
        return {"error": error.id, **error.facts}
    windows = found.validation.batch(np.arange(len(found.validation)))
    cutter = continuing.of_tokens(continuing.PieceTokens(found.files["tokenizer.json"]))
    kept = [int(windows["x"][0, 0]), *(int(token) for token in windows["y"][windows["weight"] > 0])]
    whole = b"".join(cutter.piece(token) for token in kept)
    return {
        "looked": [seen.numbers["tokens"], seen.outputs],
        "tokens": len(found.train.tokens) + len(found.validation.tokens),  # type: ignore[attr-defined]
        "vocabulary": found.description["vocabulary"],
        "kept": whole.decode("utf-8", "strict")[:60],
        "tokens_a_byte": found.validation.tokens_a_byte * len(whole) / len(kept),
        "length": found.description["sequence_length"],
    }


def decoded(result: str, text: str) -> dict[str, Any]:
    """What the card says of the tokens of a result, done with `tokenizers` alone."""
    import os

    import tokenizers

    os.chdir(result)
    said = json.loads(Path("model.json").read_text())["use"]["text"]
    line = said.rpartition("; cut.decode")[0]
    names: dict[str, Any] = {"tokenizers": tokenizers, "text": text}
    exec(line.rpartition(", then zeros up to ")[0], names)
    return {"undone": names["cut"].decode(names["x"]), "tokens": len(names["x"])}


if __name__ == "__main__":
    print(json.dumps({"cut_up": cut_up, "opened": opened, "decoded": decoded}[sys.argv[1]](*sys.argv[2:])))

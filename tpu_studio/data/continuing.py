"""How a text to continue becomes tokens, and tokens become its bytes again: bytes, or pieces learned from the text.

    cutter = learn(text, 1920)                 byte-level BPE, of what is trained with alone
    tokens, sizes = cutter.encode(text)        and back: cutter.piece(token), bytes that may end within a letter

A tokenizer's file, its checks and its sha256: ``tokens``. The window has no tokenizer: what it counts of a text
(`tokens_in`) is an estimate. N tokens a text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.published import Published
from tpu_studio.data.tokens import ByteTokens, PieceTokens, Tokens, cut, learned_from, of_description, read_beside
from tpu_studio.wire.errors import ModelError, RunError
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained.reading import content
from tpu_studio.wire.starters import TOKENIZER

BYTES = 256
PUBLISHED_BYTES = 64_000_000  # of a published tokenizer's file; Gemma 3's has 33 million
LEAST, MOST = 384, 32_768  # tokens that are learned
BYTES_A_TOKEN = 500  # of the text of training: docs/training.md has what others gave
_LONGEST_PIECE = 1000  # bytes: of a hundred letters, each of which has four at most
_PART = 2**16  # letters that are cut up at a time, between two lines where there are any
COUNTED = 2**20  # bytes of which words are counted
_WORDS = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\s\w]+|_+|\s+")
_PIECES_A_WORD, _BYTES_A_PIECE, _LONGER = 2.5, 1.9, 0.12  # fitted to what was cut, see `tokens_in`
_MOST_LEARNED = 64  # MB of text that pieces are learned from; of a larger one, parts spread over the whole of it


class Cutter(Protocol):
    """Attributes:
    kind: As `data.tokenizer` names it. *vocabulary*: different tokens; *never*, and below *first*: of no text.
    file: Of a learned or published one; empty else.
    """

    kind: str
    first: int
    never: frozenset[int]

    @property
    def vocabulary(self) -> int: ...

    @property
    def file(self) -> bytes: ...

    def encode(self, text: Bytes) -> tuple[Array, int]:
        """[N] tokens of a text in UTF-8, and how many bytes they stand for."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes that one token stands for."""
        ...


class AsBytes:
    kind, vocabulary, first, file = "bytes", BYTES, 0, b""
    never: frozenset[int] = frozenset()

    def encode(self, text: Bytes) -> tuple[Array, int]:
        return text, len(text)

    def piece(self, token: int) -> bytes:
        return bytes([token])


class InPieces:
    kind, first = "bpe", 1
    never: frozenset[int] = frozenset()

    def __init__(self, tokens: PieceTokens) -> None:
        self._tokens = tokens
        self.vocabulary, self.file = tokens.vocabulary, tokens.file

    def encode(self, text: Bytes) -> tuple[Array, int]:
        found = [np.array(self._tokens.whole(part), np.int32) for part in parts_of(text)]
        tokens = np.concatenate(found) if found else np.zeros(0, np.int32)
        return tokens, int(np.sum(self._sizes[tokens]))

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    @cached_property
    def _pieces(self) -> list[bytes]:
        return [self._tokens.piece(token) for token in range(self.vocabulary)]

    @cached_property
    def _sizes(self) -> Array:
        return np.array([len(piece) for piece in self._pieces], np.int64)


def learn(text: Bytes, vocabulary: int) -> InPieces:
    """At most so many; fewer where no more pieces come twice. The same for the same text."""
    parts = list(parts_of(text))
    each = -(-sum(map(len, parts)) // (_MOST_LEARNED * 10**6)) or 1
    learned = [piece for part in parts[::each] for piece in cut(part)]
    return InPieces(learned_from(learned, vocabulary, least=2))


def learned_vocabulary(size: int) -> int:
    """How many are learned from a text of so many bytes: multiples of 128, which fill a TPU's tiles."""
    return min(MOST, max(LEAST, size // BYTES_A_TOKEN // 128 * 128))


def tokens_in(text: Bytes, size: int, vocabulary: int) -> int:
    """About how many tokens a text of *size* bytes that begins with *text* has after so many were learned.

    Of two pieces and a half that are learned, one is a whole word, from the most frequent on; the other words are in
    pieces of some two bytes. 12 % too few to 9 % too many in Shakespeare, our pages, our code, a table of numbers and
    one line over and over, from 384 tokens to 8,192.
    """
    head = text[:COUNTED]
    words = Counter(_WORDS.findall(head.tobytes().decode("utf-8", "replace"))).most_common()
    whole = min(int((vocabulary - BYTES) / _PIECES_A_WORD), sum(count > 1 for _, count in words))
    piece = _BYTES_A_PIECE * math.pow(vocabulary / 1024, _LONGER)
    tokens = float(sum(count for _, count in words[:whole]))
    tokens += sum(count * max(1.0, len(word.encode()) / piece) for word, count in words[whole:])
    return round(size * min(1.0, tokens / max(1, len(head))))


def of_result(description: Mapping[str, object]) -> Cutter:
    """Of a result. Raises RunError ``result-unreadable``."""
    if description.get("tokenizer") != Published.kind:
        return of_tokens(of_description(description))
    path = Path(str(description.get("folder", ""))) / TOKENIZER
    try:
        return _published(path, str(description.get("tokenizer_sha256")))
    except (OSError, ValueError) as error:
        raise RunError("result-unreadable", path=str(path), raw=str(error)) from error


@lru_cache(maxsize=2)
def _published(path: Path, wanted: str) -> Published:
    file = read_beside(path, PUBLISHED_BYTES)
    if hashlib.sha256(file).hexdigest() != wanted:
        raise ValueError("it is not the tokenizer that the model was trained with")
    return Published(file)


def of_folder(preset: Preset) -> Published:
    """The tokenizer of a language model's folder. Raises ModelError ``preset-changed``, ``preset-unreadable``…"""
    file = content(preset, TOKENIZER)
    try:
        found = Published(file)
    except ValueError as error:
        why = str(error)
        facts = {"path": str(preset.folder), "file": TOKENIZER, "why": f"{why[:1].upper()}{why[1:]}."}
        raise ModelError("preset-unreadable", **facts) from error
    if found.vocabulary > preset.vocabulary:
        why = f"It has {found.vocabulary:,} tokens, and the model {preset.vocabulary:,}."
        raise ModelError("preset-unfit", path=str(preset.folder), file=TOKENIZER, why=why)
    return found


def of_tokens(tokens: Tokens) -> Cutter:
    """Raises RunError ``result-unreadable``: they are of words, whose blanks are lost, or longer than are learned."""
    if isinstance(tokens, ByteTokens):
        return AsBytes()
    if not isinstance(tokens, PieceTokens) or not tokens.keeps_bytes:
        raise RunError("result-unreadable", path="tokenizer.json", raw="its tokens do not stand for bytes")
    cutter = InPieces(tokens)
    longest = max(len(cutter.piece(token)) for token in range(cutter.first, cutter.vocabulary))
    if longest > _LONGEST_PIECE:
        raise RunError("result-unreadable", path="tokenizer.json", raw=f"one of its tokens is {longest:,} bytes long")
    return cutter


def parts_of(text: Bytes) -> Iterator[str]:
    """The text in parts that end with a line, where lines are not too long."""
    whole = text.tobytes().decode("utf-8", "replace")
    start = 0
    while start < len(whole):
        end = min(len(whole), start + _PART)
        if end < len(whole):
            end = whole.rfind("\n", start, end) + 1 or end
        yield whole[start:end]
        start = end


def between_letters(text: Bytes, cut: int) -> int:
    """The last place up to *cut* where no letter of UTF-8 is cut in two."""
    for place in range(cut, max(0, cut - 4), -1):
        if place >= len(text) or (int(text[place]) & 0xC0) != 0x80:
            return place
    return cut

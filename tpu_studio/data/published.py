"""The `tokenizer.json` of a language model that somebody published: cut up by it, and its pieces as bytes again.

The file may be a stranger's: the library is given what `wire.pretrained.tokenizer` writes anew from what is known of
it. Tokens that stand for no text ("<|endoftext|>") are never made of one. Some put a blank before a text (Llama 2,
Mistral), which stands for nothing there: before its begin alone, or behind each token of no text, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.tokens import BYTE_OF_LETTER, loaded
from tpu_studio.wire.pretrained import tokenizer

Behind = Literal["nothing", "token", "text"]
"""What a text stands behind: nothing, a token that stands for no text, or other text."""


class Published:
    """A way of cutting text as `continuing.Cutter` is.

    Attributes:
        never: Tokens that stand for no text; *standing*: those that stand for something else, by how they are written.

    Raises:
        ValueError: The file is none of the kinds that are known; one sentence.
    """

    kind, first = "preset", 0

    def __init__(self, file: bytes) -> None:
        known = tokenizer.tidied(file)
        self._words, self._before, self.file = known.words, known.before, known.text.encode()
        self._tokenizer = _loaded(self.file)
        if any(self._tokenizer.token_to_id(text) != number for text, number in known.added.items()):
            raise ValueError("one of its added tokens has a number that does not follow those before")  # the library's
        self.vocabulary = known.vocabulary
        self.standing: Mapping[str, int] = known.standing
        self.never = frozenset(set(range(self.vocabulary)) - (known.numbers - known.special))

    def encode(self, text: Bytes) -> tuple[Array, int]:
        """[N] tokens of a text in UTF-8, and how many bytes they stand for: all of them."""
        return self._cut(text, "nothing"), len(text)

    def of_text(self, text: str, behind: Behind = "nothing") -> list[int]:
        """Its tokens, none of which stands for no text, whatever *text* says."""
        found: list[int] = self._cut(np.frombuffer(text.encode("utf-8", "replace"), np.uint8), behind).tolist()
        return found

    def blank_put(self, behind: Behind) -> bool:
        """Whether a text there is begun with a blank that stands for nothing."""
        return self._before != "" and (behind == "nothing" or (behind == "token" and self._before == "each"))

    def _cut(self, text: Bytes, behind: Behind) -> Array:
        from tpu_studio.data.continuing import parts_of

        found, cutter = [np.zeros(0, np.int32)], self._tokenizer if self.blank_put(behind) else self._within
        for part in parts_of(text):
            whole = part.encode("utf-8", "replace").decode()
            found.append(np.array(cutter.encode(whole, add_special_tokens=False).ids, np.int32))
            cutter = self._within
        return np.concatenate(found)

    @cached_property
    def _within(self) -> Any:
        """For what goes on a text."""
        return _loaded(tokenizer.within(self.file.decode()).encode()) if self._before else self._tokenizer

    def piece(self, token: int) -> bytes:
        return b"" if token in self.never else self._pieces.get(token, b"")

    @cached_property
    def _pieces(self) -> dict[int, bytes]:
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=False)
        added = {token.content: number for number, token in self._tokenizer.get_added_tokens_decoder().items()}
        if self._words:  # there the one "▁▁" is two blanks and an added token
            return {number: _bytes_of_word(piece) for piece, number in (vocabulary | added).items()}
        found = {number: _bytes_of(piece) for piece, number in vocabulary.items()}
        return found | {number: text.encode() for text, number in added.items()}


def _loaded(file: bytes) -> Any:
    """Raises ValueError."""
    found = loaded(file)
    found.encode_special_tokens = True
    return found


def _bytes_of(piece: str) -> bytes:
    return bytes(BYTE_OF_LETTER[letter] for letter in piece if letter in BYTE_OF_LETTER)


def _bytes_of_word(piece: str) -> bytes:
    if tokenizer.BYTE.fullmatch(piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(tokenizer.BLANK, " ").encode()

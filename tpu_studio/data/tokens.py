"""How a text becomes tokens: its bytes, pieces of words learned from the person's texts, or those that weights know.

    tokens = learn(texts, 4096)            byte-level BPE (Sennrich et al. 2016; Radford et al. 2019)
    tokens = of_starter(starter)           as published with starter weights
    tokens = of_description(description)   as a result holds them

Hugging Face's `tokenizers` does the work; it is in the training engine, not in the app, so it is imported where it is
needed. Token 0 stands for nothing: it fills a text up to the length of a batch. L tokens a text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tpu_studio.data.arrays import Ints32
from tpu_studio.wire import owncode
from tpu_studio.wire.errors import ModelError, RunError
from tpu_studio.wire.jsonfile import parse_once
from tpu_studio.wire.sizes import read_at_most
from tpu_studio.wire.starters import TOKENIZER, Starter

BYTES = 257  # and the one that stands for nothing
LEAST, MOST = 512, 8192  # tokens that are learned
LETTERS_A_TOKEN = 50  # of all texts: rarer pieces are not met often enough to learn what they mean
FILE_BYTES = 16_000_000  # of a `tokenizer.json`; the largest of ours has half a megabyte
_AT_ONCE, _LETTERS_AT_ONCE = 1024, 500_000
_LETTERS_A_TOKEN = 1_000  # none has more but blanks, and words that are not known
_LETTER, _BLANK = r"(?:\S|[\x1c-\x1f])", r"[^\S\x1c-\x1f]"  # to Unicode those four are no blanks, to Python they are
_ENDLESS = re.compile(f"{_LETTER}{{100}}(?={_LETTER})|{_BLANK}{{100}}(?={_BLANK})")
_MOST_LETTERS = 4_000_000  # of all words, each once, that are learned from
_LARGEST = 1_000_000  # number of a token
_PIECES = 8  # of a template; a pair of texts between BERT's has five
_PARTS: dict[str, tuple[str | None, ...]] = {
    "normalizer": (None, "BertNormalizer"),
    "pre_tokenizer": ("ByteLevel", "BertPreTokenizer"),
    "post_processor": (None, "TemplateProcessing"),
    "decoder": ("ByteLevel", "WordPiece"),
    "model": ("BPE", "WordPiece"),
}


class Tokens(Protocol):
    """Attributes:
    vocabulary: Different tokens, with the one that stands for nothing.
    file: The `tokenizer.json`; empty for bytes, which need none.
    """

    @property
    def vocabulary(self) -> int: ...

    @property
    def file(self) -> bytes: ...

    def encode(self, texts: Sequence[str], length: int) -> Ints32:
        """[len(texts), *length*]: the begin of each text, filled up with 0. Raises RunError ``result-unreadable``."""
        ...


class ByteTokens:
    vocabulary = BYTES
    file = b""

    def encode(self, texts: Sequence[str], length: int) -> Ints32:
        x = np.zeros((len(texts), length), np.int32)
        for row, text in enumerate(texts):
            raw = np.frombuffer(text.encode("utf-8", "replace")[:length], np.uint8)
            x[row, : len(raw)] = raw.astype(np.int32) + 1
        return x


def loaded(file: bytes) -> Any:
    """The library's tokenizer of a *file* that was looked at. Raises ValueError: it gets over it in no other way."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_buffer(file)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # the library raises its base class alone, and its panics not even that
        raise ValueError(f"no tokenizer: {error}") from error


class PieceTokens:
    """Of a `tokenizer.json`.

    Raises:
        ValueError: It is none, or its token 0 does not stand for nothing.
    """

    def __init__(self, file: bytes) -> None:
        self._tokenizer = loaded(check_parts(file))
        self._tokenizer.no_padding()
        if self._tokenizer.id_to_token(0) != PADDING:
            raise ValueError("its token 0 is not [PAD]")
        self.file = file

    @property
    def vocabulary(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    @property
    def keeps_bytes(self) -> bool:
        """Each token but that for nothing stands for bytes, and a text's are all there."""
        return type(self._tokenizer.pre_tokenizer).__name__ == "ByteLevel"

    def whole(self, text: str) -> list[int]:
        """All tokens of a text, however long. One that says "[PAD]" has its letters, not the token for nothing."""
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        return list(self._tokenizer.encode(text).ids)

    def piece(self, token: int) -> bytes:
        """What a token of a byte-level tokenizer stands for; nothing where it is for nothing, or is none of ours."""
        letters = self._tokenizer.id_to_token(token) or ""
        return bytes(BYTE_OF_LETTER[one] for one in letters if one in BYTE_OF_LETTER) if token else b""

    def encode(self, texts: Sequence[str], length: int) -> Ints32:
        self._tokenizer.enable_truncation(length)
        x = np.zeros((len(texts), length), np.int32)
        begin = 0
        for part in _batches(texts, length * _LETTERS_A_TOKEN):
            try:
                rows = self._tokenizer.encode_batch(part)
            except Exception as error:  # the library raises its base class alone
                raise RunError("result-unreadable", path=TOKENIZER, raw=str(error)) from error
            for row, found in enumerate(rows, begin):
                ids = found.ids[:length]
                x[row, : len(ids)] = ids
            begin += len(part)
        return x


def _batches(texts: Sequence[str], longest: int) -> Iterator[list[str]]:
    """*texts*, some at a time, as the library takes them, of each its first *longest* letters: it cuts up all that it
    is given before it leaves out what has no room, and holds a hundred times its letters."""
    part, letters = list[str](), 0
    for text in texts:
        part.append(text[:longest].encode("utf-8", "replace").decode())
        letters += len(part[-1])
        if len(part) == _AT_ONCE or letters > _LETTERS_AT_ONCE:
            yield part
            part, letters = [], 0
    if part:
        yield part


def check_parts(file: bytes) -> bytes:
    """The same, written anew. Of two keys with one name the library may build that which nobody looked at.

    Raises:
        ValueError: A `tokenizer.json` has a part twice, or others than ours. It may be a stranger's, and others search
            by patterns without end, grow a text a million times, or end the process.
    """
    try:
        tree = parse_once(file)
        fits = all((tree[part] or {}).get("type") in known for part, known in _PARTS.items())
        fits = fits and _fits_model(tree["model"]) and _fits_template(tree["post_processor"], tree["model"]["vocab"])
        fits = fits and all(map(_fits_added, tree.get("added_tokens", ())))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no tokenizer of ours: {error}") from error
    if not fits:
        raise ValueError("it is no tokenizer of ours: it has other parts")
    return json.dumps(tree).encode()


def _fits_model(model: Mapping[str, Any]) -> bool:
    """A letter before or behind each piece, or a token for the unknown that is none, end the process."""
    settings = {name: value for name, value in model.items() if name not in ("type", "vocab", "merges")}
    if model["type"] == "BPE":
        fits = not any(settings.values())
    else:
        fits = settings.pop("unk_token") in model["vocab"]
        fits = fits and settings.pop("continuing_subword_prefix") == "##" and not model.get("merges")
        fits = fits and 0 < settings.pop("max_input_chars_per_word") <= _AT_ONCE and not settings
    numbers = model["vocab"].values()
    return fits and all(map(_is_token, numbers)) and sorted(numbers) == list(range(len(numbers))) and len(numbers) > 1


def _fits_template(processor: Mapping[str, Any] | None, vocabulary: Mapping[str, int]) -> bool:
    """One text between single tokens that are known: more of either grow it, and a second text is none of ours."""
    if processor is None:
        return True
    special = processor["special_tokens"]
    fits = all(one["ids"] == [vocabulary[name]] and one["tokens"] == [name] for name, one in special.items())
    for texts, pieces in (("A", processor["single"]), ("AB", processor["pair"])):
        names = [name for piece in pieces for name in piece]
        there = [piece["Sequence"]["id"] for piece in pieces if "Sequence" in piece]
        fits = fits and len(pieces) == len(names) <= _PIECES and "".join(there) == texts
        fits = fits and all(piece["SpecialToken"]["id"] in special for piece in pieces if "Sequence" not in piece)
    return fits


def _fits_added(token: Mapping[str, Any]) -> bool:
    """One that takes the blanks beside it looks for their end again at each of them."""
    return bool(token["content"]) and _is_token(token["id"]) and not token["lstrip"] and not token["rstrip"]


def _is_token(number: object) -> bool:
    return type(number) is int and 0 <= number < _LARGEST


PADDING = "[PAD]"


def learn(texts: Iterator[str] | Sequence[str], vocabulary: int) -> PieceTokens:
    """The tokens that stand for these texts in the fewest pieces, *vocabulary* at most: the same for the same texts."""
    return learned_from((piece for text in texts for piece in cut(text)), vocabulary, least=0)


def cut(text: str) -> list[str]:
    """*text*, cut where letters, or blanks, go on and on: to learn of a word takes the square of its length."""
    cuts = [0, *(run.end() for run in _ENDLESS.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts)]


def learned_from(texts: Iterator[str] | Sequence[str], vocabulary: int, *, least: int) -> PieceTokens:
    """As `learn`, of pieces that come *least* times. Where hardly a word comes twice, of the texts' beginning."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=least,
        special_tokens=[PADDING],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator((text.encode("utf-8", "replace").decode() for text in _some(texts)), trainer)
    return PieceTokens(tokenizer.to_str().encode())


def _some(texts: Iterable[str]) -> Iterator[str]:
    """The library keeps each word that is another one in its pieces: a hundred times its letters of memory."""
    seen: set[str] = set()
    room = _MOST_LETTERS
    for text in texts:
        yield text
        words = set(text.split()) - seen
        room -= sum(map(len, words))
        seen |= words
        if room < 0:
            return


def _letters_of_bytes() -> dict[str, int]:
    """The letter that a byte-level tokenizer writes each byte as (`bytes_to_unicode` of GPT-2's released code)."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTE_OF_LETTER = _letters_of_bytes()


def learned_vocabulary(characters: int) -> int:
    """How many tokens are learned from texts of so many characters: multiples of 128."""
    return int(min(MOST, max(LEAST, characters // LETTERS_A_TOKEN // 128 * 128)))


def of_starter(starter: Starter, preset: str) -> PieceTokens:
    """Raises ModelError ``starter-missing``, ``starter-damaged``."""
    if problem := starter.problem():
        raise ModelError(problem, preset=preset, path=str(starter.path))
    return PieceTokens(starter.tokens())


def sha256(tokens: Tokens) -> str:
    """Of its file; "" where there is none."""
    return hashlib.sha256(tokens.file).hexdigest() if tokens.file else ""


def of_description(description: Mapping[str, object]) -> Tokens:
    """Those of a result, whose folder *description* names under ``folder``.

    Raises:
        RunError: ``result-unreadable``: the file beside the model is not the one that it was trained with.
    """
    wanted = str(description.get("tokenizer_sha256") or "")
    if not wanted:
        return ByteTokens()
    path = Path(str(description.get("folder", ""))) / TOKENIZER
    try:
        return _kept(path, wanted)
    except (OSError, ValueError) as error:
        raise RunError("result-unreadable", path=str(path), raw=str(error)) from error


def read_beside(path: Path, most: int) -> bytes:
    """A file of a result that may be a stranger's: no link out of its folder is followed.

    Raises:
        OSError, ValueError: There is none, or it is larger.
    """
    folder = owncode.located(path.parent)
    if folder is None or owncode.located(path) != folder / path.name:
        raise ValueError("it is a link")
    return read_at_most(path, most)


@lru_cache(maxsize=4)
def _kept(path: Path, wanted: str) -> PieceTokens:
    file = read_beside(path, FILE_BYTES)
    if hashlib.sha256(file).hexdigest() != wanted:
        raise ValueError("it is not the tokenizer that the model was trained with")
    return PieceTokens(file)

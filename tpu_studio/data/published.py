r"""The `tokenizer.json` of a language model that somebody published: cut up by it, and its pieces as bytes again.

Two kinds are known: byte-level BPE (GPT-2, Llama 3, SmolLM, Qwen) and BPE over words with "▁" for a blank, which falls
back to bytes (Gemma). A file may be a stranger's, and the library's parts can search by patterns without end, grow a
text or end the process: what is read of it is its pieces and merges, and which of the known ways of cutting it names.
It is written anew from these. Tokens that stand for no text ("<|endoftext|>") are never made of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.tokens import BYTE_OF_LETTER, each_once
from tpu_studio.wire.jsonfile import BRACKETS

_MOST = 1_000_000  # number of a token
_LONGEST = 1000  # letters of a token; of those that are known the longest has 256
_ADDED = 20_000  # tokens beside the model's; Gemma 3 has 6,415
_LETTERS = 500_000  # of all of these
_STEPS = 3  # of cutting
_BEGIN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_END = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = (
    _BEGIN + r"\p{N}" + _END,  # Qwen2, Qwen3
    _BEGIN + r"\p{N}{1,3}" + _END,  # Llama 3
)
_BLANK = "▁"
_HALF = re.compile("[\ud800-\udfff]")
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_DIGITS = {"type": "Digits"}


class Published:
    """A way of cutting text as `continuing.Cutter` is.

    Attributes:
        never: Tokens that stand for no text.

    Raises:
        ValueError: The file is none of the kinds that are known; one sentence.
    """

    kind, first = "preset", 0

    def __init__(self, file: bytes) -> None:
        from tokenizers import Tokenizer

        self._words, tree = _rewritten(file)
        self.file = json.dumps(tree, ensure_ascii=False).encode()
        try:
            self._tokenizer = Tokenizer.from_buffer(self.file)
        except Exception as error:  # the library raises its base class alone
            raise ValueError(f"no tokenizer: {error}") from error
        if any(self._tokenizer.token_to_id(one["content"]) != one["id"] for one in tree["added_tokens"]):
            raise ValueError("one of its added tokens has a number that does not follow those before")  # the library's
        self._tokenizer.encode_special_tokens = True
        self._special = {int(one["id"]) for one in tree["added_tokens"] if one["special"]}
        numbers = [*tree["model"]["vocab"].values(), *(int(one["id"]) for one in tree["added_tokens"])]
        self.vocabulary = max(numbers) + 1
        self.never = frozenset(set(range(self.vocabulary)) - (set(numbers) - self._special))

    def encode(self, text: Bytes) -> tuple[Array, int]:
        """[N] tokens of a text in UTF-8, and how many bytes they stand for: all of them."""
        from tpu_studio.data.continuing import parts_of

        parts = [part.encode("utf-8", "replace").decode() for part in parts_of(text)]
        found = [np.array(self._tokenizer.encode(part, add_special_tokens=False).ids, np.int32) for part in parts]
        return np.concatenate(found) if found else np.zeros(0, np.int32), len(text)

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


def _bytes_of(piece: str) -> bytes:
    return bytes(BYTE_OF_LETTER[letter] for letter in piece if letter in BYTE_OF_LETTER)


def _bytes_of_word(piece: str) -> bytes:
    if _BYTE.fullmatch(piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(_BLANK, " ").encode()


def _rewritten(file: bytes) -> tuple[bool, dict[str, Any]]:
    """Whether it is of words, and the same made of what is known."""
    if file.count(b"[") + file.count(b"{") > BRACKETS:
        raise ValueError("it is larger than any tokenizer")
    try:
        tree = json.loads(file, object_pairs_hook=each_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no tokenizer that is known: {error}") from error
    try:
        model = tree["model"]
        if model.get("type", "BPE") != "BPE":
            raise ValueError("its model is no BPE")
        words = model.get("byte_fallback") is True
        cut = _words(tree) if words else _bytes(tree)
        vocabulary = {_piece(piece): _number(number) for piece, number in model["vocab"].items()}
        if len(model["merges"]) > _MOST:
            raise ValueError(f"it has more than {_MOST:,} merges")
        merges = list(dict.fromkeys(map(_merge, model["merges"])))
        added = [_added(one) for one in tree.get("added_tokens") or ()]
        for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(name):
                raise ValueError(f"it has “{name}”")
        unknown = model.get("unk_token") if words and model.get("unk_token") in vocabulary else None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no tokenizer that is known: {error}") from error
    _check_numbers(vocabulary, added)
    if words and not all(f"<0x{byte:02X}>" in vocabulary for byte in range(256)):
        raise ValueError("it has no tokens of bytes")
    whole = model.get("ignore_merges") is True
    special = {one["content"] for one in added if one["special"]} & vocabulary.keys()
    if any(len(one) == 1 or (words and _BYTE.fullmatch(one)) for one in special) or (whole and special):
        raise ValueError("one of its tokens that stand for no text is one of a text")
    bpe = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": words and model.get("fuse_unk") is True,
        "byte_fallback": words,
        "ignore_merges": whole,
        "vocab": vocabulary,
        "merges": [list(pair) for pair in merges if "".join(pair) not in special],
    }
    plain = {"version": "1.0", "truncation": None, "padding": None, "post_processor": None, "decoder": None}
    return words, {**plain, "added_tokens": added, **cut, "model": bpe}


def _check_numbers(vocabulary: Mapping[str, int], added: Sequence[Mapping[str, Any]]) -> None:
    numbers = dict(vocabulary)
    fits = all(numbers.setdefault(one["content"], one["id"]) == one["id"] for one in added)
    if not fits or not vocabulary or len(set(numbers.values())) != len(numbers):
        raise ValueError("its tokens are not numbered each by itself")
    if len(added) > _ADDED or sum(len(one["content"]) for one in added) > _LETTERS:
        raise ValueError(f"it has more than {_ADDED:,} added tokens, or longer ones than any has")


def _bytes(tree: Mapping[str, Any]) -> dict[str, Any]:
    """How byte-level BPE cuts a text before its pieces are looked for."""
    normaliser = (tree.get("normalizer") or {}).get("type")
    if normaliser not in (None, "NFC"):
        raise ValueError(f"it changes texts by “{str(normaliser)[:40]}”")
    steps = _steps(tree)
    if len(steps) > _STEPS:
        raise ValueError("it cuts texts in a way that is not known")
    found = []
    for step in steps[:-1]:
        if step.get("type") == "Digits":
            found.append({**_DIGITS, "individual_digits": step.get("individual_digits") is True})
        elif step.get("type") == "Split" and (step.get("pattern") or {}).get("Regex") in PATTERNS:
            split = {"pattern": {"Regex": step["pattern"]["Regex"]}, "behavior": "Isolated", "invert": False}
            if step.get("behavior") != "Isolated" or step.get("invert"):
                raise ValueError("it cuts texts in a way that is not known")
            found.append({"type": "Split", **split})
        else:
            raise ValueError("it cuts texts in a way that is not known")
    if not steps or steps[-1].get("type") != "ByteLevel":
        raise ValueError("its pieces are not of bytes")
    uses = {name: steps[-1].get(name) is True for name in ("add_prefix_space", "trim_offsets")}
    found.append({"type": "ByteLevel", **uses, "use_regex": steps[-1].get("use_regex") is not False})
    whole = found[0] if len(found) == 1 else {"type": "Sequence", "pretokenizers": found}
    return {"normalizer": {"type": "NFC"} if normaliser else None, "pre_tokenizer": whole}


def _words(tree: Mapping[str, Any]) -> dict[str, Any]:
    """How Gemma's cuts: a blank is a letter like others."""
    normaliser, split = tree.get("normalizer") or {}, tree.get("pre_tokenizer") or {}
    blank = normaliser.get("type") == "Replace" and normaliser.get("pattern") == {"String": " "}
    if not blank or normaliser.get("content") != _BLANK:
        raise ValueError("it changes texts in a way that is not known")
    if split and (split.get("type") != "Split" or split.get("pattern") != {"String": " "} or split.get("invert")):
        raise ValueError("it cuts texts in a way that is not known")
    behaviour = str(split.get("behavior", "MergedWithPrevious"))
    if behaviour != "MergedWithPrevious":
        raise ValueError("it cuts texts in a way that is not known")
    found = {"type": "Split", "pattern": {"String": " "}, "behavior": behaviour, "invert": False} if split else None
    return {"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": _BLANK}, "pre_tokenizer": found}


def _steps(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cut = tree.get("pre_tokenizer") or {}
    return list(cut["pretokenizers"]) if cut.get("type") == "Sequence" else [cut]


def _piece(text: str) -> str:
    if len(text) > _LONGEST:
        raise ValueError(f"one of its tokens has more than {_LONGEST:,} letters")
    if _HALF.search(text):
        raise ValueError("one of its tokens is half a letter")
    return text


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError("one of its tokens has no number")
    return value


def _merge(given: Any) -> tuple[str, str]:
    pair = given.split(" ") if isinstance(given, str) else given
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) and one for one in pair):
        raise ValueError("its merges are no pairs")
    return _piece(pair[0]), _piece(pair[1])


def _added(given: Mapping[str, Any]) -> dict[str, Any]:
    content = given["content"]
    if not isinstance(content, str) or not content:
        raise ValueError("one of its added tokens is no text")
    if given.get("lstrip") or given.get("rstrip"):
        raise ValueError("one of its added tokens takes what is beside it")
    switches = {name: given.get(name) is True for name in ("single_word", "normalized", "special")}
    return {"id": _number(given["id"]), "content": _piece(content), "lstrip": False, "rstrip": False, **switches}

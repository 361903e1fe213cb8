"""A `tokenizer.json` of a language model that somebody published, written anew from what is known of it. No code.

Two kinds are known: byte-level BPE (GPT-2, Llama 3, SmolLM, Qwen, Mistral's Tekken), and BPE over words with "▁" for a
blank, which falls back to bytes (Gemma; Llama 2, TinyLlama and Mistral, which put one "▁" before a text). A file may be
a stranger's, and the library that cuts by it (`data.published`) can search by patterns without end, grow a text or end
the process: what is read of it is its pieces and merges, and which of the known ways of cutting it names. The window
refuses others where it reads the folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tpu_studio.wire.jsonfile import parse_once

_MOST = 1_000_000  # number of a token
_LONGEST = 1000  # letters of a token; of those that are known the longest has 256
_ADDED = 20_000  # tokens beside the model's; Gemma 3 has 6,415
_LETTERS = 500_000  # of all of these
_OBJECTS = 200_000  # and pieces with a "{"
_STEPS = 3  # of cutting
_BEGIN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_END = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PATTERNS = (
    _BEGIN + r"\p{N}" + _END,  # Qwen2, Qwen3
    _BEGIN + r"\p{N}{1,3}" + _END,  # Llama 3
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}"
    + _END.replace(r"[\r\n]*", r"[\r\n/]*", 1),  # Tekken: Mistral Nemo, Ministral
)
BLANK = "▁"
Before = Literal["", "first", "each"]
"""Before what "▁" is put: nothing; a text at its begin; and behind each token that stands for no text, too."""
_HALF = re.compile("[\ud800-\udfff]")
BYTE = re.compile("<0x[0-9A-F]{2}>")
_DIGITS = {"type": "Digits"}
_CUT_WITHIN = re.compile(r"[A-Za-z][!-/:-@\[-`{-~]")  # none of the known ways makes one word of these two
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}
_PREPEND = {"type": "Prepend", "prepend": BLANK}
_SCHEMES: dict[str, Before] = {"first": "first", "always": "each", "never": ""}


@dataclass(frozen=True)
class Tidied:
    """A tokenizer of known parts alone.

    Attributes:
        words: Whether its pieces are of words, with "▁" for a blank.
        text: Its file.
        numbers: Of each token, and *added*: of those beside the model's, by what they say; *special*: those that stand
            for no text.
        before: Before what it puts "▁", which stands for nothing in the text.
    """

    words: bool
    text: str
    numbers: frozenset[int]
    added: Mapping[str, int]
    special: frozenset[int]
    before: Before = ""

    @property
    def vocabulary(self) -> int:
        return max(self.numbers) + 1

    @property
    def standing(self) -> Mapping[str, int]:
        """Those that stand for no text, and are never made of one, by how they are written."""
        return {text: number for text, number in self.added.items() if number in self.special}


def tidied(file: bytes) -> Tidied:
    """What is known of it.

    Raises:
        ValueError: The file is none of the kinds that are known; one sentence.
    """
    words, tree = _rewritten(file)
    added = {str(one["content"]): int(one["id"]) for one in tree["added_tokens"]}
    special = frozenset(int(one["id"]) for one in tree["added_tokens"] if one["special"])
    numbers = frozenset((*tree["model"]["vocab"].values(), *added.values()))
    return Tidied(words, json.dumps(tree, ensure_ascii=False), numbers, added, special, _before(tree))


def within(text: str) -> str:
    """The file that a `Tidied` has as its *text*, for what goes on a text: nothing is put before that."""
    tree = json.loads(text)
    if (tree["pre_tokenizer"] or {}).get("type") == "Metaspace":
        tree["pre_tokenizer"]["prepend_scheme"] = "never"
    elif (tree["normalizer"] or {}).get("type") == "Sequence":
        tree["normalizer"] = _REPLACE
    return json.dumps(tree, ensure_ascii=False)


def _before(tree: Mapping[str, Any]) -> Before:
    if (tree["normalizer"] or {}).get("type") == "Sequence":
        return "each"
    return _SCHEMES[(tree["pre_tokenizer"] or {}).get("prepend_scheme", "never")]


def _rewritten(file: bytes) -> tuple[bool, dict[str, Any]]:
    """Whether it is of words, and the same made of what is known. Raises ValueError."""
    try:
        if file.count(b"{") > _OBJECTS:
            raise ValueError(f"it has more than {_OBJECTS:,} objects")
        tree = parse_once(file)
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
        if not all(one in vocabulary and two in vocabulary and one + two in vocabulary for one, two in merges):
            raise ValueError("one of its merges is of tokens that it has not")
        if len(tree.get("added_tokens") or ()) > _ADDED:
            raise ValueError(f"it has more than {_ADDED:,} added tokens")
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
    if whole and _cuts(cut["pre_tokenizer"]):
        whole_words = any(not _CUT_WITHIN.search(one) for one in special)
    else:
        whole_words = whole and bool(special)
    if whole_words or any(len(one) == 1 or (words and BYTE.fullmatch(one)) for one in special):
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
    if sum(len(one["content"]) for one in added) > _LETTERS:
        raise ValueError("its added tokens are longer than any has")


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


def _cuts(cut: object) -> bool:
    """Whether it makes words of a text that end where a letter is followed by a sign."""
    steps = _steps({"pre_tokenizer": cut})
    return any(one.get("type") == "Split" and "Regex" in one["pattern"] for one in steps) or any(
        one.get("type") == "ByteLevel" and one["use_regex"] for one in steps
    )


def _words(tree: Mapping[str, Any]) -> dict[str, Any]:
    """How those cut for which a blank is a letter like others."""
    changes, split = tree.get("normalizer") or {}, tree.get("pre_tokenizer") or {}
    if not changes and split.get("type") == "Metaspace":
        return {"normalizer": None, "pre_tokenizer": _metaspace(split)}
    changes = list(changes["normalizers"]) if changes.get("type") == "Sequence" else [changes]
    puts = [one.get("type") for one in changes] == ["Prepend", "Replace"]
    blank = changes[-1] if changes else {}
    if len(changes) != 1 + puts or blank.get("type") != "Replace" or blank.get("pattern") != {"String": " "}:
        raise ValueError("it changes texts in a way that is not known")
    if blank.get("content") != BLANK or (puts and (changes[0].get("prepend") != BLANK or split)):
        raise ValueError("it changes texts in a way that is not known")
    normaliser = {"type": "Sequence", "normalizers": [_PREPEND, _REPLACE]} if puts else _REPLACE
    return {"normalizer": normaliser, "pre_tokenizer": _at_blanks(split) if split else None}


def _at_blanks(split: Mapping[str, object]) -> dict[str, object]:
    """As Gemma's file has it, where no blank is left to cut at."""
    behaviour = str(split.get("behavior", "MergedWithPrevious"))
    if split.get("type") != "Split" or split.get("pattern") != {"String": " "} or split.get("invert"):
        raise ValueError("it cuts texts in a way that is not known")
    if behaviour != "MergedWithPrevious":
        raise ValueError("it cuts texts in a way that is not known")
    return {"type": "Split", "pattern": {"String": " "}, "behavior": behaviour, "invert": False}


def _metaspace(step: Mapping[str, object]) -> dict[str, object]:
    """Which writes "▁" for blanks and puts one before a text that does not begin with one."""
    scheme = step.get("prepend_scheme")
    if scheme not in _SCHEMES or step.get("replacement") != BLANK or step.get("split") is not False:
        raise ValueError("it cuts texts in a way that is not known")
    if step.get("add_prefix_space", scheme != "never") is not (scheme != "never"):  # said twice, as it was once
        raise ValueError("it cuts texts in a way that is not known")
    return {"type": "Metaspace", "replacement": BLANK, "prepend_scheme": scheme, "split": False}


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

"""A published `tokenizer.json`: of the known kinds it is written anew, and whatever else stands in it is refused."""

from __future__ import annotations

import copy
import json
import sys
import zipfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.presets import DECODERS, decoders
from tpu_studio.data import published, tokens
from tpu_studio.data.published import _bytes_of, _bytes_of_word
from tpu_studio.data.tokens import read_beside
from tpu_studio.wire.pretrained.tokenizer import PATTERNS, _rewritten

Tree = dict[str, Any]
BYTES, WORDS = "gpt2", "gemma3"
LEVEL: Tree = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
ADDED: Tree = {"id": 300, "content": "@@", "single_word": False, "lstrip": False, "rstrip": False, "special": False}


@cache
def file_of(name: str) -> bytes:
    with zipfile.ZipFile(DECODERS) as archive:
        return archive.read(f"{name}/tokenizer.json")


def tree_of(name: str) -> Tree:
    found: Tree = json.loads(file_of(name))
    return found


def rewritten(tree: object) -> Tree:
    return _rewritten(json.dumps(tree).encode())[1]


def refused(tree: object) -> str:
    with pytest.raises(ValueError) as error:
        rewritten(tree)
    said = str(error.value)
    assert said.startswith(("it ", "its ", "one of its ")) and "\n" not in said and len(said) < 200, said
    return said


def split(**change: object) -> Tree:
    made: Tree = {"type": "Split", "pattern": {"Regex": PATTERNS[0]}, "behavior": "Isolated", "invert": False}
    return made | change


def sequence(*steps: object) -> Tree:
    return {"type": "Sequence", "pretokenizers": list(steps)}


# ------------------------------------------------------------------------------------------------- what is known


@pytest.mark.parametrize("name", decoders())
def test_known_kinds_are_written_anew(name: str) -> None:
    words, found = _rewritten(file_of(name))
    tree = tree_of(name)
    assert words == (name == "gemma3")
    assert found["model"]["vocab"] == tree["model"]["vocab"] and found["model"]["merges"] == tree["model"]["merges"]
    assert found["added_tokens"] == tree["added_tokens"]
    assert (found["normalizer"], found["pre_tokenizer"]) == (tree["normalizer"], tree["pre_tokenizer"])


@pytest.mark.parametrize("name", [BYTES, WORDS, "qwen3", "smollm"])
def test_what_is_written_anew_is_the_same_once_more(name: str) -> None:
    words, found = _rewritten(file_of(name))
    assert _rewritten(json.dumps(found).encode()) == (words, found)


@pytest.mark.parametrize("name", [BYTES, WORDS])
def test_nothing_else_than_known_parts_is_written(name: str) -> None:
    tree = tree_of(name)
    stranger = {"type": "Replace", "pattern": {"Regex": "(a|aa)+$"}, "content": "a" * 100}
    tree |= {"decoder": stranger, "post_processor": stranger, "more": stranger}
    tree |= {"truncation": {"max_length": 1}, "padding": {"strategy": {"Fixed": 10**9}}, "version": "9"}
    tree["model"] |= {"more": stranger, "cache_capacity": 10**12}
    tree["added_tokens"][0]["more"] = tree["pre_tokenizer"]["more"] = stranger
    found = rewritten(tree)
    assert found == _rewritten(file_of(name))[1]
    parts = {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor"}
    assert set(found) == parts | {"decoder", "model"}
    assert [found[one] for one in ("truncation", "padding", "post_processor", "decoder")] == [None] * 4


@pytest.mark.parametrize("pattern", PATTERNS)
def test_llama_3_s_and_qwen_s_ways_of_cutting_are_known(pattern: str) -> None:
    step = split(pattern={"Regex": pattern})
    found = rewritten(tree_of(BYTES) | {"pre_tokenizer": sequence(step, LEVEL | {"use_regex": False})})
    assert found["pre_tokenizer"]["pretokenizers"] == [step, LEVEL | {"use_regex": False}]


def test_merges_as_they_were_written_before() -> None:
    tree = tree_of(BYTES)
    tree["model"]["merges"] = [" ".join(pair) for pair in tree["model"]["merges"]]
    tree["model"] |= {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    del tree["model"]["type"]
    assert rewritten(tree) == _rewritten(file_of(BYTES))[1]


def test_gemma_s_needs_no_step_of_cutting() -> None:
    assert rewritten(tree_of(WORDS) | {"pre_tokenizer": None})["pre_tokenizer"] is None


def test_added_tokens_that_stand_for_text_stay() -> None:
    tree = tree_of(BYTES)
    tree["added_tokens"].append(ADDED)
    assert rewritten(tree)["added_tokens"][-1] == {**ADDED, "normalized": False}


# --------------------------------------------------------------------------------------------- what is not known

HOSTILE: dict[str, dict[str, Any]] = {
    "another way to change texts": {"normalizer": {"type": "NFKC"}},
    "several ways": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}},
    "a way that panics": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "a way that is none": {"normalizer": "NFC"},
    "a list of ways": {"normalizer": [{"type": "NFC"}]},
    "another pattern": {"pre_tokenizer": sequence(split(pattern={"Regex": "(a|aa)+$"}), LEVEL)},
    "a known pattern and more": {"pre_tokenizer": sequence(split(pattern={"Regex": PATTERNS[0] + "|x"}), LEVEL)},
    "no pattern": {"pre_tokenizer": sequence(split(pattern=None), LEVEL)},
    "a string as pattern": {"pre_tokenizer": sequence(split(pattern={"String": PATTERNS[0]}), LEVEL)},
    "what it cuts at is lost": {"pre_tokenizer": sequence(split(behavior="Removed"), LEVEL)},
    "the other way round": {"pre_tokenizer": sequence(split(invert=True), LEVEL)},
    "no bytes": {"pre_tokenizer": {"type": "Whitespace"}},
    "bytes first": {"pre_tokenizer": sequence(LEVEL, {"type": "Digits"})},
    "bytes twice": {"pre_tokenizer": sequence(LEVEL, LEVEL)},
    "no steps": {"pre_tokenizer": sequence()},
    "steps without end": {"pre_tokenizer": sequence(*[{"type": "Digits"}] * 50, LEVEL)},
    "steps in steps": {"pre_tokenizer": sequence(sequence(LEVEL))},
    "steps that are none": {"pre_tokenizer": sequence(7, LEVEL)},
    "no way of cutting": {"pre_tokenizer": None},
    "no model": {"model": None},
    "a list as model": {"model": []},
    "added tokens that are none": {"added_tokens": [7]},
    "added tokens that are no list": {"added_tokens": 7},
    "added tokens by name": {"added_tokens": {"a": 1}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_parts_that_are_not_known(what: str) -> None:
    refused(tree_of(BYTES) | HOSTILE[what])


BLANK: Tree = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
AT_BLANKS: Tree = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": None},
        {"normalizer": {"type": "NFC"}},
        {"normalizer": BLANK | {"content": "▁" * 1000}},
        {"normalizer": BLANK | {"pattern": {"Regex": "(a|aa)+$"}}},
        {"normalizer": BLANK | {"pattern": {"String": " ", "Regex": "(a|aa)+$"}}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, BLANK]}},
        {"pre_tokenizer": LEVEL},
        {"pre_tokenizer": AT_BLANKS | {"behavior": "Removed"}},
        {"pre_tokenizer": AT_BLANKS | {"behavior": None}},
        {"pre_tokenizer": AT_BLANKS | {"invert": True}},
        {"pre_tokenizer": AT_BLANKS | {"pattern": {"Regex": "(a|aa)+$"}}},
    ],
    ids=lambda change: str(change)[:60],
)
def test_parts_of_words_that_are_not_known(change: Tree) -> None:
    refused(tree_of(WORDS) | change)


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "words that are known or not": (BYTES, {"type": "WordPiece"}),
    "pieces by their scores": (WORDS, {"type": "Unigram"}),
    "another text each time": (BYTES, {"dropout": 0.5}),
    "a letter before each piece, which panics": (BYTES, {"continuing_subword_prefix": "##"}),
    "a letter behind each": (BYTES, {"end_of_word_suffix": "</w>"}),
    "no tokens": (BYTES, {"vocab": {}}),
    "tokens that are a list": (BYTES, {"vocab": [["a", 0]]}),
    "no merges": (BYTES, {"merges": None}),
    "merges of one": (BYTES, {"merges": [["a"]]}),
    "merges of three": (BYTES, {"merges": ["a b c"]}),
    "merges of nothing": (BYTES, {"merges": ["a "]}),
    "merges of numbers": (BYTES, {"merges": [[1, 2]]}),
    "merges that are numbers": (BYTES, {"merges": [7]}),
    "merges by name": (BYTES, {"merges": [{"a": 1, "b": 2}]}),
    "merges of half letters": (BYTES, {"merges": [["a", "\ud800"]]}),
    "what is unknown is a list": (WORDS, {"unk_token": ["<unk>"]}),
}


@pytest.mark.parametrize("what", MODELS)
def test_models_that_are_not_known(what: str) -> None:
    name, change = MODELS[what]
    tree = tree_of(name)
    tree["model"] |= change
    refused(tree)


@pytest.mark.parametrize("number", [-1, 1_000_000, 1 << 40, 5, 1.0, "7", True, None, [7]], ids=str)
def test_numbers_of_tokens_that_are_none_or_there_twice(number: object) -> None:
    tree = tree_of(BYTES)
    tree["model"]["vocab"]["zz"] = number
    refused(tree)
    tree = tree_of(BYTES)
    tree["added_tokens"].append(ADDED | {"id": number})
    refused(tree)


def test_an_added_token_has_one_number() -> None:
    tree = tree_of(BYTES)
    tree["added_tokens"] += [ADDED, ADDED]
    rewritten(tree)
    tree["added_tokens"].append(ADDED | {"id": 301})
    assert refused(tree) == "its tokens are not numbered each by itself"
    tree = tree_of(BYTES)
    tree["added_tokens"][0]["id"] = 300  # and another one in the model
    assert refused(tree) == "its tokens are not numbered each by itself"


@pytest.mark.parametrize(
    "change",
    [
        {"lstrip": True},
        {"rstrip": True},
        {"lstrip": 1},
        {"content": ""},
        {"content": None},
        {"content": 7},
        {"content": "x" * 1001},
        {"content": "\ud800"},
    ],
    ids=lambda change: str(change)[:40],
)
def test_an_added_token_that_is_none_or_takes_what_is_beside_it(change: Tree) -> None:
    tree = tree_of(BYTES)
    tree["added_tokens"].append(ADDED | change)
    refused(tree)


@pytest.mark.parametrize("piece", ["x" * 1001, "a\udfff"], ids=["long", "half a letter"])
def test_a_token_that_is_no_text_or_longer_than_any(piece: str) -> None:
    tree = tree_of(BYTES)
    tree["model"]["vocab"][piece] = 300
    refused(tree)


@pytest.mark.parametrize("pair", [["a", "zz"], ["zz", "a"], ["a", "b"], ["abcdefghijklmnop", "qrstuvwxyz"]], ids=str)
def test_a_merge_of_tokens_that_are_not_there(pair: list[str]) -> None:
    """Of one that makes a longer piece than any the library panics, which is no error that others catch."""
    tree = tree_of(BYTES)
    tree["model"]["vocab"] |= {piece: 1000 + number for number, piece in enumerate(("abcdefghijklmnop", "qrstuvwxyz"))}
    tree["model"]["merges"].append(pair)
    assert refused(tree) == "one of its merges is of tokens that it has not"


def test_what_the_library_does_not_get_over_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As pyo3 raises it."""

    class Tokenizer:
        @staticmethod
        def from_buffer(file: bytes) -> None:
            raise Panic("range end index 20 out of range")

    monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=Tokenizer))
    with pytest.raises(ValueError, match="range end index 20"):
        published._loaded(b"{}")


def test_more_added_tokens_than_any_has() -> None:
    tree = tree_of(BYTES)
    tree["added_tokens"] += [ADDED | {"id": 300 + one, "content": f"@{one}@"} for one in range(20_000)]
    assert "more than 20,000 added tokens" in refused(tree)
    tree["added_tokens"] = [ADDED | {"id": 300 + one, "content": f"@{one}@" + "x" * 900} for one in range(1_000)]
    assert "longer than any has" in refused(tree)
    tree["added_tokens"] = [7] * 20_001  # counted before any is looked at
    assert "more than 20,000 added tokens" in refused(tree)


def test_one_merge_a_million_times() -> None:
    tree = tree_of(BYTES)
    merge = tree["model"]["merges"][0]
    tree["model"]["merges"] += [merge] * 1000
    assert len(_rewritten(json.dumps(tree).encode())[1]["model"]["merges"]) == len(tree_of(BYTES)["model"]["merges"])
    tree["model"]["merges"] = [merge] * 1_000_001
    assert refused(tree) == "it has more than 1,000,000 merges"


def test_a_file_of_millions_of_lists_is_not_opened() -> None:
    with pytest.raises(ValueError, match="more than 2,000,000 lists"):
        _rewritten(b"[" + b"[]," * 2_000_000 + b"[]]")


def test_a_file_of_millions_of_keys_is_not_opened() -> None:
    """A gigabyte and a half of memory, of 64 MB."""
    file = b"{" + b",".join(b'"%d":7' % key for key in range(2_500_002)) + b"}"
    with pytest.raises(ValueError, match="more than 2,500,000 values"):
        _rewritten(file)
    with pytest.raises(ValueError, match="more than 2,500,000 values"):
        tokens.check_parts(file)


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"{",
        b"null",
        b"7",
        b'"x"',
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe\x00",
        b"\x80\x04.",
        b"NaN",
    ],
    ids=lambda file: repr(file[:8]),
)
def test_a_file_that_is_none(file: bytes) -> None:
    with pytest.raises(ValueError, match="it is no tokenizer that is known: ") as error:
        _rewritten(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        ('"normalizer": null', '"normalizer": {"type": "NFKC"}, "normalizer": null'),
        ('"merges": [', '"merges": [], "merges": ['),
        ('"vocab": {', '"vocab": {"zz": 299, "zz": 300, '),
        ('"id": 0', '"id": 7, "id": 0'),
    ],
)
def test_two_parts_with_one_name_of_which_the_library_may_build_the_other(once: str, twice: str) -> None:
    text = json.dumps(tree_of(BYTES))
    assert once in text
    with pytest.raises(ValueError, match="a key is there twice"):
        _rewritten(text.replace(once, twice, 1).encode())


# ------------------------------------------------------------------------------------ tokens that stand for no text


def special(name: str, content: str, *, merges: bool = False) -> Tree:
    """The tokenizer, with a token more that stands for no text."""
    tree = tree_of(name)
    number = max(tree["model"]["vocab"].values()) + 1
    number = tree["model"]["vocab"].setdefault(content, number)
    tree["added_tokens"].append(ADDED | {"id": number, "content": content, "special": True})
    if merges:
        tree["model"]["merges"].append([content[:1], content[1:]])
    return tree


def test_no_merge_makes_one() -> None:
    found = rewritten(special(BYTES, "<|", merges=True))
    assert ["<", "|"] not in found["model"]["merges"]
    assert found["model"]["merges"] == tree_of(BYTES)["model"]["merges"]
    tree = special(BYTES, "<|", merges=True)
    tree["added_tokens"][-1]["special"] = False
    assert ["<", "|"] in rewritten(tree)["model"]["merges"]


@pytest.mark.parametrize(("name", "content"), [(BYTES, "a"), (WORDS, "<0x41>"), (WORDS, "T")])
def test_none_is_a_letter_or_a_byte(name: str, content: str) -> None:
    assert refused(special(name, content)) == "one of its tokens that stand for no text is one of a text"


def test_none_is_a_word_that_is_taken_as_it_stands() -> None:
    tree = special(BYTES, "zz")
    tree["model"]["ignore_merges"] = True
    assert refused(tree) == "one of its tokens that stand for no text is one of a text"
    tree["added_tokens"] = [ADDED | {"id": 301, "special": True}]  # Llama 3 has them beside its model's
    assert rewritten(tree)["model"]["ignore_merges"] is True


def test_none_is_made_of_what_has_no_token() -> None:
    tree = tree_of(WORDS)
    del tree["model"]["vocab"]["<0xFF>"]
    assert refused(tree) == "it has no tokens of bytes"


# --------------------------------------------------------------------------------------------------------- bytes


@pytest.mark.parametrize(
    ("piece", "found"),
    [("Ġthe", b" the"), ("Ċ", b"\n"), ("Ã", b"\xc3"), ("é", b"\xe9"), ("", b""), ("<0x41>", b"<0x41>"), ("漢", b"")],
)
def test_the_bytes_of_a_piece_of_bytes(piece: str, found: bytes) -> None:
    assert _bytes_of(piece) == found


@pytest.mark.parametrize(
    ("piece", "found"),
    [
        ("▁the▁", b" the "),
        ("<0x0A>", b"\n"),
        ("<0xC3>", b"\xc3"),
        ("<0xZZ>", b"<0xZZ>"),
        ("<0x+1>", b"<0x+1>"),
        ("<0x-1>", b"<0x-1>"),
        ("<0x 1>", b"<0x 1>"),
        ("<0x1_>", b"<0x1_>"),
        ("<0x٤٢>", "<0x٤٢>".encode()),
        ("<0x041>", b"<0x041>"),
        ("é", "é".encode()),
    ],
)
def test_the_bytes_of_a_piece_of_words(piece: str, found: bytes) -> None:
    assert _bytes_of_word(piece) == found


# ---------------------------------------------------------------------------------------------- whatever stands there

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 400) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
TYPES = ("BPE", "ByteLevel", "Digits", "Split", "Sequence", "NFC", "Replace", "Prepend", "Unigram")
KEYS = (*("type", "pattern", "behavior", "invert", "pretokenizers", "content"), "individual_digits", "String", "Regex")
parts = st.dictionaries(st.sampled_from(KEYS), st.sampled_from([*TYPES, *PATTERNS, " ", "▁"]) | anything, max_size=4)
OF_MODEL = ("type", "vocab", "merges", "byte_fallback", "unk_token", "dropout", "ignore_merges", "fuse_unk")


@given(
    name=st.sampled_from([BYTES, WORDS, "qwen2"]),
    change=st.dictionaries(
        st.sampled_from(["normalizer", "pre_tokenizer", "added_tokens"]), parts | anything, max_size=1
    ),
    model=st.dictionaries(st.sampled_from(OF_MODEL), anything, max_size=2),
    added=st.lists(st.fixed_dictionaries({"id": st.integers(0, 330), "content": st.text(max_size=3)}), max_size=2),
)
def test_whatever_a_file_says_it_is_refused_in_a_sentence_or_made_of_known_parts(
    name: str, change: Tree, model: Tree, added: list[Tree]
) -> None:
    tree = tree_of(name)
    tree["added_tokens"] += added
    tree |= change
    tree["model"] |= model
    try:
        words, found = _rewritten(json.dumps(tree).encode())
    except ValueError as error:
        assert "\n" not in str(error) and 0 < len(str(error)) < 300
        return
    assert _rewritten(json.dumps(found).encode()) == (words, found)
    assert all(check(found) for check in (in_known_parts, each_with_its_number))


def in_known_parts(found: Tree) -> bool:
    steps = found["pre_tokenizer"] or {"type": "ByteLevel"}
    types = {one["type"] for one in steps.get("pretokenizers", [steps])}
    changes: list[Tree | None] = [None, {"type": "NFC"}, BLANK]
    return types <= {"ByteLevel", "Digits", "Split"} and found["normalizer"] in changes


def each_with_its_number(found: Tree) -> bool:
    numbers = copy.copy(found["model"]["vocab"]) | {one["content"]: one["id"] for one in found["added_tokens"]}
    return len(set(numbers.values())) == len(numbers) and all(type(one) is int for one in numbers.values())


def test_a_link_in_the_place_of_a_result_s_tokenizer_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"{}")
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "tokenizer.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="it is a link"):
        read_beside(tmp_path / "result" / "tokenizer.json", 100)
    (tmp_path / "result" / "tokenizer.json").unlink()
    (tmp_path / "result" / "tokenizer.json").write_bytes(b"{}")
    assert read_beside(tmp_path / "result" / "tokenizer.json", 100) == b"{}"

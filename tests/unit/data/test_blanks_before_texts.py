"""Tokenizers of Llama 2 and Mistral, which put a blank before a text, and Tekken: known parts alone are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.presets import blank, blanks
from tpu_studio.data.published import Published
from tpu_studio.wire.pretrained.tokenizer import PATTERNS, Before, tidied, within

Tree = dict[str, Any]
BLANK: Tree = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PUT: Tree = {"type": "Prepend", "prepend": "▁"}
SPACE: Tree = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
SPLIT: Tree = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
BEFORE: dict[str, Before] = {"legacy": "each", "first": "first", "never": "", "plain": "", "tekken": ""}
BEFORE |= {"written-false": "first", "written-true": "each"}
SCHEMES = ("first", "always", "never")


def tree_of(name: str) -> Tree:
    found: Tree = json.loads(blank(name)[0])
    return found


def written(tree: Tree) -> Tree:
    found: Tree = json.loads(tidied(json.dumps(tree).encode()).text)
    return found


def sequence(*steps: Tree) -> Tree:
    return {"type": "Sequence", "normalizers": list(steps)}


SMALL = tree_of("legacy")


@pytest.mark.parametrize("name", blanks())
def test_it_is_known_before_what_a_blank_is_put(name: str) -> None:
    assert tidied(blank(name)[0]).before == BEFORE[name]


@pytest.mark.parametrize("name", blanks())
def test_they_are_written_anew_as_they_cut(name: str) -> None:
    tree, found = tree_of(name), written(tree_of(name))
    changes = {"plain": BLANK}.get(name, tree["normalizer"])
    assert (found["normalizer"], found["pre_tokenizer"]) == (changes, tree["pre_tokenizer"])
    assert found["model"]["vocab"] == tree["model"]["vocab"] and found["added_tokens"] == tree["added_tokens"]
    assert found["decoder"] is found["post_processor"] is None
    assert written(found) == found


@pytest.mark.parametrize("name", blanks())
def test_what_goes_on_a_text_is_cut_alike_with_nothing_put_before_it(name: str) -> None:
    text = tidied(blank(name)[0]).text
    whole, inner = json.loads(text), json.loads(within(text))
    assert tidied(within(text).encode()).before == ""
    if not BEFORE[name]:
        assert inner == whole
    assert {**inner, "normalizer": 0, "pre_tokenizer": 0} == {**whole, "normalizer": 0, "pre_tokenizer": 0}
    assert inner["pre_tokenizer"] == (whole["pre_tokenizer"] and whole["pre_tokenizer"] | _never(whole))
    assert inner["normalizer"] == (BLANK if whole["normalizer"] else None)


def _never(tree: Tree) -> Tree:
    return {"prepend_scheme": "never"} if tree["pre_tokenizer"]["type"] == "Metaspace" else {}


def test_a_file_that_says_it_twice_as_it_was_once_is_known() -> None:
    """Tokenizers before 0.20 write `add_prefix_space` beside it."""
    once = tree_of("first") | {"pre_tokenizer": SPACE | {"add_prefix_space": True, "str_rep": "▁"}}
    assert written(once) == written(tree_of("first"))


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": None},
        {"normalizer": sequence()},
        {"normalizer": PUT},
        {"normalizer": sequence(PUT)},
        {"normalizer": sequence(BLANK, PUT)},
        {"normalizer": sequence(PUT, PUT, BLANK)},
        {"normalizer": sequence(PUT, BLANK, BLANK)},
        {"normalizer": sequence(*[PUT] * 1000, BLANK)},
        {"normalizer": sequence(PUT | {"prepend": "▁" * 1000}, BLANK)},
        {"normalizer": sequence(PUT | {"prepend": None}, BLANK)},
        {"normalizer": sequence(PUT, BLANK | {"content": "▁▁"})},
        {"normalizer": sequence(PUT, BLANK | {"pattern": {"Regex": "(a|aa)+$"}})},
        {"normalizer": sequence({"type": "Precompiled", "precompiled_charsmap": "AAAA"}, BLANK)},
        {"normalizer": {"type": "Sequence", "normalizers": 7}},
        {"normalizer": {"type": "Sequence", "normalizers": [7, 7]}},
        {"normalizer": sequence(PUT, BLANK), "pre_tokenizer": SPLIT},
        {"normalizer": sequence(PUT, BLANK), "pre_tokenizer": SPACE},
        {"normalizer": BLANK, "pre_tokenizer": SPACE},
        *(
            {"normalizer": None, "pre_tokenizer": SPACE | one}
            for one in (
                {"replacement": "▁▁"},
                {"replacement": "a"},
                {"replacement": None},
                {"split": True},
                {"split": None},
                {"prepend_scheme": "last"},
                {"prepend_scheme": None},
                {"prepend_scheme": ["first"]},
                {"add_prefix_space": False},
                {"prepend_scheme": "never", "add_prefix_space": True},
            )
        ),
        {"normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPACE]}},
    ],
    ids=lambda change: str(change)[:70],
)
def test_other_ways_are_refused_in_a_sentence(change: Tree) -> None:
    with pytest.raises(ValueError, match=r"^it ") as refused:
        tidied(json.dumps(tree_of("legacy") | change).encode())
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 200


odd = st.sampled_from(
    ["▁", "▁▁", " ", "", "a", None, True, False, 7, ["▁"], {"String": " "}, {"Regex": " "}, "first", "never"]
)
changed = st.builds(
    lambda part, change: part | change,
    st.sampled_from([BLANK, PUT, SPACE, SPLIT]),
    st.dictionaries(
        st.sampled_from(["prepend", "content", "pattern", "replacement", "split", "prepend_scheme"]), odd, max_size=1
    ),
)
listed = st.builds(
    lambda name, parts: {"type": "Sequence", name: parts},
    st.sampled_from(["normalizers", "pretokenizers"]),
    st.lists(changed, max_size=3),
)
KNOWN: list[Tree | None] = [
    None,
    BLANK,
    sequence(PUT, BLANK),
    SPLIT,
    *(SPACE | {"prepend_scheme": one} for one in SCHEMES),
]


@settings(max_examples=300)
@given(normaliser=st.none() | changed | listed, split=st.none() | changed | listed)
def test_whatever_a_file_says_it_is_refused_or_made_of_known_parts(normaliser: Tree | None, split: Tree | None) -> None:
    tree = SMALL | {"normalizer": normaliser, "pre_tokenizer": split}
    try:
        found = written(tree)
    except ValueError as error:
        assert "\n" not in str(error) and 0 < len(str(error)) < 300
        return
    assert found["normalizer"] in KNOWN and found["pre_tokenizer"] in KNOWN and written(found) == found


# ------------------------------------------------------------------------------------------------------- Tekken


def test_tekken_s_marks_are_words_of_its_model_that_no_text_is_cut_to() -> None:
    found = tidied(blank("tekken")[0])
    tree = json.loads(found.text)
    assert tree["model"]["ignore_merges"] is True and found.standing["[INST]"] == 3
    assert tree["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] == PATTERNS[2]


@pytest.mark.parametrize("mark", ["zz", " zz", "/zz", "ab12", "漢>", "<<<"])
def test_one_that_a_text_may_be_cut_to_is_refused(mark: str) -> None:
    tree = tree_of("tekken")
    tree["added_tokens"][5]["content"] = mark
    tree["model"]["vocab"] = {
        mark if number == 5 else piece: number for piece, number in tree["model"]["vocab"].items()
    }
    with pytest.raises(ValueError, match="stand for no text is one of a text"):
        tidied(json.dumps(tree).encode())
    tree["model"]["ignore_merges"] = False
    tidied(json.dumps(tree).encode())


def test_without_a_way_of_cutting_a_whole_text_may_be_a_mark() -> None:
    tree = tree_of("tekken")
    tree["pre_tokenizer"] = tree["pre_tokenizer"]["pretokenizers"][1]
    with pytest.raises(ValueError, match="stand for no text is one of a text"):
        tidied(json.dumps(tree).encode())
    tree["pre_tokenizer"]["use_regex"] = True
    tidied(json.dumps(tree).encode())


# ------------------------------------------------------------------------------------------ where a text stands


@pytest.mark.parametrize(("before", "behind"), [("", ()), ("first", ("nothing",)), ("each", ("nothing", "token"))])
def test_a_blank_is_put_by_what_a_text_stands_behind(before: Before, behind: tuple[str, ...]) -> None:
    class Known(Published):
        def __init__(self) -> None:
            self._before = before

    assert tuple(one for one in ("nothing", "token", "text") if Known().blank_put(one)) == behind  # type: ignore[arg-type]

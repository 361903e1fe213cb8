"""Tags, notes and stars: what is taken, what is refused, and what a damaged file counts for."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.domain.mark import (
    NAME_LETTERS,
    NOTE_LETTERS,
    TAG_LETTERS,
    TAGS,
    Mark,
    noted,
    of_record,
    tagged,
    to_record,
)
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import BadInput


def test_tags_are_given_and_taken_once_each_whatever_their_capitals() -> None:
    mark = tagged(Mark(), ["baseline", "Warm-Up", "baseline"])
    assert mark.tags == ("baseline", "Warm-Up")
    assert tagged(mark, ["warm-up"]).tags == mark.tags
    assert tagged(mark, ["new"], ["WARM-UP", "never was"]).tags == ("baseline", "new")
    assert tagged(Mark(), ["a, b,c"]).tags == ("a", "b", "c")


def test_a_tag_is_one_line_and_nothing_in_it_is_unseen_or_obeyed() -> None:
    assert tagged(Mark(), ["  two\n\twords\x1b[31m\u202e "]).tags == ("two words",)


def test_a_note_keeps_its_lines_and_loses_what_a_terminal_obeys() -> None:
    mark = noted(Mark(star=True), "  one\r\ntwo\x1b[2J\x07\u202e\rthree \n")
    assert mark.note == "one\ntwo\nthree" and mark.first_line == "one" and mark.star
    assert noted(mark, " \n ").note == ""


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda: tagged(Mark(), ["half \ud800 a letter"]), "not in UTF-8"),
        (lambda: tagged(Mark(), ["x" * 10_000]), "40 letters"),
        (lambda: tagged(Mark(), [str(n) for n in range(1000)]), "20 tags"),
        (lambda: tagged(Mark(), [", ".join(map(str, range(1000)))]), "20 tags"),
        (lambda: tagged(Mark(), ["\x00\u200b \n"]), "A tag needs a letter"),
        (lambda: noted(Mark(), "x" * 10_000), "2,000 letters"),
    ],
)
def test_what_is_too_much_is_refused_with_a_sentence(refused: Any, words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        refused()
    sentence = say(refusal.value)
    assert words in sentence.title and "nothing was charged" in sentence.meaning and sentence.action


def test_what_was_written_is_read_again_and_only_what_is_there_is_written() -> None:
    mark = Mark("a name", ("x", "y"), "a note\nof two lines", star=True)
    assert of_record(to_record(mark)) == mark
    assert to_record(Mark(star=True)) == {"star": True}


@pytest.mark.parametrize(
    "odd",
    [None, 5, [], {"name": 5, "tags": "x", "note": ["x"], "star": "yes"}, {"tags": [5, None, "", {}]}],
)
def test_what_is_odd_in_a_file_counts_as_nothing(odd: object) -> None:
    assert of_record(odd) == Mark()


def test_a_file_of_endless_marks_is_read_as_far_as_anybody_could_write_them() -> None:
    mark = of_record({"name": "n" * 10**6, "tags": ["t" * 10**6, *map(str, range(10**5))], "note": "x" * 10**6})
    assert len(mark.name) == NAME_LETTERS and len(mark.note) == NOTE_LETTERS
    assert len(mark.tags) == TAGS and len(mark.tags[0]) == TAG_LETTERS

"""How causes are found and ordered: by signs, patterns, what leads to what; the same in a text of any size."""

from __future__ import annotations

from typing import Any

from tpu_studio.domain.explaining import Rule, explain
from tpu_studio.domain.explaining.rules import read_rules


def rule(id: str, **changes: Any) -> Rule:
    raw = {
        "id": id,
        "title": id.capitalize(),
        "signs": [f"sign of {id}"],
        "source": "a/b#1",
        "test": f"sign of {id}",
        "sure": 0.9,
        "means": f"It is {id}.",
        "do": ["Mend it."],
        "money": "made",
    }
    return read_rules({"format": 1, "cause": [raw | changes]})[0]


def ids(text: str, *known: Rule) -> list[str]:
    return [cause.id for cause in explain(text, known).causes]


def test_the_surest_comes_first_and_what_it_leads_to_after_it_and_less_sure() -> None:
    memory = rule("memory", sure=0.8, explains=["socket"])
    socket, other = rule("socket", sure=0.9), rule("other", sure=0.6)
    text = "Sign of socket\nsign of other\nSIGN OF MEMORY\n"
    found = explain(text, [socket, other, memory]).causes
    assert [(cause.id, cause.sure) for cause in found] == [("memory", 0.8), ("other", 0.6), ("socket", 0.45)]
    assert ids("sign of socket", socket, memory) == ["socket"]


def test_figures_of_the_line_stand_in_the_words_and_their_sentence_is_left_out_without_them() -> None:
    memory = rule(
        "memory",
        reads=r"used (?P<used>\S{1,99}) of (?P<of>\d{1,9}\w)",
        figures="It needs {used} of {of}.",
    )
    assert explain("sign of memory, used 21.95G of 15G hbm", [memory]).causes[0].means == (
        "It needs 21.95G of 15G. It is memory. Nothing was made, so nothing is charged."
    )
    assert explain("sign of memory", [memory]).causes[0].means.startswith("It is memory.")


def test_a_pattern_reaches_into_the_next_two_lines_and_no_further() -> None:
    one = rule("one", pattern="sign of one.{0,99}and then")
    assert ids("sign of one\nx\nand then", one) == ["one"]
    assert ids("sign of one\nx\ny\nand then", one) == []


def test_besides_and_unless_look_at_the_whole_text() -> None:
    one = rule("one", besides=["a tpu"], unless=["on purpose"])
    assert ids("a TPU\nsign of one", one) == ["one"]
    assert ids("sign of one", one) == []
    assert ids("a TPU\nsign of one\nOn Purpose", one) == []


def test_a_sign_that_stands_a_million_times_is_told_once_with_few_lines() -> None:
    one = rule("one")
    text = "".join(f"{n % 5} sign of one\n" for n in range(300_000))
    (cause,) = explain(text, [one]).causes
    assert cause.lines == ("0 sign of one", "1 sign of one", "2 sign of one")


def test_letters_that_grow_when_they_are_small_shift_nothing() -> None:
    one = rule("one", reads=r"sign of one (?P<x>\d{1,9})", figures="{x}.")
    (cause,) = explain("İİİİİİİİİ\nİ sign of one 42", [one]).causes
    assert (cause.lines, cause.means[:14]) == (("İ sign of one 42",), "42. It is one.")


def test_the_capital_i_of_a_turkish_computer_is_an_i_and_the_only_letter_that_grows() -> None:
    (cause,) = explain("SİGN OF ONE", [rule("one")]).causes
    assert cause.lines == ("SİGN OF ONE",)
    assert [chr(one) for one in range(0x110000) if len(chr(one).lower()) != 1] == ["İ"]


def test_no_key_of_a_log_is_told() -> None:
    one = rule("one", reads=r"sign of one (?P<x>\S{1,99})", figures="With {x}.")
    (cause,) = explain("sign of one hf_abcdefghijklmnopqrstuvwx", [one]).causes
    assert "hf_abc" not in f"{cause.lines} {cause.means}"


def test_a_log_made_to_be_searched_for_ever_is_not() -> None:
    """A word said over and over on a line took the pattern for networks minutes, with the window standing still."""
    words = ("network", "coordinator", "coordinationservice", "storage.", "deadline ", "Cloud API ", "no ")
    lines = [f"{word * (3000 // len(word))} {number}" for word in words for number in range(60)]
    assert explain("\n".join(lines)).to_json().keys() == {"causes", "harmless"}


def test_a_word_that_a_log_says_often_hides_no_error_at_its_end() -> None:
    one = rule("one", signs=["tpu "], pattern="tpu .{0,40}not found")
    text = "".join(f"step {n}: tpu busy {n % 7}\n" for n in range(900)) + "the tpu of that name was not found\n"
    assert ids(text, one) == ["one"]

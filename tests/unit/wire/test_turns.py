"""The conversation that goes with a question: what is sent of it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.wire import turns
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.pretrained.template import Turn


def test_what_is_sent_is_read_again_in_the_same_order() -> None:
    sent = turns.sent([("Who?", "Nobody."), ("Why?", " So. ")])
    asked = (Turn("user", "Who?"), Turn("assistant", "Nobody."), Turn("user", "Why?"), Turn("assistant", "So."))
    assert turns.read(sent) == asked
    assert turns.read(None) == turns.read([]) == ()


def test_of_a_long_conversation_the_last_questions_are_sent_within_both_bounds() -> None:
    many = [(f"question {n}", "answer") for n in range(turns.MOST_PAIRS + 5)]
    sent = turns.sent(many)
    assert len(turns.read(sent)) == 2 * turns.MOST_PAIRS and sent[0]["text"] == "question 5"
    large = turns.sent([("a", "b" * turns.MOST_LETTERS), ("c", "d" * (turns.MOST_LETTERS - 1)), ("", "")][:2])
    assert [one["text"][0] for one in large] == ["c", "d"] and turns.read(large)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("hello", "no list"),
        ({"role": "user", "text": "x"}, "no list"),
        ([{"role": "user", "text": "x"}], "an answer each"),
        ([{"role": "user", "text": "x"}] * 2, "take turns"),
        ([{"role": "system", "text": "x"}, {"role": "assistant", "text": "x"}], "take turns"),
        ([{"role": "user", "text": "x", "more": 1}, {"role": "assistant", "text": "x"}], "take turns"),
        (["x", "y"], "take turns"),
        ([{"role": "user", "text": "x"}, {"role": "assistant", "text": " \n"}], "says nothing"),
        ([{"role": "user", "text": 5}, {"role": "assistant", "text": "x"}], "says nothing"),
        ([{"role": "user", "text": "x"}, {"role": "assistant", "text": "x"}] * 101, "up to 100"),
        ([{"role": "user", "text": "x"}, {"role": "assistant", "text": "x" * 200_000}], "200,000 letters"),
    ],
)
def test_turns_that_are_none_are_refused_with_the_reason(value: Any, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        turns.read(value)
    assert refused.value.id == "predict-bad-question" and why in str(refused.value.facts["raw"])

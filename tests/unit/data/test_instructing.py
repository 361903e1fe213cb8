"""Chats in tokens: which turns are left out of one that is too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.data.instructing import Writer, _Cut
from tpu_studio.wire.pretrained.template import Turn


class Counting(Writer):
    """A token a letter; of answers they are learned. *asked*: how many turns were written down."""

    asked = 0

    def __init__(self) -> None: ...

    def tokens(self, turns: Sequence[Turn]) -> tuple[list[int], list[bool]]:
        self.asked += len(turns)
        found = [(ord(letter), turn.role == "assistant") for turn in turns for letter in turn.text]
        return [one for one, _ in found], [learned for _, learned in found]


def chat(letters: Sequence[int], system: int) -> list[Turn]:
    roles: Any = ["user", "assistant"] * len(letters)
    begin = [Turn("system", "s" * system)] if system else []
    return [*begin, *(Turn(role, "x" * count) for role, count in zip(roles, letters, strict=False))]


def one_by_one(writer: Writer, turns: Sequence[Turn], length: int) -> tuple[list[int], list[bool]]:
    begins = 1 if turns[0].role == "system" else 0
    tokens, learned = writer.tokens(turns)
    while len(tokens) > length + 1 and len(turns) - begins > 2:
        turns = [*turns[:begins], *turns[begins + 2 :]]
        tokens, learned = writer.tokens(turns)
    tokens, learned = tokens[: length + 1], learned[: length + 1]
    return (tokens, learned) if any(learned[1:]) else ([], [])


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=20).map(lambda many: many[: len(many) // 2 * 2]),
    st.integers(0, 5),
    st.integers(1, 60),
)
def test_as_few_of_the_first_turns_are_left_out_as_must_be(letters: list[int], system: int, length: int) -> None:
    turns = chat(letters, system)
    assert Counting().fitting(turns, length, _Cut()) == one_by_one(Counting(), turns, length)


def test_of_a_chat_of_very_many_turns_they_are_not_written_down_again_and_again() -> None:
    """One line of 4 MB took hours."""
    writer = Counting()
    writer.fitting(chat([1] * 100_000, 0), 64, _Cut())
    assert writer.asked < 400_000

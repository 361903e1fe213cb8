"""Chats in tokens: which turns are left out of one that is too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.data import continuing
from tpu_studio.data.instructing import Cuts, Writer, _Cut, question, without_blanks
from tpu_studio.data.published import Behind, Published
from tpu_studio.wire.errors import DataError, RunError
from tpu_studio.wire.pretrained.template import Turn, has_blank


class Counting(Writer):
    """A token a letter; of answers they are learned. *asked*: how many turns were written down."""

    asked = 0

    def __init__(self) -> None: ...

    def tokens(self, turns: Sequence[Turn], known: Cuts | None = None) -> tuple[list[int], list[bool]]:
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


@given(st.lists(st.integers(1, 9), max_size=20).map(lambda many: many[: len(many) // 2 * 2]), st.integers(1, 60))
def test_a_question_keeps_as_much_of_what_was_said_before_as_has_room(letters: list[int], most: int) -> None:
    turns = [*chat(letters, 0), Turn("user", "q" * 5)]
    tokens, _, left_out = Counting().later(turns, most)
    kept = turns[2 * left_out :]
    assert tokens == Counting().tokens(kept)[0] and kept[-1] == turns[-1]
    assert len(tokens) <= most or len(kept) == 1
    assert not left_out or len(Counting().tokens(turns[2 * left_out - 2 :])[0]) > most


class Bytes(Published):
    """A token a byte, and ChatML's marks: the library is the engine's."""

    def __init__(self) -> None:
        self.standing = {"<|im_start|>": 256, "<|im_end|>": 257, "<|endoftext|>": 258}

    def of_text(self, text: str, behind: Behind = "nothing") -> list[int]:
        return list(text.encode())

    blanks: tuple[Behind, ...] = ()

    def blank_put(self, behind: Behind) -> bool:
        return behind in self.blanks


@pytest.fixture
def description(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Of a result that learned chats in ChatML, 160 tokens at once."""
    monkeypatch.setattr(continuing, "of_result", lambda description: Bytes())
    return {"chat_template": "chatml", "sequence_length": 160}


def written(turns: Sequence[Turn]) -> list[int]:
    return Writer(Bytes(), "chatml").tokens(turns)[0]


def test_no_letter_of_a_long_chat_is_cut_into_tokens_twice() -> None:
    """A line of 4 MB was cut sixteen times, once at each step of a search: nineteen seconds."""

    class Counted(Bytes):
        letters = 0

        def of_text(self, text: str, behind: Behind = "nothing") -> list[int]:
            self.letters += len(text)
            return super().of_text(text, behind)

    cutter = Counted()
    turns = [*(Turn(role, f"{n}") for n in range(2000) for role in ("user", "assistant")), Turn("user", "q" * 100_000)]
    assert Writer(cutter, "chatml").later(turns, 200)[2] == 2000
    assert cutter.letters < 200_000


def test_a_question_is_written_down_behind_the_conversation_so_far(description: dict[str, object]) -> None:
    said = (Turn("user", "Who?"), Turn("assistant", "No."))
    asked = question(description, " Why? ", said)
    assert asked.tokens == written([*said, Turn("user", "Why?")]) and asked.left_out == 0
    assert question(description, "Why?").tokens == written([Turn("user", "Why?")])


def test_the_earliest_questions_make_room_for_the_answer_and_it_is_told_how_many(
    description: dict[str, object],
) -> None:
    said = [Turn("user", "Who?"), Turn("assistant", "No.")] * 10
    asked = question(description, "Why?", said)
    assert 0 < asked.left_out < 10 and len(asked.tokens) <= 120
    assert asked.tokens == written([*said[2 * asked.left_out :], Turn("user", "Why?")])
    assert len(written([*said[2 * asked.left_out - 2 :], Turn("user", "Why?")])) > 120


def test_a_question_that_is_long_itself_is_asked_alone_or_refused_by_its_own_length(
    description: dict[str, object],
) -> None:
    said = [Turn("user", "Who?"), Turn("assistant", "No.")]
    found = question(description, "z" * 120, said)
    assert found.left_out == 1 and 120 < len(found.tokens) < 160
    with pytest.raises(DataError) as refused:
        question(description, "z" * 160, said)
    assert refused.value.id == "data-prompt-too-long" and refused.value.facts["most"] == 159


def test_a_card_that_names_a_tokenizer_without_a_template_is_refused_in_a_sentence() -> None:
    """A run of somebody else's may say anything of itself."""
    with pytest.raises(RunError, match="result-unreadable"):
        question({"tokenizer": "bytes", "chat_template": "chatml", "sequence_length": 160}, "Why?")


class Blanks(Bytes):
    """Which puts a blank before each text but one that goes on a text, as Llama 2's."""

    blanks = ("nothing", "token")
    vocabulary = 259

    def of_text(self, text: str, behind: Behind = "nothing") -> list[int]:
        return list(f"{' ' * self.blank_put(behind)}{text}".encode())

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""


def said(id: str) -> tuple[list[int], list[bool]]:
    return Writer(Blanks(), id).tokens([Turn("user", "A?"), Turn("assistant", "B."), Turn("user", "C?")])


def test_a_text_behind_a_mark_has_a_blank_put_before_it_and_one_behind_text_has_none() -> None:
    tokens, learned = said("plain")
    assert bytes(one for one in tokens if one < 256).startswith(b" ### Instruction:\nA?\n\n### Response:\nB. \n\n###")
    assert bytes(token for token, mine in zip(tokens, learned, strict=True) if mine and token < 256) == b"B."


class Marked(Blanks):
    """With Mistral's marks."""

    def __init__(self) -> None:
        self.standing = {"<s>": 256, "[INST]": 257, "[/INST]": 258, "</s>": 259}
        self.vocabulary = 260


@pytest.mark.parametrize("id", ["plain", "mistral", "mistral-nemo"])
def test_bytes_of_answers_are_those_that_are_said(id: str) -> None:
    writer = Writer(Marked(), id)
    found = writer.tokens([Turn("user", "A?"), Turn("assistant", "Bé."), Turn("user", "C?"), Turn("assistant", "D")])
    tokens, learned = np.array(found[0], np.int32), np.array(found[1], np.bool_)
    own = 2 * has_blank(id)  # its template has a blank before each answer
    assert writer.said_bytes(tokens, learned) == len("Bé.D".encode()) + own


@pytest.mark.parametrize(
    ("cutter", "id", "blanks"),
    [
        (Bytes(), "chatml", 0),
        (Blanks(), "chatml", 0),  # its answers stand behind "assistant\n"
        (Marked(), "mistral", 2),
        (Marked(), "mistral-nemo", 1),
        (Marked(), "plain", 0),
    ],
)
def test_blanks_that_an_answer_does_not_say_are_counted(
    cutter: Published, id: str, blanks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuing, "of_result", lambda description: cutter)
    assert question({"chat_template": id, "sequence_length": 160}, "Why?").blanks == blanks


@pytest.mark.parametrize(
    ("pieces", "count", "told"),
    [
        ([" a", " b"], 1, ["a", " b"]),
        ([" ", " b", " c"], 1, [" b", " c"]),
        ([" ", " b", " c"], 2, ["b", " c"]),
        (["   a"], 2, [" a"]),
        (["a", " b"], 1, ["a", " b"]),
        ([" a", " b"], 0, [" a", " b"]),
        ([" "], 2, []),
        (["\n", " a"], 1, ["\n", " a"]),
    ],
)
def test_no_more_blanks_than_those_are_left_out(pieces: list[str], count: int, told: list[str]) -> None:
    assert list(without_blanks(iter(pieces), count)) == told

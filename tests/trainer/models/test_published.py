"""Published tokenizers cut texts as Transformers' own do, and give them back; no text is what stands for none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.presets import blanks, decoders
from tests.trainer.in_engine import run_in_engine
from tools.make_decoder_samples import TEXT

pytestmark = pytest.mark.engine
PROGRAM = Path(__file__).with_name("program_published.py")


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_in_engine(PROGRAM, "cut", str(tmp_path_factory.mktemp("cut")))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_in_engine(PROGRAM, "odd", str(tmp_path_factory.mktemp("odd")))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_in_engine(PROGRAM, "blanks", str(tmp_path_factory.mktemp("blanks")))


@pytest.mark.parametrize("name", blanks())
def test_tokens_of_llama_2_s_and_mistral_s_are_those_of_transformers(before: Any, name: str) -> None:
    assert len(before[name]["texts"]) > 250
    for text, tokens, theirs, *_ in before[name]["texts"]:
        assert tokens == theirs, text


@pytest.mark.parametrize("name", blanks())
def test_the_blank_that_they_put_before_a_text_is_not_said(before: Any, name: str) -> None:
    for text, _, _, shown, theirs in before[name]["texts"]:
        assert shown == theirs, text
    assert before[name]["long"] and before[name]["again"]


@pytest.mark.parametrize("name", blanks())
def test_behind_a_mark_and_behind_text_it_stands_where_transformers_puts_it(before: Any, name: str) -> None:
    assert len(before[name]["chats"]) >= 12
    for id, turns, tokens, theirs in before[name]["chats"]:
        assert tokens == theirs, (id, turns)


@pytest.mark.parametrize("name", blanks())
def test_what_somebody_writes_is_none_of_their_marks(before: Any, name: str) -> None:
    assert before[name]["special"] == []


def test_tokens_are_those_of_transformers(cut: Any) -> None:
    assert list(cut) == decoders()
    for name, one in cut.items():
        assert one["ids"] == one["recorded"], name


def test_pieces_give_the_text_back(cut: Any) -> None:
    for name, one in cut.items():
        assert one["text"] == TEXT and one["long"], name


def test_what_stands_for_no_text_is_never_made_of_one(cut: Any) -> None:
    for name, one in cut.items():
        assert one["typed"] == "<|endoftext|> and <|im_end|>, <eos><bos><pad><unk>", name
        assert one["special"] == one["never"] == [] and one["of_never"] == "", name


def test_half_letters_and_lone_surrogates_are_marks(cut: Any) -> None:
    assert [name for name, one in cut.items() if one["odd"]] == []


def test_the_file_beside_a_result_is_the_same_tokenizer(cut: Any) -> None:
    assert all(one["again"] for one in cut.values())
    assert {name: one["vocabulary"] for name, one in cut.items()} == {
        name: 316 if name == "gemma3" else 300 for name in cut
    }


def test_an_added_token_of_text_is_found_and_one_of_none_is_not(odd: Any) -> None:
    (tokens, text, vocabulary, never), (letters, same, *_) = odd["follows"], odd["special"]
    assert (tokens[1], text, vocabulary, never) == (300, "a@@b", 301, [0, 1, 2])
    assert len(letters) == 4 and 300 not in letters and same == "a@@b"


def test_an_added_token_has_the_number_that_the_library_gives_it(odd: Any) -> None:
    assert odd["far"] == "one of its added tokens has a number that does not follow those before"


def test_blanks_of_gemma_are_blanks_again(odd: Any) -> None:
    tokens, text, *_ = odd["blanks"]
    assert text == "a  b" and len(tokens) == 3


def test_letters_do_not_make_a_token_for_no_text(odd: Any) -> None:
    tokens, text, _, never = odd["made"]
    assert 300 in never and 300 not in tokens and text == "a<|b"


def test_a_number_that_no_token_has_stands_for_nothing(odd: Any) -> None:
    _, text, vocabulary, never = odd["gap"]
    assert (text, vocabulary, never) == ("zz", 306, [0, 1, 2, 300, 301, 302, 303, 304])


def test_merges_of_what_is_no_token_are_refused_in_a_sentence(odd: Any) -> None:
    assert odd["lost"] == "one of its merges is of tokens that it has not"

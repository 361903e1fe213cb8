"""The glossary: every term that a text marks, every setting and every metric has an entry, and no entry is unused."""

from __future__ import annotations

import pytest

from tpu_studio.domain.learning import glossary
from tpu_studio.domain.learning.chapters import chapters
from tpu_studio.domain.learning.glossary import Piece, Term
from tpu_studio.wire.metrics import all_metrics
from tpu_studio.wire.schema import BY_PATH, KEYS

TERMS = list(glossary.glossary().values())
TAUGHT = [step.text for chapter in chapters() for step in chapter.steps]
MARKED = {mark for text in (*TAUGHT, *(term.text for term in TERMS)) for mark in glossary.marks(text)}


def test_every_marked_term_has_an_entry() -> None:
    assert MARKED - set(glossary.glossary()) == set()
    assert not [text for text in TAUGHT if "[[" in glossary.plain(text)]  # a mark that is misspelled stays as it is


def test_no_entry_is_unused() -> None:
    assert [term.id for term in TERMS if not (term.keys or term.metrics or term.id in MARKED)] == []


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_setting_leads_to_its_term(key) -> None:
    assert glossary.of_key(key.path) is not None


@pytest.mark.parametrize("metric", all_metrics(), ids=lambda metric: metric.id)
def test_every_metric_leads_to_its_term(metric) -> None:
    assert glossary.of_metric(metric.id) is not None


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.id)
def test_an_entry_is_told_in_two_sentences_at_least(term: Term) -> None:
    assert term.hint.endswith(".") and term.text.endswith(".")
    assert "[[" not in term.hint
    assert set(term.keys) <= set(BY_PATH)
    assert set(term.metrics) <= {metric.id for metric in all_metrics()}
    assert glossary.marks(term.text).count(term.id) == 0  # it does not explain itself by itself


def test_no_two_entries_claim_one_setting_or_metric() -> None:
    claimed = [one for term in TERMS for one in (*term.keys, *term.metrics)]
    assert len(claimed) == len(set(claimed))


def test_a_text_is_taken_apart_at_its_marks() -> None:
    assert glossary.pieces("The [[loss]] of a [[batch-size|batch]], on [[hbm]].") == (
        Piece("The "),
        Piece("loss", "loss"),
        Piece(" of a "),
        Piece("batch", "batch-size"),
        Piece(", on "),
        Piece("HBM", "hbm"),
        Piece("."),
    )
    assert glossary.plain("no mark") == "no mark"


def test_a_term_is_searched_by_its_other_words_too() -> None:
    assert glossary.search("out of memory")[0].id == "hbm"
    assert glossary.search("BATCH")[0].id == "batch-size"
    assert glossary.search("step")[0].id == "step"  # of that very title, before others with it
    assert glossary.search("no such thing at all") == ()


@pytest.mark.parametrize(
    ("change", "wrong"),
    [({"hint": None}, "too few"), ({"more": "x"}, "too many"), ({"id": "loss"}, "twice")],
)
def test_a_damaged_entry_is_named(change: dict[str, object], wrong: str) -> None:
    entry = {"id": "x", "title": "X", "hint": "It.", "text": "It is."} | change
    entry = {key: value for key, value in entry.items() if value is not None}
    first = {"id": "loss", "title": "Loss", "hint": "It.", "text": "It is."}
    with pytest.raises(ValueError, match=wrong):
        glossary.read_terms({"format": 1, "term": [first, entry]})

"""One word per kind of loan, Google's, in every sentence that the program or its papers have for people."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tpu_studio
from tpu_studio.domain.catalogue import TIERS, catalogue
from tpu_studio.viewmodels import planwhere
from tpu_studio.wire import loans
from tpu_studio.wire.schema import KEYS

ROOT = Path(tpu_studio.__file__).parent
OTHER_WORDS = re.compile(
    r"\bon demand\b|\bflex(ible)? start|\bspot tier\b|\bspare capacity \(|, standard\b|\(standard\)",
    re.IGNORECASE,
)
TABLE = ROOT / "wire" / "loans.py"


def sentences(file: Path) -> list[str]:
    """Texts of a module that are not its docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [str(node.value) for node in texts if id(node) not in told]


def test_no_sentence_of_the_program_has_another_word_for_a_kind_of_loan():
    files = [one for one in ROOT.rglob("*.py") if one != TABLE]
    assert len(files) > 400
    found = [f"{one.relative_to(ROOT)}: {text}" for one in files for text in sentences(one) if OTHER_WORDS.search(text)]
    assert found == []


def test_no_page_of_the_manual_has_another_word_for_one():
    top = ROOT.parent
    pages = [top / "README.md", *(top / "docs").glob("*.md"), *(top / "resources" / "examples").glob("*.tpujob")]
    assert len(pages) > 12
    assert [one.name for one in pages if OTHER_WORDS.search(one.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "words", ["Rented on demand", "A flexible start", "Use spare capacity (spot)", "v5e (standard)"]
)
def test_the_look_for_other_words_sees_them(words: str):
    assert OTHER_WORDS.search(words)


def test_job_file_catalogue_window_and_table_have_the_same_kinds():
    words = tuple(loan.word for loan in loans.LOANS)
    (tier,) = (key for key in KEYS if key.path == "where.tier")
    assert tuple(tier.choices) == TIERS == words == tuple(key for key, _ in planwhere.TIERS)
    known = {str(one["id"]) for one in catalogue().file("generations")["tiers"]}
    assert set(words) <= known


def test_the_usual_kind_is_not_said_beside_a_tpu_and_a_newer_one_is_spelled_as_it_is():
    assert loans.beside("v5e · 1 chip", "on-demand") == "v5e · 1 chip" == loans.beside("v5e · 1 chip", None)
    assert loans.beside("the free TPU of Colab", "free") == "the free TPU of Colab"
    assert loans.beside("v5e · 1 chip", "spot") == "v5e · 1 chip, spot"
    assert (loans.title("flex-start"), loans.title("reserved"), loans.hint("reserved")) == (
        "Flex-start",
        "Reserved",
        "",
    )


def test_no_loan_is_promised_to_stay_where_maintenance_may_interrupt_it():
    for word in ("on-demand", "flex-start"):
        assert "maintenance may interrupt it" in loans.hint(word) and "yours" not in loans.hint(word).lower()
    assert "may take it back" in loans.hint("spot")


def test_the_choice_of_compute_engine_says_what_google_says_of_the_other_service():
    """docs.cloud.google.com/tpu/docs/runtimes: "no longer under active development"."""
    said = planwhere.LENDER_WORDS["compute-engine"]
    assert "Google recommends it" in said and "bug and security fixes only" in said

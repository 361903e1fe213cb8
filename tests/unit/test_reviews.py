"""Each test that docs/reviews names as the one that holds something is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "reviews").glob("*.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
BY_COMMIT = ("real-google", "real-tpu", "security")
"""Pages of which each row is held by a test since a commit."""


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_test_that_a_review_names_is_there(page: Path) -> None:
    named = NAMED.findall(page.read_text("utf-8"))
    assert len(named) > 5
    missing = [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text("utf-8")]
    assert missing == []


@pytest.mark.parametrize("name", BY_COMMIT)
def test_every_row_names_its_test_and_the_commit_since_which_it_holds(name: str) -> None:
    rows = [line for line in (ROOT / "docs" / "reviews" / f"{name}.md").read_text("utf-8").splitlines() if "| " in line]
    titles = [row for row in rows if row.endswith("| commit |")]
    told = [row for row in rows if row not in titles and not row.startswith("| ---")]
    bare = [row for row in told if not (NAMED.search(row) and re.search(r"\| [0-9a-f]{8}(, [0-9a-f]{8})* \|$", row))]
    assert titles and bare == []


def test_no_finding_of_the_two_reviews_is_left_out() -> None:
    google, security = (
        set(re.findall(r"^\| (\w+) \|", (ROOT / "docs" / "reviews" / f"{name}.md").read_text("utf-8"), re.MULTILINE))
        for name in ("real-google", "security")
    )
    wanted = [f"A{n}" for n in range(1, 5)] + [f"B{n}" for n in range(1, 14)] + [f"C{n}" for n in range(1, 6)]
    assert {*wanted, "D1", "D2", "D6", "D13", "D16", "D22"} <= google
    assert {re.sub(r"[a-z]", "", one) for one in security if one[0].isdigit()} == {str(n) for n in range(1, 17)}

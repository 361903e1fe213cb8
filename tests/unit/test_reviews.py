"""Each test that docs/reviews names as the one that holds something is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "reviews").glob("*.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_test_that_a_review_names_is_there(page: Path) -> None:
    named = NAMED.findall(page.read_text("utf-8"))
    assert len(named) > 5
    missing = [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text("utf-8")]
    assert missing == []

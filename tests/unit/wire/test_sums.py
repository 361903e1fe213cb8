"""What a result's card may have read of its files: each once, by the one name that it has."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.wire import sums

GOOD = hashlib.sha256(b"model").hexdigest()


@pytest.fixture
def result(tmp_path: Path) -> Path:
    (tmp_path / "w").write_bytes(b"model")
    return tmp_path


def told(result: Path, names: dict[str, str]) -> str | None:
    (result / sums.CARD).write_text(json.dumps({sums.KEY: names}))
    return sums.damaged_file(result)


def test_a_file_is_read_once_however_often_the_card_names_it(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A card of a thousand names for one file of a gigabyte kept an import at work for hours."""
    read: list[Any] = []
    below = sums.open_below
    monkeypatch.setattr(sums, "open_below", lambda *where: read.append(where) or below(*where))
    other = {"./" * number + "w": GOOD for number in range(1, 500)} | {
        "w/": GOOD,
        "x/../w": GOOD,
        "//w": GOOD,
        "": GOOD,
    }
    assert told(result, {"w": GOOD, "W": GOOD, **other, "ｗ": GOOD}) is None
    assert len(read) == 1


@pytest.mark.parametrize("names", [{"w": "0" * 64}, {"w": GOOD, "missing": GOOD}])
def test_a_file_that_is_not_as_the_card_says_is_named(result: Path, names: dict[str, str]) -> None:
    assert told(result, names) == list(names)[-1]

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """What goes on in its home at the end is stopped."""
    made = Terminal(tmp_path / "home")
    yield made
    for row in made.json("runs")[1]["runs"]:
        if row["alive"]:
            made.run("stop", row["run"], "--discard")

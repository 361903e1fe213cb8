"""A cloud in memory, and the desk of a run that is driven against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk, Second, trains
from tests.fakes.skies import Sky


@pytest.fixture
def sky() -> Sky:
    return Sky()


@pytest.fixture
def desk(tmp_path: Path, sky: Sky) -> Iterator[CloudDesk]:
    made = CloudDesk(tmp_path / "one", sky)
    yield made
    made.die()


@pytest.fixture
def second(desk: CloudDesk, tmp_path: Path) -> Iterator[Second]:
    desk.sky.steps = 10**6
    trains(desk)
    desk.turn()
    found = Second(tmp_path / "two", desk)
    yield found
    found.journal.disconnect()

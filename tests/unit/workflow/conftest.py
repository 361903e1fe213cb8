"""A run that was trained somewhere else, and a home that it may come to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import finished, studio_in
from tests.fakes.studio import Studio


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("there"))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = studio_in(tmp_path / "home")
    yield made
    made.close()

"""What several files here look at and none changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.results_of import make


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Any]]:
    """``results(backend)``: what `results_of.make` made there, and where; once for each backend."""
    made: dict[str, tuple[Path, Any]] = {}

    def of(backend: str) -> tuple[Path, Any]:
        if backend not in made:
            folder = tmp_path_factory.mktemp(backend)
            made[backend] = folder, make(folder, backend)
        return made[backend]

    return of

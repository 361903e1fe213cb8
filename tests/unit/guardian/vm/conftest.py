from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.guardian.vm.cloud import Cloud, Vm


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    made = Cloud()
    yield made
    made.close()
    assert not made.unheard_of, made.unheard_of


@pytest.fixture
def machine(cloud: Cloud, tmp_path: Path) -> Iterator[Callable[..., Vm]]:
    made: list[Vm] = []

    def make(trainer: str = "--steps 20", disk: str = "vm", **ready: str) -> Vm:
        made.append(Vm(cloud, tmp_path / disk, trainer, **ready))
        return made[-1]

    yield make
    for vm in made:
        vm.kill()


Make = Callable[..., Any]

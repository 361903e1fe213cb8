"""A run folder to write events into, and an index to read them with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tpu_studio.store.index import Index
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import write_atomically

Write = Callable[..., None]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(home: Path) -> Path:
    path = home / "runs" / "digits-k3f7"
    write_atomically(path / "plan.json", dumps(plan().launched("digits-k3f7", 100.0, "0.1.0")))
    (path / "events").mkdir()
    return path


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    made = Index(home)
    yield made
    made.close()


@pytest.fixture
def write(folder: Path) -> Write:
    """Append events, given as dicts (or raw bytes), to an events file of the run."""

    def append(*records: dict[str, Any] | bytes, name: str = "a0001-w000") -> None:
        with open(folder / "events" / f"{name}.jsonl", "ab") as file:
            for record in records:
                file.write(record if isinstance(record, bytes) else json.dumps(record).encode() + b"\n")

    return append


def metric(t: float, steps: list[int], **values: list[Any]) -> dict[str, Any]:
    return {"t": t, "kind": "metric", "step": steps, **values}

"""How far a machine's training is, as its own run folder shows it: what faults "at step N" go by."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

_TAIL_BYTES = 65_536


def step(roots: Iterable[Path]) -> int | None:
    """The last step that any worker has written a metric of; None: no step yet.

    Args:
        roots: `$TPU_STUDIO_VM_ROOT` of each worker; below it ``<name>/…/events/a*.jsonl``.
    """
    steps = [last_step(file) for root in roots for file in _events(root)]
    return max((step for step in steps if step is not None), default=None)


def last_step(events: Path) -> int | None:
    try:
        with open(events, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        if b'"metric"' in line:
            try:
                steps = json.loads(line).get("step")
            except ValueError:
                continue  # torn at either end
            if isinstance(steps, list) and steps:
                return int(max(steps))
    return None


def _events(root: Path) -> list[Path]:
    return [file for pattern in ("*/events/a*.jsonl", "*/*/events/a*.jsonl") for file in root.glob(pattern)]

"""How far a machine's training is, as its own run folder shows it: what faults "at step N" go by."""

from __future__ import annotations

import json
from pathlib import Path

_TAIL_BYTES = 65_536


class Progress:
    """Looks into `$TPU_STUDIO_VM_ROOT/<name>/…/events/a*.jsonl` of every worker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def step(self) -> int | None:
        """The last step that any worker has written a metric of; None: no step yet."""
        steps = [last_step(file) for root in self._folder.glob("w*/vm") for file in _events(root)]
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

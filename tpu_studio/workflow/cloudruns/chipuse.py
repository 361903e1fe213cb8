"""How well a run used its chips, for the receipt: read once, from the events of its machines, when all is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.wire.events import decode, lines_in
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

_MOST_LINES, _MOST_BYTES = 200_000, 100_000_000  # a month of them; code on a machine may write any number
_TELL = (b'"speed"', b'"device"')


def chips_used(folder: Path) -> dict[str, object]:
    """``mfu`` and ``duty_cycle`` over the whole run, 0 to 1, ``hbm_used_bytes`` of ``hbm_total_bytes`` of the fullest
    chip when it was fullest; each only where it was told. Raises OSError.
    """
    view, lines, letters = RunView(), 0, 0
    for line in _lines(folder):
        lines, letters = lines + 1, letters + len(line)
        if lines > _MOST_LINES or letters > _MOST_BYTES:
            break
        if (event := decode(line)) is not None and event.kind in ("speed", "device"):
            view = apply(view, event)
    used, total = view.flops_used
    told: dict[str, object] = {"mfu": round(used / total, 4)} if total > 0 else {}
    if view.duty_cycle is not None:
        told["duty_cycle"] = round(view.duty_cycle, 4)
    if view.fullest is not None:
        told |= {"hbm_used_bytes": view.fullest.used, "hbm_total_bytes": view.fullest.total}
    return told


def _lines(folder: Path) -> Iterator[bytes]:
    for file in events_names(folder):
        if not file.name.startswith("desk-"):
            with open_to_read(file) as opened:
                yield from (line for line in lines_in(opened) if any(kind in line for kind in _TELL))

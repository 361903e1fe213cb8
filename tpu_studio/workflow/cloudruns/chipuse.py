"""How well a run used its chips, for the receipt: read once, from the events of its machines, when all is over."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.wire.events import decode
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

_TELL = (b'"speed"', b'"device"')


def chips_used(folder: Path) -> dict[str, object]:
    """``mfu`` and ``duty_cycle`` over the whole run, 0 to 1, ``hbm_used_bytes`` of ``hbm_total_bytes`` of the fullest
    chip when it was fullest; each only where it was told. Raises OSError.
    """
    view = RunView()
    for file in events_names(folder):
        if file.name.startswith("desk-"):
            continue
        with open_to_read(file) as lines:
            for line in lines:
                if any(kind in line for kind in _TELL) and (event := decode(line)) is not None:
                    view = apply(view, event) if event.kind in ("speed", "device") else view
    used, total = view.flops_used
    told: dict[str, object] = {"mfu": round(used / total, 4)} if total > 0 else {}
    if view.duty_cycle is not None:
        told["duty_cycle"] = round(view.duty_cycle, 4)
    if view.fullest is not None:
        told |= {"hbm_used_bytes": view.fullest.used, "hbm_total_bytes": view.fullest.total}
    return told

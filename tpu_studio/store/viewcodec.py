"""The fold of a run as JSON text and back, so that an indexed run opens without reading its events again.

A text of another version of the fold is refused (None), and the fold is then made anew from the events.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from tpu_studio.domain.interruptions import Interruption
from tpu_studio.domain.pace import Pace, SpeedReport, Steps
from tpu_studio.domain.run import End, Happened, RunView, Span
from tpu_studio.wire.phases import Phase, Status

SHAPE = ";".join(
    f"{kind.__name__}:{','.join(field.name for field in fields(kind))}"
    for kind in (RunView, Span, SpeedReport, Pace, Steps, Happened, End, Interruption)
)


def dumps(view: RunView) -> str:
    tree = {field.name: getattr(view, field.name) for field in fields(view)}
    tree |= {
        "phase": view.phase.value,
        "spans": [[phase.value, asdict(span)] for phase, span in view.spans.items()],
        "speeds": [asdict(report) for report in view.speeds],
        "pace": asdict(view.pace),
        "happened": [[one.t, one.kind, dict(one.facts)] for one in view.happened],
        "interruptions": [asdict(one) for one in view.interruptions],
        "devices": [[worker, dict(device)] for worker, device in view.devices.items()],
        "last": dict(view.last),
        "best": {name: list(found) for name, found in view.best.items()},
        "end": None if view.end is None else {**asdict(view.end), "status": view.end.status.value},
    }
    return json.dumps({"shape": SHAPE, "view": tree})


def loads(text: str) -> RunView | None:
    try:
        record = json.loads(text)
        if record["shape"] != SHAPE:
            return None
        tree: dict[str, Any] = record["view"]
        end = tree["end"]
        return RunView(
            **{
                **tree,
                "phase": Phase(tree["phase"]),
                "spans": {Phase(phase): Span(**span) for phase, span in tree["spans"]},
                "speeds": tuple(SpeedReport(**report) for report in tree["speeds"]),
                "pace": _pace(tree["pace"]),
                "happened": tuple(Happened(t, kind, facts) for t, kind, facts in tree["happened"]),
                "devices": {int(worker): device for worker, device in tree["devices"]},
                "best": {name: (found[0], int(found[1])) for name, found in tree["best"].items()},
                "bests": {
                    name: tuple((value, int(step)) for value, step in ones) for name, ones in tree["bests"].items()
                },
                "loss_history": tuple((t, loss) for t, loss in tree["loss_history"]),
                "attempts": tuple((int(a), t, int(step)) for a, t, step in tree["attempts"]),
                "interruptions": tuple(Interruption(**one) for one in tree["interruptions"]),
                "begun": tuple(tree["begun"]),
                "unproved": tuple(tree["unproved"]),
                "deleting": tuple(tree["deleting"]),
                "uploaded": tuple(tree["uploaded"]),
                "fetched": tuple(tree["fetched"]),
                "busy": tuple(tree["busy"]),
                "memory_most": tuple(tree["memory_most"]),
                "flops_used": tuple(tree["flops_used"]),
                "end": None if end is None else End(**{**end, "status": Status(end["status"])}),
            }
        )
    except (ValueError, KeyError, TypeError):
        return None  # a disposable text of another time


def _pace(tree: dict[str, Any]) -> Pace:
    steps = {name: tuple(Steps(**one) for one in tree[name]) for name in ("measured", "latest")}
    return Pace(**{**tree, **steps})

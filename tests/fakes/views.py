"""A run as the window and the command line see it, from what was told of it."""

from __future__ import annotations

from typing import Any

from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.wire.events import event, from_record

T = 1_795_000_000.0


def view_of(*told: tuple[float, str, dict[str, Any]]) -> RunView:
    """Of (seconds after `T`, kind, fields)."""
    view = RunView()
    for t, kind, fields in told:
        said = from_record(event(kind, t=T + t, **fields))
        assert said is not None
        view = apply(view, said)
    return view

"""Pictures of a run's data to try its model on: those that were kept aside from training, where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire import kinds
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.resources import resource_path


@dataclass(frozen=True)
class Sample:
    """*kept*: it was kept aside, the model has never seen it."""

    path: Path
    label: str
    kept: bool = False


def samples_of(plan: Plan) -> tuple[Sample, ...]:
    """Those whose files are still there; only the kept-aside ones as soon as there are any."""
    told = (plan.data.get("preview") or {}).get("pictures") or ()
    found = [
        Sample(path, str(item.get("class", "")), item.get("kept") is True)
        for item in told
        if (path := _found(plan, Path(str(item["path"])))).is_file()
    ]
    kept = [one for one in found if one.kept]
    return tuple(kept or found)


def _found(plan: Plan, path: Path) -> Path:
    """The built-in digits lie with the program, wherever the run was made."""
    kind = kinds.find(plan.data.get("kind"))
    if kind is None or not kind.is_built_in or path.is_file():
        return path
    return resource_path("samples", "digits", "preview", path.name)

"""What of this computer a rented run takes along: its data, and the folder that its model begins from. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.planner import bringing
from tpu_studio.wire import places
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole
from tpu_studio.wire.visible import one_line


@dataclass(frozen=True)
class Brought:
    """*path*: whole. *words*: `2,062 pictures, 4.2 MB: copied to your bucket.`"""

    label: str
    path: str
    words: str


def brought(plan: Plan) -> Iterator[Brought]:
    """Nothing of what comes with the program; the person's own model file is asked about by itself."""
    if path := plan.job.data.path:
        count, size = whole(plan.data.get("examples")), whole(plan.data.get("bytes_on_disk"))
        told = [f"{count:,} {figures.noun(plan.job.data.kind, plan.task)}"] if count else []
        told += [figures.size(size)] if size else []
        yield Brought("Data", one_line(str(path)), _copied(plan, told))
    if plan.job.model.folder:
        size = plan.preset_bytes
        told = [f"{figures.size(size)} of weights and what belongs to them"] if size else []
        yield Brought("Begins from", one_line(plan.job.model.starts_from), _copied(plan, told) + _patience(plan))


def _patience(plan: Plan) -> str:
    """What has to go up is said to take its time, where it does."""
    taking = None if places.by_id(plan.place).rehearses else bringing.uploading_s(plan.preset_bytes)
    if taking is None:
        return ""
    between = f"{figures.duration(taking.low)} to {figures.duration(taking.high)}"
    return f" At 100 to 5 Mbit/s this takes {between}, once: another run finds it there for 30 days."


def _copied(plan: Plan, told: list[str]) -> str:
    bucket = "the practice bucket" if places.by_id(plan.place).rehearses else "your bucket"
    copied = f"copied to {bucket}."
    return f"{', '.join(told)}: {copied}" if told else copied.capitalize()

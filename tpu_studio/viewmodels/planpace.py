"""How quickly this computer reads the data's pictures, timed once for each set and size: a TPU may wait for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tpu_studio.wire import kinds, places
from tpu_studio.wire.records import items, whole

if TYPE_CHECKING:
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import Tasks

Key = tuple[str, int, int]
Read = Callable[["Plan"], float | None]


class Paces:
    """*done* is called when a timing has come. Where none comes, the estimate counts on no wait."""

    def __init__(self, tasks: Tasks, done: Callable[[], None], read: Read | None = None) -> None:
        self._tasks, self._done, self._read = tasks, done, read or read_pace
        self._known: dict[Key, float | None] = {}

    def of(self, plan: Plan) -> float | None:
        """Seconds a picture, if it is known."""
        key = _key(plan)
        return self._known.get(key) if key else None

    def want(self, plan: Plan) -> None:
        """Time it in the background, unless that was done, or the plan needs no such timing."""
        key = _key(plan)
        if key is None or key in self._known:
            return
        self._known[key] = None

        def timed(seconds: float | None) -> None:
            self._known[key] = seconds
            if seconds:
                self._done()

        self._tasks.submit(lambda: self._read(plan), done=timed, failed=lambda error: None)


def read_pace(plan: Plan) -> float | None:
    """Raises DataError."""
    from tpu_studio.data.pace import seconds_a_picture

    key = _key(plan)
    return seconds_a_picture(plan.job, key[1], key[2]) if key else None


def needs_pace(plan: Plan) -> bool:
    """Whether a TPU would be given pictures that are read while it trains."""
    return _key(plan) is not None


def _key(plan: Plan) -> Key | None:
    """None where pictures lie in memory, or the chip is this computer's processor."""
    kind = kinds.by_id(plan.job.data.kind)
    shape = [whole(one) for one in items(plan.data.get("input_shape"))]
    pictures = kind.has_picture_files or (kind.is_converted and len(shape) == 3)
    if not places.by_id(plan.place).has_chips or not pictures or plan.blocking:
        return None
    from tpu_studio.planner.assumptions import IN_MEMORY_BYTES

    side, channels = plan.job.data.image_size, int(shape[2]) if len(shape) == 3 else 3
    if whole(plan.data.get("examples")) * side**2 * channels <= IN_MEMORY_BYTES:
        return None
    return (str(plan.data.get("fingerprint", "")), side, channels)

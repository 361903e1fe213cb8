"""Looks at data for the Plan page: in the background, one at a time, remembered by what they depend on, cancellable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import bases, kinds
from tpu_studio.wire.job import Job

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.workflow.ports import Tasks

SLOW_S = 0.3  # until then, what is known stays on screen as it is
Key = tuple[Any, ...]


@dataclass
class _Looking:
    """A look under way; written by its thread, read by the window's."""

    key: Key
    since: float
    cancelled: bool = False
    done: int = 0
    total: int = 0


class Looks:
    """*done* and *failed* are called for the look that is wanted now, never for one that was given up."""

    def __init__(
        self,
        tasks: Tasks,
        read: Callable[..., Look] | None,
        clock: Callable[[], float],
        done: Callable[[Look], None],
        failed: Callable[[Problem], None],
    ) -> None:
        self._tasks, self._read, self._clock = tasks, read or read_data, clock
        self._done, self._failed = done, failed
        self._known: dict[Key, Look] = {}
        self._now: _Looking | None = None

    def want(self, job: Job, *, anew: bool = False) -> Look | None:
        """The look at the data of *job* if it is known; else None, and it is under way."""
        key = data_key(job)
        if anew:
            self._known.pop(key, None)
        known = self._known.get(key)
        if known is not None:
            self.forget()
            return known
        if self._now is not None and self._now.key == key and not self._now.cancelled and not anew:
            return None
        self.forget()
        looking = self._now = _Looking(key, self._clock())

        def progress(done: int, total: int) -> None:
            looking.done, looking.total = done, total

        self._tasks.submit(
            lambda: self._read(job, progress=progress, cancelled=lambda: looking.cancelled),
            done=lambda look: self._looked(looking, look),
            failed=lambda error: self._not_looked(looking, error),
        )
        return self._known.get(key)  # there already where tasks are done at once

    def stop(self) -> None:
        """Give up at the person's wish; `failed` says so."""
        if self._now is not None:
            self._now.cancelled = True

    def forget(self) -> None:
        """Give up silently: other data is wanted."""
        if self._now is not None:
            self._now.cancelled = True
            self._now = None

    @property
    def progress(self) -> tuple[bool, int, int] | None:
        """Whether it takes noticeably long, how many are done, of how many (0: not known); None when there is none."""
        now = self._now
        return (self._clock() - now.since >= SLOW_S, now.done, now.total) if now is not None else None

    def _looked(self, looking: _Looking, look: Look) -> None:
        self._known[looking.key] = look
        if self._now is looking:
            self._now = None
            self._done(look)

    def _not_looked(self, looking: _Looking, error: Exception) -> None:
        if self._now is not looking:
            return
        self._now = None
        if type(error).__name__ == "Cancelled":  # data.watching.Cancelled, without loading numpy for its name
            words = ("You stopped looking at the data", "Nothing was changed.", "Look again, or choose other data.")
            self._failed(Problem(*words, id="stopped"))
        else:
            self._failed(problem_of(error))


def read_data(job: Job, **more: Any) -> Look:
    from tpu_studio.data.look import look

    return look(job, **more)


def data_key(job: Job) -> Key:
    """What a look depends on: other values, other look."""
    paths = [path for path in job.values if path.startswith("data.") and path != "data.augment"]
    known = kinds.find(job.data.kind)
    reads = job.model.id if known is not None and known.has_text else ""  # the model decides what is learned from texts
    # so many pieces are learned, or there are some already
    learned = f"{job.model.options.get('vocabulary', '')} {job.model.preset}" if reads else ""
    if bases.is_one(job.model.starts_from):  # whose columns are read as that has learned to
        learned = job.model.starts_from
    return (job.base, job.training.seed, reads, learned, *(repr(job[path]) for path in paths))

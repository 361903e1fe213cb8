"""The folder that a model begins from, read behind the window: of the largest a second goes into a gigabyte's hash."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.job import Job
from tpu_studio.wire.pretrained import reading

if TYPE_CHECKING:
    from tpu_studio.workflow.planning import Begins
    from tpu_studio.workflow.ports import Tasks


class Presets:
    """*again*: makes the plan anew once a folder was read."""

    def __init__(self, tasks: Tasks, again: Callable[[], None]) -> None:
        self._tasks, self._again = tasks, again
        self._known: dict[object, Begins] = {}
        self._under_way: set[object] = set()
        self._asked = False

    def of(self, job: Job) -> Begins:
        """What is known of the folder of *job* as it is now; until it was read, a problem that says so."""
        from tpu_studio.workflow.planning import preset_of

        folder = presets.folder_of(job.model.folder, job.base)
        key = folder, reading.stamp(folder)
        if key not in self._known and key not in self._under_way:
            self._under_way.add(key)
            self._asked = True
            self._tasks.submit(
                partial(preset_of, job), done=partial(self._read, key), failed=partial(self._failed, key)
            )
            self._asked = False
        waits = ModelError("preset-being-read", path=str(folder), file=folder.name)
        return self._known.get(key, (None, waits))

    def _failed(self, key: object, error: BaseException) -> None:
        why = {"path": "", "file": "the folder", "why": str(error)}
        self._read(key, (None, ModelError("preset-unreadable", **why)))

    def _read(self, key: object, found: Begins) -> None:
        self._known = {key: found}  # one folder at a time
        self._under_way.discard(key)
        if not self._asked:
            self._again()

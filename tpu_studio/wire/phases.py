"""The phases of a run, in order, and the statuses of one that is over."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    PLANNED = "planned"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    SETTING_UP = "setting-up"
    COMPILING = "compiling"
    TRAINING = "training"
    SAVING = "saving"
    CLEANING_UP = "cleaning-up"
    DONE = "done"

    @property
    def order(self) -> int:
        return list(Phase).index(self)


class Status(str, Enum):
    """How a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

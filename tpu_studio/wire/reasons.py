"""Why a run ended: one closed list, each with its status and whether trying again can help.

The sentence for people, what it means for money, and the next action stand in ``domain.sentences``. Quota (asking again
is useless) and capacity (waiting is right) are never confused.
"""

from __future__ import annotations

from enum import Enum

from tpu_studio.wire.phases import Status


class Reason(str, Enum):
    COMPLETED = "completed"
    EARLY_STOPPED = "early-stopped"
    STOPPED_BY_USER = "stopped-by-user"
    DISCARDED = "discarded"
    TIME_LIMIT = "time-limit"
    MONEY_LIMIT = "money-limit"
    LOSS_NOT_FINITE = "loss-not-finite"
    DATA_MISSING = "data-missing"
    DATA_CHANGED = "data-changed"
    DATA_BROKEN = "data-broken"
    MODEL_REFUSED = "model-refused"
    MODEL_STUCK = "model-stuck"
    OUT_OF_MEMORY = "out-of-memory"
    DISK_FULL = "disk-full"
    FOLDER_UNWRITABLE = "folder-unwritable"
    CHECKPOINT_CORRUPT = "checkpoint-corrupt"
    DEVICES_DIFFER = "devices-differ"
    PLAN_UNREADABLE = "plan-unreadable"
    TRAINER_KILLED = "trainer-killed"
    TRAINER_FAILED = "trainer-failed"
    TRAINER_STUCK = "trainer-stuck"
    GUARDIAN_GONE = "guardian-gone"
    START_FAILED = "start-failed"
    WORKER_LOST = "worker-lost"  # one of several machines that train together
    # In the cloud.
    NO_CAPACITY = "no-capacity"  # waited as long as was allowed
    QUOTA_EXCEEDED = "quota-exceeded"
    NOT_ENTITLED = "not-entitled"  # Google lends this type, tier and zone to other projects only
    REGION_LIMIT = "region-limit"  # no external address, or no machine more, for the slice's hosts
    PREEMPTED = "preempted"  # an attempt's; the run's only when no further attempt is to be made
    MACHINE_GONE = "machine-gone"
    MACHINE_SILENT = "machine-silent"
    MACHINE_NEVER_SPOKE = "machine-never-spoke"
    ENVIRONMENT_FAILED = "environment-failed"
    TPU_NOT_OPENED = "tpu-not-opened"  # the chips are there, and the framework cannot use them
    CANNOT_DELETE_ITSELF = "cannot-delete-itself"
    REPORTING_LOST = "reporting-lost"
    LAUNCH_REFUSED = "launch-refused"
    NO_OUTSIDE_STOP = "no-outside-stop"
    STOPS_UNPROVED = "stops-unproved"  # who would end the bill was not shown to be able to
    UPLOAD_FAILED = "upload-failed"
    BUCKET_GONE = "bucket-gone"

    @property
    def status(self) -> Status:
        if self in (Reason.COMPLETED, Reason.EARLY_STOPPED):
            return Status.FINISHED
        if self in (Reason.STOPPED_BY_USER, Reason.DISCARDED, Reason.TIME_LIMIT, Reason.MONEY_LIMIT):
            return Status.STOPPED
        return Status.FAILED

    @property
    def retry_may_help(self) -> bool:
        """True where starting the same attempt again from its last checkpoint can end differently."""
        return self in (
            Reason.TIME_LIMIT,
            Reason.MONEY_LIMIT,
            Reason.STOPPED_BY_USER,
            Reason.OUT_OF_MEMORY,
            Reason.DISK_FULL,
            Reason.FOLDER_UNWRITABLE,
            Reason.TRAINER_KILLED,
            Reason.TRAINER_STUCK,
            Reason.GUARDIAN_GONE,
            Reason.START_FAILED,
            Reason.WORKER_LOST,
            Reason.CHECKPOINT_CORRUPT,
            Reason.NO_CAPACITY,
            Reason.PREEMPTED,
            Reason.MACHINE_GONE,
            Reason.MACHINE_SILENT,
            Reason.MACHINE_NEVER_SPOKE,
            Reason.REPORTING_LOST,
            Reason.NO_OUTSIDE_STOP,
            Reason.STOPS_UNPROVED,
            Reason.UPLOAD_FAILED,
        )

    @property
    def by_limit(self) -> bool:
        return self in (Reason.TIME_LIMIT, Reason.MONEY_LIMIT)

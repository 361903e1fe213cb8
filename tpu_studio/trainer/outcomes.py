"""From whatever went wrong to a `Reason` with facts: what the trainer's last line says. No framework here."""

from __future__ import annotations

import contextlib
import errno
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.wire.errors import DataError, ModelError, StudioError, words_of
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.secrets import short

_BY_ID = {
    "plan-unreadable": Reason.PLAN_UNREADABLE,
    "plan-newer": Reason.PLAN_UNREADABLE,
    "devices-differ": Reason.DEVICES_DIFFER,
    "tpu-not-opened": Reason.TPU_NOT_OPENED,
    "data-missing": Reason.DATA_MISSING,
    "data-unreadable": Reason.DATA_MISSING,
    "data-changed": Reason.DATA_CHANGED,
    "preset-needs-memory": Reason.OUT_OF_MEMORY,
    "model-stuck": Reason.MODEL_STUCK,
    "disk-full": Reason.DISK_FULL,
    "checkpoint-other-model": Reason.CHECKPOINT_CORRUPT,
    "checkpoints-damaged": Reason.CHECKPOINT_CORRUPT,
    "base-differs": Reason.CHECKPOINT_CORRUPT,
    "tokenizer-differs": Reason.CHECKPOINT_CORRUPT,
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EIO)
_NO_MEMORY = ("RESOURCE_EXHAUSTED", "ResourceExhaustedError", "std::bad_alloc", "Out of memory", "OOM when allocating")


@dataclass(frozen=True)
class Outcome:
    reason: Reason
    steps: int = 0
    final: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def outcome_of(error: BaseException, steps: int, final: Mapping[str, float] | None = None) -> Outcome:
    """The outcome that *error* means. Its traceback goes to stderr, which ends up in the run's log."""
    with contextlib.suppress(OSError):  # a log that cannot be written (full disk) must not hide the reason
        traceback.print_exception(error, file=sys.stderr)
        sys.stderr.flush()
    final = final or {}
    if isinstance(error, StudioError):
        return Outcome(_of_id(error), steps, final, {"error": error.id, **error.facts})
    facts: dict[str, object] = {"raw": _last_line(error)}
    if isinstance(error, MemoryError) or any(word in words_of(error) for word in _NO_MEMORY):
        return Outcome(Reason.OUT_OF_MEMORY, steps, final, facts)
    if isinstance(error, OSError):
        if error.filename is not None:
            facts["path"] = str(error.filename)
        if error.errno in _FULL:
            return Outcome(Reason.DISK_FULL, steps, final, facts)
        if error.errno in _UNWRITABLE:
            return Outcome(Reason.FOLDER_UNWRITABLE, steps, final, facts)
    return Outcome(Reason.TRAINER_FAILED, steps, final, facts)


def _of_id(error: StudioError) -> Reason:
    if error.id in _BY_ID:
        return _BY_ID[error.id]
    if isinstance(error, DataError):
        return Reason.DATA_BROKEN
    if isinstance(error, ModelError):
        return Reason.MODEL_REFUSED
    return Reason.TRAINER_FAILED


def _last_line(error: BaseException) -> str:
    return short(words_of(error).splitlines()[0], 500)

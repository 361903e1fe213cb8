"""Which compiled programs a machine is handed: those that an earlier one of the same work has told this computer of.

Kept in ``compiled/`` of the home folder by all that makes them valid: the work itself with the person's own file, the
packages of the machine, the slice, the bucket that they lie in. Give it up at any time by deleting the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tpu_studio.planner.own.likeness import key_of
from tpu_studio.wire import compiled
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import inner
from tpu_studio.wire.resources import resource_path
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.cloudruns.recording import Records, Watched


def handed(records: Records, run: Watched) -> Mapping[str, object] | None:
    """``compiled`` of the next machine's ts-config: of this run's latest machine that told of any, else of another
    run of the same work. None after a machine that came to no first step: it may have been for what it was handed."""
    if run.state.attempt > 1 and not run.words.guard(run.state.attempt - 1).trained:
        return None
    for attempt in range(run.state.attempt, 0, -1):
        if told := run.words.guard(attempt).compiled:
            return told
    try:
        return compiled.piece_of(read_json(_file(records.home, run)))
    except (OSError, ValueError):
        return None


def keep(records: Records, run: Watched, attempt: int) -> None:
    """What the machine of *attempt* has compiled, for runs to come."""
    guard = run.words.guard(attempt)
    with suppress(OSError):  # a full disk: then it is compiled again
        if guard.end is not None and not guard.trained:
            _file(records.home, run).unlink(missing_ok=True)
        elif guard.compiled:
            write_atomically(_file(records.home, run), json.dumps(guard.compiled).encode() + b"\n")


def _file(home: Path, run: Watched) -> Path:
    plan = run.plan
    return home / "compiled" / f"{_key(plan, run.state.pieces or {}, run.side.mailbox.bucket)}.json"


def _key(plan: Plan, pieces: Mapping[str, object], bucket: str) -> str:
    environment = inner(pieces.get("environment"))
    lock = resource_path("vm", f"{environment.get('lock')}.lock.txt").read_bytes()
    versions = hashlib.sha256(lock).hexdigest()
    data = plan.data.get("fingerprint")
    more = (plan.place, plan.devices, plan.accelerator, plan.consent, data, versions, pieces.get("runtime"), bucket)
    return key_of(plan.job.values, *more)

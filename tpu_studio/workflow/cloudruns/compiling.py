"""Which compiled programs a machine is handed: those that an earlier one of the same work has told this computer of.

What a machine tells comes by the bucket, where others may write: only what is sealed with the key that this computer
gave the machine is believed, so after a take-over nothing of before. It is kept in ``compiled/`` of the home folder by
all that makes it valid: the work itself with the person's own file, the packages of the machine, the slice, the bucket.
Give it up at any time by deleting the folder.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tpu_studio.planner.own.likeness import key_of
from tpu_studio.wire import compiled
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import inner
from tpu_studio.wire.resources import resource_path
from tpu_studio.wire.runfolder import create_once, write_atomically
from tpu_studio.workflow.cloudruns.recording import Records, Watched

KEY = "key"


def handed(records: Records, run: Watched) -> Mapping[str, object] | None:
    """``compiled`` of the next machine's ts-config: of this run's latest machine that told of any, else of another
    run of the same work. None after a machine that came to no first step: it may have been for what it was handed."""
    if run.state.attempt > 1 and not run.words.guard(run.state.attempt - 1).trained:
        return None
    for attempt in range(run.state.attempt, 0, -1):
        if told := _sealed(records, run, attempt):
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
        elif told := _sealed(records, run, attempt):
            write_atomically(_file(records.home, run), json.dumps(told).encode() + b"\n")


def key_of_machine(home: Path, run: str, attempt: int) -> str:
    """With which the machine of *attempt* seals what it tells of its programs; "" where no key can be kept here."""
    path = home / "compiled" / KEY
    try:
        if not path.exists():
            create_once(path, secrets.token_hex(32).encode() + b"\n")
            path.chmod(0o600)
        mine = path.read_bytes().strip()
    except OSError:
        return ""
    return hmac.new(mine, f"{run} {attempt}".encode(), "sha256").hexdigest() if len(mine) == 64 else ""


def _sealed(records: Records, run: Watched, attempt: int) -> Mapping[str, object] | None:
    """What the machine of *attempt* told of its programs; None where nothing shows that it was the machine."""
    guard = run.words.guard(attempt)
    key = key_of_machine(records.home, run.folder.name, attempt) if guard.compiled else ""
    return guard.compiled if key and compiled.is_sealed(key, guard.compiled, guard.compiled_seal) else None


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

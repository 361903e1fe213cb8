"""Rows for the list of runs, and runs to be watched: implements ``workflow.ports.RunIndex``.

A row is read from the index as long as nothing in the run folder has changed since it was made (names, sizes and
times of its events files), else made anew from what is new. All of it can be thrown away.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.domain.run import RunView
from tpu_studio.planner.own import record_of
from tpu_studio.store.database import Damaged, Database, refused
from tpu_studio.store.follower import Follower
from tpu_studio.wire import metrics, places, tasks
from tpu_studio.wire import plan as plans
from tpu_studio.wire.claims import is_guarded, this_machine
from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.runfolder import PLAN, events_names, is_of_desk
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.ports import UNREADABLE, RunSummary

_LOSSES = 60
_GLANCE_S = 1.0  # of a run's events, in a list: what is left then is read with the next

_log = logging.getLogger(__name__)


class Index:
    """``index.db`` and ``columns/`` in *home*, or *at* another folder where home cannot be written.

    May be used from any thread.

    Args:
        counts: Whose records of a run are shown: the installation, or "*".
    """

    def __init__(self, home: Path, *, at: Path | None = None, counts: Callable[[Path], str] | None = None) -> None:
        self._home, self._counts = home.absolute(), counts
        self._db = Database(at or self._home)
        self._spare: PassingIndex | None = None
        self._known_install: str | None = None
        self._making_spare = threading.Lock()

    def close(self) -> None:
        self._db.close()
        if self._spare is not None:
            self._spare.close()

    def follow(self, folder: Path) -> Follower:
        """Watch the run in *folder*; poll once to know where it stands.

        Raises:
            RunError: ``run-unknown``, ``run-unreadable``, ``plan-unreadable``, ``plan-newer``; of the index
                ``disk-full``, ``folder-unwritable``.
        """
        folder = folder.absolute()
        try:
            frozen = plans.frozen(folder)
        except OSError as error:
            gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
            raise RunError("run-unknown" if gone else UNREADABLE, run=folder.name, raw=str(error)) from error
        plan, identity = loads(frozen), hashlib.sha256(frozen).hexdigest()

        def following() -> Follower:
            return Follower(folder, plan, self._key(folder), identity, self._db, self._elsewhere, self._names)

        try:
            try:
                return following()
            except (sqlite3.Error, ValueError) as error:
                if not self._db.renewed_after(error):
                    raise
                return following()
        except sqlite3.Error as error:
            raise refused(self._home, error) from error

    def summary(self, folder: Path) -> RunSummary:
        """The row of *folder*; for a damaged one, a row with its ``problem``."""
        return self._summary(folder.absolute(), None)

    def glance(self, folder: Path) -> RunSummary:
        """See `ports.RunIndex`."""
        return self._summary(folder.absolute(), _GLANCE_S)

    def _summary(self, folder: Path, patience_s: float | None) -> RunSummary:
        try:
            if not (folder / PLAN).exists():
                raise RunError("plan-missing", run=folder.name)
            stamp, alive = _stamp(folder, self._names(folder)), _guarded(folder)
            known = self._known(folder, stamp)
            if known is not None:
                return _timed(_alive(known, alive))
            follower = self.follow(folder)
            follower.poll(patience_s)
            row = summarise(follower)
            follower.close(sync=False)
            if row.unread:
                return _timed(_alive(row, alive))
            row = replace(row, learned=self._learned(follower))
            with suppress(sqlite3.Error):  # a full disk: then it is made anew the next time
                self._db.save_summary(self._key(folder), stamp, _to_json(row))
            return _timed(_alive(row, alive))
        except (StudioError, OSError, sqlite3.Error) as error:
            return _damaged(folder, error.id if isinstance(error, StudioError) else UNREADABLE)
        except Exception:  # noqa: BLE001  one run's boundary: whatever is in its folder, the others are listed and driven
            _log.exception("the run in %s cannot be read", folder)
            return _damaged(folder, UNREADABLE)

    def _known(self, folder: Path, stamp: str) -> RunSummary | None:
        """The row of *folder* as it was last made, if nothing has changed since."""
        try:
            kept = self._db.summary(self._key(folder))
            return _from_json(kept[1], folder) if kept is not None and kept[0] == stamp else None
        except (sqlite3.Error, ValueError) as error:
            if not self._db.renewed_after(error):
                raise
            return None

    def _names(self, folder: Path) -> list[Path]:
        """The events files of a run that count: of other desktops only where their records do."""
        names = events_names(folder)
        desks = [path.name for path in names if is_of_desk(path.name)]
        if self._counts is None or not desks or folder.parent != self._home / "runs":
            return names
        own = f"desk-{self._install}.jsonl"
        if desks == [own]:
            return names
        counts = self._counts(folder)
        return [path for path in names if counts == "*" or path.name == own or not is_of_desk(path.name)]

    def _elsewhere(self) -> Database:
        """For runs that go on being watched when this index has no room left. Raises RunError, OSError."""
        with self._making_spare:
            if self._spare is None:
                self._spare = PassingIndex(self._home)
            return self._spare._db

    def _learned(self, follower: Follower) -> Mapping[str, object] | None:
        """Of a run of this installation, and of this computer where that did the work; a stranger's teaches nothing."""
        owner, place = desk.read_owner(follower.folder), follower.plan.place
        if owner.get("imported") or owner.get("install") != self._install:
            return None
        if places.by_id(place).on_this_computer and owner.get("host") != this_machine()["host"]:
            return None
        return record_of(follower.plan, follower.view)

    @property
    def _install(self) -> str | None:
        if self._known_install is None:  # each list asks for it once a run
            with suppress(OSError, ValueError):
                self._known_install = (self._home / "install-id").read_text().partition("\n")[0].strip() or None
        return self._known_install

    def forget(self, run: str) -> None:
        """A row that cannot be removed harms nobody: rows are only looked at for folders that are there."""
        with suppress(sqlite3.Error):
            self._db.forget(self._key(self._home / "runs" / run))

    def _key(self, folder: Path) -> str:
        """Name of the run in the index: its id for ours, a digest of its path for one that lies elsewhere."""
        if folder.parent == self._home / "runs":
            return folder.name
        return f"elsewhere-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


class PassingIndex(Index):
    """In a temporary folder that goes with it: for a *home* that cannot be written. In memory where that can be, for
    the disk of temporary files may be the very one that is full."""

    def __init__(self, home: Path, *, counts: Callable[[Path], str] | None = None) -> None:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(prefix="tpu-studio-index-", dir=memory)
        super().__init__(home, at=Path(self._folder.name), counts=counts)

    def forget(self, run: str) -> None:
        super().forget(run)
        shutil.rmtree(self._home / "columns" / run, ignore_errors=True)  # whose index has no room to say so

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


def summarise(follower: Follower) -> RunSummary:
    """The row of a run that has just been polled."""
    plan, view = follower.plan, follower.view
    return RunSummary(
        run=follower.folder.name,
        name=plan.job.name,
        folder=follower.folder,
        created=plan.created,
        place=plan.place,
        model=plan.job.model.id,
        kind=plan.job.data.kind,
        task=plan.task,
        framework=plan.framework,
        status=view.status,
        reason=view.end.reason if view.end else "",
        over=view.over,
        step=view.end.steps if view.end else view.step,
        steps_planned=view.steps_planned or plan.steps,
        key_metric=_key_metric(plan, view),
        losses=_losses(follower),
        duration_s=(view.working_s if places.by_id(plan.place).local else view.seconds)(view.seen_t),
        usd=view.usd,
        usd_most=view.usd_between[1] if view.usd_between and view.settled else view.usd,
        attempt=max(1, view.attempt),
        ended=view.end.t if view.end else None,
        settled=view.settled,
        usd_per_hour=plan.price.usd_per_hour if plan.price else None,
        seen=view.seen_t,
        unread=follower.unread,
        usd_limit=_usd_limit(follower),
    )


def _usd_limit(follower: Follower) -> float | None:
    """What the run may cost, as it was raised since; None: over, or no limit."""
    folder, plan = follower.folder, follower.plan
    if follower.view.over or not plan.limits.money_usd:
        return None
    rents = places.by_id(plan.place).rents
    now = believed.limits(folder, plan) if rents else limits_of(plan, Controls(folder).read())
    return now.money_usd


def _damaged(folder: Path, problem: str) -> RunSummary:
    """The row of a run that cannot be read; where its plan can, whether it is a rented one is still known."""
    try:
        place = plans.read(folder).place
    except (StudioError, OSError):
        place = places.default().id
    return RunSummary(
        folder.name, folder.name, folder, _modified(folder), place=place, status="failed", over=True, problem=problem
    )


def _key_metric(plan: Plan, view: RunView) -> tuple[str, float] | None:
    """Of a run that is over, the kept model's own figure, as its report tells it; else the latest."""
    final = view.end.final if view.end else {}
    for name in tasks.by_id(plan.task).metrics:
        if name in final:
            return name, final[name]
        if name in view.last:
            return name, view.last[name]
    return None


def _losses(follower: Follower) -> tuple[float, ...]:
    curve = follower.curve(metrics.training_loss().id)
    bounds = curve.bounds()
    if bounds is None:
        return ()
    _, low, high = curve.window(*bounds, _LOSSES)
    middle = low / 2 + high / 2  # of the largest numbers there are, the sum is none
    return tuple(round(float(value), 6) for value in middle[np.isfinite(middle)])


def _stamp(folder: Path, names: list[Path]) -> str:
    parts = []
    for path in [folder / PLAN, *names]:
        state = path.stat()
        parts.append((path.name, state.st_size, state.st_mtime_ns))
    return json.dumps(parts)


def _guarded(folder: Path) -> bool:
    try:
        claims = [name for name in os.listdir(folder / "claims") if fnmatchcase(name, "a[0-9]*.json")]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    return bool(claims) and is_guarded(folder / "claims" / max(claims))


def _alive(row: RunSummary, guarded: bool) -> RunSummary:
    """A rented machine lives until its deletion is proved; one on this computer while its guardian holds the claim."""
    return replace(row, alive=guarded or (places.by_id(row.place).rents and not row.settled))


def _timed(row: RunSummary) -> RunSummary:
    """A run that goes on grows older while nobody writes; the pause before it was carried on is no part of it, nor the
    wait for its turn."""
    waits = places.by_id(row.place).local and row.status == Phase.QUEUED
    if not row.alive or row.over or not row.seen or waits:
        return row
    return replace(row, duration_s=row.duration_s + max(0.0, time.time() - row.seen))


def _to_json(row: RunSummary) -> str:
    return json.dumps({name: value for name, value in vars(row).items() if name not in ("folder", "alive", "mark")})


def _from_json(text: str, folder: Path) -> RunSummary:
    """Raises Damaged."""
    try:
        tree: dict[str, Any] = json.loads(text)
        key = tree.pop("key_metric")
        row = RunSummary(
            **{**tree, "losses": tuple(tree["losses"]), "key_metric": tuple(key) if key else None}, folder=folder
        )
        odd = [name for name, value in vars(row).items() if name in _SOUND and not _SOUND[name](value)]
        if odd or row.run != folder.name:
            raise TypeError(f"{', '.join(odd) or 'run'} of a row is not as it was kept")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(str(error)) from error
    return row


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_number_or_none(value: object) -> bool:
    return value is None or _is_number(value)


def _is_metric(value: object) -> bool:
    return value is None or (
        isinstance(value, tuple) and len(value) == 2 and _is_text(value[0]) and _is_number(value[1])
    )


_SOUND: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(
        ("run", "name", "place", "model", "kind", "task", "framework", "status", "reason", "problem"), _is_text
    ),
    **dict.fromkeys(("over", "settled"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("step", "steps_planned", "attempt", "unread"), _is_whole),
    **dict.fromkeys(("created", "duration_s", "usd", "usd_most", "seen"), _is_number),
    **dict.fromkeys(("ended", "usd_per_hour", "usd_limit"), _is_number_or_none),
    "losses": lambda value: isinstance(value, tuple) and len(value) <= _LOSSES and all(map(_is_number, value)),
    "key_metric": _is_metric,
    "learned": lambda value: value is None or isinstance(value, dict),
}


def _modified(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0

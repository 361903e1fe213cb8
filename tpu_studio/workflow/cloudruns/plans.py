"""The frozen plan of a rented run, put back where it is damaged or gone: a machine may be charged for while it is.

What is put back is what was launched, byte for byte: as the journal has it, else as the run's bucket has it.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path

from tpu_studio.wire import frameworks, kinds
from tpu_studio.wire import plan as plans
from tpu_studio.wire.claims import try_lock
from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.job import parse_resolved
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.runfolder import PLAN, write_atomically
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.mirror import prefix_of
from tpu_studio.workflow.cloudruns.ports import CloudPlace
from tpu_studio.workflow.cloudruns.state import State, fold
from tpu_studio.workflow.ports import Journal

BUSY_TRIES, BUSY_S = 50, 0.1
_log = logging.getLogger(__name__)


def any_plan(place: str) -> Plan:
    """Enough of a plan to reach *place* with."""
    kind = kinds.first(lambda kind: kind.is_built_in)
    told = {"name": "any", "model": {"name": kind.model}, "data": {"kind": kind.id}, "where": {"place": place}}
    return Plan(parse_resolved(told), kind.tasks[0], frameworks.for_chips().id, place=place)


def is_damaged(folder: Path) -> bool:
    """Whether the plan is gone or no plan any more; one of a newer version of the app is not damaged."""
    try:
        plans.read(folder)
    except RunError as error:
        return error.id == "plan-unreadable"
    except OSError:
        return True
    return False


class Plans:
    """Args:
    home: Folder of ``runs/``.
    places: Rented places by their name in a plan.
    """

    def __init__(self, home: Path, places: Mapping[str, CloudPlace], journal: Journal) -> None:
        self._home, self._places, self._journal = home, places, journal

    def mend(self, folder: Path, *, ask_cloud: bool = True) -> bool:
        """Put the plan back; False where *folder* was never a rented run's, or nobody knows its plan any more.

        Args:
            ask_cloud: Look into the bucket too, where the journal does not know it.

        Raises:
            RunError: ``folder-unwritable`` or ``disk-full``.
        """
        frozen, source = self._from_journal(folder.name), "journal"
        if frozen is None and ask_cloud:
            frozen, source = self._from_bucket(folder), "bucket"
        if frozen is None:
            return False
        try:
            for _ in range(BUSY_TRIES):  # who drives it now puts it back at the next turn
                if put(folder, frozen):
                    break
                time.sleep(BUSY_S)
            else:
                return False
            said = list(desk_events(folder))
            t = said[-1].t + 0.001 if said else loads(frozen).created
            desk.write_event(
                folder,
                desk.install_id(self._home),
                "notice",
                t=t,
                key=desk.seal_key(self._home),
                id="plan-mended",
                level="warning",
                facts={"source": source},
            )
        except OSError as error:
            raise desk.disk_error(error, folder) from error
        _log.warning("run %s: its plan was damaged, and is back as the %s has it", folder.name, source)
        return True

    def is_another(self, folder: Path) -> bool:
        """Whether the plan in *folder* is not the one that the journal has of this run; False where it knows none."""
        launched = self._from_journal(folder.name)
        try:
            return launched is not None and plans.read(folder).to_json() != loads(launched).to_json()
        except (RunError, OSError):
            return False  # damaged: another question

    def knows(self, plan: Plan) -> bool:
        """Whether the run was begun from here, or taken over, with this very plan."""
        launched = self._from_journal(plan.run)
        return launched is not None and loads(launched).to_json() == plan.to_json()

    def _from_journal(self, run: str) -> bytes | None:
        tree = self._journal.plan_of(run)
        return None if tree is None else _checked(json.dumps(tree, indent=1, sort_keys=True).encode(), run)

    def _from_bucket(self, folder: Path) -> bytes | None:
        state = _recorded(folder)
        if not state.opened:
            return None
        for name, place in sorted(self._places.items()):  # "cloud" first: asking it starts nothing
            try:
                side = place.connect(any_plan(name))
                if (side.mailbox.bucket, side.project) != (state.bucket, state.project):
                    continue
                found = side.mailbox.read(prefix_of(folder.name) + PLAN)
            except StudioError as error:
                _log.info("run %s: its plan is not to be had from %s: %s", folder.name, name, error)
                continue
            if found is not None and (good := _checked(found, folder.name)) is not None:
                return good
        return None


def put(folder: Path, frozen: bytes) -> bool:
    """Put *frozen* in place; False while somebody drives the run by the plan that stands there."""
    try:
        fd = os.open(folder / PLAN, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        write_atomically(folder / PLAN, frozen)
        return True
    try:
        if not try_lock(fd):
            return False
        write_atomically(folder / PLAN, frozen)
    finally:
        os.close(fd)
    return True


def _recorded(folder: Path) -> State:
    try:
        return fold(desk_events(folder))
    except OSError:
        return State()


def _checked(data: bytes, run: str) -> bytes | None:
    try:
        return data if loads(data).run == run else None
    except RunError:
        return None

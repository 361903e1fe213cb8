"""Which rented runs this computer has to see to: those that its journal says were begun or taken over from here, until
its own records say that all is over.

Nothing else is looked at for that. A run that came as files needs no turns, so whatever fills its folder holds up no
list; and a word from a bucket that a run is over ends nothing while a machine that was asked for here is not proved
gone from here.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from tpu_studio.wire import places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.recording import desk_sizes, whose
from tpu_studio.workflow.cloudruns.state import LONGEST_LOAN_S, TAKEN_OVER, State, fold
from tpu_studio.workflow.consent import is_imported, tells_of_us
from tpu_studio.workflow.ports import Journal

_log = logging.getLogger(__name__)


class Mine:
    """The runs under *home*."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self._home, self._journal = home, journal
        self._rents: dict[str, bool] = {}
        self._settled: dict[str, tuple[dict[str, int], bool]] = {}  # by the sizes of the events that count
        self._own: dict[str, tuple[dict[str, int], State]] = {}

    def unsettled(self) -> list[str]:
        """Ids. Raises NotReady of the journal."""
        if self._journal.fresh:
            self.tell_journal()
        here = [run for run in self._journal.begun() if (self._home / "runs" / run / PLAN).exists()]
        return [
            run for run in sorted(here) if self._is_rented(run) and not self.is_done_with(self._home / "runs" / run)
        ]

    def counts(self, folder: Path) -> str:
        """Whose records of the run are shown, for `desk_events`: all of a run that is not ours, else as they count
        where it is driven; and while a machine is there that this computer has asked for, its own alone."""
        if self._journal.plan_of(folder.name) is None or is_imported(folder):
            return "*"
        install = desk.install_id(self._home)
        counts = whose(folder, install)
        return install if counts == "*" and self.own(folder).there else counts

    def own(self, folder: Path) -> State:
        """What this computer's own records say of the run: nobody else's word is in it."""
        install = desk.install_id(self._home)
        sizes = desk_sizes(folder, install)
        if self._own.get(folder.name, (None,))[0] != sizes:
            self._own[folder.name] = sizes, fold(desk_events(folder, install))
        return self._own[folder.name][1]

    def launched_here(self, folder: Path, *, driven: bool) -> bool:
        """See `Driver.launched_here`. *driven*: it is being driven by this process."""
        if self._journal.plan_of(folder.name) is not None:
            return True
        if not driven and not (self._journal.fresh and tells_of_us(folder, desk.install_id(self._home))):
            return False
        self.tell_journal()
        return True

    def tell_journal(self) -> None:
        """See `Driver.tell_journal`."""
        install, known = desk.install_id(self._home), self._journal.begun()
        for folder in sorted((self._home / "runs").glob("*/")):
            if folder.name in known or not tells_of_us(folder, install):
                continue  # a stranger's: what it says of machines, project and bucket is not looked after from here
            try:
                plan, mine = plans.read(folder), list(desk_events(folder, install))
            except (OSError, StudioError):
                continue
            if not places.by_id(plan.place).rents:
                continue
            taken = any(one.kind == TAKEN_OVER for one in mine)
            state = fold(mine)
            begun = {"project": state.project, "bucket": state.bucket} if state.opened else {}
            facts = {"plan": plan.to_json(), **begun}
            action = "take-over" if taken else "launch"
            self._journal.close(self._journal.open(action, folder.name, facts, plan.created), "told", time.time())
            for one in state.there if not state.settled else ():
                if not one.outcome:
                    ref = one.ref
                    told: dict[str, Any] = {"attempt": one.attempt, "try": one.number, "request_id": one.request_id}
                    told |= {"name": ref.name, "zone": ref.zone, "backend": ref.backend, "alpha": ref.alpha, **facts}
                    self._journal.open("create", folder.name, {"id": f"create/{ref.name}", **told}, one.asked or 0.0)

    def _is_rented(self, run: str) -> bool:
        if run not in self._rents:
            place = (self._journal.plan_of(run) or {}).get("place")
            self._rents[run] = place in places.IDS and places.by_id(str(place)).rents
        return self._rents[run]

    def is_done_with(self, folder: Path) -> bool:
        """Whether the run needs no turn from here any more. Another's word that it is over may be taken back by the
        bucket: then, until no machine can be left of it, its turns only come seldom."""
        if is_imported(folder):
            return True
        if not self.is_over(folder):
            return False
        try:
            own, plan = self.own(folder), self._journal.plan_of(folder.name) or {}
            begun = max(own.since, float(plan.get("created") or 0.0))  # type: ignore[arg-type]
        except (OSError, ValueError, TypeError):
            return True
        return own.settled or time.time() - begun > LONGEST_LOAN_S

    def is_over(self, folder: Path) -> bool:
        """Whether all is over, by this computer's word or, where nothing that was asked for here is left, by that of
        another which drove it. One that cannot be read is not over: its machine is there all the same."""
        if is_imported(folder):
            return True
        try:
            counts = whose(folder, desk.install_id(self._home))
            sizes = desk_sizes(folder, counts)
            if self._settled.get(folder.name, (None, False))[0] != sizes:
                self._settled[folder.name] = sizes, self._is_settled(folder, counts)
            return self._settled[folder.name][1]
        except Exception:  # noqa: BLE001  as `Index.summary`: one damaged run keeps no other from being driven
            _log.exception("the records of %s cannot be read", folder)
            return False

    def _is_settled(self, folder: Path, counts: str) -> bool:
        """By this computer's own word; by another's, which drove it last, where nothing that was asked for here is
        left."""
        own = self.own(folder)
        if own.settled or own.there:
            return own.settled
        knows = own.opened or self._journal.was_taken_over(folder.name)
        return knows and fold(desk_events(folder, counts)).settled

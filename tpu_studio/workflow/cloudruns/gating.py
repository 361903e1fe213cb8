"""The gate before a create call, acted out: reads, the tasks of a proof beside the upload, and what they showed.

`gate` decides. Proofs are kept in the home's ``stop-proofs.json``: one holds for an hour, that project, queue, backend.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.cloudruns import gate
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.ports import Ref
from tpu_studio.workflow.cloudruns.recording import Records, Watched

FILE = "stop-proofs.json"
LOOKED_FOR = "ts-proof-look"
"""A name that never is, to see whether a zone answers."""
OF_EVERYBODY = ("service-disabled", "billing-off", "org-policy", "project-deleted")
"""Refusals that every zone repeats, whoever asks."""
FIRST_LOOK_S = 1.0
MOST_LATE = 3
"""Proofs of a run that are begun anew because nobody looked while their tasks stood."""
CONTROL_S = 300.0  # for the account without rights to be known to all of Google
_log = logging.getLogger(__name__)


class Gating:
    """Args:
    declare: Writes the end of a run that is refused.
    may_be_starting: Whether a refusal may be that of a service which is only just being switched on.
    """

    def __init__(
        self,
        records: Records,
        home: Path,
        declare: Callable[[Watched, Reason, Mapping[str, object]], None],
        may_be_starting: Callable[[str, Watched], bool],
    ) -> None:
        self._records, self._declare, self._may_be_starting = records, declare, may_be_starting
        self._proofs = _Proofs(home / FILE)
        self._tried: dict[str, float] = {}
        self._late: dict[str, int] = {}

    def show(self, run: Watched, zone: str, zones: Sequence[str], backend: str) -> float:
        """For a machine in *zone*; a proof may be asked for in any of the run's *zones*, for rights are the project's.

        Seconds to pause by the cloud's clock, 0 to go on. Raises CloudUnclear.
        """
        ref, now = Ref("", zone, backend), run.side.clock.now()
        known = run.state.gates.get(ref.region)
        if known is not None and known.answer == "proving":
            in_time = now - known.t <= gate.PROOF_S + 6 * gate.LOOK_EVERY_S
            if in_time and (pause := self._follow(run, ref, known)) is not None:
                return pause
            self._end(run, known)  # nobody looked in time: begun anew
        try:
            evidence = run.side.rights.evidence(ref)
        except CloudRefused as error:
            if error.id not in OF_EVERYBODY:
                raise
            self._declare(run, Reason.LAUNCH_REFUSED, {**error.facts, "error": error.id})
            return 0.0
        if self._may_be_starting(evidence.queue_why, run):
            return 30.0
        waived = run.state.waived(run.plan.limits)
        key = _key(run, evidence.queue, ref)
        match gate.judge(evidence, waived=waived, proved=self._proofs.of(key, now)):
            case gate.Go(by):
                who = (evidence.stopper or evidence.runner).email
                if not waived and who not in self._proofs.of(f"{key}|answered", now, gate.TRIED_S):
                    return self._try(run, ref, zones, evidence, who)
                self._say(run, ref, "shown", queue=evidence.queue, accounts=dict(by))
            case gate.Refuse(reason, facts):
                self._declare(run, reason, facts)
            case gate.Prove(accounts):
                return self._begin(run, ref, zones, evidence, accounts)
        return 0.0

    def end(self, run: Watched) -> None:
        """Take the tasks of a proof away that nobody waits for any more; they would end by themselves."""
        for known in run.state.gates.values():
            if known.answer == "proving":
                self._end(run, known)

    def _begin(
        self, run: Watched, ref: Ref, zones: Sequence[str], evidence: gate.Evidence, accounts: tuple[str, ...]
    ) -> float:
        rights, queue = run.side.rights, evidence.queue
        self._tell(run, evidence, accounts)
        return self._set(run, ref, zones, evidence, lambda at: rights.begin(queue, at, accounts))

    def _tell(self, run: Watched, evidence: gate.Evidence, accounts: tuple[str, ...]) -> None:
        """Once a run, whose rights are tried and why: that may take ten minutes."""
        told = [event.get("id") for event in desk_events(run.folder, run.whose) if event.kind == "notice"]
        asked = [one for one in (evidence.runner, evidence.stopper) if one is not None and one.email in accounts]
        if "stops-tried" not in told:
            facts = {"accounts": [one.email for one in asked], "why": asked[0].why}
            self._records.say(run, "notice", id="stops-tried", level="info", facts=facts)

    def _try(self, run: Watched, ref: Ref, zones: Sequence[str], evidence: gate.Evidence, account: str) -> float:
        """Reads say yes of *account*; whether a task reaches Google as it, only a task shows."""
        rights, queue = run.side.rights, evidence.queue
        return self._set(run, ref, zones, evidence, lambda at: ({rights.trial(queue, at, account): account}, ""))

    def _set(
        self,
        run: Watched,
        ref: Ref,
        zones: Sequence[str],
        evidence: gate.Evidence,
        tasks_set: Callable[[Ref], tuple[Mapping[str, str], str]],
    ) -> float:
        name, now = run.folder.name, run.side.clock.now()
        first = self._tried.setdefault(name, now)
        try:
            at = _answering(run, ref, zones)
        except CloudRefused as error:
            if self._may_be_starting(error.id, run):
                return 30.0
            self._declare(run, Reason.LAUNCH_REFUSED, {**error.facts, "error": error.id, "zone": ref.zone})
            return 0.0
        try:
            tasks, control = tasks_set(at)
        except CloudRefused as error:
            if now - first < CONTROL_S:
                return 2 * gate.LOOK_EVERY_S
            refused = gate.no_stop(error.id, error.facts)
            self._declare(run, refused.reason, refused.facts)
            return 0.0
        self._tried.pop(name, None)
        runner = evidence.runner.email
        self._say(run, ref, "proving", queue=evidence.queue, runner=runner, tasks=dict(tasks), control=control)
        return FIRST_LOOK_S

    def _follow(self, run: Watched, ref: Ref, known: gate.Shown) -> float | None:
        """None: it was looked at so late that a task may have left by itself."""
        now = run.side.clock.now()
        answers = run.side.rights.answers(list(known.tasks))
        if gate.GONE in answers.values() and run.side.clock.now() - known.t > gate.STANDS_S:
            late = self._late[run.folder.name] = self._late.get(run.folder.name, 0) + 1
            if late <= MOST_LATE:
                return None
        outcome = gate.read(known, answers, now)
        if outcome is None:
            return gate.LOOK_EVERY_S
        if isinstance(outcome, gate.Refuse) and run.state.waived(run.plan.limits):
            outcome = gate.of_runner(outcome, known)
        told = {known.tasks[task]: code for task, code in answers.items()}
        match outcome:
            case gate.Go(by):
                key = _key(run, known.queue, ref)
                if known.control:
                    self._proofs.keep(key, list(by), now)
                self._proofs.keep(f"{key}|answered", list(by), now)
                self._say(run, ref, "proved", queue=known.queue, accounts=dict(by), codes=told)
                self._end(run, known)  # after the word: without it the next to look would miss them
            case gate.Refuse(reason, facts):
                self._say(run, ref, "refused", queue=known.queue, codes=told)
                self._end(run, known)
                self._declare(run, reason, facts)
        return 0.0

    def _say(self, run: Watched, ref: Ref, answer: str, **more: Any) -> None:
        self._records.say(run, "gate", region=ref.region, backend=ref.backend, answer=answer, **more)

    def _end(self, run: Watched, known: gate.Shown) -> None:
        try:
            run.side.rights.end(list(known.tasks))
        except (CloudRefused, CloudUnclear) as error:
            _log.info("run %s: tasks of a proof stay until they are over: %s", run.folder.name, error)


def _answering(run: Watched, ref: Ref, zones: Sequence[str]) -> Ref:
    """*ref*, or the like in another of *zones*: one that is closed to the project answers everybody with 403, so that
    a proof there would say of an account with rights that it has none.

    Raises CloudRefused: all of them are closed; the service or the project's billing is off.
    """
    refusal: CloudRefused | None = None
    for zone in dict.fromkeys((ref.zone, *zones)):
        try:
            run.side.machines[ref.backend].look(Ref(LOOKED_FOR, zone, ref.backend))
        except CloudRefused as error:
            if error.id in OF_EVERYBODY:
                raise
            if error.id == "zone-not-allowed":
                refusal = refusal or error
                continue
        return Ref(ref.name, zone, ref.backend)
    raise refusal or CloudRefused("zone-not-allowed", zone=ref.zone)


def _key(run: Watched, queue: str, ref: Ref) -> str:
    """With the place: a project of the practice cloud may be called as one at Google."""
    return f"{run.plan.place}|{run.side.project}|{queue}|{ref.backend}"


class _Proofs:
    """Proofs of this home: key → account → when. A file that cannot be read holds none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, key: str, now: float, holds_s: float = gate.HOLDS_S) -> list[str]:
        known = self._read().get(key, {})
        return [who for who, at in known.items() if now - holds_s < at <= now]

    def keep(self, key: str, accounts: list[str], now: float) -> None:
        """A disk that does not take it costs the next launch a proof of its own."""
        known = self._read()
        known[key] = {**known.get(key, {}), **dict.fromkeys(accounts, now)}
        try:
            write_atomically(self._path, json.dumps(known).encode())
        except OSError as error:
            _log.info("proofs of the stops are not kept: %s", error)

    def _read(self) -> dict[str, dict[str, float]]:
        try:
            found = read_json(self._path)
        except (OSError, ValueError):
            return {}
        keys = found.items() if isinstance(found, dict) else ()
        return {key: _times(accounts) for key, accounts in keys if isinstance(accounts, dict)}


def _times(accounts: Mapping[str, object]) -> dict[str, float]:
    return {who: at for who, at in accounts.items() if isinstance(at, (int, float)) and not isinstance(at, bool)}

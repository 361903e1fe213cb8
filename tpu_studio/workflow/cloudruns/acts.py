"""One action of ``decide``, done and recorded: folder in the bucket, upload, shut-off timers, create, delete.

Each may be done again after a crash between any two lines. What a machine's end means for bill and run is `closing`'s.
"""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpu_studio.wire.errors import CloudRefused, CloudUnclear, NotReady, RunError, StudioError
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.records import inner
from tpu_studio.workflow import desk, seals
from tpu_studio.workflow.cloudruns import asking, brought, compiling, decide, gate, stops
from tpu_studio.workflow.cloudruns.closing import DELETE_FAILS_BEFORE_NOTICE, Closing
from tpu_studio.workflow.cloudruns.decide import Action
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.gate import Show
from tpu_studio.workflow.cloudruns.gating import OF_EVERYBODY, Gating
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.offer import is_priced, listed
from tpu_studio.workflow.cloudruns.others import TAKEN, asked_here, name_of
from tpu_studio.workflow.cloudruns.ports import CloudPlace, MachineSeen, Progress, Ref
from tpu_studio.workflow.cloudruns.recording import Records, Watched, note_look
from tpu_studio.workflow.cloudruns.rules import Rules

STOPS_TRIES = 4
RENEW_S = 86_400.0
"""Of what was brought to a bucket whose rules delete after 30 days: a request may wait for 28 of them."""
UPLOAD_TRIES = 6
CODE_TRIES = 5
WAITS_EVERY_S = 300.0


class Acts:
    """Args:
    place: A place by its name in a plan.
    uploads: Run → bytes done, bytes in all, while an upload goes on.
    """

    def __init__(
        self,
        records: Records,
        closing: Closing,
        place: Callable[[str], CloudPlace],
        uploads: dict[str, tuple[int, int]],
    ) -> None:
        self._records, self._closing, self._place, self._uploads = records, closing, place, uploads
        self._gating = Gating(records, records.home, self._declare, self._is_starting)
        self._failures: dict[str, int] = {}  # not of `Watched`, which is made anew after some failures

    def _is_starting(self, refusal: str, run: Watched) -> bool:
        return decide.may_be_starting(refusal, run.state, run.side.clock.now())

    def _declare(self, run: Watched, reason: Reason, facts: Mapping[str, object]) -> None:
        """The end of a run; where a right is said to be missing, whether it is not the project that goes."""
        if facts.get("error") == "permission-missing" and not run.state.there and self._is_marked(run):
            reason, facts = Reason.LAUNCH_REFUSED, {**facts, "error": "project-deleted"}
        self._closing.declare(run, reason, facts)

    def _is_marked(self, run: Watched) -> bool:
        """Whether the project is marked for deletion: Google may refuse each call without a word of that."""
        try:
            return not run.side.rights.is_project_active()
        except (CloudRefused, CloudUnclear):
            return False

    def _failed(self, what: str) -> int:
        """How often it has failed by now."""
        self._failures[what] = self._failures.get(what, 0) + 1
        return self._failures[what]

    def do(self, run: Watched, action: Action, rules: Rules, limits: Limits) -> float:
        """Do one thing and record it; seconds to pause by the cloud's clock, 0 to go on.

        Raises RunError of a disk that has not taken down what was done before: nothing is begun then.
        """
        if not isinstance(action, (decide.Open, Show, decide.Prepare, decide.SetStops, decide.Create)):
            return self._follow(run, action, rules, limits)
        if run.unsaved:
            raise run.disk or RunError("folder-unwritable", folder=str(run.folder))
        try:
            return self._begin(run, action, rules, limits)
        except CloudRefused as error:
            known = error.id in OF_EVERYBODY or (error.id == "permission-missing" and self._is_marked(run))
            if not known or run.state.there:
                raise
            if self._is_starting(error.id, run):
                return rules.rate_s / 2.0
            self._declare(run, Reason.LAUNCH_REFUSED, {**error.facts, "error": error.id})
            return 0.0

    def _begin(
        self,
        run: Watched,
        action: decide.Open | Show | decide.Prepare | decide.SetStops | decide.Create,
        rules: Rules,
        limits: Limits,
    ) -> float:
        """What comes before a machine is there. Raises CloudRefused where nothing was begun."""
        match action:
            case decide.Open():
                return self._open(run)
            case Show(zone):
                return self._gating.show(run, zone, rules.zones, rules.backend)
            case decide.Prepare():
                return self._prepare(run)
            case decide.SetStops() | decide.Create() if self._is_there_after_all(run):
                return 1.0
            case decide.SetStops(name, zone, number):
                return self._set_stops(run, name, zone, number, rules, limits)
            case decide.Create(machine, repeat):
                return self._create(run, machine, repeat, rules, limits)

    def _follow(self, run: Watched, action: Action, rules: Rules, limits: Limits) -> float:
        match action:
            case decide.Look(machine):
                before = run.side.clock.now()
                cloud = self._look(run, machine)
                run.looks[machine.ref.name] = (cloud, run.side.clock.now())
                self._note_look(run, machine, cloud, run.side.clock.now())
                if cloud is not None and cloud.created is not None and cloud.state in ("provisioning", "ready"):
                    run.alive_at[machine.ref.name] = before
            case decide.Accept(machine):
                self._records.say(run, "intent-closed", id=f"create/{machine.ref.name}", outcome="accepted")
            case decide.Notice(machine, seen):
                self._say_seen(run, machine, seen)
            case decide.SetLeaseStops(machine):
                return self._set_lease_stops(run, machine, limits)
            case decide.Leave(machine, why, facts):
                self._records.say(run, "leaving", name=machine.ref.name, why=why, facts=dict(facts))
            case decide.Delete(machine):
                if _has_no_machine(machine, run.looks.get(machine.ref.name, (None, 0.0))[0]):
                    self._records.say(run, "still-waiting", name=machine.ref.name, zone=machine.ref.zone)
                return self._delete(run, machine, rules, limits)
            case decide.Gone(machine):
                self._closing.gone(run, machine, rules, limits)
            case decide.RemoveStops(machine):
                return self._remove_stops(run, machine)
            case decide.NextAttempt() | decide.Finish() if self._is_there_after_all(run):
                return 1.0
            case decide.NextAttempt(reason):
                self._closing.last_words(run, run.state.attempt)
                self._records.say(run, "attempt-over", attempt=run.state.attempt, reason=reason.value)
                run.asked_why = ()
            case decide.Again(extensions):
                self._closing.again(run, extensions)
            case decide.Declare(reason, facts):
                self._gating.end(run)
                self._declare(run, reason, facts)
            case decide.Finish(unheard):
                if unheard:
                    self._tell_once(run, "extension-unheard", "warning")
                self._closing.finish(run, limits)
        return 0.0

    def _look(self, run: Watched, machine: Machine) -> MachineSeen | None:
        """GET by name. Where looking is refused for the very reason for which asking was, nothing can be there."""
        try:
            found: MachineSeen | None = self._machines(run, machine).look(machine.ref)
        except CloudRefused as error:
            if machine.outcome != "refused" or machine.unclear or machine.made or error.id != machine.error:
                raise
            run.unlookable.add(machine.ref.name)
            return None
        return found

    def _note_look(self, run: Watched, machine: Machine, cloud: MachineSeen | None, now: float) -> None:
        """Also into the records, that it waits: the next process may find it gone, and was not there."""
        waits = _has_no_machine(machine, cloud)
        note_look(run, machine, now, waits=waits)
        if waits and now - max(machine.asked or now, machine.waited) >= WAITS_EVERY_S:
            self._records.say(run, "still-waiting", name=machine.ref.name, zone=machine.ref.zone)

    def _machines(self, run: Watched, machine: Machine) -> Any:
        return run.side.machines[machine.ref.backend]

    def _asked_here(self, run: Watched, name: str) -> bool:
        """Whether this computer's own records say that it has asked for that machine."""
        return name in asked_here(desk_events(run.folder, self._records.install))

    def _is_ours(self, run: Watched) -> bool:
        """Whether the bucket says so; one that names nobody is told."""
        return run.mirror.open({**desk.read_owner(run.folder), "install": self._records.install})

    def _taken_over(self, run: Watched) -> float:
        run.foreign, run.caught_up = True, False
        return 1.0

    def _open(self, run: Watched) -> float:
        try:
            mine = self._is_ours(run)
        except CloudRefused as error:
            reason = Reason.BUCKET_GONE if error.id == "not-found" else Reason.LAUNCH_REFUSED
            self._declare(run, reason, {**error.facts, "error": error.id})
            return 0.0
        if not mine:
            return self._taken_over(run)
        self._records.note_begun(run)
        self._records.say(run, "opened", bucket=run.side.mailbox.bucket, project=run.side.project)
        run.caught_up = True
        return 0.0

    def _prepare(self, run: Watched) -> float:
        preparing = self._place(run.plan.place).preparing
        return self._bring(run, functools.partial(preparing.upload, run.side, run.plan, run.folder.name))

    def _is_anothers(self, run: Watched) -> bool:
        """Whether a desktop from which this run was taken over has prepared it: it, or whoever writes in its name."""
        if not self._records.journal.was_taken_over(run.folder.name):
            return False
        ours = (one for one in desk_events(run.folder, self._records.install) if one.kind == "prepared")
        return run.state.pieces not in [one.get("pieces") for one in ours if not one.get(TAKEN)]

    def _bring_code(self, run: Watched) -> float:
        """What a new machine runs comes from this computer; its data is in the bucket already."""
        preparing, name = self._place(run.plan.place).preparing, run.folder.name
        if self._failed(f"code/{name}") > CODE_TRIES:
            raw = "records in the bucket, of a time to come, name another program than this computer's"
            self._declare(run, Reason.UPLOAD_FAILED, {"raw": raw})
            return 0.0
        pieces = dict(run.state.pieces or {})
        return self._bring(run, functools.partial(preparing.with_our_code, run.side, run.plan, name, pieces))

    def _bring(self, run: Watched, bring: Callable[[Progress], Mapping[str, object]]) -> float:
        name, told = run.folder.name, [0.0]

        def progress(done: int, total: int) -> None:
            self._uploads[name] = (done, total)
            if time.monotonic() - told[0] >= 1.0:
                told[0] = time.monotonic()
                self._records.say(run, "upload", done=done, total=total)

        try:
            pieces = bring(progress)
        except CloudUnclear as error:
            if self._failed(f"upload/{name}") < UPLOAD_TRIES:
                raise
            self._declare(run, Reason.UPLOAD_FAILED, error.facts)
            return 0.0
        except NotReady:
            raise
        except StudioError as error:
            id = {"not-found": Reason.BUCKET_GONE, **dict.fromkeys(OF_EVERYBODY, Reason.LAUNCH_REFUSED)}.get(
                error.id, Reason.UPLOAD_FAILED
            )
            self._declare(run, id, {**error.facts, "error": error.id})
            return 0.0
        finally:
            self._uploads.pop(name, None)
        self._records.say(run, "prepared", pieces=dict(pieces))
        return 0.0

    def _set_stops(self, run: Watched, name: str, zone: str, number: int, rules: Rules, limits: Limits) -> float:
        known = run.state.of(name)
        machine = known or Machine(Ref(name, zone, rules.backend, alpha=rules.alpha), run.state.attempt, number)
        if run.state.waived(run.plan.limits):
            intent = self._records.begin(run, "stops", machine)
            self._records.end(run, intent, "stops", name, "set", facts={"stops": []})
            return 0.0
        intent = self._records.begin(run, "stops", machine)
        now = run.side.clock.now()
        times = asking.before_times(now, run.state, rules, limits)
        try:
            standing = [stop for stop, at in run.side.stops.of(machine.ref).items() if at >= times[0] - 120.0]
            if len(standing) < len(times):
                standing = list(run.side.stops.set(machine.ref, "b", times))
            if len(standing) < len(times):
                raise CloudRefused("precondition", raw="the stops were not there when they were read back")
        except CloudRefused as error:
            if decide.may_be_starting(error.id, run.state, now):
                self._records.end(run, intent, "stops", name, "refused", error=error.id)
                return rules.rate_s / 2.0
            refused = gate.no_stop(error.id, error.facts)
            self._declare(run, refused.reason, refused.facts)
            self._records.journal.close(intent, "refused", time.time())
            return 0.0
        facts = {"stops": standing, "account": run.side.stop_account, "queue": run.side.stops.queue(machine.ref)}
        self._records.end(run, intent, "stops", name, "set", facts=facts)
        if run.side.stop_account == run.side.runner:
            self._tell_shared(run)
        return 0.0

    def _tell_shared(self, run: Watched) -> None:
        """Once a run: two of the nets hang on one account."""
        self._tell_once(run, "outside-stops-shared", "warning", account=run.side.runner)

    def say_gone(self, run: Watched, machine: Machine) -> None:
        """That it is verified gone from here, too, where another desktop has told what it cost."""
        self._records.say(run, "deleted", name=machine.ref.name, proof="404", made=False)

    def tell_strange(self, run: Watched, control: Mapping[str, object]) -> None:
        """Once a run: limits in the bucket that nobody asked for here, and that count for nothing."""
        wanted = {name: control[name] for name in ("hours", "money_usd") if name in control}
        self._tell_once(run, "limits-not-believed", "warning", **wanted)

    def tell_price(self, run: Watched, limits: Limits) -> None:
        """Once a run: its plan has no price, and by what its cost limit counts, or that nothing counts towards it."""
        if limits.money_usd is None or is_priced(run.plan):
            return
        facts = {} if listed(run.plan) is None else {"usd_per_hour": limits.usd_per_hour}
        self._tell_once(run, "price-by-list" if facts else "price-not-known", "warning", **facts)

    def tell_left_out(self, run: Watched) -> None:
        self._closing.tell_left_out(run)

    def _tell_once(self, run: Watched, id: str, level: str, **facts: object) -> None:
        told = (event.get("id") for event in desk_events(run.folder, run.whose) if event.kind == "notice")
        if id not in told:
            self._records.say(run, "notice", id=id, level=level, facts=facts)

    def _create(self, run: Watched, machine: Machine, repeat: bool, rules: Rules, limits: Limits) -> float:
        name = machine.ref.name
        if not self._is_ours(run):
            return self._taken_over(run)
        if repeat and not self._asked_here(run, name):  # by another computer: it comes, or is given up
            return rules.rate_s
        preparing = self._place(run.plan.place).preparing
        if not preparing.is_current(run.state.pieces or {}):  # another version of the app prepared it
            return self._prepare(run)
        if self._is_anothers(run):
            return self._bring_code(run)
        if not repeat and not self._renewed(run):  # the bucket's rules, or somebody, deleted what was brought
            return self._prepare(run)
        if not run.state.waived(run.plan.limits) and not run.side.stops.of(machine.ref):
            raise CloudUnclear("unreadable-reply", raw="the stops that were set are not there")
        if repeat:
            intents = self._records.journal.open_intents()
            number = next((one.number for one in intents if one.facts.get("id") == f"create/{name}"), None)
        else:
            machine, number = replace(machine, request_id=str(uuid.uuid4())), None
        if number is None:
            number = self._records.begin(run, "create", machine, request_id=machine.request_id)
        machine = run.state.of(name) or machine
        now = run.side.clock.now()
        config = asking.config(
            machine,
            plan=run.plan,
            state=run.state,
            side=run.side,
            install=self._records.install,
            limits=limits,
            now=now,
            queue="" if run.state.waived(run.plan.limits) else run.side.stops.machines_queue(machine.ref),
            compiled=compiling.handed(self._records, run),
            compiled_key=compiling.key_of_machine(self._records.home, run.folder.name, machine.attempt),
            limits_key=seals.limits_key(self._records.key, run.folder.name),
        )
        try:
            metadata = preparing.metadata(config, asking.bare_deadline(now, run.state, rules, limits))
        except CloudRefused as error:  # longer than a machine can be told: none is asked for
            if repeat:
                raise
            self._records.end(run, number, "create", name, "refused", error=error.id, facts=dict(error.facts))
            return 0.0
        wanted = asking.wanted(
            machine,
            metadata,
            plan=run.plan,
            rules=rules,
            limits=limits,
            state=run.state,
            side=run.side,
            install=self._records.install,
            now=now,
        )
        run.looks.pop(name, None)
        try:
            if not repeat:  # a repeat finds the first call's own machine among what is used up
                self._machines(run, machine).check(wanted)
            self._machines(run, machine).create(wanted)
        except CloudRefused as error:
            if error.id == "exists":
                self._records.end(run, number, "create", name, "accepted")
                return 0.0
            self._records.end(run, number, "create", name, "refused", error=error.id, facts=dict(error.facts))
            return 0.0
        except StudioError:
            if not machine.unclear:
                self._records.say(run, "cloud", name=name, zone=machine.ref.zone, state="unclear", raw="")
            raise
        self._records.end(run, number, "create", name, "accepted")
        return 0.0

    def _renewed(self, run: Watched) -> bool:
        """Job and data that were brought long ago shall last as long as a request may wait. False: a piece is gone."""
        if run.side.clock.now() - run.state.prepared < RENEW_S:
            return True
        pieces = run.state.pieces or {}
        names = [str(one["object"]) for one in (inner(pieces.get("bundle")), *brought.shared(pieces)) if one]
        return all(run.side.mailbox.renew(name) for name in names)

    def _set_lease_stops(self, run: Watched, machine: Machine, limits: Limits) -> float:
        """Set the stops at the lease's true end. The guardian may have added some: those may be anybody's (`added`)."""
        if run.state.waived(run.plan.limits):
            self._records.say(run, "intent-closed", id=f"lease-stops/{machine.ref.name}", outcome="none")
            return 0.0
        name = machine.ref.name
        before = list(run.side.stops.of(machine.ref))
        lease: Sequence[str] = ()
        try:
            lease = run.side.stops.set(
                machine.ref, "l", asking.lease_times(machine, run.state, limits, run.side.clock.now())
            )
        except CloudRefused as error:  # the earlier ones stand
            facts = {"raw": error.facts.get("raw")}
            self._records.say(run, "notice", id="stops-missing", level="warning", facts=facts)
        if lease:
            run.side.stops.remove([one for one in before if one not in lease])
        self._records.say(run, "intent-closed", id=f"lease-stops/{name}", outcome="set" if lease else "kept")
        return 0.0

    def _tell_making(self, run: Watched, machine: Machine, rules: Rules, limits: Limits) -> None:
        """Once a machine, and once more when it is being made for longer than its shut-off timers reach."""
        last = asking.before_times(machine.asked or 0.0, replace(run.state, since=0.0), rules, limits)[-1]
        beyond = not run.state.waived(run.plan.limits) and run.side.clock.now() > last
        told = [event.get("facts") for event in desk_events(run.folder, run.whose) if event.kind == "notice"]
        facts = {"name": machine.ref.name, "beyond": beyond, "usd_per_hour": limits.usd_per_hour}
        if facts not in told:
            level = "warning" if beyond else "info"
            self._records.say(run, "notice", id="being-made", level=level, facts=facts)

    def _delete(self, run: Watched, machine: Machine, rules: Rules, limits: Limits) -> float:
        number = self._records.begin(run, "delete", machine)
        name = machine.ref.name
        seen = run.looks.pop(name, (None, 0.0))[0]
        if seen is not None and seen.state == decide.MAKING and machine.delete_asked is not None:
            self._tell_making(run, machine, rules, limits)  # it was asked before: by HTTP 200, and nothing came of it
        try:
            self._machines(run, machine).delete(machine.ref)
        except (CloudRefused, CloudUnclear) as error:
            if error.id == "precondition" and error.facts.get("state") == "PROVISIONING":
                self._records.end(run, number, "delete", name, "not-yet", error=error.id)
                self._tell_making(run, machine, rules, limits)
                return 5.0
            self._records.end(run, number, "delete", name, "failed", error=error.id)
            failed = (run.state.of(name) or machine).delete_failed
            if failed >= DELETE_FAILS_BEFORE_NOTICE and (failed - DELETE_FAILS_BEFORE_NOTICE) % 10 == 0:
                facts = {"name": name, "usd_per_hour": limits.usd_per_hour, "raw": error.facts.get("raw")}
                self._records.say(run, "notice", id="delete-failing", level="error", facts=facts)
            return 5.0
        self._records.end(run, number, "delete", name, "accepted")
        return 0.0

    def _say_seen(self, run: Watched, machine: Machine, seen: MachineSeen) -> None:
        self._records.say(
            run,
            "cloud",
            name=machine.ref.name,
            zone=machine.ref.zone,
            state=seen.state,
            raw=seen.raw,
            created=seen.created,
            over=seen.over,
            # Of Compute Engine it is not told: a machine that switched itself off looks the same.
            by_service=seen.by_service and machine.ref.backend == "tpu",
        )

    def find(self, run: Watched, bring: Callable[[], None] = lambda: None) -> None:
        """After a take-over: ask Google by the run's label where its machines are, and since when, and take in what
        others' records say, once: whoever writes to the bucket can write some.

        Args:
            bring: What the run has left, before it is taken in where no machine is there: none waits for that.

        Raises:
            CloudRefused, CloudUnclear: That cannot be known.
            OSError: Of the disk.
        """
        if not self._records.journal.was_taken_over(run.folder.name) or run.foreign:
            return
        there = {one.ref.name: one for one in self._labelled(run) if name_of(one.ref.name, run.folder.name)}
        run.there = there
        if self._records.is_to_be_taken_in(run):
            if not there:
                bring()
            self._records.take_in(run, there)
        self._records.adopt(run, there)

    def _labelled(self, run: Watched) -> list[MachineSeen]:
        rules, found = asking.rules_of(run.plan, limits_of(run.plan)), list[MachineSeen]()
        for id, machines in run.side.machines.items():
            try:
                found += machines.find({"run-id": run.folder.name})
            except CloudRefused as error:
                if error.id == "project-deleted":  # which takes its machines with it
                    return []
                if error.id not in ("service-disabled", "permission-missing"):
                    raise
                if id == rules.backend:  # who may not list may look by name, in each zone of the plan
                    names = self._records.names(run)
                    refs = [Ref(name, zone, id, alpha=rules.alpha) for name in names for zone in rules.zones]
                    found += filter(None, map(machines.look, refs))
        return found

    def _is_there_after_all(self, run: Watched) -> bool:
        """Whether the cloud has a machine of the run's that is said to be gone, stops and all: it is one of the run's
        again then. Raises as `find`."""
        self.find(run)
        back = [one for one in run.state.machines if one.gone is not None and one.ref.name in run.there]
        for machine in back:
            self._say_seen(run, machine, run.there[machine.ref.name])
        return bool(back)

    def _remove_stops(self, run: Watched, machine: Machine) -> float:
        if self._is_there_after_all(run):
            return 5.0
        name, left = machine.ref.name, list[str]()
        try:
            left = stops.without(run.side.stops, machine.ref)
            if left:
                raise CloudUnclear("precondition", raw="some stops are still there")
        except (CloudRefused, CloudUnclear) as error:
            if self._failed(f"stops/{name}") < STOPS_TRIES and error.id != "project-deleted":
                raise
            self._records.leave_stops(run, machine)
            self._records.say(run, "notice", id="stops-left", level="info", facts={"name": name})
            left = left or ["unknown"]
        self._records.say(run, "stops-removed", name=name, left=left)
        return 0.0


def _has_no_machine(machine: Machine, cloud: MachineSeen | None) -> bool:
    """Whether a look found a request that had none up to then."""
    return cloud is not None and (_waits(cloud) or _waited_in_vain(machine, cloud))


def _waited_in_vain(machine: Machine, cloud: MachineSeen) -> bool:
    """Google gave it up before there was a machine: one that was there is suspended, or gone, and not failed for want
    of one."""
    never = machine.ready is None and machine.created is None and machine.coming is None and cloud.created is None
    refusals = (*decide.ELSEWHERE, *decide.AGAIN, "timed-out")
    return never and cloud.state == "failed" and cloud.error is not None and cloud.error[0] in refusals


def _waits(cloud: MachineSeen) -> bool:
    """There was no machine up to now: what was once given does not go back to waiting."""
    return cloud.state == "waiting" and cloud.created is None

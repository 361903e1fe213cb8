"""What a person does with a rented run: launch, stop, extend, resume, take over. `workflow.runs` calls it.

Nothing here waits for a machine: the verbs write what is wanted into the run folder, and the driver sees to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner.driving import NEEDS_JAX, refused
from tpu_studio.planner.rented import start_s
from tpu_studio.wire import controls, loans, places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import BadInput, CloudRefused, CloudUnclear, RunError, StudioError
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk, seals, trash
from tpu_studio.workflow.cloudruns import asking, believed, stops
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.mirror import Mirror, prefix_of
from tpu_studio.workflow.cloudruns.offer import Offer
from tpu_studio.workflow.cloudruns.others import ATTEMPTS_OF_OTHERS
from tpu_studio.workflow.cloudruns.plans import put
from tpu_studio.workflow.cloudruns.ports import CloudSide
from tpu_studio.workflow.cloudruns.recording import SEEN_ENOUGH_S
from tpu_studio.workflow.cloudruns.state import TAKEN_OVER, State, fold
from tpu_studio.workflow.consent import is_foreign
from tpu_studio.workflow.decide import NewAttempt, Seen, SendControl
from tpu_studio.workflow.ports import Journal

__all__ = ["CloudVerbs"]


class CloudVerbs:
    """Args:
    driver: Knows the places and the records.
    """

    def __init__(self, home: Path, driver: Driver, journal: Journal) -> None:
        self._home, self.driver, self._journal = home, driver, journal

    def check_ready(self, plan: Plan) -> float:
        """Connect; the cloud's time. Raises NotReady, SignedOut, BadInput ``place-needs-jax``; CloudUnclear with the
        fact ``launching``: no run is there yet that could go on by itself."""
        known, backend = catalogue(), plan.job.where.backend
        if why := refused(plan.place, plan.framework, known, plan.accelerator, backend):  # also of an older version's
            accelerator = known.title_of(plan.accelerator)
            raise BadInput(NEEDS_JAX, place=plan.place, why=why, accelerator=accelerator)
        try:
            return self.driver.side(plan).clock.now()
        except CloudUnclear as error:
            raise CloudUnclear(error.id, **{**error.facts, "launching": True}) from error

    def stop(self, folder: Path, keep: bool) -> None:
        """Nothing is touched at Google here, so nobody is asked who drives the run: whoever does is brought the word.
        Also where its machine says that it is over, until that is verified gone.
        Where this disk says that another does, the bucket is asked whether that is still so.

        Raises RunError ``run-is-over``, ``run-taken-over``; ``stop-not-sent`` where neither the disk nor the bucket
        takes the word: it goes on then.
        """
        owner = _known_owner(folder)
        if self._is_others(owner):
            owner = self._owner_now(folder)
        known = self._is_others(owner) or self._take_in(folder.name)
        said = 0 if known else min(ATTEMPTS_OF_OTHERS, fold(desk_events(folder)).attempt)  # nobody can be asked now
        state = self.driver.state(folder.name) if owner else self.driver.own(folder)
        if state.end is not None and (state.settled or not (state.there or self.driver.own(folder).there)):
            raise RunError("run-is-over", run=folder.name, reason=str(state.end.get("reason")))
        self._refuse_taken_over(folder, owner)
        record = {"verb": "stop", "keep": keep, "attempt": max(state.attempt, said)}
        try:
            believed.ask(folder, record)
        except OSError as error:  # no disk keeps a machine from being stopped
            try:
                is_sent = self._mirror(folder).controls.send(record)
            except StudioError:
                is_sent = False
            if not is_sent:
                charges = places.by_id(plans.read(folder).place).charges
                raise RunError("stop-not-sent", run=folder.name, charges=charges, raw=str(error)) from error

    def send(self, folder: Path, record: Mapping[str, object]) -> None:
        """A word to the guardian that changes neither limits nor what is deleted when. Raises RunError
        ``run-taken-over``; of the disk."""
        self._refuse_taken_over(folder, _known_owner(folder))
        try:
            controls.send(folder, record)
        except OSError as error:
            raise desk.disk_error(error, folder) from error

    def extend(self, folder: Path, action: tuple[SendControl, ...]) -> None:
        """Of a machine that trains: who drives it is read first, then shut-off timers, then the word to the guardian.

        Raises:
            RunError: ``stops-not-moved``, ``past-platform-limit``, ``run-taken-over``; nothing was changed then.
        """
        self._refuse_taken_over(folder, _known_owner(folder))
        run = folder.name
        if not self._take_in(run):
            raise RunError("stops-not-moved", run=run, raw="what became of its machines cannot be asked now")
        state, plan = self.driver.state(run), plans.read(folder)
        records = [one.record for one in action]
        machine = state.machine
        if machine is not None and machine.maybe_there and machine.accepted is not None:
            try:
                self._refuse_taken_over(folder, self._mirror(folder).holder())
            except (CloudRefused, CloudUnclear) as error:
                if not state.waived(plan.limits):
                    raise RunError("stops-not-moved", run=run, raw=error.facts.get("raw", error.id)) from error
            self._move_stops(folder, plan, state, machine, records)
        for record in records:
            believed.ask(folder, record, self._limits_key(folder))

    def again(self, folder: Path, action: NewAttempt) -> None:
        """A new attempt of a run that is over, from its last copy.

        Raises RunError ``run-taken-over``, and what the cloud answers where that cannot be asked; nothing was changed.
        """
        self._refuse_taken_over(folder, _known_owner(folder))
        plan = plans.read(folder)
        now = self.check_ready(plan)
        try:
            self._refuse_taken_over(folder, self._mirror(folder).holder())
        except CloudRefused as error:
            if error.id != "not-found":  # its bucket is gone, and with it whoever might drive it
                raise
        self.driver.take_in(folder.name)
        state = self.driver.state(folder.name)
        if state.end is not None:
            now = max(now, state.end.t + 0.01)
        with desk.driving(folder) as alone:
            if not alone:
                raise RunError("run-busy", run=folder.name)
            for record in action.controls:
                believed.ask(folder, record, self._limits_key(folder))
            desk.write_owner(folder, desk.install_id(self._home), t=now)
            number = state.attempt + 1
            self._say(folder, "again", now, attempt=number)
            self._say(folder, "phase", now, phase="queued", detail="submitted", attempt=number)

    def _limits_key(self, folder: Path) -> str:
        return seals.limits_key(desk.seal_key(self._home), folder.name)

    def seen(self, folder: Path, checkpoint: bool, usd: float) -> Seen:
        """What the decisions about verbs need to know, of a run that was begun or taken over here."""
        run = folder.name
        state, plan = self.driver.state(run), plans.read(folder)
        limits, plain = believed.limits(folder, plan), limits_of(plan)
        end, ended = state.end, (state.machines[-1].gone or 0.0) if state.machines else 0.0
        limited = limits.reserved_usd + state.limited_usd(limits.usd_per_hour, ended)
        return Seen(
            run=run,
            attempt=state.attempt,
            alive=not self.driver.is_over(folder),
            over=end is not None,
            reason=str(end.get("reason")) if end else "",
            has_checkpoint=checkpoint,
            used_s=state.limited_s(ended),
            usd=max(usd, limited) if state.machines else usd,
            limit_hours=limits.hours,
            limit_usd=limits.money_usd,
            plan_hours=plain.hours,
            plan_steps=plan.steps,
            steps_per_epoch=plan.steps_per_epoch,
            rented=True,
            usd_per_hour=limits.usd_per_hour,
            start_s=start_s(plan.place),
            unwatched=max(state.limited_s(ended), state.limited_money_s(ended)) > state.used_s(ended) + SEEN_ENOUGH_S,
        )

    def take_over(self, plan: Plan, run: str, *, bucket: str = "", offer: Offer | None = None) -> Path:
        """Drive a run of another computer from here on; its folder is made from the bucket where it is not here.

        Args:
            plan: Any plan of that place: it tells project and bucket.
            bucket: The one that it must be; "" takes any.
            offer: What a person agreed to; None: nobody was asked, and what stands there now counts.

        Raises:
            RunError: ``bucket-differs``, ``run-unknown``, ``run-changed`` when another plan stands there than was
                agreed to, ``run-busy`` when the owner changed meanwhile, ``folder-unwritable``, ``disk-full``; errors
                of the cloud.
        """
        side, frozen = self._in_bucket(plan, run, bucket)
        offer = offer or self._offer(side, frozen, run)
        if frozen != offer.frozen:
            raise RunError("run-changed", run=run)
        folder = self._home / "runs" / run
        self._put_away_a_copy(folder)
        now, install = side.clock.now(), desk.install_id(self._home)
        told = {"plan": json.loads(frozen), "project": side.project, "bucket": side.mailbox.bucket}
        number = self._journal.open("take-over", run, told, now)
        try:
            if not _holds(folder, frozen) and not put(folder, frozen):
                raise RunError("run-busy", run=run)
            believed.take(folder, offer.changes)  # what was agreed to on the other computer, before this one drives it
            mirror, owner = self._mirror_at(folder, side), desk.owner_record(install, t=now)
            if not mirror.open(owner, take_over=True):
                raise RunError("run-busy", run=run)
            desk.put_owner(folder, owner)
            mirror.restore()  # what this computer has said of it before
            self._say(folder, TAKEN_OVER, now)
            mirror.desk_files()
            if not self.driver.state(run).opened:  # taken before the other had told of anything
                # else a run that is stopped now would end here only, and go on for ever there
                self._say(folder, "opened", now, bucket=side.mailbox.bucket, project=side.project)
            mirror.controls.pull()
        except OSError as error:
            self._journal.close(number, "failed", side.clock.now())
            raise desk.disk_error(error, folder) from error
        except StudioError:
            self._journal.close(number, "failed", side.clock.now())
            raise
        self._journal.close(number, "taken", side.clock.now())
        self._take_in(run)
        return folder

    def _take_in(self, run: str) -> bool:
        """What others had said of a run that was taken over; whether it is this computer's own record now. Where Google
        cannot be asked, its next turn does it before anything else."""
        with suppress(StudioError, OSError):
            self.driver.take_in(run)
        return not self.driver.is_to_be_taken_in(run)

    def offer(self, plan: Plan, run: str, *, bucket: str = "") -> Offer:
        """What `take_over` would go by. Changes nothing; raises the same."""
        return self._offer(*self._in_bucket(plan, run, bucket), run)

    def _offer(self, side: CloudSide, frozen: bytes, run: str) -> Offer:
        folder = self._home / "runs" / run
        here = folder.is_dir() and not self._is_a_copy(folder)
        mirror = self._mirror_at(folder, side)
        changes = tuple(one for one in mirror.controls.offered(here=here) if one.get("verb") == "limits")
        known = believed.are_known(folder, changes) if here else not changes
        return Offer(frozen, changes, known and self.driver.plans.knows(loads(frozen)))

    def _in_bucket(self, plan: Plan, run: str, bucket: str) -> tuple[CloudSide, bytes]:
        side = self.driver.side(plan)
        if bucket and bucket != side.mailbox.bucket:
            raise RunError("bucket-differs", run=run, bucket=bucket, here=side.mailbox.bucket)
        if "/" in run or run in ("", ".", ".."):
            raise RunError("run-unknown", run=run)
        frozen = side.mailbox.read(prefix_of(run) + PLAN)
        if frozen is None or (found := loads(frozen)).run != run or found.place != plan.place:
            raise RunError("run-unknown", run=run)
        return side, frozen

    def _put_away_a_copy(self, folder: Path) -> None:
        """Into the trash: what somebody's copy of a run tells of it is not what the bucket tells."""
        if folder.is_dir() and self._is_a_copy(folder):
            try:
                trash.put(folder, self._home / "trash")
            except OSError as error:
                raise desk.disk_error(error, folder) from error

    def _is_a_copy(self, folder: Path) -> bool:
        return is_foreign(folder, launched_here=self.driver.launched_here(folder))

    def _mirror(self, folder: Path) -> Mirror:
        return self._mirror_at(folder, self.driver.side_of(folder.name, plans.read(folder)))

    def _mirror_at(self, folder: Path, side: CloudSide) -> Mirror:
        return Mirror(folder, desk.install_id(self._home), side.mailbox, desk.seal_key(self._home))

    def _say(self, folder: Path, kind: str, t: float, **fields: object) -> None:
        install, key = desk.install_id(self._home), desk.seal_key(self._home)
        desk.write_event(folder, install, kind, t=t, key=key, **fields)

    def _refuse_taken_over(self, folder: Path, owner: Mapping[str, object]) -> None:
        """*owner*: as this disk knows it, or as the bucket says. What was asked for in ignorance of a take-over, and
        touches nothing at Google, is brought to the bucket."""
        if not self._is_others(owner):
            return
        facts = {name: owner[name] for name in ("host", "t") if name in owner}
        place, bucket = plans.read(folder).place, self.driver.state(folder.name).bucket
        raise RunError("run-taken-over", run=folder.name, place=place, bucket=bucket, **facts)

    def _owner_now(self, folder: Path) -> Mapping[str, object]:
        """As the bucket says, written down here; nobody where it names nobody, or does not answer."""
        try:
            owner = self._mirror(folder).holder()
        except StudioError:
            return {}
        if owner:
            with suppress(OSError):  # then it is asked again
                desk.put_owner(folder, owner)
        return owner

    def _is_others(self, owner: Mapping[str, object]) -> bool:
        return owner.get("install") not in (None, desk.install_id(self._home))

    def _move_stops(
        self, folder: Path, plan: Plan, state: State, machine: Machine, records: list[dict[str, object]]
    ) -> None:
        """The machine seen where records say that it is, new tasks set and read back, then the old ones verified gone;
        else refused."""
        if state.waived(plan.limits):
            return
        side = self.driver.side_of(folder.name, plan)
        if loans.by_id(plan.job.where.tier).waits or machine.ref.backend == "compute":
            raise RunError("past-platform-limit", run=folder.name, limit_s=(plan.limits.hours or 0.0) * 3600.0)
        limits = believed.limits(folder, plan, records)
        number = self._journal.open("extend", folder.name, {"name": machine.ref.name}, side.clock.now())
        try:
            seen = side.machines[machine.ref.backend].look(machine.ref)
            if seen is None:
                raise CloudUnclear("precondition", raw=f"{machine.ref.name} is not in {machine.ref.zone}")
            machine = replace(machine, created=seen.created or machine.created)
            old = stops.standing(side.stops, machine.ref)
            side.stops.set(machine.ref, "l", asking.lease_times(machine, state, limits, side.clock.now()))
            side.stops.remove(old)
            if set(stops.standing(side.stops, machine.ref)) & set(old):
                raise CloudUnclear("precondition", raw="the old stops are still there")
        except (CloudRefused, CloudUnclear) as error:
            self._journal.close(number, "refused", side.clock.now())
            raise RunError("stops-not-moved", run=folder.name, raw=error.facts.get("raw", error.id)) from error
        self._journal.close(number, "moved", side.clock.now())


def _known_owner(folder: Path) -> Mapping[str, object]:
    """As this disk knows it; nobody of a run that was brought here as a folder."""
    owner = desk.read_owner(folder)
    return {} if owner.get("imported") else owner


def _holds(folder: Path, frozen: bytes) -> bool:
    try:
        return plans.frozen(folder) == frozen
    except (OSError, RunError):
        return False

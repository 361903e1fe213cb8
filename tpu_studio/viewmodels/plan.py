"""The Plan page: looks at data, plans anew with each edit, times and checks; `planedit` edits, `planstart` starts.

Every edit makes a new draft and plans anew at once (the planner is pure and quick). Looking at data, reading the user's
own model file, timing real steps and launching go through `Tasks`; an answer is dropped when the draft has moved on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Protocol

from tpu_studio.viewmodels import draft, planbases, planwhere, planwords, thumbnails
from tpu_studio.viewmodels.plancheck import PlanChecks, Preflight, described
from tpu_studio.viewmodels.planedit import Editing
from tpu_studio.viewmodels.planlook import Looks
from tpu_studio.viewmodels.planpace import Paces, Read
from tpu_studio.viewmodels.planpreset import Presets
from tpu_studio.viewmodels.planstart import Launcher, Starting
from tpu_studio.viewmodels.planstate import ModelChoice
from tpu_studio.viewmodels.plantiming import StepTimes, Stopwatch
from tpu_studio.viewmodels.planverdict import verdict_of
from tpu_studio.viewmodels.planwork import Inspector, ModelWork
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.job import Job
from tpu_studio.workflow import ownfile
from tpu_studio.workflow.ownfile import Consents, OwnFile

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.own import OwnRuns
    from tpu_studio.planner.recommended import Recommendation
    from tpu_studio.viewmodels.engine import EngineView, EngineViewModel
    from tpu_studio.viewmodels.runs import RunsView, RunsViewModel
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.planning import Sources
    from tpu_studio.workflow.ports import Tasks

PAUSE_S = 1.5  # after the last edit, before real steps are timed


class Engine(Stopwatch, Inspector, Protocol):
    """What is asked of the training engine."""


class PlanViewModel(Editing, Starting):
    """Commands: `new`, `open_job`, `open_draft`, `open_data`, `set`, `set_text`, `reset`, `apply`, `choose_model`,
    `choose_file`, `choose_data`, `set_column`, `open_section`, `close_section`, `look_again`, `stop_looking`,
    `measure`, `check`, `cancel_check`, `undo`, `redo`, `save`, `save_report`, `start`, `agree`, `decline`,
    `create_engine`, and `tick` (ten times a second while it is shown)."""

    def __init__(
        self,
        tasks: Tasks,
        engine: EngineViewModel,
        runs: RunsViewModel,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        look: Callable[..., Look] | None = None,
        pace: Read | None = None,
    ) -> None:
        super().__init__(tasks, engine, clock)
        self._now = now
        self._looks = Looks(tasks, look, clock, self._looked, self._not_looked)
        self._times = StepTimes(tasks, self._plan, self._not_timed)
        self._timed_at = 0.0
        self._work = ModelWork(tasks, self._plan)
        self._paces = Paces(tasks, self._plan, pace)
        self._presets = Presets(tasks, self._plan)
        self._checks = PlanChecks(tasks, self._check_changed)
        self._edited_at = clock()
        self._pictured = ""  # fingerprint of the data whose small pictures are shown or on their way
        self._may_check = False
        self._bucket: tuple[str, Mapping[str, int]] = ("", {})  # region; by place how many days deleted things are kept
        self._taught: OwnRuns | None = None
        self._ends = [engine.state.subscribe(self._engine_changed), runs.state.subscribe(self._runs_changed)]
        self._choose()

    def connect(
        self,
        launcher: Launcher,
        consents: Consents,
        asked: Engine | None,
        preflight: Preflight | None = None,
        compiler: EngineViewModel | None = None,
    ) -> None:
        """Give what is built after the first picture: launching, remembered consents, the engine, the check."""
        self._launcher, self._consents = launcher, consents
        self._times.stopwatch = self._work.inspector = asked
        if preflight is not None and compiler is not None:
            self._checks.connect(preflight, compiler)
            self._may_check = True

    def close(self) -> None:
        """End the subscriptions and forget what is under way."""
        for end in self._ends:
            end()
        self._checks.close()
        self.leave()

    def leave(self) -> None:
        """The page is not shown any more: nothing is timed for it."""
        self._times.cancel()
        self._work.cancel()

    def _take(self, job: Job) -> None:
        """Make *job* the draft: look at its data if it is other data, read its own file, plan. All is told at once."""
        self._edited_at = self._clock()
        with self.state.at_once():
            self._draw(job=job, problem=None, may_undo=bool(self._past), may_redo=bool(self._future))
            self._see_own_file()
            self._see_data()
            self._plan()

    # ------------------------------------------------------------------------------------------------------------ data

    def look_again(self) -> None:
        """Forget what is known of this data and look at it anew."""
        self._see_data(anew=True)
        self._plan()

    def fetch_weights(self) -> None:
        """Ask whether the starter weights may be fetched; the plan is made anew when they are there."""
        self.open_weights(self._plan)

    def open_model_of_hub(self) -> None:
        """Show the way of the model that the plan names from the Hugging Face Hub to this computer."""
        self.open_hub(str(self.state.value.job.model.preset))

    def plan_again(self) -> None:
        """What the plan rests on has changed on disk."""
        self._see_data(anew=True)
        self._plan()

    def stop_looking(self) -> None:
        self._looks.stop()

    def _see_data(self, *, anew: bool = False) -> None:
        view = self.state.value
        if not draft.has_data(view.job):
            self._looks.forget()
            self._draw(look=None, look_problem=None, looking=False, plan=None, parts=None)
            return
        same_kind = view.look is not None and view.look.kind == view.job.data.kind and view.plan is not None
        keep = view.look if same_kind else None
        self._draw(looking=True, look_problem=None, look=keep)
        look = self._looks.want(view.job, anew=anew)
        if look is not None:
            self._draw(looking=False, look_slow=False, look=look)

    def _looked(self, look: Look) -> None:
        with self.state.at_once():
            self._draw(looking=False, look_slow=False, look=look, look_problem=None)
            self._plan()

    def _see_pictures(self) -> None:
        """Small pictures for the preview, when the look is a new one."""
        view = self.state.value
        look = view.look
        pictures = look.pictures if look else []
        if look is None or not pictures:
            self._pictured = ""
            self._draw(thumbnails=())
            return
        if self._pictured == look.fingerprint:
            return
        self._pictured = shown = look.fingerprint
        self._tasks.submit(
            lambda: thumbnails.load(pictures),
            done=lambda loaded: self._draw(thumbnails=loaded) if self._pictured == shown else None,
            failed=self._failed,
        )

    def _not_looked(self, problem: Problem) -> None:
        self._draw(looking=False, look_slow=False, look=None, look_problem=problem, plan=None, parts=None)

    # ------------------------------------------------------------------------------------------------------------ plan

    def _plan(self) -> None:
        with self.state.at_once():
            self._see_pictures()
            self._choose()
            self._plan_now()

    def _plan_now(self) -> None:
        view = self.state.value
        if not view.complete or view.look is None or view.look_problem:
            where = self._where(None)
            self.state.set(
                replace(view, plan=None, parts=None, stale=False, where=where, slice_choices=(), verdict=None)
            )
            return
        if view.looking:
            self.state.set(replace(view, stale=view.plan is not None))
            return
        from tpu_studio.workflow.planning import Draft, plan_job

        try:
            planning = plan_job(Draft(view.job, view.look, view.own), self._sources(), self._now())
        except StudioError as error:
            path = str(error.facts.get("key") or "model.name")
            self.state.set(
                replace(view, plan=None, parts=None, stale=False, problems={**view.problems, path: problem_of(error)})
            )
            return
        plan = planning.plan
        if not self._checks.of(plan):
            self._checks.forget_outcome()
        word = (
            "ready"
            if planning.known.timing
            else "failed"
            if self._times.was_tried(plan)
            else "measuring"
            if self._times.under_way
            else "none"
        )
        where = self._where(plan)
        slices = planwhere.choices(view.job, planning, view.look, self._now()) if view.rented else ()
        check = described(self._checks.view, plan, self._checks.of(plan), self._may_check)
        self.state.set(
            replace(
                view,
                plan=plan,
                parts=planning.parts.estimate,
                stale=False,
                timing=word,
                where=where,
                slice_choices=slices,
                verdict=verdict_of(view.job, plan),
                check=check,
            )
        )

    def _sources(self) -> Sources:
        from tpu_studio.domain.renewed import catalogues
        from tpu_studio.wire.homes import home_folder
        from tpu_studio.workflow.desk import free_bytes
        from tpu_studio.workflow.planning import Bucket, Sources

        region, kept_days = self._bucket
        return Sources(
            catalogues(),
            timing=self._times.of,
            model=self._work.of,
            picture_s=self._paces.of,
            checked=self._checks.of,  # with the TPU compiler's answer where there is one: that very plan is launched
            bucket=lambda place: Bucket(region if places.by_id(place).charges else "", kept_days.get(place, 0)),
            own=self._taught,
            preset=self._presets.of,
            free_bytes=lambda: free_bytes(home_folder()),
        )

    def _where(self, plan: Plan | None) -> planwhere.WhereView:
        view = self.state.value
        if not view.rented:
            return planwhere.WhereView(view.job.where.place)
        return planwhere.where_of(view.job, plan, self._today, view.price_trouble)

    # ------------------------------------------------------------------------------------------------------- the check

    def check(self) -> None:
        """Check this plan with the TPU compiler; asks first where that must be fetched."""
        view = self.state.value
        if view.plan is None or view.stale or view.plan.faults:
            self.start()  # which points to what is missing
        elif view.needs_consent:
            self._consented_to = self.check
            self._draw(asking_consent=True)
        else:
            self._checks.start(view.plan)

    def accept_compiler(self) -> None:
        """Google's licence is accepted: the compiler is fetched, then the plan is checked."""
        self._checks.agree()

    def check_without_compiler(self) -> None:
        self._checks.without()

    def decline_compiler(self) -> None:
        self._checks.decline()

    def cancel_check(self) -> None:
        self._checks.cancel()

    def _check_changed(self) -> None:
        view, check = self.state.value, self._checks.view
        if check.busy or check.status == "asking" or view.plan is None:
            self._draw(check=replace(check, offered=self._may_check))
        else:
            self._plan()

    def prices_changed(self, trouble: str) -> None:
        """Other prices count from now on, or *trouble* says why they do not."""
        self._draw(price_trouble=trouble)
        if self.state.value.rented:
            self._plan()

    def account_changed(
        self,
        missing: str,
        bucket_region: str = "",
        practice_missing: str = "",
        kept_days: Mapping[str, int] | None = None,
    ) -> None:
        """What the account at Google, and that at the practice cloud, still needs before anything is rented, "" when
        nothing is known to be missing.

        *bucket_region*: Where results are kept, "" when not known; *kept_days*: by place, for how long what was deleted
            there is kept, too.
        """
        self._draw(account_missing=missing, practice_missing=practice_missing)
        if (bucket := (bucket_region, kept_days or {})) != self._bucket:
            self._bucket = bucket
            if self.state.value.rented:
                self._plan()

    @property
    def _today(self) -> date:
        return date.fromtimestamp(self._now())

    def _choose(self) -> None:
        """The models that fit, each with what it would take here: a plan each, a fraction of a millisecond."""
        view = self.state.value
        kind = view.job.data.kind
        look = view.look if view.look and not view.looking and view.look.kind == kind else None
        choices = []
        told = _recommended(view.job, look) if look is not None else None
        for place, model in enumerate(draft.fitting_models(kind, look.task if look else None)):
            best = model.name == told.model if told else place == 0
            detail = ("Recommended" if told else "Good first choice") if best and kind else ""
            if look is not None and draft.has_data(view.job):
                job = draft.edited(view.job, {"model.name": model.name})
                begins = self._presets.of(job)[0] if job.model.folder else None
                words = planwords.would_take(job, look, self._now(), self._taught, begins)
                detail = " · ".join(part for part in (detail, words) if part)
            choices.append(ModelChoice(model.name, model.title, model.help, detail, told.why if told and best else ""))
        self._draw(choices=tuple(choices))

    # ---------------------------------------------------------------------------------------------------------- timing

    def tick(self) -> None:
        """Take over the look's progress, and time real steps once editing has paused."""
        progress = self._looks.progress
        if progress is not None and self.state.value.looking:
            self._draw(look_slow=progress[0], look_done=progress[1], look_total=progress[2])
        self._checks.tick()
        view = self.state.value
        if view.timing == "measuring" and (lasted := int(self._clock() - self._timed_at)) != view.timing_s:
            self._draw(timing_s=lasted)
        if self._clock() - self._edited_at >= PAUSE_S:
            self._count_if_needed()
            if not self._work.under_way:  # two at once would slow each other down
                self._time_if_useful()
            if (plan := self.state.value.plan) is not None and not plan.faults:
                self._checks.look_up(plan)
                self._paces.want(plan)

    def _count_if_needed(self) -> None:
        from tpu_studio.workflow.planning import Draft, wants_count

        view = self.state.value
        if view.plan is None or view.look is None or view.stale or view.looking or view.starting or view.plan.faults:
            return
        may_build = view.engine.ready and not view.running
        self._work.want(view.plan, build=may_build and wants_count(Draft(view.job, view.look, view.own), view.plan))

    def measure(self) -> None:
        """Time real steps now, also when an earlier try failed or another run is training."""
        self._time_if_useful(asked=True)

    def _time_if_useful(self, *, asked: bool = False) -> None:
        view = self.state.value
        plan = view.plan
        if plan is None or view.stale or view.looking or view.starting or view.missing[1]:
            return
        if not view.needs_engine:
            return  # this computer's steps say nothing of a TPU's
        if view.parts is not None and view.parts.measured and not asked:
            return  # own runs of this very work tell it already
        if not view.engine.ready or (view.running and not asked) or (plan.job.model.is_own and not plan.consent):
            return
        if self._times.start(plan, again=asked and self._times.of(plan) is None):
            self._timed_at = self._clock()
            timing = "measuring" if self._times.under_way else self.state.value.timing
            self._draw(timing=timing, timing_failed="", timing_s=0)

    def give_up_timing(self) -> None:
        """Time no real steps of this work: the estimate stays as wide as it is."""
        self._times.give_up()
        self._draw(timing="none", timing_failed="")

    def _not_timed(self, problem: Problem | None) -> None:
        self._draw(timing="failed" if problem else "none", timing_failed=problem.title if problem else "")

    # -------------------------------------------------------------------------------------------------------- own file

    def _see_own_file(self) -> None:
        view = self.state.value
        path = draft.absolute(view.job, "model.file")
        if path is None:
            if view.own is not None:
                self.state.set(replace(view, own=None))
            return
        if view.own and view.own.path == path and view.own.sha256:
            return
        self.state.set(replace(view, own=OwnFile(path)))
        consents = self._consents
        self._tasks.submit(lambda: ownfile.read(path, consents), done=self._own_file_read, failed=self._failed)

    def _own_file_read(self, own: OwnFile) -> None:
        view = self.state.value
        if view.own is None or view.own.path != own.path:
            return
        self.state.set(replace(view, own=own))
        self._plan()

    # ---------------------------------------------------------------------------------------------------------- others

    def _engine_changed(self, engine: EngineView) -> None:
        self._draw(engine=engine)

    def _runs_changed(self, runs: RunsView) -> None:
        before, self._taught = self._taught, runs.taught
        with self.state.at_once():
            going_on = tuple(row.name for row in runs.going_on if not row.rented)
            self._draw(running=going_on, bases=planbases.of_rows(runs.rows or ()))
            taught = self._taught.names if self._taught else frozenset()
            if taught != (before.names if before else frozenset()):
                self._plan()


def _recommended(job: Job, look: Look) -> Recommendation | None:
    from tpu_studio.planner.recommended import recommended

    return recommended(look, places.by_id(job.where.place))

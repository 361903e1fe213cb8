"""The Plan page: from nothing, a job file, a sample or dropped data to a started run.

Every edit makes a new draft and plans anew at once (the planner is pure and quick). Looking at data, reading the user's
own model file, timing real steps and launching go through `Tasks`; an answer is dropped when the draft has moved on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels import draft, ownfile, planwhere, planwords, thumbnails
from tpu_studio.viewmodels.ownfile import Consents, OwnFile
from tpu_studio.viewmodels.plancheck import PlanChecks, Preflight, described
from tpu_studio.viewmodels.planform import option_value
from tpu_studio.viewmodels.planlook import Looks
from tpu_studio.viewmodels.planstate import ModelChoice, PlanView
from tpu_studio.viewmodels.plantiming import StepTimes, Stopwatch
from tpu_studio.viewmodels.planverdict import place_changes, verdict_of
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.errors import JobError, StudioError
from tpu_studio.wire.job import Job
from tpu_studio.wire.schema import AUTO, BY_PATH

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.viewmodels.engine import EngineView, EngineViewModel
    from tpu_studio.viewmodels.runs import RunsView, RunsViewModel
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import Tasks

PAUSE_S = 1.5  # after the last edit, before real steps are timed
TYPING_S = 1.0  # letters that follow each other faster belong together
UNDO_AT_MOST = 100


class Launcher(Protocol):
    """`workflow.runs.Runs.launch`."""

    def launch(self, plan: Plan, *, beside: bool = False) -> str: ...


class PlanViewModel:
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
    ) -> None:
        self.state = Observable(PlanView())
        self.started: Callable[[str, str], None] = lambda run, name: None
        self.open_account: Callable[[], None] = lambda: None
        self.reported: Callable[[Path], None] = lambda path: None  # a report lies there
        self._tasks, self._engine, self._clock, self._now = tasks, engine, clock, now
        self._launcher: Launcher | None = None
        self._consents: Consents | None = None
        self._looks = Looks(tasks, look, clock, self._looked, self._not_looked)
        self._times = StepTimes(tasks, self._plan, self._not_timed)
        self._checks = PlanChecks(tasks, self._check_changed)
        self._edited_at = clock()
        self._past: list[Job] = []
        self._future: list[Job] = []
        self._pictured = ""  # fingerprint of the data whose small pictures are shown or on their way
        self._typing = ("", 0.0)  # the field being typed into, and when its last letter came
        self._reviewed: Plan | None = None  # what the open review shows; it is launched, whatever is planned meanwhile
        self._may_check = False
        self._own_names: set[str] = set()  # names of runs that we gave, not the person
        self._ends = [engine.state.subscribe(self._engine_changed), runs.state.subscribe(self._runs_changed)]
        self._choose()

    def connect(
        self,
        launcher: Launcher,
        consents: Consents,
        stopwatch: Stopwatch | None,
        preflight: Preflight | None = None,
        compiler: EngineViewModel | None = None,
    ) -> None:
        """Give what is built after the first picture: launching, remembered consents, timing, the check."""
        self._launcher, self._consents, self._times.stopwatch = launcher, consents, stopwatch
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

    # ------------------------------------------------------------------------------------------------------ beginning

    def new(self) -> None:
        self._begin(draft.empty(), None)

    def open_job(self, path: Path) -> None:
        """Begin with the job file *path*; a file that cannot be read is told and nothing changes."""

        def work() -> Job:
            from tpu_studio.domain import jobfile

            return jobfile.load(path)

        self._tasks.submit(work, done=lambda job: self._begin(job, path), failed=self._failed)

    def open_draft(self, job: Job) -> None:
        """Begin with the settings of an earlier run."""
        self._begin(job, None)

    def open_data(self, path: Path, kind: str) -> None:
        """Begin with data; the model is the good first choice for it."""
        self.new()
        self.choose_data(kind, path)

    def _begin(self, job: Job, file: Path | None) -> None:
        self._past.clear()
        self._future.clear()
        view = self.state.value
        self.state.set(
            PlanView(
                engine=view.engine, running=view.running, saved=job if file else None, file=file,
                price_trouble=view.price_trouble, account_missing=view.account_missing,
            )
        )  # fmt: skip
        self._take(job)

    # --------------------------------------------------------------------------------------------------------- editing

    def set(self, path: str, value: Any) -> None:
        """Change one value (None: back to the recommended one); a wrong one is told under its field."""
        self.apply({path: value})

    def set_text(self, path: str, text: str) -> None:
        """Change one value as it was typed."""
        if path.startswith("model.options."):
            self._set_option(path, text)
            return
        try:
            value = draft.value_of(BY_PATH[path], text)
        except JobError as error:
            self._wrong(path, text, error)
            return
        self.apply({path: value}, typing=path)

    def reset(self, *paths: str) -> None:
        """Take values back to the recommended ones."""
        changes: dict[str, Any] = {}
        for path in paths:
            if path.startswith("model.options."):
                changes["model.options"] = option_value(self.state.value.job, path.rpartition(".")[2], None) or None
            else:
                changes[path] = None
        self.apply(changes)

    def use_recommended(self) -> None:
        """All settings back to the recommended ones; model, data and place stay."""
        view = self.state.value
        paths = [
            path
            for path in view.job.given
            if path.startswith("training.")
            or path
            in (
                "data.image_size",
                "data.augment",
                "data.sequence_length",
                "data.tokenizer",
                "data.validation",
                "limits.hours",
                "limits.money_usd",
            )
        ]
        self.state.set(replace(view, problems={}, typed={}))
        self.apply(dict.fromkeys(paths))

    def apply(self, changes: Mapping[str, Any], *, typing: str = "") -> None:
        """Change several values at once, as a check's repair does. What is typed in one go is undone in one."""
        view = self.state.value
        changes = {path: None if value == AUTO and BY_PATH[path].auto else value for path, value in changes.items()}
        try:
            job = draft.edited(view.job, changes)
        except JobError as error:
            path = str(error.facts.get("key") or next(iter(changes)))
            self._wrong(path, str(changes.get(path, "")), error)
            return
        problems = {path: problem for path, problem in view.problems.items() if path not in changes}
        typed = {path: text for path, text in view.typed.items() if path not in changes}
        self.state.set(replace(view, problems=problems, typed=typed))
        self._change(job, typing)

    def choose_model(self, name: str) -> None:
        self.close_section("model")
        self.apply({"model.name": name})

    def choose_file(self, path: Path) -> None:
        """The user's own Keras file; it is read and shown, and runs only after consent."""
        self.close_section("model")
        self.apply({"model.file": str(path)})

    def choose_data(self, kind: str, path: Path | None) -> None:
        """Data of *kind*; settings that belonged to other data go, and the model becomes a fitting one if it must."""
        view = self.state.value
        job = view.job
        changes: dict[str, Any] = {
            "data.kind": kind,
            "data.path": str(path) if path else None,
            "data.target": None,
            "data.columns": None,
            "data.task": None,
        }
        if not draft.has_model(job) or not draft.model_fits(job, kind):
            changes["model.name"] = draft.first_model(kind)
        if "name" not in job.given or job.name in self._own_names:
            name = kind if path is None else path.stem if kind in ("table", "text") else path.name
            changes["name"] = name.strip() or kind
            self._own_names.add(str(changes["name"]))
        self.state.set(replace(view, opened=view.opened | {"data"}, problems={}, typed={}))
        self.apply(changes)

    def choose_sample(self, path: Path) -> None:
        """The data (and a fitting model) of the example job in *path*; the person's own settings stay."""

        def work() -> Job:
            from tpu_studio.domain import jobfile

            return jobfile.load(path)

        def take(job: Job) -> None:
            self.choose_data(str(job["data.kind"]), draft.absolute(job, "data.path"))
            self.apply({"data.target": job["data.target"], "training.epochs": job["training.epochs"]})

        self._tasks.submit(work, done=take, failed=self._failed)

    def set_column(self, name: str, kind: str | None) -> None:
        """Use a column as *kind*, or None: as we propose."""
        columns = dict(self.state.value.job["data.columns"] or {})
        if kind is None:
            columns.pop(name, None)
        else:
            columns[name] = kind
        self.apply({"data.columns": columns or None})

    def undo(self) -> None:
        if self._past:
            self._future.append(self.state.value.job)
            self._take(self._past.pop())

    def redo(self) -> None:
        if self._future:
            self._past.append(self.state.value.job)
            self._take(self._future.pop())

    def _set_option(self, path: str, text: str) -> None:
        from tpu_studio.wire.models import options

        view, name = self.state.value, path.rpartition(".")[2]
        plain = text.strip().replace(",", "").replace(" ", "")
        try:
            value: float | None = float(plain) if plain and plain.lower() != AUTO else None
        except ValueError:
            self._wrong(path, text, JobError("job-wrong-type", key=path, value=f"“{text[:40]}”", wanted="a number"))
            return
        if value is not None and value == int(value):
            value = int(value)
        changed = option_value(view.job, name, value)
        try:
            options(str(view.job["model.name"]), changed)
        except JobError as error:
            self._wrong(path, text, error)
            return
        problems = {key: problem for key, problem in view.problems.items() if not key.startswith("model.options.")}
        self.state.set(replace(view, problems=problems))
        self.apply({"model.options": changed or None})

    def _wrong(self, path: str, text: str, error: JobError) -> None:
        view = self.state.value
        self.state.set(
            replace(view, problems={**view.problems, path: problem_of(error)}, typed={**view.typed, path: text})
        )

    def _change(self, job: Job, typing: str = "") -> None:
        if job == self.state.value.job:
            return
        path, at = self._typing
        if not (typing and typing == path and self._clock() - at < TYPING_S and self._past):
            self._past = [*self._past[-UNDO_AT_MOST:], self.state.value.job]
        self._typing = (typing, self._clock())
        self._future.clear()
        self._take(job)

    def _take(self, job: Job) -> None:
        """Make *job* the draft: look at its data if it is other data, read its own file, plan."""
        self._edited_at = self._clock()
        self._draw(job=job, problem=None, may_undo=bool(self._past), may_redo=bool(self._future))
        self._see_own_file()
        self._see_data()
        self._plan()

    # ----------------------------------------------------------------------------------------------------------- where

    def set_place(self, place: str) -> None:
        self.apply(place_changes(self.state.value.job, place))

    def set_generation(self, generation: str) -> None:
        self.apply(planwhere.generation_changes(self.state.value.job, generation))

    def set_slice(self, accelerator: str) -> None:
        """One size of a TPU; the areas that lend it are chosen anew."""
        self.apply(planwhere.slice_changes(self.state.value.job, accelerator))

    def set_tier(self, tier: str) -> None:
        self.apply({"where.tier": tier, "where.zones": None})

    def set_lender(self, backend: str) -> None:
        self.apply({"where.backend": backend})

    def set_region(self, region: str) -> None:
        self.apply(planwhere.region_changes(self.state.value.where, region))

    def set_zone(self, zone: str, on: bool) -> None:
        self.apply(planwhere.zone_changes(self.state.value.where, zone, on))

    # -------------------------------------------------------------------------------------------------------- sections

    def open_section(self, section: str) -> None:
        view = self.state.value
        self.state.set(replace(view, opened=view.opened | {section}))

    def close_section(self, section: str) -> None:
        view = self.state.value
        self.state.set(replace(view, opened=view.opened - {section}))

    def set_beside(self, beside: bool) -> None:
        self._draw(beside=beside)

    # ------------------------------------------------------------------------------------------------------------ data

    def look_again(self) -> None:
        """Forget what is known of this data and look at it anew."""
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
        same_kind = view.look is not None and view.look.kind == view.job["data.kind"] and view.plan is not None
        keep = view.look if same_kind else None
        self._draw(looking=True, look_problem=None, look=keep)
        look = self._looks.want(view.job, anew=anew)
        if look is not None:
            self._draw(looking=False, look_slow=False, look=look)

    def _looked(self, look: Look) -> None:
        self._draw(looking=False, look_slow=False, look=look, look_problem=None)
        self._plan()

    def _see_pictures(self) -> None:
        """Small pictures for the preview, when the look is a new one."""
        view = self.state.value
        look = view.look
        pictures = look.preview.get("pictures") or () if look else ()
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
        self._see_pictures()
        self._choose()
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
        from tpu_studio.planner.make import estimate_of, make_plan
        from tpu_studio.planner.outlook import HERE

        own = view.own
        facts = {"sha256": own.sha256, "missing": own.missing} if own else {}
        consent = own.sha256 if own and own.agreed else ""
        try:
            known: dict[str, Any] = {"model_facts": facts, "now": self._now(), "consent": consent}
            timing = self._times.of(make_plan(view.job, view.look, advise=False, **known))
            here = None
            if not view.needs_engine or view.rented:
                here = self._times.of(make_plan(draft.edited(view.job, HERE), view.look, advise=False, **known))
            plan = make_plan(view.job, view.look, timing=timing, here=here, **known)
            parts = estimate_of(view.job, view.look, timing=timing, model_facts=facts)
            verdict = verdict_of(view.job, plan)
            plan = self._as_checked(plan)
        except StudioError as error:
            path = str(error.facts.get("key") or "model.name")
            self.state.set(
                replace(view, plan=None, parts=None, stale=False, problems={**view.problems, path: problem_of(error)})
            )
            return
        word = (
            "ready"
            if timing
            else "failed"
            if self._times.was_tried(plan)
            else "measuring"
            if self._times.under_way
            else "none"
        )
        where = self._where(plan)
        slices = planwhere.choices(view.job, plan, view.look, timing, self._now()) if view.rented else ()
        check = described(self._checks.view, plan, self._checks.of(plan), self._may_check)
        self.state.set(
            replace(
                view, plan=plan, parts=parts, stale=False, timing=word, where=where, slice_choices=slices,
                verdict=verdict, check=check,
            )
        )  # fmt: skip

    def _where(self, plan: Plan | None) -> planwhere.WhereView:
        view = self.state.value
        if not view.rented:
            return planwhere.WhereView(str(view.job["where.place"]))
        return planwhere.where_of(view.job, plan, self._today, view.price_trouble)

    # ------------------------------------------------------------------------------------------------------- the check

    def check(self) -> None:
        """Check this plan with the TPU compiler; asks first where that must be fetched."""
        view = self.state.value
        if view.plan is None or view.stale or view.plan.blocking:
            self.start()  # which points to what is missing
        elif view.own is not None and not view.own.agreed:
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

    def _as_checked(self, plan: Plan) -> Plan:
        """With the TPU compiler's answer where there is one: that very plan is launched."""
        answer = self._checks.of(plan)
        if not answer:
            self._checks.forget_outcome()
            return plan
        from tpu_studio.planner.compiled import with_compiler

        return with_compiler(plan, answer)

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

    def account_changed(self, missing: str) -> None:
        """What the account at Google still needs before anything is rented, "" when nothing is known to be missing."""
        self._draw(account_missing=missing)

    @property
    def _today(self) -> date:
        return date.fromtimestamp(self._now())

    def _choose(self) -> None:
        """The models that fit, each with what it would take here: a plan each, a fraction of a millisecond."""
        view = self.state.value
        kind = view.job["data.kind"]
        look = view.look if view.look and not view.looking and view.look.kind == kind else None
        choices = []
        for place, model in enumerate(draft.fitting_models(kind, look.task if look else None)):
            detail = "Good first choice" if place == 0 and kind else ""
            if look is not None and draft.has_data(view.job):
                words = planwords.would_take(draft.edited(view.job, {"model.name": model.name}), look, self._now())
                detail = " · ".join(part for part in (detail, words) if part)
            choices.append(ModelChoice(model.name, model.title, model.help, detail))
        self._draw(choices=tuple(choices))

    # ---------------------------------------------------------------------------------------------------------- timing

    def tick(self) -> None:
        """Take over the look's progress, and time real steps once editing has paused."""
        progress = self._looks.progress
        if progress is not None and self.state.value.looking:
            self._draw(look_slow=progress[0], look_done=progress[1], look_total=progress[2])
        self._checks.tick()
        if self._clock() - self._edited_at >= PAUSE_S:
            self._time_if_useful()
            if (plan := self.state.value.plan) is not None and not plan.blocking:
                self._checks.look_up(plan)

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
        if not view.engine.ready or (view.running and not asked) or (plan.job.model == "file" and not plan.consent):
            return
        if self._times.start(plan, again=asked and self._times.of(plan) is None):
            self._draw(timing="measuring" if self._times.under_way else self.state.value.timing, timing_failed="")

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

    def agree(self) -> None:
        """The person has read the file and lets it run; then the run starts."""
        view, consents = self.state.value, self._consents
        own = view.own
        if own is None or not own.sha256:
            return
        self.state.set(replace(view, asking_consent=False))
        self._tasks.submit(lambda: ownfile.agree(own, consents), done=self._agreed, failed=self._failed)

    def _agreed(self, own: OwnFile) -> None:
        self._own_file_read(own)
        if own.agreed:
            self.start()
        else:  # it was changed while it was being read
            self._draw(asking_consent=True)

    def ask_consent(self) -> None:
        self._draw(asking_consent=True)

    def decline(self) -> None:
        self._draw(asking_consent=False, asking_engine=False)

    # ----------------------------------------------------------------------------------------------------- save, start

    def save(self, path: Path) -> None:
        """Write the job as a file; its paths are written relative to nothing, so that it can be moved."""
        job = draft.relocated(self.state.value.job, str(path.resolve().parent))

        def work() -> None:
            from tpu_studio.domain import jobfile

            jobfile.save(job, path)

        self._tasks.submit(work, done=lambda _: self._saved(path), failed=self._failed)

    def save_report(self, path: Path) -> None:
        """Write the plan that stands here as one HTML page."""
        plan = self.state.value.plan
        if plan is None:
            return

        def work() -> None:
            from tpu_studio.planner.report.page import page
            from tpu_studio.wire.errors import BadInput
            from tpu_studio.wire.runfolder import write_atomically

            try:
                write_atomically(path, page(plan).encode())
            except OSError as error:
                raise BadInput("plan-report-unwritable", file=str(path), raw=str(error)) from error

        self._tasks.submit(work, done=lambda _: self.reported(path), failed=self._failed)

    def _saved(self, path: Path) -> None:
        view = self.state.value
        self.state.set(replace(view, file=path, saved=view.job))

    def start(self) -> None:
        """Start the run, or point to what is missing, ask for consent, or for the engine."""
        view = self.state.value
        if view.starting:
            return
        section, words = view.missing
        if words:
            self.state.set(replace(view, opened=view.opened | {section}, attention=(section, view.attention[1] + 1)))
        elif view.own is not None and not view.own.agreed:
            self.state.set(replace(view, asking_consent=True))
        elif view.needs_engine and view.engine.status in ("missing", "broken", "outdated"):
            self.state.set(replace(view, asking_engine=True))
        elif view.free_tpu:
            self._draw(asking_notebook=True, problem=None)
        elif view.rented:
            self._reviewed = view.plan
            self._draw(reviewing=True, problem=None)
        else:
            self._launch()

    def start_reviewed(self) -> None:
        """The person has read the review: exactly that plan is launched."""
        if self.state.value.reviewing:
            self._draw(reviewing=False)
            self._launch(self._reviewed)

    def leave_review_for_account(self) -> None:
        """The review said what the account needs first; the plan stays as it is."""
        self.close_review()
        self.open_account()

    def close_notebook(self) -> None:
        self._draw(asking_notebook=False)

    def close_review(self) -> None:
        self._draw(reviewing=False)

    def create_engine(self) -> None:
        """Create (or repair) the training engine and start the run when it is there."""
        self._draw(asking_engine=False)
        if self.state.value.engine.status == "broken":
            self._engine.repair(then=self._engine_made)
        else:
            self._engine.install(then=self._engine_made)

    def _engine_made(self) -> None:
        if self.state.value.rented:
            self.start()
        else:
            self._launch()

    def dismiss(self) -> None:
        self._draw(problem=None)

    def answer_problem(self) -> None:
        """The button of the problem beside Start: to the Account page where signing in helps, else only away."""
        problem = self.state.value.problem
        self.dismiss()
        if problem is not None and problem.signing_in_helps:
            self.open_account()

    def _launch(self, reviewed: Plan | None = None) -> None:
        view, launcher = self.state.value, self._launcher
        plan = reviewed or view.plan
        if plan is None or view.missing[1] or launcher is None or view.starting:
            return
        self.leave()
        self.state.set(replace(view, starting=True, problem=None))
        beside = view.beside and bool(view.running) and not view.rented
        self._tasks.submit(lambda: launcher.launch(plan, beside=beside), done=self._launched, failed=self._not_launched)

    def _launched(self, run: str) -> None:
        self._draw(starting=False)
        self.started(run, self.state.value.name)

    def _not_launched(self, error: Exception) -> None:
        self._draw(starting=False, problem=problem_of(error))

    def _failed(self, error: Exception) -> None:
        self._draw(problem=problem_of(error))

    # ---------------------------------------------------------------------------------------------------------- others

    def _draw(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))

    def _engine_changed(self, engine: EngineView) -> None:
        self._draw(engine=engine)

    def _runs_changed(self, runs: RunsView) -> None:
        self._draw(running=tuple(row.name for row in runs.going_on if not row.rented))

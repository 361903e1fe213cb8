"""From a plan to a run: saving, the report, consent, the engine, the review, the launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.planbase import PlanBase
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.workflow import ownfile
from tpu_studio.workflow.ownfile import OwnFile

if TYPE_CHECKING:
    from tpu_studio.viewmodels.engine import EngineViewModel
    from tpu_studio.viewmodels.leaving import Leaving, Left
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import Tasks


class Launcher(Protocol):
    """`workflow.runs.Runs.launch`."""

    def launch(self, plan: Plan, *, beside: bool = False) -> str: ...


def waived(plan: Plan) -> Plan:
    """*plan* for one launch without shut-off timers. No job, setting or default says so."""
    return replace(plan, limits=replace(plan.limits, without_outside_stop=True))


class Starting(PlanBase):
    def __init__(self, tasks: Tasks, engine: EngineViewModel, clock: Callable[[], float]) -> None:
        super().__init__(tasks, engine, clock)
        self.started: Callable[[str, str], None] = lambda run, name: None
        self.open_account: Callable[[], None] = lambda: None
        self.open_weights: Callable[[Callable[[], None]], None] = lambda then: None
        self.open_gallery: Callable[[], None] = lambda: None
        self.open_hub: Callable[[str], None] = lambda preset: None
        self.open_datasets: Callable[[], None] = lambda: None  # of the Hugging Face Hub
        self.reported: Callable[[Path], None] = lambda path: None  # a report lies there
        self.write_pdf: Callable[[Plan, Path], None]  # blocks; raises BadInput
        self.leave_queue: Callable[[Leaving, str], Left] = lambda one, started: "left"  # blocks (`leaving.leave`)
        self.left_queue: Callable[[Leaving, Left], None] = lambda one, left: None
        self._launcher: Launcher | None = None
        self._consented_to: Callable[[], None] = lambda: None  # what was pressed before the file had to be read

    # ----------------------------------------------------------------------------------------------------- save, start

    def save(self, path: Path) -> None:
        """Write the job as a file; its paths are written relative to nothing, so that it can be moved."""
        job = draft.relocated(self.state.value.job, str(path.resolve().parent))

        def work() -> None:
            from tpu_studio.domain import jobfile

            jobfile.save(job, path)

        self._tasks.submit(work, done=lambda _: self._saved(path), failed=self._failed)

    def save_report(self, path: Path) -> None:
        """Write the plan that stands here as one page: a PDF where the name ends so, else HTML."""
        plan = self.state.value.plan
        if plan is None:
            return

        def work() -> None:
            from tpu_studio.wire.plainfiles import check_place

            check_place(path)
            if path.suffix.lower() == ".pdf":
                self.write_pdf(plan, path)
                return
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
        if view.starting or view.engine.doing:
            return
        section, words = view.missing
        if words and view.waits_for_hub:
            self.open_hub(str(view.job.model.preset))
        elif words:
            self.state.set(replace(view, opened=view.opened | {section}, attention=(section, view.attention[1] + 1)))
        elif view.needs_consent:
            self._consented_to = self.start
            self.state.set(replace(view, asking_consent=True))
        elif view.needs_engine and view.engine.status in ("missing", "broken", "outdated"):
            self.state.set(replace(view, asking_engine=True))
        elif view.free_tpu:
            self._draw(asking_notebook=True, problem=None)
        elif view.rented:
            self._draw(reviewed=view.plan, problem=None)
        else:
            self._launch()

    def start_reviewed(self, without_outside_stop: bool = False) -> None:
        """The person has read the review: exactly that plan is launched, unless there are newer figures to read first.
        *without_outside_stop*: they agreed to go without for this launch; only where `PlanView.may_waive`."""
        view = self.state.value
        plan = view.reviewed
        if plan is None or view.newer is not None:
            return
        if without_outside_stop and view.may_waive:
            plan = waived(plan)
        self.close_review()
        self._launch(plan)

    def review_again(self) -> None:
        """Review the plan as it is by now, or point to what it misses."""
        self.close_review()
        self.start()

    def leave_review_for_account(self) -> None:
        """The review said what the account needs first; the plan stays as it is."""
        self.close_review()
        self.open_account()

    def close_notebook(self) -> None:
        self._draw(asking_notebook=False)

    def close_review(self) -> None:
        self._draw(reviewed=None)

    def create_engine(self) -> None:
        """Create (or repair) the training engine and start the run when it is there."""
        self._draw(asking_engine=False)
        if self.state.value.engine.status == "broken":
            self._engine.repair(then=self._engine_made)
        else:
            self._engine.install(then=self._engine_made)

    def cancel_engine(self) -> None:
        """Stop creating the engine; nothing is started then, and what was downloaded stays for the next try."""
        self._engine.cancel()

    def _engine_made(self) -> None:
        if self.state.value.rented:
            self.start()
        else:
            self._launch()

    def dismiss(self) -> None:
        self._draw(problem=None)

    def answer_problem(self) -> None:
        """The button of the problem beside Start: to the Account page where that mends it, else only away."""
        problem = self.state.value.problem
        self.dismiss()
        if problem is not None and problem.account_button:
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
        self.give_up_queue(run)
        self.started(run, self.state.value.name)

    def give_up_queue(self, started: str = "") -> None:
        """The other run gives its place in the queue up: *started* has begun, or the person says so."""
        leaving = self.state.value.leaving
        if leaving is None:
            return
        self._draw(leaving=None)

        def done(left: Left) -> None:
            self.left_queue(leaving, left)

        self._tasks.submit(lambda: self.leave_queue(leaving, started), done=done, failed=self._failed)

    def _not_launched(self, error: Exception) -> None:
        self._draw(starting=False, problem=problem_of(error))

    # ------------------------------------------------------------------------------------------------------- consent

    def agree(self) -> None:
        """The person has read the file and lets it run; then what they had pressed goes on: a start, or a check."""
        view, consents = self.state.value, self._consents
        own = view.own
        if own is None or not own.sha256:
            return
        self.state.set(replace(view, asking_consent=False))
        place = view.job.where.place
        self._tasks.submit(lambda: ownfile.agree(own, consents, place), done=self._agreed, failed=self._failed)

    def _agreed(self, own: OwnFile) -> None:
        self._own_file_read(own)
        if not self.state.value.needs_consent:
            self._consented_to()
        else:  # it was changed while it was being read
            self._draw(asking_consent=True)

    def ask_consent(self) -> None:
        """Show the file, to agree to it; nothing starts by that."""
        self._consented_to = lambda: None
        self._draw(asking_consent=True)

    def decline(self) -> None:
        self._draw(asking_consent=False, asking_engine=False)

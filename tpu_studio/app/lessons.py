"""Learn, connected to what really happens in the window: what its buttons do, and what makes its steps done.

One object for the window, made after the first picture; pages tell it through `Studio.lessons`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.gui.home.page import HomePage
from tpu_studio.gui.learn.strip import LearnStrip
from tpu_studio.viewmodels.learning import LearnViewModel
from tpu_studio.viewmodels.planpace import needs_pace
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio
    from tpu_studio.domain.learning.chapters import Step
    from tpu_studio.viewmodels.accountview import AccountView
    from tpu_studio.viewmodels.planstate import PlanView
    from tpu_studio.viewmodels.run import RunViewModel
    from tpu_studio.viewmodels.runstate import RunPageState
    from tpu_studio.wire.plan import Plan

OWN = "own"  # the subject of a verdict on a plan that Learn did not make


class Lessons:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self.model = LearnViewModel(studio.home / "learn.json")
        self.model.perform = self._perform
        self._making = 0  # the notice that stands while photographs are made
        self._ends: list[Callable[[], None]] = [
            studio.runs.state.subscribe(lambda view: self.model.runs_now(view.rows)),
            studio.account.state.subscribe(self._account_changed),
        ]
        studio.window.put_strip(LearnStrip(self.model, studio.shell))
        home = studio.window.page("home")
        assert isinstance(home, HomePage)
        home.offer(self.model)
        if self.model.note:
            studio.shell.notify("About Learn", self.model.note, tone="warn", lasting=True)

    def close(self) -> None:
        for end in self._ends:
            end()

    # ------------------------------------------------------------------------------------------------ what happens

    def started(self, lesson: str, run: str) -> None:
        """*run* was started from the plan of the step *lesson*; "": from another."""
        if lesson:
            self.model.started(lesson, run)

    def watch_run(self, run: str, model: RunViewModel) -> None:
        """The model of *run* may be tried, and its receipt read, on its page."""

        def seen(state: RunPageState) -> None:
            if state.trial.answered:
                self.model.happened("tried", run=run)

        model.state.subscribe(seen)
        model.receipt_read = lambda: self.model.happened("receipt", run=run)

    def planned(self, lesson: str, view: PlanView) -> None:
        """The Plan page shows *view*, of the step *lesson*'s job, or "" of another."""
        plan = view.plan
        if plan is not None and plan.verdict is not None and not plan.blocking and not view.stale:
            self.model.happened("verdict", subject=lesson or OWN)
        if lesson and plan is not None and not view.stale and not view.looking:
            self.model.plan_says(lesson, {check.id for check in view.checks}, lambda name: _looked(view, plan, name))

    def compared(self, runs: tuple[str, ...]) -> None:
        self.model.compared(runs)

    def _account_changed(self, view: AccountView) -> None:
        if not (places.by_id(view.place).rehearses and view.signed_in):
            return
        if view.ready and not view.checking:
            self.model.happened("account")
        if view.quota and not view.quota_reading:
            self.model.happened("quota")

    # ------------------------------------------------------------------------------------------- what a button does

    def _perform(self, step: Step, runs: tuple[str, ...]) -> None:
        studio = self._studio
        match step.act:
            case "plan":
                studio.shell.open_job(step.job_path, step.key)
            case "photos":
                self._photos(step)
            case "practise":
                self._practise(step)
            case "new":
                studio.shell.new_run()
            case "run":
                row = studio.runs.state.value.row(runs[0])
                studio.window.open_run(runs[0], row.name if row else "")
            case "account":
                studio.open_account(places.rehearsing().id)
            case "compare":
                studio.compare(runs)

    def _photos(self, step: Step) -> None:
        """Make the photographs, once, and plan the job that lies beside them."""
        from tpu_studio.local import photos

        shell, folder = self._studio.shell, self._studio.home / "learn"
        if self._making:
            return
        self._making = 0 if photos.are_there(folder) else shell.notify(*photos.WAIT, lasting=True)

        def over() -> None:
            shell.close_notice(self._making)
            self._making = 0

        def made(job: Path) -> None:
            over()
            shell.open_job(job, step.key)

        def failed(error: Exception) -> None:
            over()
            shell.tell_problem(problem_of(error))

        self._studio.tasks.submit(lambda: photos.lay_out(folder, step.job_path), done=made, failed=failed)

    def _practise(self, step: Step) -> None:
        """Arm the fault that the step is about, then plan its job; the strip over the pages tells what is armed."""
        from tpu_studio.places.faults import PracticeFaults

        studio, faults = self._studio, PracticeFaults(self._studio.home)

        def armed(_answer: object) -> None:
            studio.armed.look()
            studio.shell.open_job(step.job_path, step.key)

        studio.tasks.submit(lambda: faults.arm(step.fault), done=armed)


def _looked(view: PlanView, plan: Plan, name: str) -> bool:
    """Whether a check of that id would stand among the others by now: advice as soon as nothing is read any more while
    a TPU works, an answer of the check on this computer once that is through."""
    if name.startswith("advice-"):
        return places.by_id(plan.place).has_chips and not needs_pace(plan)
    return view.check.status == "done"

"""Learn, connected to what really happens in the window: what its buttons do, and what makes its steps done.

One object for the window, made after the first picture; pages tell it through `Studio.lessons`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tpu_studio.gui.home.page import HomePage
from tpu_studio.gui.learn.strip import LearnStrip
from tpu_studio.viewmodels.learning import LearnViewModel
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio
    from tpu_studio.domain.learning.chapters import Step
    from tpu_studio.viewmodels.accountview import AccountView
    from tpu_studio.viewmodels.planstate import PlanView
    from tpu_studio.viewmodels.run import RunViewModel
    from tpu_studio.viewmodels.runstate import RunPageState

OWN = "own"  # the subject of a verdict on a plan that Learn did not make


class Lessons:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self.model = LearnViewModel(studio.home / "learn.json")
        self.model.perform = self._perform
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
            trial = state.trial
            answered = bool(trial.classes or trial.text) or trial.value is not None
            if answered and not trial.asking and trial.problem is None:
                self.model.happened("tried", run=run)

        model.state.subscribe(seen)
        model.receipt_read = lambda: self.model.happened("receipt", run=run)

    def planned(self, lesson: str, view: PlanView) -> None:
        """The Plan page shows *view*, of the step *lesson*'s job, or "" of another."""
        plan = view.plan
        if plan is not None and plan.verdict is not None and not plan.blocking and not view.stale:
            self.model.happened("verdict", subject=lesson or OWN)

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

    def _practise(self, step: Step) -> None:
        """Arm the fault that the step is about, then plan its job; the strip over the pages tells what is armed."""
        from tpu_studio.places.faults import PracticeFaults

        studio, faults = self._studio, PracticeFaults(self._studio.home)

        def armed(_answer: object) -> None:
            studio.armed.look()
            studio.shell.open_job(step.job_path, step.key)

        studio.tasks.submit(lambda: faults.arm(step.fault), done=armed)

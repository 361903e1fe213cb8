"""The Plan and Run pages as the window shows them: made once what works behind them is there, and told when something
goes wrong. The window calls `start`, `stop_asked`, `explain`, `refresh`, `leave` and `close_run` on these.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.app import warming
from tpu_studio.app.opening import open_path
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.runs.skeleton import SkeletonRows
from tpu_studio.viewmodels.leaving import Leaving, Left, leave
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.viewmodels.shell import PlanRequest
from tpu_studio.wire import exports, ownpython, places

if TYPE_CHECKING:
    from collections.abc import Callable

    from tpu_studio.app.compose import Services
    from tpu_studio.app.datasets import Datasets
    from tpu_studio.app.studio import Studio
    from tpu_studio.viewmodels.hubfetch import HubFetch, HubView
    from tpu_studio.viewmodels.run import RunViewModel
    from tpu_studio.viewmodels.runs import RunsView
    from tpu_studio.wire.plan import Plan


class Holder(QWidget):
    """Shows shapes of a page to come, then the page, or why there is none. Asks the page what the window asks it."""

    def __init__(self) -> None:
        super().__init__()
        self.page: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._waiting = QWidget()
        inner = QVBoxLayout(self._waiting)
        inner.setContentsMargins(Space.page, 96, Space.page, Space.page)
        inner.addWidget(SkeletonRows(5))
        inner.addStretch(1)
        self._column.addWidget(self._waiting)

    def put(self, page: QWidget) -> None:
        self._waiting.hide()
        self.page = page
        self._column.addWidget(page)
        self.setFocusProxy(page)  # and the focus goes to it if it was here

    def refuse(self, problem: Problem) -> None:
        """Say why the page cannot be shown."""
        self._waiting.hide()
        box = QWidget()
        inner = QVBoxLayout(box)
        inner.setContentsMargins(Space.page, Space.page, Space.page, Space.page)
        inner.addWidget(Note(problem.title, problem.text, "bad"), 0, Qt.AlignmentFlag.AlignTop)
        self._column.addWidget(box)

    def ask(self, name: str, *arguments: object) -> bool:
        method = getattr(self.page, name, None)
        return callable(method) and method(*arguments) is not False

    def stop_asked(self) -> bool:
        return self.ask("stop_asked")

    def explain(self, focus: QWidget | None) -> bool:
        return self.ask("explain", focus)

    def refresh(self) -> bool:
        return self.ask("refresh")

    def leave(self) -> bool:
        return self.ask("leave")


class RunHolder(Holder):
    """The page of one run."""

    def __init__(self, studio: Studio, run: str) -> None:
        super().__init__()
        self._studio, self._run = studio, run
        self._closed = False
        self._forget: Callable[[], None] = lambda: None
        studio.with_services(self._read)

    def close_run(self) -> None:
        """Stop watching; the run goes on."""
        self._closed = True
        self._forget()
        self.ask("close_run")

    def _read(self, services: Services) -> None:
        def work() -> tuple[Path, Plan]:
            return services.runs.folder(self._run), services.runs.shown_plan(self._run)

        self._studio.tasks.submit(
            work,
            owner=self,
            done=lambda found: self._studio.warming.fetch(warming.RUN, lambda: self._show(services, *found), self),
            failed=lambda error: self.refuse(problem_of(error)),
        )

    def _show(self, services: Services, folder: Path, plan: Plan) -> None:
        if self._closed:
            return
        from tpu_studio.gui.run.page import RunPage
        from tpu_studio.gui.runs.marking import MarksStrip

        model = run_model(self._studio, services, self._run, folder, plan)
        model.planned_again = self._studio.shell.plan_again
        model.planned_elsewhere = self._studio.shell.plan_again
        model.planned_refused = lambda job, regions: self._studio.shell.plan_again(job, unstoppable=regions)
        page = RunPage(model)
        shell = self._studio.shell
        page.put_below_head(MarksStrip(self._studio.runs, self._run, lambda: shell.go("runs"), page))
        self.put(page)

        def named(view: RunsView) -> None:
            if (row := view.row(self._run)) is not None and not row.problem:
                model.call(row.name)

        self._forget = self._studio.runs.state.subscribe(named)


class CompareHolder(Holder):
    """The page that compares runs."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self._wanted: tuple[str, ...] = ()
        studio.with_services(lambda services: studio.warming.fetch(warming.RUN, lambda: self._show(services), self))

    def show_runs(self, runs: tuple[str, ...]) -> None:
        self._wanted = runs
        if self.page is not None:
            self.ask("show_runs", runs)

    def _show(self, services: Services) -> None:
        from tpu_studio.gui.compare.page import ComparePage
        from tpu_studio.viewmodels.comparing import CompareViewModel
        from tpu_studio.workflow.comparing import Reading

        model = CompareViewModel(self._studio.tasks, lambda run: Reading(services.runs, run))
        model.planned = self._studio.shell.plan_again
        page = ComparePage(model, self._studio.runs, self._studio.shell)
        self.put(page)
        page.show_runs(self._wanted)


def _with_packages(studio: Studio, services: Services, form: exports.ModelFormat, then: Callable[[], None]) -> None:
    """*then*, once what writes *form* stands beside the engine; asks whether it may be fetched."""
    from tpu_studio.domain import figures
    from tpu_studio.gui.engine.dialog import EngineDialog, Words
    from tpu_studio.local.engine import extra
    from tpu_studio.viewmodels.engine import EngineViewModel

    if not form.packages:
        return then()
    found = extra(services.engine.root, form.packages)
    if found.state().is_ready:
        return then()
    model = EngineViewModel(studio.tasks)
    model.connect(found)
    size, title = figures.size(found.spec.installed_bytes), found.spec.title
    sentence = f"It takes {size} beside the training engine. Nothing of yours is sent anywhere, and nothing is charged."
    words = Words(f"Fetch the {title}?", sentence, "Fetch it", f"The {title} is on its way")
    EngineDialog.open_over(studio.window, model, then, words)


def run_model(studio: Studio, services: Services, run: str, folder: Path, plan: Plan) -> RunViewModel:
    from tpu_studio.local.computer import trainer_environment
    from tpu_studio.local.engine import packages_for
    from tpu_studio.local.formats import Written, write
    from tpu_studio.local.predictor import PredictorProcess
    from tpu_studio.viewmodels.run import RunViewModel

    def predictor(*more: str) -> PredictorProcess:
        python = services.engine.python()
        argv = ownpython.module(python, "tpu_studio.trainer", "predict", "--run", folder, "--serve", *more)
        if services.consents.agreed(plan.consent):
            argv += ["--consent", plan.consent]  # the run's own Python file, agreed to on this computer
        return PredictorProcess(argv, trainer_environment(), studio.tasks.post)

    def write_format(form: str, file: Path) -> Written:
        consent, wanted = plan.consent if services.consents.agreed(plan.consent) else "", exports.by_id(form)
        packages = packages_for(services.engine.root, wanted)
        return write(services.engine.python(), folder, wanted, file, replace=True, consent=consent, packages=packages)

    def before() -> PredictorProcess:
        return predictor("--before")

    runs = services.runs
    model = RunViewModel(run, folder, plan, lambda: runs.follow(run), runs, studio.tasks, predictor, before=before)
    model.write_format = write_format
    model.with_packages = lambda form, then: _with_packages(studio, services, exports.by_id(form), then)
    model.tell = studio.shell.notify
    model.ask_explain = lambda text: studio.explain_text(text, rented=places.by_id(plan.place).rents)
    model.open_path = open_path
    model.bring = studio.shell.open_path
    studio.lessons().watch_run(run, model)
    if not places.by_id(plan.place).local:
        model.ask_faults = lambda: studio.open_sheet("faults")
        model.looked = lambda: services.steward.watch(run)
        model.changed = lambda: services.steward.hurry(run)
        model.trouble = lambda: services.driver.trouble(run)
        model.cloud_now = lambda: services.driver.cloud_now(run)
        model.ask_commands = lambda: show_commands(studio, services, plan, run)
    return model


def show_commands(studio: Studio, services: Services, plan: Plan, run: str = "") -> None:
    """The launch of *plan* as gcloud commands; with *run*, as its newest machine was asked for."""
    from tpu_studio.gui.shell.commands import open_commands
    from tpu_studio.viewmodels.commands import CommandsViewModel

    def make() -> str:
        from tpu_studio.places.launching import launch_script, run_script
        from tpu_studio.workflow.desk import install_id

        install = install_id(services.home)
        if run:
            side = services.driver.side_of(run, plan)
            return run_script(plan, run, services.driver.state(run), side, install)
        return launch_script(plan, services.runs.new_id(plan.job.name), services.driver.side(plan), install)

    practice = places.by_id(plan.place).rehearses
    open_commands(studio.window, CommandsViewModel(studio.tasks, plan.job.name, make, practice=practice))


def ask_for_weights(studio: Studio, services: Services, then: Callable[[], None]) -> None:
    """Ask whether the starter weights may be fetched; *then*, once they are there."""
    from tpu_studio.domain import figures
    from tpu_studio.gui.engine.dialog import EngineDialog, Words
    from tpu_studio.local.engine import StarterWeights
    from tpu_studio.viewmodels.engine import EngineViewModel

    model, weights = EngineViewModel(studio.tasks), StarterWeights(services.engine)
    model.connect(weights)
    size = figures.size(weights.spec.installed_bytes)
    sentence = " ".join((f"They take {size}. Nothing of yours is sent anywhere.", *weights.spec.licences))
    words = Words("Fetch the starter weights?", sentence, "Fetch them", "The starter weights are on their way")
    EngineDialog.open_over(studio.window, model, then, words)


class PlanHolder(Holder):
    """The Plan page; a request that comes before what works behind it is there waits."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        from tpu_studio.viewmodels.plan import PlanViewModel

        self._studio = studio
        self.model = PlanViewModel(studio.tasks, studio.engine, studio.runs)
        self.model.started = self._started
        self.model.open_account = self._open_account
        self._request: PlanRequest | None = None
        self._kept = 0  # the notice that leads back from the Account page
        self._kept_for = ""  # the place whose account the plan waits for
        self._lesson = ""  # the step of Learn that it was planned for
        self._hub: HubFetch | None = None
        self._datasets: Datasets | None = None
        self.model.state.subscribe(lambda view: studio.lessons().planned(self._lesson, view))
        for end in (
            studio.prices.state.subscribe(lambda view: self.model.prices_changed(view.trouble)),
            studio.catalogue.renewed.subscribe(lambda _: self.model.prices_changed(studio.prices.state.value.trouble)),
            studio.home_model.state.subscribe(
                lambda view: self.model.account_changed(
                    view.account_missing,
                    view.known.region,
                    view.practice_missing,
                    {
                        place.id: view.known.practice_kept_days if place.rehearses else view.known.kept_days
                        for place in places.renting()
                    },
                )
            ),
        ):
            self.destroyed.connect(lambda _=None, end=end: end())
        studio.with_services(lambda services: studio.warming.fetch(warming.PLAN, lambda: self._show(services), self))

    def start(self, request: PlanRequest) -> None:
        """Begin with the request's job or data, or anew."""
        self._kept_for = ""
        self._lesson = request.lesson
        if self._studio.home_model.state.value.known.signed_in:
            self._studio.prices.look()
        if self.page is None:
            self._request = request
        else:
            self.ask("start", request)

    def _show(self, services: Services) -> None:
        from tpu_studio.app.checks import PlanPreflight
        from tpu_studio.cloud import colab
        from tpu_studio.gui.plan.page import PlanPage
        from tpu_studio.local import planpdf
        from tpu_studio.viewmodels.colab import ColabViewModel
        from tpu_studio.viewmodels.engine import EngineViewModel

        studio, compiler = self._studio, EngineViewModel(self._studio.tasks)
        compiler.connect(services.compiler)
        checks = PlanPreflight(services.preflight)
        self.model.connect(services.runs, services.consents, services.stopwatch, checks, compiler)
        self.model.leave_queue = lambda one, started: leave(services.runs, one, started)
        self.model.left_queue = self._left_queue

        def reported(path: Path) -> None:
            studio.shell.notify(
                "The report is written", str(path), tone="ok", action="Open", act=lambda: open_path(path)
            )

        self.model.reported = reported
        self.model.open_weights = lambda then: ask_for_weights(studio, services, then)
        self.model.open_hub = self._show_hub
        self.model.open_datasets = self._show_datasets
        self.model.open_gallery = lambda: studio.shell.go("models")
        self.model.write_pdf = planpdf.write
        page = PlanPage(self.model)
        page.colab = ColabViewModel(studio.tasks, services.runs, colab.write, lambda run: studio.runs.look())
        page.colab.made = lambda run: self.model.give_up_queue(run)
        page.show_run = lambda run: studio.window.open_run(run, self.model.state.value.name)
        page.show_commands = lambda plan: show_commands(self._studio, services, plan)
        page.open_sheet = studio.open_sheet
        page.outlives = self._outlives
        page.account = self._account
        page.armed = lambda: studio.armed.state.value.sentence
        QTimer.singleShot(0, self, lambda: self._put_plan(page))  # in an event of its own: both take a while

    def _show_hub(self, preset: str) -> None:
        from tpu_studio.cloud.hub import Hub
        from tpu_studio.gui.plan.hub_sheet import HubSheet
        from tpu_studio.viewmodels.hubfetch import HubFetch

        if self._hub is None:
            self._hub = HubFetch(self._studio.tasks, Hub, self._came_from_hub)
            self.destroyed.connect(lambda _=None, model=self._hub: model.stop())
        self._hub.show(preset)
        HubSheet(self._studio.window, self._hub).open()

    def _show_datasets(self) -> None:
        from tpu_studio.app.datasets import Datasets

        if self._datasets is None:
            self._datasets = Datasets(self._studio, self.model)
            self.destroyed.connect(lambda _=None, datasets=self._datasets: datasets.stop())
        self._datasets.show()

    def _came_from_hub(self, view: HubView) -> None:
        self.model.plan_again()
        if view.whole:
            self._studio.shell.notify(f"The weights of {view.name} are here", "", tone="ok")

    def _account(self, plan: Plan) -> tuple[str, str]:
        from tpu_studio.places.known import charged_at

        return charged_at(plan.place, self._studio.home)

    def _outlives(self, plan: Plan) -> str:
        from tpu_studio.viewmodels.review import longest_s
        from tpu_studio.viewmodels.signin import outlives

        known = self._studio.home_model.state.value.known
        return (
            outlives(known.kind, known.until, time.time(), longest_s(plan)) if places.by_id(plan.place).charges else ""
        )

    def _open_account(self) -> None:
        """To the account at the place of the plan; a notice leads back, for “New run” would begin anew."""
        shell = self._studio.shell
        chosen = places.by_id(self.model.state.value.job.where.place)
        place = (chosen if chosen.rents else places.charging()).id
        self._studio.open_account(place)
        self._kept_for = place
        shell.close_notice(self._kept)
        self._kept = shell.notify(
            "Your plan is kept",
            "Come back to it when the account is ready.",
            action="Back to the plan",
            act=lambda: shell.go("plan"),
            lasting=True,
        )

    def come_back(self, place: str) -> bool:
        """To the plan that waits for the account at *place*; False where none does."""
        if self._kept_for != place:
            return False
        self._kept_for = ""
        self._studio.shell.close_notice(self._kept)
        self._studio.shell.go("plan")
        return True

    def _left_queue(self, one: Leaving, left: Left) -> None:
        """Say that the place in the queue is lost, or why it is not."""
        shell = self._studio.shell
        if left == "left":
            shell.notify(f"{one.name} has left the queue", "It waits for no TPU any more. Nothing was charged for it.")
            self._studio.runs.look()
            return
        kept = left == "not-started"
        shell.notify(
            f"{one.name} keeps its place in the queue" if kept else f"{one.name} waits no more",
            "The other run did not start; its page says why."
            if kept
            else "It was not stopped: it has its TPU, or it is over. Look whether both shall go on.",
            tone="neutral" if kept else "warn",
            action="Open it",
            act=lambda: shell.open_run(one.run, one.name),
            lasting=True,
        )

    def _put_plan(self, page: QWidget) -> None:
        self.put(page)
        if self._request is not None:
            self.start(self._request)

    def _started(self, run: str, name: str) -> None:
        self._kept_for = ""
        self._studio.lessons().started(self._lesson, run)
        if self._studio.services is not None:
            self._studio.services.steward.hurry(run)
        self._studio.runs.look()
        self._studio.window.open_run(run, name)

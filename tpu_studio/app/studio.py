"""The window's objects and how they are connected: view-models first, then the window, then what works behind it.

Nothing here imports numpy, the store, pyqtgraph or a page other than Home before the first picture (a test holds that).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from tpu_studio.app import renewal, trouble, warming
from tpu_studio.app.opening import open_path
from tpu_studio.app.pagemaker import PageMaker
from tpu_studio.app.signedout import SignedOutWatch
from tpu_studio.gui.bridge import QtTasks
from tpu_studio.gui.kit import icons, theme
from tpu_studio.gui.kit.brand import app_icon
from tpu_studio.gui.shell.window import MainWindow, reduced
from tpu_studio.viewmodels import settings_file
from tpu_studio.viewmodels.catalogue import CatalogueViewModel
from tpu_studio.viewmodels.engine import EngineViewModel
from tpu_studio.viewmodels.home import HomeViewModel
from tpu_studio.viewmodels.problem import only_reading, problem_of
from tpu_studio.viewmodels.runs import RunsViewModel
from tpu_studio.viewmodels.settings import SettingsViewModel
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.wire import places
from tpu_studio.wire.errors import NotReady, RunError
from tpu_studio.wire.homes import check_own

if TYPE_CHECKING:
    from tpu_studio.app.compose import Services
    from tpu_studio.app.lessons import Lessons
    from tpu_studio.app.money import MoneyWatch
    from tpu_studio.app.notifying import Notifying
    from tpu_studio.viewmodels.account import AccountViewModel
    from tpu_studio.viewmodels.faults import ArmedViewModel
    from tpu_studio.viewmodels.prices import PricesViewModel
    from tpu_studio.workflow.background import BackgroundLoop

IDLE_MS = 400
ARMED_MS = 3000  # how often the practice cloud's disk is looked at for what is armed
LAST_TURN_S = 3.0  # for a turn of a rented run that is under way when the window closes; the next start goes on
_log = logging.getLogger(__name__)


class Studio:
    """One window with its view-models. `show`, then run the event loop, then `end`."""

    def __init__(self, app: QApplication, home: Path) -> None:
        self.app, self.home = app, home
        self.services: Services | None = None
        self._renewal: renewal.RenewalWatch | None = None
        self._signed_out: SignedOutWatch | None = None
        self._when_composed: list[Callable[[Services], None]] = []
        loaded = settings_file.load(home / "settings.toml")
        chosen = loaded.settings
        looks: Any = {"mode": chosen.theme, "contrast": chosen.contrast}
        dress = theme.install(app, text_scale=chosen.text_size / 100, **looks)
        dress.set_reduce_motion(reduced(chosen))
        self._loop: BackgroundLoop | None = None
        self.tasks = QtTasks(self._make_loop, app)
        self.tasks.unexpected = self._tell
        self.shell = ShellViewModel()
        self.engine = EngineViewModel(self.tasks)
        self.runs = RunsViewModel(self.tasks)
        self.settings = SettingsViewModel(home, loaded, self.tasks)
        self.catalogue = CatalogueViewModel(self.tasks, functools.partial(_renewing, home))
        self.home_model = HomeViewModel(self.engine, self.runs)
        self.runs.tell, self.runs.tell_problem = self.shell.notify, self.shell.tell_problem
        self.runs.opened = self._open_run
        self.runs.compared = self.compare
        self.runs.planned_again = self.shell.plan_again
        self.runs.open_path = open_path
        self.runs.watched = lambda: view.run if (view := self.shell.state.value).page == "run" else ""
        self.runs.engine_needed = self._ask_for_engine
        self.window = MainWindow(
            self.shell,
            self.runs,
            self.settings,
            self.engine,
            PageMaker(self).pages(),
        )
        self.warming = warming.Warming(self.tasks, self.window)
        self.window.closing = self._closing
        self.shell.show_page = self._show_saved
        self.window.opened_sheet = self.open_sheet
        self._money: MoneyWatch | None = None
        self._notifying: Notifying | None = None
        self._lessons: Lessons | None = None
        self.window.first_painted = self.after_first_picture
        self.window.restore(_read(self._geometry_file))
        if loaded.problem:
            self.shell.notify("About your settings", loaded.problem, tone="warn", lasting=True)

    @functools.cached_property
    def account(self) -> AccountViewModel:
        from tpu_studio.viewmodels.account import AccountViewModel

        def bare() -> bool:
            from tpu_studio.places.known import practice_is_bare

            return practice_is_bare(self.home)

        model = AccountViewModel(self.tasks)
        model.practice_is_bare = bare
        return model

    @functools.cached_property
    def armed(self) -> ArmedViewModel:
        from tpu_studio.places.faults import PracticeFaults
        from tpu_studio.viewmodels.faults import ArmedViewModel

        return ArmedViewModel(self.tasks, PracticeFaults(self.home))

    @functools.cached_property
    def prices(self) -> PricesViewModel:
        from tpu_studio.viewmodels.prices import PricesViewModel

        return PricesViewModel(self.tasks, functools.partial(_read_prices, self.home))

    # ------------------------------------------------------------------------------------------------ start and end

    def show(self, path: str = "") -> None:
        self.window.show()
        if path:
            self.shell.open_path(path)

    def after_first_picture(self) -> None:
        """Start what the first picture did not need: the log, the last net for errors, the services.

        Called once, by the window, as soon as it has been painted.
        """
        self.app.setWindowIcon(app_icon())
        trouble.start_log(self.home)
        trouble.catch_everything(lambda error: self.tasks.post(lambda: self._tell(error)))
        if program := renewal.packaged_program():
            self._renewal = renewal.RenewalWatch(program, self._tell_renewal, self.window)
            icons.read_all()
        self._start_services()
        self._watch_armed()
        self.lessons()
        self._look_at_marks()

    def _look_at_marks(self) -> None:
        """Say so once where what was noted of the runs cannot be read."""

        def look() -> RunError | None:
            from tpu_studio.workflow import marks

            return marks.problem(self.home)

        def tell(error: RunError | None) -> None:
            if error is not None:
                said = problem_of(error)
                self.shell.notify(said.title, said.text, tone="warn", lasting=True)

        self.tasks.submit(look, done=tell, failed=self._tell)

    def lessons(self) -> Lessons:
        """What connects Learn to the window."""
        if self._lessons is None:
            from tpu_studio.app.lessons import Lessons

            self._lessons = Lessons(self)
        return self._lessons

    def _watch_armed(self) -> None:
        """What will go wrong on the practice cloud stands over the pages, also after a restart."""
        from tpu_studio.gui.shell.armed import ArmedStrip

        self.window.put_strip(ArmedStrip(self.armed, self.shell, lambda: self.open_sheet("armed")))
        timer = QTimer(self.window)
        timer.setInterval(ARMED_MS)
        timer.timeout.connect(self.armed.look)
        self._signed_out = SignedOutWatch(self)  # kept here: a signal holds no object of ours alive
        timer.timeout.connect(self._signed_out.look)
        timer.start()
        self.armed.look()

    def _make_loop(self) -> BackgroundLoop:
        from tpu_studio.workflow.background import BackgroundLoop

        self._loop = BackgroundLoop()
        return self._loop

    def _start_services(self) -> None:
        self.tasks.submit(lambda: _compose(self.home), done=self._composed, failed=self._not_composed)

    def opened_again(self, path: str) -> None:
        """A second start: come to the front and open its file."""
        self.window.bring_to_front()
        if self._renewal is not None:
            self._renewal.look()
        if path:
            self.shell.open_path(path)

    def end(self) -> bool:
        """Stop the loop, close the files, and destroy the window. Runs go on without it.

        False when a blocking call is still going on: Python would wait for it before the process can end.
        """
        self.window.close_for_good()
        if self._money is not None:
            self._money.close()
        if self._notifying is not None:
            self._notifying.close()
        if self._lessons is not None:
            self._lessons.close()
        self.window.hide()  # Qt crashes when a window that is shown is destroyed under its own focus
        self.engine.cancel()  # what was downloaded is kept
        clean = self.tasks.stop()
        if self.services is not None:
            clean = self.services.steward.rest(LAST_TURN_S) and clean
        if not clean:
            _log.warning("something was still going on in the background when the window closed")
        if self.services is not None:
            self.services.close()
        shiboken6.delete(self.window)
        return clean

    def with_services(self, then: Callable[[Services], None]) -> None:
        """Call *then* with the services: now, or as soon as they are there."""
        if self.services is not None:
            then(self.services)
        else:
            self._when_composed.append(then)

    def _composed(self, services: Services) -> None:
        self.services = services
        self.engine.connect(services.engine)
        self.runs.connect(services.runs)
        self.settings.connect(services.consents)
        self.account.rented = self._going_on
        self.account.connect({one.id: functools.partial(_side, one.id, self.home) for one in places.renting()})
        self.shell.runs_ready(self.runs.open_folder)
        waiting, self._when_composed = self._when_composed, []
        for then in waiting:
            then(services)
        if (aside := services.journal.put_aside) is not None:
            self.shell.tell_problem(problem_of(NotReady("journal-put-aside", file=str(aside))))
        if services.only_reading is not None:
            self.shell.warn(only_reading(services.only_reading))
        else:
            self.tasks.submit(services.settle, done=lambda _: self.runs.look())
            if self._loop is not None:
                self._loop.run(services.steward.keep())
        self.watch_money()
        QTimer.singleShot(IDLE_MS, self.window, self.warming.begin)

    def _not_composed(self, error: Exception) -> None:
        """Not even looking is possible; what is wrong stands in a lasting notice."""
        _log.error("the services could not be built", exc_info=error)
        problem = problem_of(error)
        self.shell.notify(
            problem.title,
            problem.text,
            tone="bad",
            lasting=True,
            details=problem.details,
            action="Try again",
            act=self._start_services,
        )

    def _closing(self) -> None:
        _write(self._geometry_file, self.window.remember())

    @property
    def _geometry_file(self) -> Path:
        return self.home / "window.state"

    def _going_on(self, place: str) -> list[str]:
        """Names of the runs that are not settled at a rented place."""
        rows = self.runs.state.value.rows or ()
        return [row.name for row in rows if row.place_id == place and (row.may_stop or row.unproved)]

    # ------------------------------------------------------------------------------------------------------- pages

    def compare(self, runs: tuple[str, ...]) -> None:
        from tpu_studio.app.holders import CompareHolder

        self.shell.go("compare")
        page = self.window.page("compare")
        assert isinstance(page, CompareHolder)
        page.show_runs(runs)
        self.lessons().compared(runs)

    def _show_saved(self, file: Path) -> None:
        """The run, or the comparison, that was saved as the one page *file*."""
        from tpu_studio.gui.saved.page import SavedPage

        self.shell.go("saved")
        page = self.window.page("saved")
        assert isinstance(page, SavedPage)
        page.model.open(file)

    def explain_text(self, text: str, *, rented: bool = True) -> None:
        """Show what *text*, a log or an error, means: the Help page. *rented*: of a TPU that may be charged for."""
        from tpu_studio.gui.help.page import HelpPage

        self.shell.go("help")
        page = self.window.page("help")
        assert isinstance(page, HelpPage)
        page.explain_text(text, rented=rented)

    def open_account(self, place: str) -> None:
        """The Account page with the account at *place*: ``cloud`` or ``practice``."""
        if self.account.state.value.place != place:
            self.account.show(place)
        self.shell.go("account")

    def watch_money(self) -> Notifying:
        from tpu_studio.app.money import MoneyWatch
        from tpu_studio.app.notifying import Notifying

        if self._money is None:
            self._money = MoneyWatch(self)
        if self._notifying is None:
            self._notifying = Notifying(self)
        return self._notifying

    def open_sheet(self, name: str) -> None:
        """Over the window: all that may cost money (``sweep``), or what could go wrong in practice (``faults``)."""
        if name.startswith("catalogue"):
            from tpu_studio.gui.account.catalogue import open_catalogue

            open_catalogue(self.window, self.catalogue, _place_of(name))
            return
        if name.startswith("live-check"):
            from tpu_studio.gui.account.livecheck import open_live_check
            from tpu_studio.places.livechecking import LiveChecking
            from tpu_studio.viewmodels.livecheck import LiveCheckViewModel

            model = LiveCheckViewModel(self.tasks, LiveChecking(self.home))
            open_live_check(self.window, model, _place_of(name))
            return
        if name == "armed":
            from tpu_studio.gui.shell.armed import open_armed

            open_armed(self.window, self.armed, lambda: self.open_sheet("faults"))
            return
        if name == "faults":
            from tpu_studio.gui.run.faults import open_faults
            from tpu_studio.places.faults import PracticeFaults
            from tpu_studio.viewmodels.faults import FaultsViewModel

            sheet = open_faults(self.window, FaultsViewModel(self.tasks, PracticeFaults(self.home)))
            sheet.closed = self.armed.look
            return
        from tpu_studio.gui.sweep.sheet import open_sweep
        from tpu_studio.places.sweeping import Sweeping
        from tpu_studio.viewmodels.sweep import SweepViewModel

        place = (places.charging() if self.home_model.state.value.known.signed_in else places.rehearsing()).id
        rows = self.runs.state.value.rows or ()
        going_on = [row.run for row in rows if row.rented and not row.copy and (not row.over or row.unproved)]
        sweep = SweepViewModel(self.tasks, Sweeping(self.home), place, going_on)
        open_sweep(self.window, sweep, lambda: self.shell.go("account"))

    def _open_run(self, run: str) -> None:
        row = self.runs.state.value.row(run)
        self.window.open_run(run, row.name if row else "")

    def _ask_for_engine(self, then: Callable[[], None]) -> None:
        from tpu_studio.gui.engine.dialog import EngineDialog

        self.engine.look()
        EngineDialog.open_over(self.window, self.engine, then)

    def _tell_renewal(self, title: str, text: str) -> None:
        self.shell.notify(title, text, tone="warn", lasting=True)

    def _tell(self, error: BaseException) -> None:
        self.shell.tell_problem(problem_of(error))


def _place_of(sheet: str) -> str:
    """``catalogue-practice`` is of that place; without one it is where a TPU costs money."""
    return next((one.id for one in places.renting() if sheet.endswith(f"-{one.id}")), places.charging().id)


def _compose(home: Path) -> Any:
    from tpu_studio.app.compose import compose
    from tpu_studio.places import renewing

    check_own()
    for place in places.renting():
        renewing.kept(place.id, home)
    return compose(home)


def _side(place: str, home: Path) -> Any:
    from tpu_studio.places import accounts

    return accounts.side_of(place, home)


def _renewing(home: Path) -> Any:
    from tpu_studio.places.renewing import Renewing

    return Renewing(home)


def _read_prices(home: Path) -> Any:
    from tpu_studio.places import renewing
    from tpu_studio.places.pricing import refresh

    renewing.kept(places.charging().id, home)  # another project may have been chosen meanwhile
    return refresh(home)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _write(path: Path, data: bytes) -> None:
    from tpu_studio.wire.runfolder import write_atomically

    try:
        write_atomically(path, data)
    except OSError as error:
        _log.warning("where the window stood could not be written: %s", error)

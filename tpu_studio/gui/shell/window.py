"""The main window: sidebar, one page at a time, notices, menu, drops, and what each key does.

Draws `ShellView`; every page is made when it is first needed by a function of `Pages`, so that Home is on screen before
anything heavy is imported. `open_run(run)` shows the page of one run; only one is kept at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit.card import Surface
from tpu_studio.gui.kit.nav import NavItem, Sidebar
from tpu_studio.gui.kit.theme import controller
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.shell.actions import Actions
from tpu_studio.gui.shell.drops import DropArea
from tpu_studio.gui.shell.footer import Footer
from tpu_studio.gui.shell.notices import Notices
from tpu_studio.gui.shell.pages import PageStack
from tpu_studio.viewmodels.engine import EngineViewModel
from tpu_studio.viewmodels.problem import Problem
from tpu_studio.viewmodels.runs import RunsViewModel
from tpu_studio.viewmodels.settings import SettingsViewModel
from tpu_studio.viewmodels.settings_file import TEXT_SIZES, Settings
from tpu_studio.viewmodels.shell import PlanRequest, ShellView, ShellViewModel

SMALLEST = QSize(1100, 700)
USUAL = QSize(1440, 900)
SECTIONS = ("home", "runs", "compare", "models", "account", "learn", "help")
FRAME = QSize(16, 48)  # what desktops draw around a window; known exactly only once it is shown


@dataclass
class Pages:
    """How pages are made. *plan* and *run* come from the composition; a page may have `start(request)`, `stop_asked()`,
    `explain()`, `refresh()` and `leave()`, which the window calls when there is something to say."""

    home: Callable[[], QWidget]
    runs: Callable[[], QWidget]
    models: Callable[[], QWidget]
    settings: Callable[[], QWidget]
    account: Callable[[], QWidget]
    help: Callable[[], QWidget]
    compare: Callable[[], QWidget]
    learn: Callable[[], QWidget]
    saved: Callable[[], QWidget]
    plan: Callable[[], QWidget]
    run: Callable[[str], QWidget]
    kept: dict[str, QWidget] = field(default_factory=dict)


class MainWindow(QMainWindow):
    def __init__(
        self,
        shell: ShellViewModel,
        runs: RunsViewModel,
        settings: SettingsViewModel,
        engine: EngineViewModel,
        pages: Pages,
    ) -> None:
        super().__init__()
        self.setWindowTitle("TPU Studio")
        self.setMinimumSize(SMALLEST)
        self.resize(USUAL)
        self.shell, self.runs, self.settings, self.engine = shell, runs, settings, engine
        self._pages = pages
        self._run_page: QWidget | None = None
        self._run_shown = ""
        self._request = PlanRequest()
        self._last_word: QWidget | None = None
        self.banner: QWidget | None = None
        self.first_painted: Callable[[], None] | None = None
        self.closing: Callable[[], None] | None = None
        self.opened_sheet: Callable[[str], None] = lambda name: None  # sheets that need what works behind the window

        self.actions_by_key = Actions(self, self.act)
        self.sidebar = Sidebar(
            [
                NavItem("home", "Home", "house", "Ctrl+1"),
                NavItem("runs", "Runs", "activity", "Ctrl+2"),
                NavItem("compare", "Compare", "git-compare-arrows", "Ctrl+8"),
                NavItem("models", "Models", "brain", "Ctrl+Shift+M"),
                NavItem("account", "Account & quota", "shield-check", "Ctrl+5"),
                NavItem("learn", "Learn", "lightbulb", "Ctrl+9"),
                NavItem("help", "Help", "circle-question-mark", "Ctrl+7"),
            ]
        )
        self.sidebar.page_chosen.connect(self.act)
        self.sidebar.new_run.connect(shell.new_run)
        self.sidebar.person.hide()  # nobody can sign in yet: Settings takes its place
        self.footer = Footer(self.actions_by_key, lambda: shell.go("settings"))
        layout = self.sidebar.layout()
        assert layout is not None
        layout.addWidget(self.footer)
        self.stack = PageStack()
        ground = Surface("window")
        row = QHBoxLayout(ground)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.sidebar)
        self._beside = QVBoxLayout()
        self._beside.setSpacing(0)
        self._beside.addWidget(self.stack, 1)
        row.addLayout(self._beside, 1)
        self.setCentralWidget(ground)
        self.notices = Notices(ground, shell, self._kept_clear)
        self.drops = DropArea(self, ground, shell)

        self._ends = [
            shell.state.subscribe(self._draw),
            runs.state.subscribe(lambda view: self.sidebar.set_live("runs", _live_word(len(view.live)))),
            settings.appearance.subscribe(self._dress, now=False),
        ]
        self._drain = Drain(self, self._tick, 250)

    # ---------------------------------------------------------------------------------------------- what is shown

    def open_run(self, run: str, name: str = "") -> None:
        """Show the page of *run* and raise the window."""
        self.shell.open_run(run, name)

    def put_strip(self, strip: QWidget) -> None:
        """*strip* stands over the pages, below the banner if there is one."""
        self._beside.insertWidget(self._beside.indexOf(self.stack), strip)

    def bring_to_front(self) -> None:
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def page(self, name: str) -> QWidget:
        """The page of that name, made if it is not there yet."""
        kept = self._pages.kept
        if name not in kept:
            kept[name] = getattr(self._pages, name)()
        return kept[name]

    def kept_page(self, name: str) -> QWidget | None:
        """The page of that name if it was made."""
        return self._pages.kept.get(name)

    def _kept_clear(self) -> QWidget | None:
        """What of the page no notice may lie over."""
        page = self.stack.currentWidget()
        found = getattr(getattr(page, "page", page), "kept_clear", None)
        return found if isinstance(found, QWidget) else None

    @property
    def run_page(self) -> QWidget | None:
        return self._run_page

    def _draw(self, view: ShellView) -> None:
        before = self.stack.currentWidget()
        if view.page == "run":
            page = self._page_of_run(view.run)
        else:
            page = self.page(view.page)
            if view.page == "plan" and view.request.number != self._request.number:
                self._request = view.request
                _call(page, "start", view.request)
        if page is not before:
            _call(before, "leave")
            self.stack.show_page(page)
            if before is not None:  # a page's own keys work at once; at the start nothing has the focus
                page.setFocus(Qt.FocusReason.OtherFocusReason)
        self.sidebar.select(view.section if view.section in SECTIONS else "")
        self.footer.show_settings(view.section == "settings")
        if view.banner is not None and self.banner is None:
            self.banner = _banner(view.banner)
            self._beside.insertWidget(0, self.banner)
        self.setWindowTitle(f"{view.run_name} – TPU Studio" if view.page == "run" and view.run_name else "TPU Studio")

    def _page_of_run(self, run: str) -> QWidget:
        if self._run_page is None or self._run_shown != run:
            old, self._run_page = self._run_page, self._pages.run(run)
            self._run_shown = run
            if old is not None:
                _call(old, "leave")
                _call(old, "close_run")
                QTimer.singleShot(0, self, lambda: self.stack.drop_page(old))
        return self._run_page

    def _dress(self, settings: Settings) -> None:
        """Put the chosen appearance in force."""
        theme = controller()
        if theme.mode != settings.theme:
            theme.set_mode(settings.theme)  # type: ignore[arg-type]
        if theme.contrast != settings.contrast:
            theme.set_contrast(settings.contrast)  # type: ignore[arg-type]
        if theme.text_scale != settings.text_size / 100:
            theme.set_text_scale(settings.text_size / 100)
        theme.set_reduce_motion(reduced(settings))
        self._adapt()

    def _tick(self) -> None:
        self.runs.tick()
        self.engine.tick()

    # ---------------------------------------------------------------------------------------------------- commands

    def act(self, name: str) -> None:
        """Do the command *name* (see `actions`)."""
        match name:
            case "home" | "runs" | "compare" | "models" | "account" | "help":
                self.shell.go(name)
            case "learn":
                self.shell.go(name)
                _call(self.page(name), "show_chapters")
            case "glossary":
                self.shell.go("learn")
                _call(self.page("learn"), "show_glossary")
            case "settings" | "settings-page":
                self.shell.go("settings")
            case "new":
                self.shell.new_run()
            case "plan":
                self.shell.go("plan") if "plan" in self._pages.kept else self.shell.new_run()
            case "run":
                self._last_run()
            case "back":
                self.shell.back()
            case "find":
                self._find()
            case "open":
                self._choose_file()
            case "open-run":
                self.choose_run_folder()
            case "stop":
                self._stop_asked()
            case "sweep" | "faults":
                self.opened_sheet(name)
            case "refresh":
                self.runs.look()
                self.engine.look()
                _call(self.stack.currentWidget(), "refresh")
            case "bigger" | "smaller":
                self._resize_text(1 if name == "bigger" else -1)
            case "usual-size":
                self.settings.set(text_size=100)
            case "dark":
                self.settings.set(theme="light" if controller().theme.dark else "dark")
            case "what-is-this":
                self._explain()
            case "paste-error":
                self._explain_copied()
            case "menu":
                self.footer.open_menu()
            case "quit":
                self.close()

    def show_term(self, term: str) -> None:
        """The entry of the glossary with that id."""
        self.shell.go("learn")
        _call(self.page("learn"), "show_term", term)

    def _explain_copied(self) -> None:
        """What was copied elsewhere is read here, when it is asked for, and at no other time."""
        copied = QApplication.clipboard().mimeData()
        if copied.hasText() or copied.hasUrls():
            self.shell.go("help")
            _call(self.page("help"), "take", copied)
        else:
            self.shell.notify("There is no text to paste", "Copy an error text first, then press Ctrl+V again.")

    def _last_run(self) -> None:
        view = self.shell.state.value
        rows = self.runs.state.value.going_on or (self.runs.state.value.rows or ())
        if view.run:
            self.shell.open_run(view.run, view.run_name)
        elif rows:
            self.shell.open_run(rows[0].run, rows[0].name)
        else:
            self.shell.go("runs")

    def _find(self) -> None:
        from tpu_studio.gui.shell.palette import Palette

        Palette.open_over(self)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, "Open a job, a table, a text or a saved page")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(
            [
                "What TPU Studio opens (*.tpujob *.csv *.tsv *.jsonl *.parquet *.txt *.html plan.json dataset.json)",
                "All files (*)",
            ]
        )
        self._ask(dialog)

    def choose_run_folder(self) -> None:
        dialog = QFileDialog(self, "Open a run folder")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
        self._ask(dialog)

    def _ask(self, dialog: QFileDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.shell.open_path(path))
        dialog.open()

    def _stop_asked(self) -> None:
        if self.shell.state.value.page == "run" and _call(self._run_page, "stop_asked"):
            return
        live = self.runs.state.value.live
        if len(live) == 1:
            self.open_run(live[0].run, live[0].name)
            QTimer.singleShot(0, self, lambda: _call(self._run_page, "stop_asked"))
        elif live:
            self.shell.go("runs")
            self.shell.notify("Which run?", f"{len(live)} runs are going on. Open the one to stop.")
        else:
            self.shell.notify("Nothing is running", "There is no run to stop.")

    def _resize_text(self, steps: int) -> None:
        at = TEXT_SIZES.index(self.settings.state.value.settings.text_size) + steps
        if 0 <= at < len(TEXT_SIZES):
            self.settings.set(text_size=TEXT_SIZES[at])

    def _explain(self) -> None:
        """What has the focus, in words: by its page if it can, else from its own description."""
        focus = QApplication.focusWidget()
        if (term := _term_of(focus)) is not None:
            from tpu_studio.gui.learn.termtext import explain_term

            explain_term(*term)
            return
        if _call(self.stack.currentWidget(), "explain", focus):
            return
        widget = focus
        while widget is not None:
            words = widget.accessibleDescription() or widget.toolTip() or widget.whatsThis()
            if words:
                self.shell.notify(widget.accessibleName() or "This", words)
                return
            widget = widget.parentWidget()
        self.shell.notify(
            "Keyboard",
            "Tab goes from one control to the next. Ctrl+K finds any page, run or command; "
            "the menu beside Settings lists all keys.",
        )

    # ------------------------------------------------------------------------------------------------ Qt's own events

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._adapt()

    def _adapt(self) -> None:
        self.sidebar.adapt(self.width())
        self.footer.set_folded(self.sidebar.folded)
        self.notices.place()
        self.drops.place()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.first_painted is not None:  # its children are painted in the same go, before the timer
            told, self.first_painted = self.first_painted, None
            QTimer.singleShot(0, self, told)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Runs go on without the window. That is told once, the first time; nothing is ever asked."""
        going_on = self.runs.state.value.going_on
        if going_on and self._last_word is None and not self.settings.told("runs-go-on"):
            event.ignore()
            self._last_word = _tell_that_runs_go_on(self, going_on[0].name, len(going_on))
            return
        self.close_for_good()
        event.accept()

    def close_for_good(self) -> None:
        """End the subscriptions and what watches a run. The second call does nothing."""
        ends, self._ends = self._ends, []
        if not ends:
            return
        for end in ends:
            end()
        _call(self.stack.currentWidget(), "leave")
        _call(self._run_page, "close_run")
        if self.closing is not None:
            self.closing()

    def remember(self) -> bytes:
        """Place and size, for `restore`."""
        return bytes(self.saveGeometry().data())

    def restore(self, remembered: bytes) -> None:
        if not (remembered and self.restoreGeometry(QByteArray(remembered))):
            self.resize(fitting(USUAL, self.screen().availableSize(), self.minimumSize()))

    def open_file(self, path: Path | str) -> None:
        self.shell.open_path(path)


def fitting(wanted: QSize, screen: QSize, least: QSize) -> QSize:
    """*wanted*, or what a screen leaves of it beside the window's title bar and frame; *wanted* where none would do."""
    room = screen - FRAME
    return wanted.boundedTo(room) if room.width() >= least.width() and room.height() >= least.height() else wanted


def reduced(settings: Settings) -> bool:
    """Whether movement is left out: as chosen, else as the system asks (which few desktops tell; then it moves)."""
    import os

    if settings.motion == "system":
        return os.environ.get("QT_QPA_PLATFORM") == "offscreen"
    return settings.motion == "reduced"


def _tell_that_runs_go_on(window: MainWindow, name: str, count: int) -> QWidget:
    from tpu_studio.gui.shell.sheet import Sheet

    more = f" and {count - 1} more" if count > 1 else ""
    sheet = Sheet(
        window,
        f"{name}{more} {'go' if more else 'goes'} on without the window",
        "Training needs no window. Open TPU Studio again to watch it or to stop it. This is told only once.",
    )
    sheet.answer("Close the window", window.close, kind="primary", safe=True)
    sheet.open()
    return sheet


def _banner(problem: Problem) -> QWidget:
    from tpu_studio.gui.kit.rows import Note

    band = Surface()
    inside = QVBoxLayout(band)
    inside.setContentsMargins(Space.l, Space.l, Space.l, 0)
    inside.addWidget(note := Note(problem.title, problem.text, "bad"))
    note.setAccessibleName(f"{problem.title}. {problem.text}")
    note.setToolTip(plain(problem.details))
    return band


def _live_word(count: int) -> str:
    return "" if not count else "Live" if count == 1 else f"{count} live"


def _term_of(widget: QWidget | None) -> tuple[str, QWidget] | None:
    """The term of the glossary that *widget*, or what it stands in, is about (its property ``term``)."""
    while widget is not None:
        if isinstance(term := widget.property("term"), str):
            return term, widget
        widget = widget.parentWidget()
    return None


def _call(page: QWidget | None, name: str, *arguments: object) -> bool:
    """Call `page.name(…)` if the page has it; True unless it has not or it says False."""
    method = getattr(page, name, None) if page is not None else None
    if not callable(method):
        return False
    return method(*arguments) is not False

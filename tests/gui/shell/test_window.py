"""The window: pages, keys, drops, notices, the palette, and how it closes."""

import subprocess
import sys

import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from tests.fakes.waiting import PATIENCE_S
from tests.gui.studios import open_studio
from tpu_studio.gui.kit.theme import controller
from tpu_studio.gui.run.page import RunPage
from tpu_studio.gui.shell.notices import NoticeCard
from tpu_studio.gui.shell.palette import Palette
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.gui.shell.window import fitting


def test_home_is_painted_before_anything_heavy_is_imported():
    """What only other pages need costs nobody a slow start; a new heavy import on the way to Home fails here."""
    program = (
        "import sys\n"
        "from tpu_studio.app import studio, main\n"
        "def painted(self):\n"
        "    heavy = {'numpy', 'pyqtgraph', 'PIL', 'asyncio', 'sqlite3', 'tomlkit', 'orjson', 'tpu_studio.store',"
        " 'tpu_studio.planner', 'tpu_studio.data', 'tpu_studio.workflow.runs'}\n"
        "    print('heavy:', sorted(heavy & set(sys.modules)))\n"
        "    self.app.quit()\n"
        "studio.Studio.after_first_picture = painted\n"
        "sys.exit(main.main([]))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert "heavy: []" in ended.stdout, ended.stdout + ended.stderr
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("key", "page"),
    [
        (Qt.Key.Key_2, "runs"),
        (Qt.Key.Key_1, "home"),
        (Qt.Key.Key_5, "account"),
        (Qt.Key.Key_6, "settings"),
        (Qt.Key.Key_Comma, "settings"),
        (Qt.Key.Key_N, "plan"),
    ],
)
def test_each_page_has_its_key(studio, key, page):
    studio.window.activateWindow()
    QTest.keyClick(studio.window, key, Qt.KeyboardModifier.ControlModifier)
    assert studio.shell.state.value.page == page


class WindowsShown(QObject):
    """Every top-level widget that is shown, by its type and words: a part shown before it has a parent flashes."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.seen.append((type(watched).__name__, watched.accessibleName() or watched.windowTitle()))
        return False


def test_no_page_flashes_parts_of_itself_as_windows_while_it_is_made(studio, qapp):
    run = studio.launch(steps=2)
    studio.wait_over(run)
    shown = WindowsShown()
    qapp.installEventFilter(shown)
    for name in ("runs", "settings", "new"):
        studio.window.act(name)
    studio.window.open_run(run)
    studio.qtbot.waitUntil(lambda: studio.window.findChild(RunPage) is not None)
    qapp.removeEventFilter(shown)
    assert shown.seen == []


def test_the_sidebar_leads_to_the_pages_and_lights_the_one_that_is_shown(studio, qtbot):
    qtbot.mouseClick(studio.window.sidebar.row("runs"), Qt.MouseButton.LeftButton)
    assert studio.shell.state.value.page == "runs"
    assert studio.window.sidebar.row("runs").isChecked() and not studio.window.sidebar.row("home").isChecked()
    qtbot.mouseClick(studio.window.footer.settings, Qt.MouseButton.LeftButton)
    assert studio.shell.state.value.page == "settings"
    assert studio.window.footer.settings.isChecked() and not studio.window.sidebar.row("runs").isChecked()


def test_the_keys_of_a_page_work_as_soon_as_it_is_shown(studio, qtbot):
    """Ctrl+Return starts what stands on the Plan page: it must not matter where the focus was before."""
    studio.window.activateWindow()
    studio.shell.new_run()
    qtbot.waitUntil(lambda: studio.page.page is not None)
    qtbot.waitUntil(lambda: studio.page.page.hasFocus() or studio.page.page.isAncestorOf(QApplication.focusWidget()))


def test_ctrl_enter_starts_what_stands_on_the_plan_page_also_from_the_sidebar_but_not_under_a_sheet(studio, qtbot):
    """With nothing chosen yet, starting leads to what is missing."""
    ctrl = Qt.KeyboardModifier.ControlModifier
    studio.window.activateWindow()
    studio.shell.new_run()
    qtbot.waitUntil(lambda: studio.page.page is not None and studio.page.page.isVisible())
    row, chosen = studio.window.sidebar.row("runs"), studio.page.page.data_section
    row.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(row, Qt.Key.Key_Return, ctrl)
    assert chosen.isAncestorOf(QApplication.focusWidget())

    row.setFocus(Qt.FocusReason.TabFocusReason)
    sheet = Sheet(studio.window, "Really?")
    sheet.answer("Keep it", safe=True)
    sheet.open()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return, ctrl)
    assert sheet.isAncestorOf(QApplication.focusWidget())
    sheet.close()
    studio.window.act("find")
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return, ctrl)
    assert not chosen.isAncestorOf(QApplication.focusWidget())


def test_the_sidebar_folds_below_1240_with_larger_text_sooner_and_the_window_keeps_its_size(studio):
    for scale in (1.5, 1.0):
        controller().set_text_scale(scale)
        for width, folded in ((1440, False), (1260, scale > 1), (1100, True)):  # larger text needs the page's width
            studio.window.resize(width, 900 if width == 1440 else 700)
            QApplication.processEvents()
            assert studio.window.sidebar.folded is folded
            assert studio.window.width() == width


def test_no_page_makes_the_window_grow_at_150_percent(studio):
    controller().set_text_scale(1.5)
    studio.window.resize(1100, 700)
    for page in ("home", "runs", "settings", "plan"):
        studio.shell.go(page)
        QApplication.processEvents()
        assert (studio.window.width(), studio.window.height()) == (1100, 700), page
    controller().set_text_scale(1.0)


def dropped(window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(window, QDragEnterEvent(QPoint(400, 400), *held))
    event = QDropEvent(QPointF(400, 400), *held)
    QApplication.sendEvent(window, event)
    return event.isAccepted()


def test_a_job_dropped_anywhere_opens_the_plan(studio, tmp_path):
    job = tmp_path / "mine.tpujob"
    job.write_text('format = 1\nname = "mine"\n[model]\nname = "small-cnn"\n[data]\nkind = "digits"\n')
    assert dropped(studio.window, job)
    assert studio.shell.state.value.page == "plan"
    assert studio.shell.state.value.request.job == job


def test_of_two_things_dropped_the_first_is_opened_and_the_window_says_so(studio, tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    assert dropped(studio.window, tmp_path / "one.csv", tmp_path / "two.csv")
    assert studio.shell.state.value.request.data == tmp_path / "one.csv"
    assert "only “one.csv” was taken" in studio.window.notices.cards[-1].accessibleName()


def test_something_unknown_that_is_dropped_is_said_in_a_notice(studio, tmp_path):
    (tmp_path / "song.mp3").write_bytes(b"")
    dropped(studio.window, tmp_path / "song.mp3")
    assert "nothing TPU Studio can open" in studio.window.notices.cards[-1].accessibleName()


def test_a_run_folder_from_elsewhere_that_is_dropped_opens_its_page(studio, tmp_path, qtbot):
    run = studio.launch("brought")
    studio.wait_over(run)
    elsewhere = tmp_path / "stick" / run
    elsewhere.parent.mkdir()
    services = studio.studio.services
    services.runs.folder(run).rename(elsewhere)
    services.index.forget(run)
    dropped(studio.window, elsewhere)
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "run", timeout=10_000)
    assert (services.home / "runs" / studio.shell.state.value.run / "plan.json").exists()


def test_a_file_of_the_start_is_opened(qtbot, home, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with open_studio(qtbot, home, str(tmp_path / "table.csv")) as opened:
        assert opened.shell.state.value.page == "plan"


@pytest.mark.parametrize(("letters", "page"), [("sett", "settings"), ("acc", "account"), ("sign in", "account")])
def test_ctrl_k_finds_a_page_by_a_few_letters_and_enter_goes_there(studio, qtbot, letters, page):
    studio.window.act("find")
    palette = studio.window.findChild(Palette)
    qtbot.keyClicks(palette.field, letters)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert studio.shell.state.value.page == page
    assert studio.window.findChild(Palette) is None


def test_escape_closes_the_palette_and_nothing_happens(studio, qtbot):
    studio.window.act("find")
    qtbot.keyClick(studio.window.findChild(Palette).field, Qt.Key.Key_Escape)
    assert studio.window.findChild(Palette) is None
    assert studio.shell.state.value.page == "home"


def test_the_palette_says_when_nothing_is_called_so(studio, qtbot):
    studio.window.act("find")
    palette = studio.window.findChild(Palette)
    assert not palette.nothing.isVisible()
    qtbot.keyClicks(palette.field, "xyzzy")
    assert palette.nothing.isVisible() and "“xyzzy”" in palette.nothing.text() and not palette.list.isVisible()
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.field.clear()
    assert palette.list.isVisible() and not palette.nothing.isVisible()
    palette.close()


def test_the_palette_has_what_the_open_run_offers(studio, qtbot):
    run = studio.launch(steps=3)
    studio.wait_over(run)
    studio.window.open_run(run, "digits")
    qtbot.waitUntil(
        lambda: studio.window.run_page.page is not None and studio.window.run_page.page.again_button.isVisible()
    )
    studio.window.act("find")
    palette = studio.window.findChild(Palette)
    qtbot.keyClicks(palette.field, "duplicate")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "plan")


@pytest.mark.parametrize("width", [1440, 1100])
def test_no_notice_lies_over_the_button_that_starts(studio, qtbot, width):
    studio.window.resize(width, 800)
    studio.shell.new_run()
    holder = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None and holder.page.kept_clear.isVisible())
    studio.shell.notify("The report is written", "/somewhere", action="Open", act=lambda: None)
    (card,) = studio.window.notices.cards
    clear = holder.page.kept_clear
    ground = card.parentWidget()
    top = clear.mapTo(ground, QPoint(0, 0)).y()
    assert card.geometry().bottom() < top and card.geometry().top() > 0
    studio.shell.go("home")
    studio.window.notices.place()
    assert card.geometry().bottom() > top  # elsewhere it lies where it always did


def test_nothing_looks_pointed_at_on_a_page_that_was_left_under_the_pointer(studio, qtbot):
    home = studio.page
    card = home.examples[0]
    QApplication.sendEvent(card, QEvent(QEvent.Type.Enter))
    card.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, True)
    studio.shell.go("runs")
    studio.shell.go("home")
    assert studio.page is home and not card.underMouse()


def test_arrows_walk_the_palette_round(studio, qtbot):
    studio.window.act("find")
    palette = studio.window.findChild(Palette)
    qtbot.keyClick(palette.field, Qt.Key.Key_Up)
    assert palette.list.currentIndex().row() == palette.list.model().rowCount() - 1
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().row() == 0
    palette.close()


def test_in_a_low_window_with_large_letters_the_last_row_of_the_palette_is_reached(studio, qtbot):
    controller().set_text_scale(1.5)
    try:
        studio.window.resize(1100, 700)
        studio.window.act("find")
        palette = studio.window.findChild(Palette)
        qtbot.keyClick(palette.field, Qt.Key.Key_Up)
        assert palette.rect().contains(palette.card.geometry())
        row = palette.list.visualRect(palette.list.currentIndex())
        assert palette.list.viewport().rect().contains(row)
        palette.close()
    finally:
        controller().set_text_scale(1.0)


def test_a_notice_leaves_by_its_cross_and_its_button_acts(studio, qtbot):
    done = []
    studio.shell.notify("Deleted", action="Undo", act=lambda: done.append(1))
    card = studio.window.notices.cards[-1]
    qtbot.mouseClick(card.action, Qt.MouseButton.LeftButton)
    assert done == [1] and studio.window.notices.cards == []


def test_a_notice_goes_by_itself_unless_it_is_a_lasting_one(studio, qtbot, monkeypatch):
    monkeypatch.setattr("tpu_studio.gui.shell.notices.SHOWN_MS", 30)
    studio.shell.notify("Short")
    studio.shell.notify("Lasting", lasting=True)
    qtbot.waitUntil(lambda: len(studio.window.notices.cards) == 1)
    assert isinstance(studio.window.notices.cards[0], NoticeCard)
    assert studio.window.notices.cards[0].notice.title == "Lasting"


def test_an_error_that_nobody_caught_is_a_sentence_with_its_details_folded_away(studio, qtbot):
    def broken():
        raise KeyError("inner workings")

    studio.studio.tasks.submit(broken)
    qtbot.waitUntil(lambda: bool(studio.window.notices.cards))
    card = studio.window.notices.cards[-1]
    assert "TPU Studio itself" in card.notice.title
    assert "KeyError" in card.notice.details and "KeyError" not in card.accessibleName()


def test_closing_while_a_run_goes_on_tells_so_once_and_asks_nothing(qtbot, home):
    with open_studio(qtbot, home) as opened:
        run = opened.launch("long", "--step-s", "0.2", steps=100)
        qtbot.waitUntil(lambda: bool(opened.runs.state.value.going_on), timeout=10_000)
        opened.window.close()
        sheet = opened.window.findChild(Sheet)
        assert sheet is not None and "goes on without the window" in sheet.title.text()
        assert opened.window.isVisible()
        opened.window.close()
        assert not opened.window.isVisible()
    with open_studio(qtbot, home) as again:
        qtbot.waitUntil(lambda: bool(again.runs.state.value.going_on), timeout=10_000)
        again.window.close()
        assert not again.window.isVisible()
        again.studio.services.runs.stop(run, keep=False)


def test_the_window_opens_where_it_was_left(qtbot, home, monkeypatch):
    """Offscreen the screen is smaller than the window, so what is put back is compared, not what came of it."""
    with open_studio(qtbot, home) as opened:
        left = opened.window.remember()
        opened.window.close()
    restored = []
    monkeypatch.setattr(
        "tpu_studio.gui.shell.window.MainWindow.restore", lambda self, remembered: restored.append(remembered)
    )
    with open_studio(qtbot, home):
        assert restored == [left]


def test_f1_explains_what_has_the_focus(studio):
    studio.shell.go("settings")
    studio.window.sidebar.new_button.setFocus()
    studio.window.act("what-is-this")
    assert studio.window.notices.cards[-1].notice.text


def test_the_first_window_fits_the_screen_with_its_frame():
    usual, least = QSize(1440, 900), QSize(1100, 700)
    assert fitting(usual, QSize(1920, 1080), least) == usual
    assert fitting(usual, QSize(1440, 900), least) == QSize(1424, 852)
    assert fitting(usual, QSize(800, 600), least) == usual


def test_an_ampersand_in_the_menu_is_no_key(studio):
    menu = studio.window.actions_by_key.menu(studio.window)
    texts = [action.text() for inner in menu.findChildren(QMenu) for action in inner.actions()]
    assert "Account && quota" in texts

"""The Run page of a rented run: practice strip, lost connection, the wait, stopping, the deletion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.tasks import InlineTasks
from tests.unit.viewmodels.test_rented_words import ASKED, END, NAME, THERE, T, plan_at, view_of
from tpu_studio.domain.run import RunView
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.numberedit import DecimalBox
from tpu_studio.gui.kit.states import WayOut
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.run.dialogs import ask_extend
from tpu_studio.gui.run.page import RunPage
from tpu_studio.gui.run.receipt import ReceiptLine
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.leaving import Leaving
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.job import Job
from tpu_studio.workflow import desk

GONE = (
    (70.0, "deleted", {"name": NAME, "zone": "us-west4-a", "proof": "404", "made": True, "created": T + 9}),
    (71.0, "phase", {"phase": "done", "detail": "", "attempt": 1}),
)


class Followed:
    """A run whose view a test sets; implements `Following` and `Verbs`."""

    def __init__(self, place: str, view: RunView) -> None:
        self.plan, self.view, self.metrics = plan_at(place), view, ()
        self.stops: list[bool] = []
        self.profiles = 0

    def poll(self) -> None: ...
    def close(self) -> None: ...
    def stop(self, run: str, keep: bool = True) -> None:
        self.stops.append(keep)

    def extend(self, run: str, epochs: float) -> None: ...
    def resume(self, run: str) -> None: ...
    def profile(self, run: str) -> None:
        self.profiles += 1

    def export(self, run: str, destination: Path) -> None: ...


class Shown:
    def __init__(self, qtbot: QtBot, followed: Followed, folder: Path, now: float) -> None:
        self.followed, self.now = followed, now
        self.watched = 0
        self.error: Exception | None = None
        self.faults = 0
        self.planned: list[Job] = []
        run: Any = followed
        self.model = RunViewModel(
            "digits-k3f7", folder, followed.plan, lambda: run, run, InlineTasks(), lambda: run, clock=lambda: self.now
        )
        self.model.looked = lambda: setattr(self, "watched", self.watched + 1)
        self.model.trouble = lambda: self.error
        self.model.ask_faults = lambda: setattr(self, "faults", self.faults + 1)
        self.model.planned_again = self.planned.append
        self.left: list[Leaving] = []
        self.model.planned_elsewhere = lambda job, leaving: (self.planned.append(job), self.left.append(leaving))
        self.window = QWidget()
        self.page = RunPage(self.model, self.window)
        self.window.resize(1200, 900)
        self.page.resize(1200, 900)
        qtbot.addWidget(self.window)
        self.window.show()
        QApplication.processEvents()

    def see(self, view: RunView, now: float) -> None:
        self.followed.view, self.now = view, now
        self.model.refresh()

    def press(self, qtbot: QtBot, within: QWidget, words: str) -> None:
        button = next(one for one in within.findChildren(Button) if one.text() == words)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    @property
    def sheet(self) -> Sheet:
        return next(one for one in self.window.findChildren(Sheet) if one.isVisible())


@pytest.fixture
def show(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Any:
    theme.install(qapp)
    made: list[Shown] = []

    def shown(place: str, view: RunView, now: float) -> Shown:
        made.append(Shown(qtbot, Followed(place, view), tmp_path, now))
        return made[-1]

    yield shown
    for one in made:
        one.page.close_run()


def test_practice_never_looks_real_and_leads_to_what_could_go_wrong(qtbot: QtBot, show: Any):
    one = show("practice", view_of(*THERE), T + 25)
    assert one.page.practice.isVisible()
    one.press(qtbot, one.page.practice, "What could go wrong?")
    assert one.faults == 1
    one.see(view_of(*THERE, END, *GONE), T + 90)
    assert one.page.practice.isVisible() and "practice cloud was removed" in one.page.removal.note.title.text()
    assert not show("cloud", view_of(*THERE), T + 25).page.practice.isVisible()


SPEED = {"step": 40, "steps": 40, "examples": 1280, "seconds": 10.0, "waiting_for_data_s": 4.0, "device_s": 5.0}
TRAINS = (
    *THERE,
    (22.0, "phase", {"phase": "training", "detail": "", "attempt": 1}),
    (24.0, "speed", SPEED),
)
BUSY = {"worker": 0, "duty_cycle": 0.52, "hbm_used_bytes": 9.1e9, "hbm_total_bytes": 1.6e10}


def test_a_preemption_is_told_as_a_story_over_the_figures(show: Any):
    one = show("practice", view_of(*TRAINS), T + 25)
    assert not one.page.story.isVisible()
    warned = (26.0, "notice", {"id": "preempted", "level": "warning"})
    one.see(view_of(*TRAINS, warned), T + 27)
    assert one.page.story.isVisible() and one.page.story.headline.text() == "The practice cloud takes the TPU back"
    gone = (40.0, "deleted", {"name": NAME, "zone": "us-west4-a", "made": True, "created": T + 9})
    over = (41.0, "attempt-over", {"attempt": 1, "reason": "preempted"})
    goes_on = (
        (45.0, "phase", {"phase": "setting-up", "detail": "claimed", "attempt": 2}),
        (50.0, "resume", {"step": 30, "attempt": 2}),
        (51.0, "phase", {"phase": "training", "detail": "", "attempt": 2}),
    )
    one.see(view_of(*TRAINS, warned, gone, over, *goes_on), T + 52)
    told = [label.text() for label in one.page.story.findChildren(Text)]
    assert "The practice cloud took the TPU back, and the run went on from step 30" in told
    assert "10" in told and "after 25 s" in told  # steps lost; since the warning
    assert "Steps lost: 10" in one.page.story.accessibleName()


def test_how_busy_the_tpu_is_stands_with_the_speed_and_bears_out_that_it_waits(show: Any):
    one = show("cloud", view_of(*TRAINS), T + 25)
    speed = one.page.numbers.tile("second")
    assert not speed.more.isVisible() and "TPU" not in speed.accessibleDescription()  # the chips say nothing

    one.see(view_of(*TRAINS, (24.5, "device", BUSY)), T + 25)
    assert speed.more.isVisible() and speed.more.text() == "TPU busy 52%\nmemory 9.1 of 16.0 GB"
    assert "as the TPU itself tells" in speed.accessibleDescription()
    assert "TPU busy 52%, memory 9.1 of 16.0 GB" in speed.accessibleName()
    assert "The TPU computes 52% of the time." in one.page.charts.speed._finding.text()

    one.see(view_of(*TRAINS, (24.5, "device", {**BUSY, "duty_cycle": 0.97})), T + 25)
    assert "computes" not in one.page.charts.speed._finding.text()  # it has enough to do

    rehearsed = show("practice", view_of(*TRAINS, (24.5, "device", BUSY)), T + 25)
    rehearsing = rehearsed.page.numbers.tile("second")
    assert rehearsing.more.text() == "Simulated on this computer's CPU"
    assert "busy" not in rehearsing.accessibleName() and "On a rented TPU" in rehearsing.accessibleDescription()


def test_where_the_time_of_a_step_goes_is_explained_on_hover_a_sentence_each(show: Any):
    split = show("cloud", view_of(*TRAINS), T + 25).page.charts.split
    computing, waiting, used = split.title.toolTip().split("\n")
    assert computing.startswith("Compute: ") and waiting.startswith("Input wait: ")
    assert used.startswith("MFU (model FLOP utilisation) is ")
    assert split.legend.toolTip().endswith(split.title.toolTip())


def test_a_rented_run_can_be_shown_as_commands(qtbot: QtBot, show: Any):
    one = show("practice", view_of(*THERE), T + 25)
    asked: list[int] = []
    one.model.ask_commands = lambda: asked.append(1)
    one.press(qtbot, one.page.happened, "Show me the commands")
    assert asked == [1]


def test_a_lost_connection_says_that_the_run_goes_on_and_goes_away(show: Any):
    one = show("cloud", view_of(*THERE), T + 25)
    assert not one.page.trouble.isVisible()
    one.error = CloudUnclear("network-down")
    one.model.refresh()
    assert one.page.trouble.isVisible()
    assert one.page.trouble.title.text() == "Google cannot be reached" and "goes on" in one.page.trouble.text.text()
    one.error = None
    one.model.refresh()
    assert not one.page.trouble.isVisible()


def test_a_silent_machine_is_told_with_what_ends_it(show: Any):
    one = show("cloud", view_of(*THERE), T + 25)
    assert not one.page.stale.isVisible()
    one.see(view_of(*THERE), T + 21 + 120)
    assert one.page.stale.isVisible() and "quarter of an hour" in one.page.stale.text.text()


def test_it_is_watched_until_the_deletion_is_proved_and_no_longer(show: Any):
    one = show("cloud", view_of(*THERE, END), T + 40)
    one.model.tick()
    watched = one.watched
    one.model.tick()
    assert one.watched > watched > 0
    one.see(view_of(*THERE, END, *GONE), T + 90)
    watched = one.watched
    one.model.tick()
    assert one.watched == watched


@pytest.mark.parametrize(("place", "says"), [("cloud", "You pay about $0.03 in all,"), ("practice", "would have cost")])
def test_stopping_speaks_of_money_and_of_the_machine(qtbot: QtBot, show: Any, place: str, says: str):
    one = show(place, view_of(*THERE), T + 25)
    one.page.stop_asked()
    told = " ".join(text.text() for text in one.sheet.findChildren(Text))
    assert says in told and "given back, and checked to be gone" in told and "the receipt says what it came to" in told
    one.press(qtbot, one.sheet, "Stop")  # it has not trained a step: there is no model to keep
    assert one.followed.stops == [True]


def test_the_receipt_is_read_out_in_the_window(qtbot: QtBot, show: Any, tmp_path: Path):
    one = show("practice", view_of(*THERE, END, *GONE), T + 90)
    read: list[bool] = []
    one.model.receipt_read = lambda: read.append(True)
    one.page.removal.receipt.emit()
    assert "cannot be read" in words_in(one.sheet) and not read
    one.press(qtbot, one.sheet, "Close")
    file = one.model.state.value.folder / "result" / "receipt.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(RECEIPT))
    one.page.removal.receipt.emit()
    told = words_in(one.sheet)
    assert read == [True]
    assert "Would have cost" in told and "$0.02" in told and "Nothing was charged: practice." in told
    assert f"{NAME} in us-west4-a" in told and "that it is not there any more." in told
    assert "All removed" in told and "4.2 MB · would be less than a cent a month" in told
    lines = one.sheet.findChildren(ReceiptLine)
    assert len(lines) >= 4 and lines[0].amount.text() == "$0.02"  # the total
    QApplication.processEvents()
    rights = {line.amount.mapTo(one.sheet, QPoint(line.amount.width(), 0)).x() for line in lines}
    assert len(rights) == 1 and all(line.amount.alignment() & Qt.AlignmentFlag.AlignRight for line in lines)


RECEIPT = {
    "place": "practice",
    "usd": 0.02,
    "usd_at_most": 0.02,
    "usd_per_hour": 1.2,
    "stops_left": [],
    "asked_in_vain": [],
    "made": [{"name": NAME, "zone": "us-west4-a", "created": T + 9, "deleted": T + 70, "billed_s": 61, "usd": 0.02}],
    "kept": "gs://b/runs/digits-k3f7/",
    "kept_bytes": 4_245_913,
    "kept_usd_per_month": 9.1e-05,
}


def words_in(widget: QWidget) -> str:
    return " ".join(text.text() for text in widget.findChildren(Text))


def test_stopping_while_it_waits_says_that_nothing_is_rented(qtbot: QtBot, show: Any):
    asked = [one for one in ASKED if one[1] != "intent"]
    one = show("cloud", view_of(*asked), T + 60)
    one.page.stop_asked()
    assert "nothing is charged" in " ".join(text.text() for text in one.sheet.findChildren(Text))
    one.press(qtbot, one.sheet, "Let it go on")
    assert one.page.stop_button.text() == "Stop" and not one.page.extend_button.isVisible()


def test_a_way_out_of_the_wait_plans_elsewhere_first_and_says_that_the_place_will_be_lost(qtbot: QtBot, show: Any):
    one = show("cloud", view_of(*ASKED), T + 840)
    assert one.page.waiting.headline.text().startswith("14 min, asked us-west4-a and us-east5-b")
    one.press(qtbot, one.page.waiting, "Try spot")
    ways = one.page.waiting.findChildren(WayOut)
    words = [" ".join(text.text() for text in way.findChildren(Text)) for way in ways]
    assert len(ways) == 4 and all("place in this queue is lost once" in told for told in words[1:])
    assert one.followed.stops == []  # it waits on until the other one starts
    assert one.left == [Leaving("digits-k3f7", one.followed.plan.job.name)]
    assert [job["where.tier"] for job in one.planned] == ["spot"]
    assert one.planned[0]["where.place"] == "cloud" and one.planned[0].where.accelerator == "auto"


def test_a_deletion_that_fails_is_red_with_its_price_until_it_is_proved(show: Any):
    failed = (50.0, "notice", {"id": "delete-failing", "level": "error", "facts": {"name": NAME}})
    one = show("cloud", view_of(*THERE, END, failed), T + 60)
    assert one.page.removal.isVisible() and "$1.20 an hour" in one.page.removal.note.text.text()
    assert one.page.removal.button.isHidden()
    one.see(view_of(*THERE, END, failed, *GONE), T + 90)
    assert "removed and checked at" in one.page.removal.note.title.text()
    assert not one.page.removal.button.isHidden()


def test_enter_never_makes_a_rented_run_longer(qtbot: QtBot, show: Any):
    one = show("cloud", view_of(*TRAINS), T + 25)
    asked: list[float] = []
    one.model.extend = asked.append
    ask_extend(one.page, one.model)
    focus = one.window.focusWidget()
    assert focus.text() == "Leave it"
    qtbot.keyClick(one.sheet.findChild(DecimalBox), Qt.Key.Key_Return)
    assert one.sheet.isVisible() and not asked
    qtbot.keyClick(focus, Qt.Key.Key_Return)
    assert not one.window.findChildren(Sheet) and not asked


def test_a_copy_is_marked_and_nothing_of_it_is_green(show: Any, tmp_path: Path):
    own = show("cloud", view_of(*THERE, END, *GONE), T + 90).page
    assert not own.copy.isVisible() and own.removal.note._kind == own.ending._kind == "ok"
    desk.write_owner(tmp_path, "x", t=T, imported=True)
    copy = show("cloud", view_of(*THERE, END, *GONE), T + 90).page
    assert copy.copy.isVisible()
    assert copy.removal.note._kind == copy.ending._kind == "neutral"
    assert copy.pill.text() == "Copy: finished" and copy.pill._kind == "neutral"
    assert "said to be done, it says: verified at" in copy.timeline.words() and "done, verified" in own.timeline.words()


def test_what_stands_below_the_removal_begins_where_its_words_do(qtbot: QtBot, show: Any):
    one = show("cloud", view_of(*THERE, END, *GONE), T + 90)
    for scale in (1.5, 1.0):
        theme.controller().set_text_scale(scale)
        QApplication.processEvents()
        card = one.page.removal
        assert card._lines.mapTo(card, QPoint(0, 0)).x() == card.note.text.mapTo(card, QPoint(0, 0)).x()


def test_a_launch_refused_for_want_of_an_outside_stop_leads_to_a_plan_that_knows_it(show: Any):
    end = (60.0, "end", {"status": "failed", "reason": "no-outside-stop", "facts": {}})
    one = show("cloud", view_of(*ASKED, end), T + 90)
    refused: list[tuple[str, ...]] = []
    one.model.planned_refused = lambda job, regions: refused.append(regions)
    one.model.plan_again()
    zones = one.followed.plan.job["where.zones"]
    assert refused == [tuple(dict.fromkeys(zone.rpartition("-")[0] for zone in zones))] and one.planned == []
    other = (60.0, "end", {"status": "failed", "reason": "launch-refused", "facts": {}})
    two = show("cloud", view_of(*ASKED, other), T + 90)
    two.model.plan_again()
    assert len(two.planned) == 1

"""The live check's sheet: every call and price before; reading alone or all of it under a limit; what was seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QWidget

from tests.fakes.tasks import LaterTasks
from tpu_studio.gui.account.livecheck import LiveCheckPanel, open_live_check
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.livecheck import LiveCheckViewModel
from tpu_studio.workflow.livecheck.checking import Outcome
from tpu_studio.workflow.livecheck.observed import Observation
from tpu_studio.workflow.livecheck.ports import READ, RENT, Seen, Step
from tpu_studio.workflow.livecheck.ways import Use, uses

STEPS = (
    Step("list of all zones", READ, ("list-all-zones",), ("GET tpu queuedResources of all zones",)),
    Step("a machine", RENT, ("second-delete",), ("POST tpu a v5litepod-1 spot", "DELETE it twice"), 0.22),
)


class Account:
    def __init__(self, left: Sequence[str] = ()) -> None:
        self.asked: list[tuple[str, bool, float]] = []
        self.saved: list[str] = []
        self.left = left
        self.used: Sequence[Use] = ()

    def steps(self, place: str) -> Sequence[Step]:
        return STEPS

    def check(
        self, place: str, agreed: bool, max_usd: float, told: Callable[[Step], None], cancelled: Callable[[], bool]
    ) -> Outcome:
        self.asked.append((place, agreed, max_usd))
        told(STEPS[0])
        seen = [Seen("list-all-zones", "refused"), Seen("second-delete", "" if agreed else None)]
        return Outcome(seen, 0.22, self.left)

    def in_use(self, place: str) -> Sequence[Use]:
        return self.used

    def save(self, place: str, seen: Sequence[Seen], path: str) -> None:
        self.saved.append(path)


def button(sheet: Sheet, words: str) -> Button:
    return next(one for one in sheet.findChildren(Button) if one.text() == words)


def words(widget: QWidget) -> str:
    return "\n".join(one.text() for one in widget.findChildren(Text) if one.isVisibleTo(widget))


def opened(window: QWidget, account: Account) -> tuple[Sheet, LaterTasks, LiveCheckViewModel]:
    tasks = LaterTasks()
    model = LiveCheckViewModel(tasks, account)
    sheet = open_live_check(window, model, "practice")
    tasks.finish_all()
    return sheet, tasks, model


def test_the_sheet_names_every_call_and_its_price_before_anything_is_asked(window: QWidget) -> None:
    account = Account()
    sheet, _, _ = opened(window, account)
    said = words(sheet.findChildren(LiveCheckPanel)[0])
    for step in STEPS:
        assert all(call in said for call in step.calls), said
    assert "$0.220 at most" in said and "free" in said and account.asked == []
    sheet.close()


def test_reading_alone_agrees_to_nothing_and_all_of_it_keeps_to_the_limit(window: QWidget) -> None:
    account = Account()
    sheet, tasks, model = opened(window, account)
    button(sheet, "Only read, free").click()
    assert not button(sheet, "Read, make and rent").isEnabled()
    tasks.finish_all()
    panel = sheet.findChildren(LiveCheckPanel)[0]
    assert "The other way · list-all-zones" in words(panel) and "Not seen · second-delete" in words(panel)
    sheet.close()

    sheet, tasks, model = opened(window, account)
    sheet.findChildren(LiveCheckPanel)[0].cap.setValue(0.5)
    button(sheet, "Read, make and rent").click()
    tasks.finish_all()
    assert account.asked == [("practice", False, 1.0), ("practice", True, 0.5)]
    model.save(str(Path("seen.json")))
    tasks.finish_all()
    assert account.saved == ["seen.json"]
    sheet.close()


def test_what_is_left_is_said_with_what_it_means_and_what_to_do(window: QWidget) -> None:
    sheet, tasks, _ = opened(window, Account(left=["us-west4-a/ts-live-1-a1-t1"]))
    button(sheet, "Read, make and rent").click()
    tasks.finish_all()
    panel = sheet.findChildren(LiveCheckPanel)[0]
    assert panel.left.isVisibleTo(panel) and "goes on costing" in panel.left.text.text()
    sheet.close()


def test_what_earlier_checks_have_chosen_is_shown(window: QWidget) -> None:
    account = Account()
    sheet, _, _ = opened(window, account)
    panel = sheet.findChildren(LiveCheckPanel)[0]
    assert not panel.in_use.isVisibleTo(panel)
    sheet.close()
    one = Observation("me", "p", "0.1.0", 1_795_000_000.0, "partial-answers", "refused", "400")
    account.used = uses({one.doubt: one})
    sheet, _, _ = opened(window, account)
    panel = sheet.findChildren(LiveCheckPanel)[0]
    assert panel.in_use.isVisibleTo(panel) and "read whole at once" in panel.in_use.text.text()
    assert "partial-answers" in panel.in_use.text.text()
    sheet.close()

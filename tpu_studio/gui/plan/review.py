"""The Review sheet: the plan that is applied, before a rented run starts. Esc and the safe answer go back to it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Divider, Scroll, clear_layout
from tpu_studio.gui.kit.choose import CheckBox
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.review import PRACTICE, STOPS_AT, Fact, Lower, Net, Newer, Review

WIDTH = 760
WAIVER = (
    "There are none for this region or organisation. Then only the machine itself and this computer delete it; it "
    "counts for this one launch."
)


class ReviewSheet(Sheet):
    """What the plan was when it opened. `show_newer` says that it is something else by now, and then nothing starts."""

    def __init__(self, over: QWidget, review: Review) -> None:
        super().__init__(over, review.title, review.sentence, width=WIDTH)
        self._newer = Note("", "", "warn")
        self._newer.hide()
        self.body.addWidget(self._newer)
        self._start: Button | None = None
        self._again: Button | None = None

    def answers(self, verb: str, start: Callable[[], None], again: Callable[[], None]) -> None:
        self._again = self.answer("", again, kind="primary", stays=True)
        self._again.hide()
        self._start = self.answer(verb, start, kind="primary", stays=True)

    def show_newer(self, newer: Newer | None) -> None:
        """None: what is shown is the plan."""
        assert self._start is not None and self._again is not None
        if newer is not None:
            self._newer.set_words(newer.title, newer.text)
            self._again.setText(newer.button)
        self._newer.setVisible(newer is not None)
        self._again.setVisible(newer is not None)
        self._start.setVisible(newer is None)


def open_review(
    over: QWidget,
    review: Review,
    start: Callable[[bool], None],
    leave: Callable[[], None],
    commands: Callable[[], None] = lambda: None,
    lower: Callable[[dict[str, object]], None] = lambda changes: None,
    waived: Review | None = None,
    again: Callable[[], None] = lambda: None,
) -> ReviewSheet:
    """*start* launches exactly what is shown (or leads to what is missing) and closes the sheet; it is told whether the
    person has agreed to go without shut-off timers, which *waived*, the review of that launch, offers by a tick.
    *leave* is called whenever it closes; *commands* shows the same launch as a script; *lower* takes a change of the
    plan that makes the worst case smaller; *again* opens the review of the newer plan."""
    sheet = ReviewSheet(over, review)
    for note in _notes(review):
        sheet.body.addWidget(note)
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.setContentsMargins(0, 0, Space.m, 0)
    column.setSpacing(Space.l)

    def fill(shown: Review) -> None:
        clear_layout(column)
        _fill(column, shown, sheet, lower)

    fill(review)
    sheet.body.addWidget(Tall(Scroll(inside), lambda width: inside.heightForWidth(width) + 4), 1)
    sheet.body.addWidget(Divider())
    tick = _tick(sheet, waived) if waived is not None else None
    if tick is not None:
        tick.toggled.connect(lambda on: fill(waived if on and waived is not None else review))
    sheet.body.addWidget(Text(review.charge, "label"))
    sheet.answer("Show me the commands", commands, kind="quiet", left=True, stays=True)
    sheet.answer("Change the plan", safe=True)
    sheet.answers(review.verb, lambda: start(tick is not None and tick.isChecked()), again)
    sheet.closed = leave
    sheet.open()
    return sheet


def _tick(sheet: Sheet, waived: Review) -> CheckBox:
    tick = CheckBox(f"Start this once without shut-off timers: {waived.worst_figure} at worst")
    sheet.body.addWidget(tick)
    sheet.body.addWidget(Text(WAIVER, "caption", "text_2"))
    return tick


def _notes(review: Review) -> list[Note]:
    """What stands above everything, worst last."""
    told = []
    if review.practice:
        told.append(Note(PRACTICE, "", "accent", icon="flask-conical"))
    if review.armed:
        told.append(Note(review.armed, "Home has the list, to undo it.", "warn", icon="flask-conical"))
    if review.outlives:
        told.append(Note("The sign-in may end before the run", review.outlives, "warn"))
    if review.blocked:
        words = "Nothing can be rented before. The Account page leads through it, and this plan waits for you."
        told.append(Note(review.verb, words, "warn"))
    return told


def _fill(column: QVBoxLayout, review: Review, sheet: Sheet, lower: Callable[[dict[str, object]], None]) -> None:
    column.addLayout(_figures(review))
    for way in review.lower:
        column.addLayout(_lower(way, sheet, lower))
    column.addWidget(Divider())
    column.addLayout(facts_grid(tuple(fact for fact in review.facts if fact is not review.stops)))
    if review.warning:
        column.addWidget(Note(review.warning, "", "warn"))
    if review.besides:
        column.addWidget(Divider())
        column.addWidget(Text("What is charged besides the chips, at most", "label-strong"))
        column.addLayout(facts_grid(review.besides))
        for line in review.told:
            column.addWidget(Text(line, "caption", "text_2"))
    column.addWidget(Divider())
    column.addWidget(Text("How billing stops", "label-strong"))
    for net in review.nets:
        column.addLayout(_net(net))
    column.addWidget(Divider())
    column.addWidget(Text("At the end", "label-strong"))
    for line in review.end:
        column.addLayout(_line(line))
    column.addStretch(1)


def _figures(review: Review) -> QGridLayout:
    """The cap and the worst case, equally large, each with its line below."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(Space.xxl)
    endless = review.worst is not None and review.worst.endless
    told = (
        ("Would stop at" if review.practice else STOPS_AT, review.cap_figure, review.cap_words, "text"),
        ("Worst case", review.worst_figure, review.worst_words, "bad" if endless else "text"),
    )
    for place, (label, figure, more, tone) in enumerate(told):
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Text(label, "label", "text_2"))
        number = Text(figure, "big-number", tone)
        number.setAccessibleName(f"{label}: {figure}")
        words.addWidget(number)
        words.addWidget(Text(more, "caption", "text_2"))
        words.addStretch(1)
        grid.addLayout(words, 0, place)
        grid.setColumnStretch(place, 1)
        grid.setColumnMinimumWidth(place, px(200))
    grid.addWidget(Text(review.stops.more, "caption", "text_2"), 1, 0, 1, 2)
    grid.setVerticalSpacing(Space.m)
    return grid


def _lower(way: Lower, sheet: Sheet, lower: Callable[[dict[str, object]], None]) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(Space.l)
    row.addWidget(Icon("trending-down", "text_2", size=16), 0, Qt.AlignmentFlag.AlignVCenter)
    row.addWidget(Text(way.words, "secondary"), 1, Qt.AlignmentFlag.AlignVCenter)
    if way.button:
        button = Button(way.button, size="small", name=f"{way.button}: {way.words}")

        def press() -> None:
            sheet.close()
            lower(dict(way.changes))

        button.clicked.connect(press)
        row.addWidget(button)
    return row


def facts_grid(facts: tuple[Fact, ...]) -> QGridLayout:
    """Two columns, read along the rows."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(Space.xxl)
    grid.setVerticalSpacing(Space.l)
    for place, fact in enumerate(facts):
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Text(fact.label, "caption", "text_2"))
        words.addWidget(Text(fact.value, "label-strong"))
        if fact.more:
            words.addWidget(Text(fact.more, "caption", "text_2"))
        words.addStretch(1)
        grid.addLayout(words, place // 2, place % 2)
    for column in (0, 1):
        grid.setColumnStretch(column, 1)
        grid.setColumnMinimumWidth(column, px(200))
    return grid


def _net(net: Net) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(Space.l)
    icon = Icon("circle-check", "ok", size=16) if net.holds else Icon("triangle-alert", "warn", size=16)
    words = QVBoxLayout()
    words.setSpacing(Space.hair)
    words.addWidget(Text(net.title, "label"))
    words.addWidget(Text(net.text, "caption", "text_2"))
    row.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
    row.addLayout(words, 1)
    return row


def _line(words: str) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(Space.l)
    row.addWidget(Icon("check", "ok", size=16), 0, Qt.AlignmentFlag.AlignTop)
    row.addWidget(Text(words, "secondary"), 1)
    return row

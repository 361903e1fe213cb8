"""The Estimate card: cost or time, limit, speed, set-up, training, memory, repairs, Start, and when charging begins."""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import MemoryBar, MemoryPart, ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Divider, Scroll, clear_layout
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.plan.compiler_box import CompilerBox
from tpu_studio.gui.plan.factrow import AskedRow, open_explainer
from tpu_studio.gui.plan.notes import TallNote, note_of
from tpu_studio.gui.plan.slider import LimitSlider
from tpu_studio.planner.broken import broken
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.engine import EngineView
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planexplain import Explained, explained
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.viewmodels.problem import Problem
from tpu_studio.wire import places
from tpu_studio.wire.plan import Check

CANCEL_HOVER = "What was downloaded is kept for the next try."
FITS_ICON = {"ok": "check", "warn": "triangle-alert", "bad": "circle-x"}


def _tell(note: TallNote, problem: Problem) -> None:
    note.set_words(problem.title, problem.text)
    if note.button is not None:
        note.button.setText(problem.account_button or "Close")


def _draw_cancel(button: Button, engine: EngineView) -> None:
    button.setText("Stopping…" if engine.cancelling else "Cancel")
    button.setEnabled(not engine.cancelling)


class StartBox(QWidget):
    """The engine's progress if it is being made, the Start button, and the sentence under it."""

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.engine = TallNote("", "", "accent", "Install and start")
        self.engine.acted.connect(model.create_engine)
        self.bar = ProgressBar(name="Training engine")
        self.bar_words = Text("", "caption", "text_2", numbers=True)
        self.cancel = Button("Cancel", "quiet", size="small", hover=CANCEL_HOVER)
        self.cancel.clicked.connect(model.cancel_engine)
        making = QHBoxLayout()
        making.setSpacing(Space.m)
        making.addWidget(self.bar_words, 1)
        making.addWidget(self.cancel)
        self.problem = TallNote("", "", "bad", "Close")
        self.problem.acted.connect(model.answer_problem)
        self.button = Button("Start training", "primary", size="main", icon="play", hover="Ctrl+Enter")
        self.button.stretch()
        self.button.clicked.connect(model.start)
        self.note = Text("", "caption", "text_2", align=Qt.AlignmentFlag.AlignHCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m + 2)
        for widget in (self.problem, self.engine, self.bar):
            column.addWidget(widget)
        column.addLayout(making)
        column.addWidget(self.button)
        column.addWidget(self.note)

    def draw(self, view: PlanView) -> None:
        engine = view.engine
        asking = view.asking_engine and not engine.doing
        self.engine.setVisible(asking)
        if asking:
            broken = engine.status == "broken"
            title = "The engine needs repair" if broken else "Training needs its engine"
            self.engine.set_words(title, engine.sentence)
            if self.engine.button is not None:
                self.engine.button.setText("Repair it & start" if broken else "Install and start")
        self.bar.setVisible(engine.bar is not None)
        self.bar_words.setVisible(engine.bar is not None)
        self.cancel.setVisible(engine.bar is not None)
        _draw_cancel(self.cancel, engine)
        if engine.bar is not None:
            words = " · ".join(part for part in (engine.bar.title, engine.bar.detail) if part)
            self.bar.set_share(engine.bar.share, words)
            self.bar_words.setText(words)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            _tell(self.problem, view.problem)
        self.button.setText(view.start_words)
        self.button.set_kind("secondary" if view.lacks else "primary")
        self.button.set_icon("arrow-right" if view.lacks else "play")
        self.button.setEnabled(not view.starting and not engine.doing)
        self.note.setText(view.start_note)
        self.note.set_tone("text_2" if not view.missing[1] else "warn")


class Figures(QWidget):
    """Everything above Start, in the order that never changes."""

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._checks: tuple[Check, ...] | None = None
        self.headline = Line("–", "big-number", numbers=True)
        self.subline = Text("", "secondary", "text_2", numbers=True)
        self.measure = Button("Time a few real steps", "link", size="small", icon="gauge")
        self.measure.clicked.connect(model.measure)
        self.timing = Line("", "caption", "text_2", numbers=True, fit=True)
        self.give_up = Button("Cancel", "link", size="small", name="Cancel the timing of real steps")
        self.give_up.clicked.connect(model.give_up_timing)
        self.timing_row = QWidget()  # its room stays while one gives way to the other: nothing below moves
        timing = QHBoxLayout(self.timing_row)
        timing.setContentsMargins(0, 0, 0, 0)
        timing.setSpacing(Space.m)
        for part in (self.measure, self.timing, self.give_up):
            timing.addWidget(part)
        timing.addStretch(1)
        self.limit = LimitSlider()
        self.limit.moved.connect(self._moved)
        self._known = QWidget()
        known = QVBoxLayout(self._known)
        known.setContentsMargins(0, 0, 0, 0)
        known.setSpacing(Space.l)
        labels = ("Each chip gets", "Speed", "Setting up, before training", "Training")
        self.rows = {label: AskedRow(label) for label in labels}
        facts = QVBoxLayout()
        facts.setSpacing(Space.m - 1)
        for row in self.rows.values():
            facts.addWidget(row)
        self.fits = Pill("Fits", "ok", icon="check")
        self.memory = MemoryBar(beside=self.fits)
        self.memory_row = AskedRow("Memory")
        self.how = Button("How is this worked out?", "link", size="small", icon="circle-question-mark")
        self.how.clicked.connect(lambda: open_explainer(self.how, self._headline_explained))
        self._headline_explained: Explained | None = None
        fits = QGridLayout()
        fits.addWidget(self.memory, 0, 0)
        fits.addWidget(self.fits, 0, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)
        self._notes = QVBoxLayout()
        self._notes.setSpacing(Space.m)
        self._line = Divider()
        known.addWidget(self.limit)
        known.addWidget(self._line)
        known.addLayout(facts)
        known.addWidget(Divider())
        memory = QVBoxLayout()
        memory.setSpacing(Space.s)
        memory.addWidget(self.memory_row)
        memory.addLayout(fits)
        self.check = CompilerBox(model)
        memory.addWidget(self.check)
        known.addLayout(memory)
        known.addLayout(self._notes)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.hair)
        column.addWidget(self.headline)
        column.addWidget(self.subline)
        column.addWidget(self.how, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.timing_row)
        column.addSpacing(Space.m)
        column.addWidget(self._known)
        column.addStretch(1)

    def draw(self, view: PlanView) -> None:
        plan, parts = view.plan, view.parts
        self.headline.setText(view.headline)
        self.headline.set_hover_text(parts.why if parts else "")
        self.headline.set_tone("text" if plan and not view.stale and not view.problems else "text_3")
        self.subline.setText(view.subline)
        words = view.timing_words
        held = self.give_up.hasFocus()
        self.measure.setText("Time real steps again" if view.timing == "failed" else "Time a few real steps")
        self.measure.setToolTip(plain(view.timing_failed))
        self.timing_row.setVisible(view.may_time)
        self.timing_row.setFixedHeight(self.measure.sizeHint().height())
        self.measure.setVisible(not words)
        self.timing.setText(words)
        self.timing.setVisible(bool(words))
        self.give_up.setVisible(view.timing == "measuring")
        if held and not self.give_up.isVisible() and self.measure.isVisible():
            self.measure.setFocus(Qt.FocusReason.OtherFocusReason)  # else it falls on whatever comes next
        self._known.setVisible(plan is not None)
        self.how.setVisible(plan is not None and plan.time_s is not None)
        if plan is None or parts is None:
            self._draw_notes(())
            return
        wrong = broken(plan) is not None
        self._line.setVisible(not wrong)
        limit = None if wrong else planwords.limit_of(plan)
        self.limit.setVisible(limit is not None)
        self.how.setVisible(plan.time_s is not None and not wrong)
        if limit is not None:
            self.limit.set_limit(limit)
        why = explained(plan, parts, date.today())
        self._headline_explained = why.get("headline")
        self.memory_row.set_explained(why.get("Memory"))
        told = {} if wrong else {row.label: row for row in planwords.estimate_rows(plan, parts)}
        for label, shown in self.rows.items():
            shown.setVisible(label in told)
        for label, row in told.items():
            shown = self.rows[label]
            shown.set_value(row.value)
            shown.setToolTip(plain(row.why))
            shown.set_explained(why.get(label))
        memory = planwords.memory_of(plan)
        self.memory_row.label.setText("Memory on each chip" if not places.by_id(plan.place).local else "Memory")
        self.memory_row.set_value(memory.words)
        self.memory.set_memory([MemoryPart(name, share) for name, share in memory.parts], 1.0, memory.words)
        self.fits.setVisible(not wrong)
        self.fits.set_pill(memory.fits, memory.tone, icon=FITS_ICON[memory.tone])  # type: ignore[arg-type]
        self.memory.updateGeometry()  # its legend leaves room for that word
        self.check.draw(view)
        self._draw_notes(view.warnings)

    def _draw_notes(self, checks: tuple[Check, ...]) -> None:
        if checks == self._checks:
            return
        self._checks = checks
        clear_layout(self._notes)
        for check in checks:
            self._notes.addWidget(note_of(check, self._model))

    def _moved(self, value: float) -> None:
        view = self._model.state.value
        limit = planwords.limit_of(view.plan) if view.plan else None
        if limit is not None:
            self._model.set(limit.path, value)


class EstimateCard(Card):
    """The card at the right of the sheet; scrolls inside when there is more than room."""

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(margins=(0, 17, 0, 19), spacing=Space.m, parent=parent)
        self.pill = Pill("Not yet")
        head = QHBoxLayout()
        head.setContentsMargins(19, 0, 19, 0)
        head.addWidget(Line("Estimate", "section"), 1)
        head.addWidget(self.pill)
        self.figures = Figures(model)
        self.figures.setContentsMargins(19, 0, 19, 0)
        scroll = Scroll(self.figures)
        self.start = StartBox(model)
        self.start.setContentsMargins(19, 0, 19, 0)
        self.body.addLayout(head)
        self.body.addWidget(scroll, 1)
        self.body.addWidget(self.start)

    def draw(self, view: PlanView) -> None:
        tone, word = view.pill
        if self.pill.text() != word:
            self.pill.set_pill(word, tone, dot=tone == "accent")  # type: ignore[arg-type]
            self.body.invalidate()
            self.body.activate()  # at once: a longer word is never painted in the room of the one before
        self.figures.draw(view)
        self.start.draw(view)


class EstimateBar(Card):
    """The same at the bottom of a narrow window: one line with Start; Details opens upwards (`toggled`)."""

    toggled = Signal()

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(margins=(20, 11, 14, 11), spacing=Space.l, parent=parent)
        self._model = model
        self.figures = Figures(model)
        self.scroller = Scroll(self.figures)
        self.scroller.setMinimumHeight(280)
        self.scroller.hide()
        self.problem = TallNote("", "", "bad", "Close")
        self.problem.acted.connect(model.answer_problem)
        self.problem.hide()
        self.engine = TallNote("", "", "accent", "Install and start")
        self.engine.acted.connect(self._make_or_cancel)
        self.headline = Line("–", "medium-number", numbers=True)
        self.note = Text("", "caption", "text_2")
        self.details = Button("Details", "quiet", size="small", icon="chevron-up")
        self.details.clicked.connect(self._toggle)
        self.button = Button("Start training", "primary", size="main", icon="play", hover="Ctrl+Enter")
        self.button.clicked.connect(model.start)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.headline)
        words.addWidget(self.note)
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addLayout(words, 1)
        row.addWidget(self.details)
        row.addWidget(self.button)
        for widget in (self.scroller, self.problem, self.engine):
            self.body.addWidget(widget)
        self.body.addLayout(row)

    def draw(self, view: PlanView) -> None:
        if not self.scroller.isHidden():
            self.figures.draw(view)
        self.headline.setText(view.headline)
        self.headline.set_tone("text" if view.plan and not view.stale and not view.problems else "text_3")
        self.note.setText(view.start_note)
        self.note.set_tone("text_2" if not view.missing[1] else "warn")
        self.button.setText(view.start_words)
        self.button.set_kind("secondary" if view.lacks else "primary")
        self.button.set_icon("arrow-right" if view.lacks else "play")
        self.button.setEnabled(not view.starting and not view.engine.doing)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            _tell(self.problem, view.problem)
        engine = view.engine
        self.engine.setVisible((view.asking_engine and not engine.doing) or engine.bar is not None)
        if engine.bar is not None:
            self.engine.set_words(engine.bar.title, engine.bar.detail)
        elif view.asking_engine:
            self.engine.set_words("Training needs its engine", engine.sentence)
        if self.engine.button is not None:
            if engine.bar is None:
                self.engine.button.setText("Repair it & start" if engine.status == "broken" else "Install and start")
                self.engine.button.setEnabled(True)
            else:
                _draw_cancel(self.engine.button, engine)

    def _make_or_cancel(self) -> None:
        if self._model.state.value.engine.bar is None:
            self._model.create_engine()
        else:
            self._model.cancel_engine()

    def _toggle(self) -> None:
        open = self.scroller.isHidden()
        self.scroller.setVisible(open)
        self.details.setText("Fewer details" if open else "Details")
        self.details.set_icon("chevron-down" if open else "chevron-up")
        self.toggled.emit()

"""The Run page: stage timeline, four numbers, curves, what happened; the report once the run is over.

Draws `RunPageState` in one method and turns clicks into commands of `RunViewModel`. The curves are ``gui.run.charts``,
which is imported with the first run because plots bring numpy along; dialogs stand in ``gui.run.dialogs``.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader, Scroll
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.timeline import Stage, StageTimeline
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.run import dialogs
from tpu_studio.gui.run.charts import AXES, BY_COST, Charts
from tpu_studio.gui.run.colab import ColabCard
from tpu_studio.gui.run.events import EventCard
from tpu_studio.gui.run.profile import ProfileCard
from tpu_studio.gui.run.rented import PracticeStrip, RemovalCard, WaitingCard
from tpu_studio.gui.run.story import StoryCard
from tpu_studio.gui.run.trying import panel_for
from tpu_studio.gui.run.trypanel import TryPanel
from tpu_studio.viewmodels import runprofile, runrented
from tpu_studio.viewmodels.review import Fact
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.wire.phases import Status

TILES = ("first", "second", "third", "fourth")
THREE_COLUMNS_FROM = 1080  # the least width in which the smaller plots have room for their legends
TWO_COLUMNS_FROM = 800
TRAINING_WEIGHT = 2.6


class RunPage(QWidget):
    """Takes a `RunViewModel` and begins to watch. The shell calls `close_run` when the page goes."""

    def __init__(self, model: RunViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        facts = model.state.value.facts
        self.pill = Pill("Opening", "neutral")
        self.folder_button = Button("Open folder", kind="quiet", icon="folder-open")
        self.export_button = Button("Export…", icon="download")
        self.page_button = Button("Save as one page…", icon="share")
        self.page_button.setToolTip(plain("One file with curves, plan, cost and job, to show to anybody"))
        self.profile_button = Button(runprofile.LABEL, kind="quiet", icon="gauge")
        self.profile_button.setToolTip(plain(runprofile.HINT))
        self.extend_button = Button("Train longer…", icon="plus")
        self.again_button = Button("Duplicate and edit", icon="copy-plus")
        self.another_button = Button("Begin another training from this", icon="layers")
        self.another_button.setToolTip(plain("On other data, with what this run has learned: transfer learning"))
        self.resume_button = Button("Resume", kind="primary", icon="rotate-cw")
        self.stop_button = Button("Stop & keep model", kind="danger", icon="square")
        self.header = PageHeader(
            facts.name,
            facts.subtitle,
            self.pill,
            self.folder_button,
            self.export_button,
            self.page_button,
            self.profile_button,
            self.extend_button,
            self.another_button,
            self.again_button,
            self.resume_button,
            self.stop_button,
        )
        self._commands = (
            self.profile_button,
            self.extend_button,
            self.again_button,
            self.resume_button,
            self.stop_button,
        )
        self.folder_button.clicked.connect(self._open_folder)
        self.export_button.clicked.connect(self._export)
        self.page_button.clicked.connect(self._make_page)
        self.profile_button.clicked.connect(model.profile)
        self.extend_button.clicked.connect(self._extend)
        self.again_button.clicked.connect(model.plan_again)
        self.another_button.clicked.connect(model.begin_another)
        self.resume_button.clicked.connect(model.resume)
        self.stop_button.clicked.connect(self.stop_asked)

        self.copy = Note(runrented.COPY.title, f"{runrented.COPY.meaning} {runrented.COPY.action}", "neutral")
        self.problem = Note("", "", "bad", action="Close")
        self.problem.acted.connect(model.dismiss_problem)
        self.practice = PracticeStrip()
        self.practice.acted.connect(model.ask_faults)
        self.practice.setVisible(facts.practice)
        self.trouble = Note("", "", "warn")
        self.waiting = WaitingCard(model)
        self.story = StoryCard()
        self.removal = RemovalCard()
        self.removal.receipt.connect(self._open_receipt)
        self.stale = Note("", "", "warn")
        self.pace = Note("", "", "warn")
        self.ending = Note("", "", "neutral", action="Open the report")
        self.ending.acted.connect(self._after_end)
        self.colab = ColabCard(model.state.value.run)
        self.colab.brought.connect(lambda path: model.bring(path))
        self._bare = False
        self.timeline = StageTimeline()
        timeline_card = Card(margins=(22, 14, 22, 14))
        timeline_card.body.addWidget(self.timeline)
        self.numbers = BigNumberRow(*TILES)
        self.profile = ProfileCard()
        self.profile.remedied.connect(model.plan_remedy)
        self.charts = Charts(model)
        axes = [*AXES, *([BY_COST] if self.charts.cost is not None else [])]
        self.axis = Segmented(axes, "time", name="Along which axis", small=True)
        self.axis.changed.connect(self.charts.set_axis)
        self._axis_row = QWidget()
        along = QHBoxLayout(self._axis_row)
        along.setContentsMargins(0, 0, 0, 0)
        along.setSpacing(Space.l)
        along.addWidget(Text("Curves", "section"), 1)
        along.addWidget(self.axis)
        self.happened = EventCard()
        self.happened.log.clicked.connect(lambda: dialogs.show_log(self, self.model))
        self.happened.commands.clicked.connect(lambda: model.ask_commands())
        self.happened.commands.setVisible(facts.rented)
        self._try: TryPanel | None = None
        self._forget_receipt: Callable[[], None] = lambda: None

        inner = QWidget()
        self.column = QVBoxLayout(inner)
        self.column.setContentsMargins(Space.dashboard, Space.xxl, Space.dashboard, Space.xxl)
        self.column.setSpacing(Space.m + 6)
        for widget in (
            self.header,
            self.copy,
            self.practice,
            self.problem,
            self.trouble,
            self.stale,
            self.pace,
            self.ending,
            self.removal,
            timeline_card,
            self.waiting,
            self.colab,
            self.story,
            self.numbers,
            self.profile,
        ):
            self.column.addWidget(widget)
        self.column.addWidget(self._axis_row)
        self.grid = QGridLayout()
        self.grid.setSpacing(Space.m + 6)
        self.column.addLayout(self.grid, 1)
        self._columns = 0

        self.area = Scroll(inner)  # no stop of its own; its keys work while the page has the focus
        self.setFocusProxy(self.area)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.area)
        self._arrange()
        self._end = model.state.subscribe(self._draw)
        self._drain = Drain(self, model.tick)
        self._clock = Drain(self, self._second, 1000)
        model.open()

    def put_below_head(self, strip: QWidget) -> None:
        """What the list of runs knows of this one beside the run itself."""
        self.column.insertWidget(self.column.indexOf(self.header) + 1, strip)
        self._tab_through(strip, self.stop_button)

    # ---------------------------------------------------------------------------------------------------------- draw

    def _draw(self, state: RunPageState) -> None:
        held = next((button for button in self._commands if button.hasFocus()), None)
        self.header.set_title(state.facts.name)
        text, tone = state.pill
        live = not state.over and not state.loading and not state.strangers
        self.pill.set_pill("Opening" if state.loading else text, "neutral" if state.loading else tone, dot=live)
        self.stop_button.setVisible(live)
        self.stop_button.setEnabled(state.may_stop)
        stopping = state.view.stopping or state.busy == "stopping"
        self.stop_button.setText("Stopping…" if stopping else state.stop_words)
        untrained = live and not state.view.step
        self.extend_button.setVisible(not untrained and (live or state.may_extend or bool(state.busy)))
        self.extend_button.setEnabled(state.may_extend)
        self.profile_button.setVisible(live and not untrained)
        self.profile_button.setEnabled(state.may_profile)
        profile = state.profile
        self.profile.setVisible(profile is not None)
        if profile is not None:
            self.profile.show_profile(profile)
        self.resume_button.setVisible(state.may_resume)
        self.again_button.setVisible(state.may_plan_again)
        self.another_button.setVisible(state.may_begin_another)
        self.folder_button.setVisible(state.over)
        self.export_button.setVisible(state.over and state.may_try)
        self.export_button.setEnabled(state.may_try and not state.busy)
        self.export_button.setText("Exporting…" if state.busy == "exporting" else "Export…")
        self.page_button.setVisible(state.over and not state.loading)
        self.page_button.setEnabled(not state.busy)
        self.page_button.setText("Making the page…" if state.busy == "making a page" else "Save as one page…")
        self._notes(state)
        self.timeline.set_stages(
            [
                Stage(one.title, one.state, one.caption, one.progress, TRAINING_WEIGHT if one.weight > 1 else 1.0)
                for one in state.stages
            ]
        )
        for name, number in zip(TILES, state.numbers, strict=True):
            tile = self.numbers.tile(name)
            tile.set_label(number.label)
            tone_token = {"warn": "warn", "bad": "bad", "ok": "ok"}.get(number.tone, "text_2")
            stale = f"{figures.duration(state.silent_s)} old" if state.stale else ""
            tile.set_number(
                number.value,
                number.unit,
                number.context,
                icon=number.icon,
                tone=tone_token,
                share=number.share,
                stale=stale,
                more=number.more,
                more_icon=number.more_icon,
                hover=number.hover,
                counts=number.counts,
            )
        self._show_plots(state)
        self.charts.draw(state)
        self.happened.show_lines(state.happened)
        if state.may_try and self._try is None:
            self._try = panel_for(self.model)
            self.column.insertWidget(self.column.indexOf(self.numbers) + 1, self._try)
            self._tab_through(self._try, self.problem.button or self.stop_button)
        if self._try is not None:
            self._try.setVisible(state.may_try)
            self._try.show_trial(state.trial)
        if held is not None and not (held.isVisible() and held.isEnabled()):
            self.setFocus(Qt.FocusReason.OtherFocusReason)  # else it falls on whatever comes next

    def _show_plots(self, state: RunPageState) -> None:
        """What will never show anything is left out."""
        self.colab.setVisible(state.waits_for_colab and not state.strangers)
        self.numbers.setVisible(not state.waits_for_colab)
        if state.is_bare != self._bare:
            self._bare = state.is_bare
            self._axis_row.setVisible(not self._bare)
            for card in self.charts.cards:
                card.setVisible(not self._bare)
            self._columns = 0
            self._arrange()

    def _tab_through(self, panel: QWidget, before: QWidget) -> None:
        """Tab follows the eye: what came late stands after the head of the page, before the curves."""
        for part in panel.findChildren(QWidget):
            popup = part.window() is not before.window()  # a menu's own list
            if part.focusPolicy() & Qt.FocusPolicy.TabFocus and not popup:
                QWidget.setTabOrder(before, part)
                before = part

    def _notes(self, state: RunPageState) -> None:
        waiting, removal = state.waiting, state.removal
        self.copy.setVisible(state.strangers)
        self.waiting.setVisible(waiting is not None)
        if waiting is not None:
            self.waiting.show_waiting(waiting)
        story = state.story
        self.story.setVisible(story is not None)
        if story is not None:
            self.story.show_story(story)
        self.removal.setVisible(removal is not None)
        if removal is not None:
            self.removal.show_removal(removal)
        self.trouble.setVisible(state.trouble is not None)
        if state.trouble is not None:
            self.trouble.set_words(state.trouble.title, f"{state.trouble.meaning} {state.trouble.action}".strip())
        self.problem.setVisible(state.problem is not None)
        if state.problem is not None:
            self.problem.set_words(state.problem.title, f"{state.problem.meaning} {state.problem.action}".strip())
        self.stale.setVisible(state.stale)
        if state.stale:
            here = "The run may be working on a long step. It is stopped by itself when nothing happens for too long."
            away = (
                "The machine may be cut off, or hang. Silent for a quarter of an hour, it is deleted: by itself, "
                "by this computer, and by the shut-off timers. The cost limit holds meanwhile."
            )
            since = figures.duration(state.silent_s)
            self.stale.set_words(f"Nothing new for {since}", away if state.facts.rented else here)
        pace = state.pace_notice
        self.pace.setVisible(pace is not None)
        if pace is not None:
            slower = state.forecast is not None and state.forecast.compared == "slower"
            self.pace.set_kind("warn" if slower else "neutral")
            self.pace.set_words(pace.title, f"{pace.meaning} {pace.action}")
        ending = state.ending
        self.ending.setVisible(ending is not None)
        if ending is not None and state.view.end is not None:
            good, bad = state.view.end.status is Status.FINISHED, state.view.end.status is Status.FAILED
            seen = good and not state.strangers  # green is for what this computer has seen itself
            self.ending.set_kind("ok" if seen else "bad" if bad else "neutral")
            title = state.finding if good else ending.title
            self.ending.set_words(title, f"{ending.meaning} {ending.action}".strip())
            if self.ending.button is not None:
                repair = state.repair
                self.ending.button.setVisible(state.report is not None or repair is not None)
                self.ending.button.setText("Open the report" if state.report or repair is None else repair.press)

    def _second(self) -> None:
        """Times go on while nothing happens; and a run that is over may be carried on by another window or command."""
        self.model.refresh()

    # ------------------------------------------------------------------------------------------------------- commands

    def offers(self) -> list[tuple[Button, str]]:
        """What the head of the page offers now, each with its icon: for the palette."""
        known = (
            (self.stop_button, "square"),
            (self.resume_button, "rotate-cw"),
            (self.again_button, "copy-plus"),
            (self.another_button, "layers"),
            (self.extend_button, "plus"),
            (self.export_button, "download"),
            (self.page_button, "share"),
            (self.profile_button, "gauge"),
            (self.folder_button, "folder-open"),
        )
        return [(button, icon) for button, icon in known if button.isVisible() and button.isEnabled()]

    def stop_asked(self) -> None:
        """Ask what is to be stopped and kept; called by the button and by Ctrl+."""
        if self.model.state.value.may_stop:
            dialogs.ask_stop(self, self.model)

    def refresh(self) -> None:
        self.model.refresh()

    def _extend(self) -> None:
        dialogs.ask_extend(self, self.model)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.model.state.value.folder)))

    def _after_end(self) -> None:
        if (report := self.model.state.value.report) is not None:
            self.model.open_path(report)
        else:
            self.model.repair()

    def _open_receipt(self) -> None:
        from tpu_studio.gui.run.receipt import show_receipt

        state = self.model.state.value

        def shown(facts: tuple[Fact, ...], problem: str) -> None:
            show_receipt(self, state, facts, problem)
            if not problem:
                self.model.receipt_read()

        self._forget_receipt()
        self._forget_receipt = self.model.read_receipt(shown)

    def _export(self) -> None:
        dialogs.ask_export(self, self.model)

    def _make_page(self) -> None:
        from tpu_studio.gui.shell.onepage import ask_save

        model = self.model
        model.make_page(lambda page: ask_save(self, model.plan.job.name, page, page.run, model.save_page))

    def close_run(self) -> None:
        """Stop watching; the run goes on."""
        self._end()
        self._forget_receipt()
        self.charts.close()
        self.model.close()

    # --------------------------------------------------------------------------------------------------------- layout

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._arrange)

    def _arrange(self) -> None:
        """Two, then three beside each other when wide, then two and two, else all in a column. What happened
        comes last, over the whole width where it stands alone."""
        wide = self.width()
        columns = 3 if wide >= soft_px(THREE_COLUMNS_FROM) else 2 if wide >= soft_px(TWO_COLUMNS_FROM) else 1
        if columns == self._columns:
            return
        self._columns = columns
        for card in (*self.charts.cards, self.happened):
            self.grid.removeWidget(card)
        cards = [*([] if self._bare else self.charts.cards), self.happened]
        spans = [6] if self._bare else {1: [6] * 6, 2: [3] * 6, 3: [3, 3, 2, 2, 2, 6]}[columns][: len(cards)]
        if columns == 2 and len(cards) == 5:
            spans[-1] = 6
        at = 0
        for card, span in zip(cards, spans, strict=True):
            self.grid.addWidget(card, at // 6, at % 6, 1, span)
            at += span
        for index in range(6):
            self.grid.setColumnStretch(index, 1)

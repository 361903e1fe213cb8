"""The Plan page: head, steps at the left, the sheet, the estimate. The window gives it `start(request)`.

Wide: rail, sheet and card side by side. Narrower: the rail goes, then the estimate becomes a bar at the bottom.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit import focus
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import PageHeader, Scroll
from tpu_studio.gui.kit.motion import CHANGE_MS, Glide
from tpu_studio.gui.kit.rail import Step as RailStep
from tpu_studio.gui.kit.rail import StepRail
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.theme import controller, soft_px
from tpu_studio.gui.kit.tokens import FOLD_ESTIMATE_BELOW, FOLD_SIDEBAR_BELOW, Space
from tpu_studio.gui.plan.colab_sheet import ColabSheet
from tpu_studio.gui.plan.compiler_box import ask_for_compiler
from tpu_studio.gui.plan.consent import ConsentSheet
from tpu_studio.gui.plan.data_section import DataSection
from tpu_studio.gui.plan.estimate import EstimateBar, EstimateCard
from tpu_studio.gui.plan.model_section import ModelSection
from tpu_studio.gui.plan.name_sheet import ask_name
from tpu_studio.gui.plan.review import ReviewSheet, open_review
from tpu_studio.gui.plan.settings_section import SettingsSection
from tpu_studio.gui.plan.verdict_card import VerdictCard
from tpu_studio.gui.plan.where_section import WhereSection
from tpu_studio.gui.shell.sheet import Sheet, covered
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstart import waived
from tpu_studio.viewmodels.planstate import PlanView, Step
from tpu_studio.viewmodels.review import PRACTICE, Review, review_of
from tpu_studio.viewmodels.shell import PlanRequest
from tpu_studio.wire import kinds, places

if TYPE_CHECKING:
    from tpu_studio.viewmodels.colab import ColabViewModel
    from tpu_studio.wire.plan import Plan

CARD_WIDTH = 344
SHEET_LEAST = 400
SHEET_MOST = 760
RAIL_WIDTH = 164


_ANY_WIDTH = 16_777_215  # Qt's own QWIDGETSIZE_MAX


class PlanPage(QWidget):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._attention = 0
        self._consent: ConsentSheet | None = None
        self.review: ReviewSheet | None = None
        self.compiler_sheet: Sheet | None = None
        self.notebook: ColabSheet | None = None
        self.colab: ColabViewModel | None = None
        self.show_run: Callable[[str], None] = lambda run: None
        self.show_commands: Callable[[Plan], None] = lambda plan: None
        self.account: Callable[[Plan], tuple[str, str]] = lambda plan: ("", "")  # its project and bucket
        self.outlives: Callable[[Plan], str] = lambda plan: ""  # of a sign-in that ends before the run may
        self.armed: Callable[[], str] = lambda: ""  # what will go wrong on the practice cloud
        self.open_sheet: Callable[[str], None] = lambda name: None
        self.save = Button("Save as a file…", "quiet", icon="save", hover="Ctrl+S")
        self.save.clicked.connect(self.save_as)
        self.report = Button("Report…", "quiet", icon="share", hover="The plan as one page, to send or to keep")
        self.report.clicked.connect(self.save_report)
        self.undo = IconButton("undo-2", "Undo (Ctrl+Z)")
        self.undo.clicked.connect(model.undo)
        self.name = Button("Name…", "quiet", icon="pencil", hover="What the run is called")
        self.name.clicked.connect(lambda: ask_name(self, model))
        self.header = PageHeader("New run", "", self.undo, self.name, self.report, self.save)

        self.rail = StepRail(4)
        self.rail.chosen.connect(self.go_to)
        self.model_section, self.data_section = ModelSection(model), DataSection(model)
        self.settings_section, self.where_section = SettingsSection(model), WhereSection(model)
        self.where_section.rented.open_catalogue = self._open_catalogue
        self.sections: dict[str, QWidget] = {
            "data": self.data_section,
            "model": self.model_section,
            "settings": self.settings_section,
            "where": self.where_section,
        }
        inside = self._sheet = QWidget()
        sheet = QVBoxLayout(inside)
        sheet.setContentsMargins(0, 2, Space.m, Space.xxl)
        sheet.setSpacing(Space.gap)
        self.verdict = VerdictCard(model)
        for name, section in self.sections.items():
            if name == "where":
                sheet.addWidget(self.verdict)
            sheet.addWidget(section)
        sheet.addStretch(1)
        self.scroller = Scroll(inside)
        self._glide = Glide(self.scroller, CHANGE_MS, moved=self._glided)
        self._at_top: QWidget | None = None  # the section that stays there while those before it change their height
        bar = self.scroller.verticalScrollBar()
        bar.rangeChanged.connect(lambda *_: self._keep_at_top())
        bar.valueChanged.connect(self._scrolled)

        self.card, self.bar = EstimateCard(model), EstimateBar(model)
        self.bar.toggled.connect(lambda: self._draw(model.state.value))
        self.practice = Note(PRACTICE, "Time and cost are of this rehearsal.", "accent", icon="flask-conical")
        self.leaving = Note("", "", "warn", action="Leave the queue now", icon="hourglass")
        self.leaving.acted.connect(lambda: model.give_up_queue())
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        row.addWidget(self.rail)
        row.addWidget(self.scroller, 1)
        row.addWidget(self.card)
        row.addStretch(0)
        self._outer = QVBoxLayout(self)
        self._outer.setContentsMargins(Space.page, 26, Space.page, Space.page - 6)
        self._outer.setSpacing(Space.l + 2)
        self._outer.addWidget(self.header)
        self._outer.addWidget(self.practice)
        self._outer.addWidget(self.leaving)
        self._outer.addLayout(row, 1)
        self._outer.addWidget(self.bar)

        for keys, act in (
            ("Ctrl+Return", model.start),
            ("Ctrl+Enter", model.start),
            ("Ctrl+Z", model.undo),
            ("Ctrl+Shift+Z", model.redo),
            ("Ctrl+Y", model.redo),
            ("Ctrl+S", self.save_file),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)  # while the page is shown, also from the sidebar
            shortcut.activated.connect(partial(self._by_key, act))
        controller().changed.connect(self._lay_out)
        self._tabs = focus.TabOrder(self._outer)
        self.settings_section.more.unfolded.connect(lambda _open: self._tabs.follow())
        self._drain = Drain(self, model.tick)
        self._end = model.state.subscribe(self._draw)
        end = self._end
        self.destroyed.connect(lambda: end())

    @property
    def kept_clear(self) -> QWidget:
        """The button that starts, which no notice may cover."""
        return self.card.start if not self.card.isHidden() else self.bar

    def _open_catalogue(self) -> None:
        place = places.by_id(self._model.state.value.where.place)
        self.open_sheet(f"catalogue-{place.id}" if place.rehearses else "catalogue")

    def _glided(self) -> None:
        self.scroller.verticalScrollBar().setValue(round(self._glide.value))

    def _by_key(self, act: Callable[[], None]) -> None:
        if not covered(self.window()):
            act()

    # ------------------------------------------------------------------------------------------- what the window asks

    def start(self, request: PlanRequest) -> None:
        """Begin with a job file, with an earlier run's settings, with data, or with nothing."""
        if request.job is not None:
            self._model.open_job(request.job)
        elif request.draft is not None:
            self._model.open_draft(request.draft, request.leaving, request.unstoppable)
        elif request.data is not None:
            self._model.open_data(
                request.data, request.data_kind or kinds.first(lambda kind: kind.has_picture_files).id
            )
        else:
            self._model.new()
            if request.place:
                self._model.set_place(request.place)
            if request.changes:
                self._model.apply(request.changes)
        self.scroller.verticalScrollBar().setValue(0)

    def leave(self) -> None:
        self._model.leave()

    def refresh(self) -> None:
        """F5: look at the data again."""
        if self._model.state.value.job.data.kind:
            self._model.look_again()

    def explain(self, focus: QWidget | None = None) -> bool:
        """F1: explain the setting that has the focus (or *focus*); False when there is none."""
        for box in self.settings_section.boxes:
            if box.has_focus or (focus is not None and box.isAncestorOf(focus)):
                box.explain()
                return True
        return False

    def go_to(self, section: str) -> None:
        """Open *section*, put its heading at the top of the view, and the focus into it."""
        if section in ("model", "data"):
            self._model.open_section(section)
        widget = self.sections[section]
        widget.layout().activate()  # type: ignore[union-attr]
        first = widget.nextInFocusChain()
        while first is not None and first is not widget and not _takes_focus(widget, first):
            first = first.nextInFocusChain()
        if first is not None and widget.isAncestorOf(first):
            first.setFocus(Qt.FocusReason.OtherFocusReason)
        QTimer.singleShot(0, widget, lambda: self._scroll_to(widget))  # once what was opened has its height

    def _scroll_to(self, section: QWidget) -> None:
        self._at_top = section
        self._keep_at_top()

    def _keep_at_top(self) -> None:
        if self._at_top is None:
            return
        bar = self.scroller.verticalScrollBar()
        self._glide.value = float(bar.value())
        self._glide.to(float(max(0, min(self._at_top.y() - 2, bar.maximum()))))

    def _scrolled(self, value: int) -> None:
        if value != round(self._glide.value):  # by hand, or by where the focus went
            self._at_top = None

    def save_file(self) -> None:
        """Ctrl+S: into its file if it has one, else ask where."""
        file = self._model.state.value.file
        if file is not None:
            self._model.save(file)
        else:
            self.save_as()

    def save_as(self) -> None:
        self._ask_where("Save the job", "", {"tpujob": "Jobs"}, self._model.save)

    def save_report(self) -> None:
        """The plan that stands here as one page, for paper or for a browser."""
        self._ask_where("Save the report", "-plan", {"pdf": "PDF", "html": "Web page"}, self._model.save_report)

    def _ask_where(self, title: str, after: str, kinds: Mapping[str, str], save: Callable[[Path], None]) -> None:
        """Where to write, beside the job's own file first, and under the plan's name followed by *after*."""
        view = self._model.state.value
        name = "".join(letter if letter.isalnum() or letter in "-_ " else "-" for letter in view.name) or "run"
        folder = view.file.parent if view.file else Path.home()
        first = next(iter(kinds))
        filters = {f"{kind} (*.{ending})": ending for ending, kind in kinds.items()}
        dialog = QFileDialog(self.window(), title, str(folder / f"{name}{after}.{first}"), ";;".join(filters))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(first)

        def chosen_kind(filter: str) -> None:
            dialog.setDefaultSuffix(filters[filter])
            dialog.selectFile(str(folder / f"{name}{after}.{filters[filter]}"))

        dialog.filterSelected.connect(chosen_kind)
        dialog.fileSelected.connect(lambda chosen: save(Path(chosen)))
        dialog.open()

    # -------------------------------------------------------------------------------------------------------- drawing

    def _draw(self, view: PlanView) -> None:
        self.header.set_sentence(
            f"{view.name}{' · not saved as a file' if view.dirty and view.file else ''}"
            if view.complete
            else "Choose data and a model; the rest has good defaults. Nothing is charged before you start."
        )
        self.practice.setVisible(places.by_id(view.job.where.place).rehearses)
        self.leaving.setVisible(view.leaving is not None)
        if view.leaving is not None:
            self.leaving.set_words(view.leaving.title, view.leaving.words(view.job.where.place))
        self.undo.setEnabled(view.may_undo)
        self.report.setEnabled(view.plan is not None and not view.stale)
        steps = view.steps
        self.rail.set_steps([rail_step(step) for step in steps])
        self.settings_section.show_step(steps[2], self.rail.isHidden())
        self.model_section.draw(view)
        self.data_section.draw(view)
        self.settings_section.draw(view)
        self.verdict.draw(view)
        self.where_section.draw(view)
        if not self.card.isHidden():
            self.card.draw(view)
        else:
            self.bar.draw(view)
        section, count = view.attention
        if count != self._attention:
            self._attention = count
            if section and not (section == "settings" and self.settings_section.show_problem()):
                self.go_to(section)
        self._ask(view)
        self._lay_out()
        self._tabs.follow()

    def _ask(self, view: PlanView) -> None:
        if view.asking_consent and self._consent is None and view.own is not None:
            agree, decline = (partial(self._answered, act) for act in (self._model.agree, self._model.decline))
            self._consent = ConsentSheet(view.own, view.job.where.place, self, agree, decline)
            self._consent.open()

        if view.check.status == "asking" and self.compiler_sheet is None:
            self.compiler_sheet = ask_for_compiler(self, self._model)
        elif view.check.status != "asking" and self.compiler_sheet is not None:
            sheet = self.compiler_sheet
            self.compiler_sheet = None
            sheet.close()
        if view.asking_notebook and self.notebook is None and view.plan is not None and self.colab is not None:
            beside = view.file.parent if view.file else Path.home()
            folder = beside if os.access(beside, os.W_OK) else Path.home()  # an installed example's takes no notebook
            leave = self._model.close_notebook
            self.notebook = ColabSheet(self, self.colab, view.plan, folder, leave, lambda run: self.show_run(run))
            self.notebook.open()
        elif not view.asking_notebook and self.notebook is not None:
            free = self.notebook
            self.notebook = None
            free.close()
        if view.reviewed is not None and self.review is None:
            plan, model = view.reviewed, self._model

            def reviewed(plan: Plan) -> Review:
                said = {"outlives": self.outlives(plan), "armed": self.armed()}
                account = self.account(plan)
                return review_of(plan, date.today(), view.price_trouble, view.blocked, account=account, **said)

            review = reviewed(plan)
            self.review = open_review(
                self,
                review,
                (lambda _: model.leave_review_for_account()) if review.blocked else model.start_reviewed,
                model.close_review,
                lambda: self.show_commands(plan),
                model.apply,
                reviewed(waived(plan)) if view.may_waive else None,
                model.review_again,
            )
        elif view.reviewed is None and self.review is not None:
            sheet = self.review
            self.review = None
            sheet.close()
        if self.review is not None:
            self.review.show_newer(view.newer)

    def _answered(self, act: Callable[[], None]) -> None:
        self._consent = None
        act()

    # --------------------------------------------------------------------------------------------------------- layout

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.window().installEventFilter(self)
        self._lay_out()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._lay_out()
        return False

    def _lay_out(self) -> None:
        """Rail and card as the window and the text size leave room for them."""
        window, room = self.window().width(), self.width() - 2 * Space.page
        card, rail = soft_px(CARD_WIDTH), soft_px(RAIL_WIDTH) + Space.l
        least = max(soft_px(SHEET_LEAST), self._sheet.minimumSizeHint().width() + Space.xl)
        with_card = window >= FOLD_ESTIMATE_BELOW and room >= card + Space.l + least
        with_rail = window >= FOLD_SIDEBAR_BELOW and room >= rail + least + (card + Space.l if with_card else 0)
        changed = (with_card, with_rail) != (not self.card.isHidden(), not self.rail.isHidden())
        self.rail.setVisible(with_rail)
        self.rail.setFixedWidth(soft_px(RAIL_WIDTH))
        self.card.setVisible(with_card)
        self.card.setFixedWidth(card)
        self.bar.setVisible(not with_card)
        self.scroller.setMaximumWidth(soft_px(SHEET_MOST) if with_card else _ANY_WIDTH)
        wide = soft_px(SHEET_MOST) + Space.m + card + (soft_px(RAIL_WIDTH) + Space.m if with_rail else 0)
        for above in (self.header, self.practice, self.leaving):  # nothing beyond the estimate's right edge
            above.setMaximumWidth(wide if with_card else _ANY_WIDTH)
        if changed:
            self._draw(self._model.state.value)


def _takes_focus(within: QWidget, widget: QWidget) -> bool:
    usable = widget.isVisible() and widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return usable and within.isAncestorOf(widget)


def rail_step(step: Step) -> RailStep:
    """A step as the kit's rail draws it: what needs a look is told in colour and words."""
    tone = "bad" if step.state == "problem" else "warn" if "suggestion" in step.summary else "text_2"
    states: dict[str, Literal["done", "current", "ahead"]] = {"done": "done", "todo": "ahead"}
    return RailStep(step.id, step.title, step.summary, states.get(step.state, "current"), tone)

"""Account & quota: what Google Cloud needs before it lends a TPU, at the left; what may be used where, at the right.

Draws `AccountView`; questions with an answer to give stand in ``gui.account.sheets``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain.sentences.account import DONE
from tpu_studio.gui.account import sheets, signin
from tpu_studio.gui.account.quota import QuotaCard
from tpu_studio.gui.account.welcome import Welcome
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader, Scroll, Strip, clear_layout
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.focus import stops, tab_through
from tpu_studio.gui.kit.rows import CheckRow, Note
from tpu_studio.gui.kit.states import Skeleton
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.account import AccountViewModel
from tpu_studio.viewmodels.accountview import TERMS, AccountView, QuotaRow, Row
from tpu_studio.viewmodels.prices import PricesView, PricesViewModel
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.viewmodels.signin import lasts_words
from tpu_studio.wire import places

CONSOLE = "https://console.cloud.google.com/"
TWO_COLUMNS_FROM = 960
HEAR_MS, AGAIN_MS = 300, 10_000
_LOOK = {
    "pass": ("circle-check", "ok", "Done"),
    "fail": ("circle-x", "bad", ""),
    "unknown": ("circle-question-mark", "warn", "Cannot tell"),
    "waiting": ("circle-dashed", "text_2", "Not yet"),
    "optional": ("triangle-alert", "warn", ""),
}
SENTENCE = "What Google Cloud needs before you can rent a TPU. Checking is free and changes nothing."
PRACTICE = "Practice: nothing here is real. Prices say what it would cost."
PRACTICE_SENTENCE = "What Google Cloud will need, to rehearse: the same rows and the same presses."


class AccountPage(QWidget):
    def __init__(
        self,
        model: AccountViewModel,
        shell: ShellViewModel,
        prices: PricesViewModel | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.model, self._shell, self._prices = model, shell, prices
        self.test_loan: Callable[[str], None] = lambda place: None
        self.plan_run: Callable[[str], None] = shell.new_run_at
        self.open_sheet: Callable[[str], None] = lambda name: None
        self._drawn: tuple[Row, ...] | None = None
        self._people: object = None
        self.strip = Strip(PRACTICE)
        self.strip.hide()
        rented = places.renting()
        self.places = Segmented([(place.id, place.side) for place in rented], rented[0].id, name="Which cloud")
        self.places.changed.connect(model.show)
        self.console = Button("Open Google Cloud", "quiet", icon="external-link")
        self.console.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(CONSOLE)))
        self.again = Button("Check again", icon="refresh-cw")
        self.again.clicked.connect(self.refresh)
        header = self.header = PageHeader("Account & quota", SENTENCE, self.places, self.console, self.again)
        self.problem = Note("", "", "bad", action="Close")
        self.problem.acted.connect(model.dismiss)
        self.undo = Note("That is done", "", "ok", action="Undo")
        self.undo.acted.connect(model.undo)

        self.list = Card(margins=(0, 0, 0, 0), spacing=0)
        head = QVBoxLayout()
        head.setContentsMargins(Space.card, Space.gap, Space.card, Space.gap)
        head.setSpacing(Space.m)
        line = QHBoxLayout()
        self.heading = Text("", "section", align=Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.count = Line("", "secondary", "text_2", fit=True)
        line.addWidget(self.heading, 1)
        line.addWidget(self.count)
        self.bar = ProgressBar(0.0, name="Steps that are done", tone="ok_bar")
        head.addLayout(line)
        head.addWidget(self.bar)
        self.next = Text("", "secondary", "text_2")
        head.addWidget(self.next)
        self.plan = Button("", "primary")
        self.plan.clicked.connect(lambda: self.plan_run(model.state.value.place))
        head.addWidget(self.plan, 0, Qt.AlignmentFlag.AlignLeft)
        self.list.body.addLayout(head)
        self.rows = QVBoxLayout()
        self.rows.setSpacing(0)
        self.list.body.addLayout(self.rows)
        self.skeleton = Skeleton(8, (0.6, 0.2))
        self.list.body.addWidget(self.skeleton)
        self.people = QVBoxLayout()
        self.people.setContentsMargins(Space.card, Space.l, Space.card, Space.gap)
        self.people.setSpacing(Space.m)
        self.list.body.addLayout(self.people)
        self.list.body.addStretch(1)

        self.quota = QuotaCard(model, self._ask_quota, self._start_today)

        inside = QWidget()
        inside.setObjectName("scrolled")
        column = QVBoxLayout(inside)
        column.setContentsMargins(Space.page, 26, Space.page, Space.xl)
        column.setSpacing(Space.gap)
        self.welcome = Welcome()
        self.welcome.sign_in.connect(lambda: signin.ask_sign_in(self, model))
        self.welcome.other.connect(self._rehearse)
        for widget in (header, self.problem, self.undo, self.welcome):
            column.addWidget(widget)
        self._sides = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._sides.setSpacing(Space.xl)
        self._sides.addWidget(self.list, 11)
        self._sides.addWidget(self.quota, 10)
        column.addLayout(self._sides, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.strip)
        whole.addWidget(Scroll(inside), 1)
        self._hearing = QTimer(self, interval=HEAR_MS)
        self._hearing.timeout.connect(model.hear)
        self._again = QTimer(self, interval=AGAIN_MS, singleShot=True)
        self._again.timeout.connect(self._look_again)
        self._ends = [model.state.subscribe(self._draw)]
        if prices is not None:
            self._ends.append(prices.state.subscribe(lambda _: self._draw_people(model.state.value)))
        self.destroyed.connect(lambda: [end() for end in self._ends])
        self._shown_sheet = ""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.model.open()

    def refresh(self) -> None:
        """F5."""
        self.model.look()
        view = self.model.state.value
        if self._prices is not None and view.signed_in and places.by_id(view.place).charges:
            self._prices.look(again=True)

    # ---------------------------------------------------------------------------------------------------------- draw

    def _draw(self, view: AccountView) -> None:
        practice = places.by_id(view.place).rehearses
        self.strip.setVisible(practice)
        self.header.set_sentence(PRACTICE_SENTENCE if practice else SENTENCE)
        self.console.setVisible(not practice)
        self.places.set_value(view.place)
        self.again.setEnabled(view.connected and not view.checking)
        self.again.setText("Checking…" if view.checking else "Check again")
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.undo.setVisible(bool(view.undo))
        if view.undo:
            self.undo.set_words(*DONE.get(view.undo, ("That is done", "")))
        self.welcome.setVisible(view.welcomes)
        self.welcome.draw(view)
        self.list.setHidden(view.welcomes)
        self.quota.setHidden(view.welcomes)
        self.heading.setText(view.heading)
        self.count.setText(f"{view.passed} of {len(view.needed)} done" if view.rows else "")
        self.next.setText(view.next_press)
        self.next.setVisible(bool(view.next_press) and not (view.leads_on and view.ready))  # the button says it
        self.plan.setVisible(view.leads_on)
        self.plan.setText(view.plan_words)
        self.plan.set_kind("primary" if view.ready else "secondary")
        self.bar.setVisible(bool(view.rows))
        self.bar.set_share(view.passed / len(view.needed) if view.needed else 0.0, self.count.text())
        self.skeleton.setVisible(not view.rows)
        if view.rows != self._drawn:
            self._drawn = view.rows
            self._draw_rows(view)
        self._draw_people(view)
        self.quota.draw(view)
        notes = [note.button for note in (self.problem, self.undo) if note.button is not None]
        below = [*stops(self.welcome.body)] if view.welcomes else [*stops(self.list.body), *stops(self.quota.body)]
        tab_through(self.again, [*notes, *below])
        self._open_what_came(view)
        self._listen(view)

    def _listen(self, view: AccountView) -> None:
        """To the repair under way; and look again by itself while something settles at Google."""
        busy = any(row.busy for row in view.rows)
        if busy != self._hearing.isActive():
            self._hearing.start() if busy else self._hearing.stop()
        if self.model.settles and not view.checking and not busy and not self._again.isActive():
            self._again.start()

    def _look_again(self) -> None:
        if self.isVisible() and self.model.settles and not self.model.busy:
            self.model.look(quota=False)

    def _draw_rows(self, view: AccountView) -> None:
        focus: QWidget | None = self.window().focusWidget()
        around = focus is not None and focus is not self.window() and focus.isAncestorOf(self.list)  # a sheet has gone
        here = focus is not None and (focus is self.list or self.list.isAncestorOf(focus) or around)
        had = focus.accessibleName() if focus is not None and here else ""
        if here:  # while its button is away; Qt would give the focus to whatever comes next
            self.list.setFocus(Qt.FocusReason.OtherFocusReason)
        next_step: Button | None = None
        clear_layout(self.rows)
        for row in view.rows:
            icon, tone, word = _LOOK[row.state]
            if row.id == "test-loan" and row.state == "optional":
                icon, tone = "circle-dashed", "text_2"
            if row.recent or row.busy:
                icon, tone, word = "circle-dashed", "text_2", "In a moment"
            stop = "Stop waiting" if row.busy and view.doing else ""
            shown = CheckRow(
                row.title,
                row.text,
                icon=icon,
                tone=tone,
                state="Working…" if row.busy else word,
                action=stop if row.busy else row.button,
                blocking=row.state == "fail" and row.primary and not row.busy,
                link="Open Google's page" if row.page and not row.busy and places.by_id(view.place).charges else "",
            )
            shown.setProperty("term", TERMS[row.id])
            shown.linked.connect(lambda row=row: QDesktopServices.openUrl(QUrl(row.page)))
            if row.action or row.details:
                shown.setToolTip(plain("\n\n".join(part for part in (row.action, row.details) if part)))
            if shown.button is not None:
                shown.button.setAccessibleName(f"{stop or row.button}: {row.title}")
                if not row.primary or row.busy:
                    shown.button.set_kind("secondary")
                shown.acted.connect(lambda row=row: self._mend(row))
                if shown.button.accessibleName() == had or (next_step is None and row.primary and not row.busy):
                    next_step = shown.button
            self.rows.addWidget(shown)
        if here and next_step is not None:
            QTimer.singleShot(0, next_step, next_step.setFocus)

    def _draw_people(self, view: AccountView) -> None:
        prices = self._prices.state.value if self._prices is not None else PricesView()
        state = (view.people, view.secrets_where, view.checked_at, view.choices.region, view.place, prices)
        if state == self._people:  # or the focus would be lost at each answer
            return
        self._people = state
        clear_layout(self.people)
        for person in view.people:
            line = QHBoxLayout()
            line.setSpacing(Space.m)
            how = {"oauth": "signed in here", "gcloud": "credentials of gcloud", "key": "key file"}[person.kind]
            how = lasts_words(person.kind, person.since, person.until, self.model.now()) or how
            name = person.email or "Google account"
            middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            line.addWidget(Text(f"{name} · {how}", "secondary", "text_2", align=middle), 1)
            if not person.active:
                use = Button("Use it", "quiet", size="small", name=f"Use {name}")
                use.clicked.connect(lambda _=False, id=person.id: self.model.use(id))
                line.addWidget(use)
            out = Button(
                "Sign out" if person.kind == "oauth" else "Forget it", "quiet", size="small", name=f"Sign out {name}"
            )
            out.clicked.connect(lambda _=False, person=person: sheets.ask_sign_out(self, self.model, person))
            line.addWidget(out)
            self.people.addLayout(line)
        if view.people:
            other = Button("Sign in with another account", "quiet", size="small", icon="plus")
            other.clicked.connect(lambda: signin.ask_sign_in(self, self.model))
            self.people.addWidget(other, 0, Qt.AlignmentFlag.AlignLeft)
        if view.secrets_where == "file":
            words = "This computer offers no keyring: the sign-in is stored in a file that only you can read."
            self.people.addWidget(Text(words, "caption", "text_2"))
        if view.checked_at is not None:
            when = time.strftime("%H:%M", time.localtime(view.checked_at))
            self.people.addWidget(Text(f"Checked at {when}. Region: {view.choices.region}.", "caption", "text_2"))
        if view.signed_in and places.by_id(view.place).charges and (words := prices.sentence(date.today())):
            self.people.addWidget(Text(words, "caption", "warn" if prices.problem else "text_2"))
        if view.signed_in or places.by_id(view.place).rehearses:
            known = Button("TPU catalogue…", "link", size="small", icon="database")
            sheet = "catalogue" if places.by_id(view.place).charges else f"catalogue-{view.place}"
            known.clicked.connect(lambda: self.open_sheet(sheet))
            self.people.addWidget(known, 0, Qt.AlignmentFlag.AlignLeft)
            live = Button("Live check…", "link", size="small", icon="circle-check")
            check = "live-check" if places.by_id(view.place).charges else f"live-check-{view.place}"
            live.clicked.connect(lambda: self.open_sheet(check))
            self.people.addWidget(live, 0, Qt.AlignmentFlag.AlignLeft)

    # ------------------------------------------------------------------------------------------------------- commands

    def _mend(self, row: Row) -> None:
        model = self.model
        if row.busy:
            model.stop_waiting()
            return
        match row.fix:
            case "sign-in":
                signin.ask_sign_in(self, model)
            case "choose-project":
                sheets.ask_project(self, model)
            case "link-billing":
                sheets.ask_billing(self, model)
            case "request-permissions":
                model.write_request()
            case "ask-quota":
                self.quota.ask_best()
            case "make-alert":
                sheets.ask_alert(self, model)
            case "test-loan":
                self.test_loan(model.state.value.place)
            case "make-bucket" | "make-runner" | "make-network" | "make-queue" | "enable-services" | "use-area":
                model.fix(row.fix)
            case "narrow-runner" | "narrow-stops":
                model.fix(row.fix)

    def _ask_quota(self, row: QuotaRow) -> None:
        sheets.ask_quota(self, self.model, row)

    def _rehearse(self) -> None:
        """Before signing in: at Google, to the practice cloud; there, to a practice run."""
        if places.by_id(self.model.state.value.place).rehearses:
            self._shell.new_run_at(places.rehearsing().id)
        else:
            self.model.show(places.rehearsing().id)

    def _start_today(self) -> None:
        self._shell.go("home")

    def _open_what_came(self, view: AccountView) -> None:
        """A sheet for what was asked for and has arrived."""
        wanted = "request" if view.request_text else "sign-in" if view.signing_in else ""
        if wanted and wanted != self._shown_sheet:
            self._shown_sheet = wanted
            if wanted == "request":
                sheets.show_request(self, self.model, view.request_text)
            else:
                signin.show_waiting(self, self.model)
        elif not wanted:
            self._shown_sheet = ""
        if view.asks_way and self.isVisible():
            self.model.way_shown()
            signin.ask_sign_in(self, self.model)

    # --------------------------------------------------------------------------------------------------------- layout

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.welcome.fit(self.width())
        wide = self.width() >= soft_px(TWO_COLUMNS_FROM)
        way = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if self._sides.direction() != way:
            self._sides.setDirection(way)

"""What the Account page asks: which project, who pays, how much quota; and the text for the owner. Signing in is
``gui.account.signin``."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from tpu_studio.domain.currencies import usual_amount
from tpu_studio.gui.account.picklist import PickList
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.fields import Field, LineEdit
from tpu_studio.gui.kit.numberedit import SpinBox
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.account import AccountViewModel
from tpu_studio.viewmodels.accountview import AccountView, Person, QuotaRow, quota_words
from tpu_studio.wire import places

NEW_BILLING = "https://console.cloud.google.com/billing/create"


def ask_sign_out(over: QWidget, model: AccountViewModel, person: Person) -> Sheet:
    ours = person.kind == "oauth"
    sheet = Sheet(over, f"{'Sign out' if ours else 'Forget'} {person.email or 'this account'}?")
    going_on = model.goes_on(person)
    sheet.facts(
        [
            *([going_on] if going_on else []),
            "TPU Studio's access is revoked at Google. That signs you out on every other computer, too, "
            "where you signed in by the same client: runs are not watched from there any more."
            if ours
            else "The credentials themselves stay where they are; they are not TPU Studio's.",
            *([] if going_on else ["Runs that go on are not stopped: they end at their limits."]),
            "Runs, models and plans on this computer stay.",
        ]
    )
    sheet.answer("Stay signed in", safe=True)
    sheet.answer("Sign out" if ours else "Forget it", lambda: model.sign_out(person.id), kind="danger")
    sheet.open()
    return sheet


def ask_project(over: QWidget, model: AccountViewModel) -> Sheet:
    """A project from the list, found by typing, or a new one."""
    sheet = Sheet(over, "Which project should be billed?", "It holds the TPUs. Choosing or creating one costs nothing.")
    search = LineEdit(placeholder="Search by name or id", name="Search projects")
    found = PickList("Projects", 4)
    use = sheet.answer("Use this project", lambda: model.choose_project(found.value), kind="primary")
    use.setEnabled(False)
    sheet.body.addWidget(search)
    sheet.body.addWidget(found)
    name = LineEdit(placeholder="For example: learning TPUs", name="Name of a new project")
    make = Button("Create a new project", size="small")

    def create() -> None:
        sheet.close()
        model.create_project(name.text().strip() or "Learning TPUs")

    make.clicked.connect(create)
    name.returnPressed.connect(lambda: create() if name.text().strip() else None)
    sheet.body.addWidget(Field("Or a new one, called", name))
    sheet.body.addWidget(make)

    def draw(view: AccountView) -> None:
        word = search.text().casefold()
        lines = [
            (one.id, one.name or one.id, one.id if one.name else "")
            for one in view.projects or ()
            if word in one.id.casefold() or word in one.name.casefold()
        ]
        none = "There is none yet: create one below." if not view.projects else "None is called like that."
        found.show_lines(lines, "Looking…" if view.projects is None else none)

    def go() -> None:
        if use.isEnabled():
            use.click()

    found.picked = lambda key: use.setEnabled(bool(key))
    found.activated = go
    search.textChanged.connect(lambda _: draw(model.state.value))
    search.returnPressed.connect(go)
    end = model.state.subscribe(draw)
    sheet.closed = end
    sheet.answer("Not now", safe=True, left=True)
    model.search_projects()
    sheet.open()
    search.setFocus()
    return sheet


def ask_billing(over: QWidget, model: AccountViewModel) -> Sheet:
    """Which billing account pays."""
    sheet = Sheet(
        over,
        "Which billing account should be charged?",
        "Turning billing on costs nothing by itself. Every run says its price first and has a cap.",
    )
    found = PickList("Billing accounts", 3)
    sheet.body.addWidget(found)
    page = Button("Create a billing account at Google", "quiet", size="small", icon="external-link")
    page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(NEW_BILLING)))
    page.hide()
    sheet.body.addWidget(page)
    trial = "An account in a free trial counts as on; Google raises no TPU limits for it until it is upgraded."
    sheet.body.addWidget(Text(trial, "caption", "text_2"))
    link = sheet.answer("Turn billing on", lambda: model.fix("link-billing", account=found.value), kind="primary")
    link.setEnabled(False)
    found.picked = lambda key: link.setEnabled(bool(key))
    found.activated = lambda: link.click() if link.isEnabled() else None

    def draw(view: AccountView) -> None:
        lines = [
            (one.name if one.open else "", one.title or one.name, "" if one.open else "closed")
            for one in view.billing_accounts or ()
        ]
        none = "You have none yet. Create one on Google's page, then come back and check again."
        listed = view.billing_accounts
        page.setVisible(places.by_id(view.place).charges and listed is not None and not any(one.open for one in listed))
        found.show_lines(lines, "Looking…" if view.billing_accounts is None else none)

    end = model.state.subscribe(draw)
    sheet.closed = end
    sheet.answer("Not now", safe=True, left=True)
    model.list_billing_accounts()
    sheet.open()
    found.list.setFocus()
    return sheet


def ask_alert(over: QWidget, model: AccountViewModel) -> Sheet:
    choices = model.state.value.choices
    sheet = Sheet(
        over,
        "Create a budget alert?",
        "Google emails you at 50, 90 and 100% of a monthly amount. Alerts come hours late and stop nothing; the "
        "caps of your runs do.",
    )
    currency = model.alert_currency
    usual, step = usual_amount(currency)
    known = round(choices.monthly) if choices.currency == currency else usual
    suffix = f"{currency} a month" if currency else "a month"
    amount = SpinBox(known, 1, 10_000_000, step=step, name="Monthly amount", suffix=suffix)
    said = f"In {currency}, as your billing account is." if currency else "In the currency of your billing account."
    sheet.body.addWidget(Field("Monthly amount", amount, help=said))

    def add() -> None:
        model.add_alert(float(amount.value()))

    sheet.answer("Not now", safe=True)
    go = sheet.answer("Create the alert", add, kind="primary")
    sheet.needs(amount, go)
    sheet.ask(amount, go)
    sheet.open()
    return sheet


def ask_quota(over: QWidget, model: AccountViewModel, row: QuotaRow) -> Sheet:
    """How much, and why: Google reads it."""
    one = row.allowance
    unit = one.unit
    sheet = Sheet(over, f"Ask Google for more {one.generation}?", quota_words(row))
    first = row.least if (one.limit or 0) < row.least else (one.limit or 0) + row.least
    wanted = SpinBox(first, (one.limit or 0) + 1, 100_000, name="New limit", suffix=unit)
    allowed = f"{one.limit:,} {unit}" if one.limit else "none"
    allowed += "; Google counts cores, two to a chip" if unit == "cores" else ""
    why = LineEdit("I am learning to train models on Cloud TPUs.", name="What it is for")
    mail = LineEdit(model.state.value.who, name="Contact email")
    sheet.body.addWidget(Field("New limit", wanted, help=f"In all, not in addition. Allowed now: {allowed}."))
    sheet.body.addWidget(Field("What it is for", why))
    sheet.body.addWidget(Field("Contact email", mail, help="Google sends its answer there."))
    if not one.can_ask:
        words = {
            "no-billing": "Google takes requests only with a valid billing account.",
            "no-history": "Google takes no requests from an account this new; use it for something small first.",
        }.get(one.why_not, "Google takes no requests for this limit.")
        sheet.body.addWidget(Text(words, "secondary", "warn"))
    sheet.answer("Not now", safe=True)
    ask = sheet.answer(
        "Send the request",
        lambda: model.ask_quota(one, wanted.value(), why.text(), mail.text()),
        kind="primary",
    )
    ask.setEnabled(one.can_ask)
    wanted.doubted.connect(lambda doubt: ask.setEnabled(one.can_ask and not doubt))
    sheet.open()
    return sheet


def show_request(over: QWidget, model: AccountViewModel, text: str) -> Sheet:
    """The text for the project's owner, to copy."""
    sheet = Sheet(over, "Send this to the project's owner", "They grant the role; then check again.", width=640)
    box = QPlainTextEdit(text)
    box.setReadOnly(True)
    box.setMinimumHeight(px(240))
    box.setAccessibleName("The request")
    sheet.body.addWidget(box)
    sheet.closed = model.dismiss
    sheet.answer("Close", safe=True)
    copy = QGuiApplication.clipboard().setText
    sheet.answer("Copy it", lambda: copy(text), kind="primary", main=True, stays=True)
    sheet.open()
    return sheet

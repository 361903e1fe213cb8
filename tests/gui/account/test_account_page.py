"""The Account page as a person uses it: signing in, the checklist with its repairs, the map of quota, requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from tests.fakes.tasks import InlineTasks
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.gui.account import sheets
from tpu_studio.gui.account.page import AccountPage
from tpu_studio.gui.account.picklist import PickList
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.fields import ComboBox, LineEdit
from tpu_studio.gui.kit.rows import CheckRow
from tpu_studio.gui.kit.states import DropZone
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.account import AccountViewModel
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.viewmodels.signin import Waiting
from tpu_studio.wire.errors import CloudUnclear, SignedOut
from tpu_studio.workflow.account.naming import project_id
from tpu_studio.workflow.account.ports import Allowance, BillingAccount, Choices, ProjectSeen, QuotaRequest, Result


@dataclass(frozen=True)
class One:
    id: str
    kind: str = "oauth"
    email: str = "ada@example.com"
    client_id: str = "c"
    since: float = 0.0
    until: float = 0.0


class Signing:
    def __init__(self) -> None:
        self.accounts: list[One] = []
        self.revokes = True
        self.clients: list[Any] = []
        self.trouble: Exception | None = None

    def all(self) -> Sequence[One]:
        return self.accounts

    def active(self) -> One | None:
        return self.accounts[-1] if self.accounts else None

    def offered(self) -> Any:
        return None

    def use(self, id: str) -> One:
        return self.accounts[-1]

    def sign_in(
        self,
        client: Any,
        open_browser: Callable[[str], bool],
        *,
        cancelled: Callable[[], bool],
        hint: str = "",
        told: Callable[[str, bool], None] | None = None,
    ) -> One:
        self.clients.append(client)
        if told is not None:
            told("https://accounts.example/sign-in", open_browser("https://accounts.example/sign-in"))
        if self.trouble:
            raise self.trouble
        self.accounts.append(One("oauth:ada@example.com"))
        return self.accounts[-1]

    def add_gcloud(self) -> One:
        self.accounts.append(One("gcloud", "gcloud"))
        return self.accounts[-1]

    def add_key(self, path: Path) -> One:
        raise SignedOut("key-unreadable", path=str(path))

    def remove(self, id: str) -> bool:
        self.accounts = [one for one in self.accounts if one.id != id]
        return self.revokes

    def client(self, client_id: str) -> Any:
        return "client"


@dataclass
class World:
    """Signing, choices and doctor in one: a project with everything but a bucket, and little quota."""

    place: str = "practice"
    signing: Signing = field(default_factory=Signing)
    kept: Choices = field(default_factory=lambda: Choices(region="us-west4"))
    fixed: list[str] = field(default_factory=list)
    requests: list[QuotaRequest] = field(default_factory=list)
    trouble: Exception | None = None
    own: Any = "client"
    gcloud: bool = False
    credentials: str | None = None
    browser: bool = True
    opened: list[str] = field(default_factory=list)

    @property
    def choices(self) -> World:
        return self

    def of(self, account: str) -> Choices:
        return self.kept

    def keep(self, account: str, choices: Choices) -> None:
        self.kept = choices

    def doctor(self) -> World:
        return self

    def parse_client(self, text: str) -> Any:
        return Client.parse(text)

    def own_client(self) -> Any:
        return self.own

    def open_browser(self, url: str) -> bool:
        self.opened.append(url)
        return self.browser

    def secrets_where(self) -> str:
        return "file"

    def has_gcloud(self) -> bool:
        return self.gcloud

    def gcloud_credentials(self) -> str | None:
        return self.credentials

    def gcloud_file(self) -> str:
        return "~/.config/gcloud/application_default_credentials.json"

    def practice_client(self) -> str:
        return '{"installed": {"client_id": "practice", "client_secret": "x"}}'

    def check(self, choices: Choices, *, told: Any = None, only: Sequence[str] = ()) -> list[Result]:
        if self.trouble:
            raise self.trouble
        rows = [Result("signed-in", "pass", {"email": "ada@example.com"})]
        rows.append(
            Result("project", "pass", {"project": choices.project})
            if choices.project
            else Result("project", "fail", fix="choose-project")
        )
        rows.append(
            Result("bucket", "pass", {"bucket": choices.bucket, "region": "us-west4"})
            if choices.bucket
            else Result(
                "bucket", "fail" if choices.project else "waiting", {"after": "project"}, fix="make-bucket", undo=True
            )
        )
        rows.append(Result("outside-stop", "optional", {}, fix="make-queue"))
        rows.append(Result("alert", "optional", {"amount": choices.monthly, "currency": "USD"}, fix="make-alert"))
        return rows

    def fix(self, id: str, choices: Choices, **given: Any) -> Choices:
        self.fixed.append(id)
        return replace(choices, bucket="tpu-studio-1") if id == "make-bucket" else choices

    def undo(self, id: str, choices: Choices) -> Choices:
        self.fixed.append(f"undo {id}")
        return replace(choices, bucket="")

    def request_text(self, choices: Choices, missing: Sequence[str]) -> str:
        return "Please"

    def projects(self, search: str = "") -> list[ProjectSeen]:
        return [ProjectSeen("flowers-lab", "Flowers lab")]

    def create_project(self, id: str, name: str, **more: Any) -> ProjectSeen:
        return ProjectSeen(id, name)

    def billing_accounts(self, project: str = "") -> list[BillingAccount]:
        return [BillingAccount("billingAccounts/1", "Mine")]

    def allowances(self, project: str, *, told: Any = None) -> list[Allowance]:
        return [
            Allowance("v5e", "spot", "us-west4-a", 64, used=16),
            Allowance(
                "v6e", "on-demand", "us-east5-b", 0, "region", 0, quota_id="Q", dimensions={"region": "us-east5"}
            ),
        ]

    def ask_quota(self, project: str, allowance: Allowance, wanted: int, why: str, email: str) -> QuotaRequest:
        kind = {"generation": allowance.generation, "tier": allowance.tier, "unit": allowance.unit}
        asked = QuotaRequest("1", allowance.quota_id, allowance.dimensions, wanted, None, "waiting", **kind)
        self.requests.append(asked)
        return self.requests[-1]

    def quota_requests(self, project: str) -> list[QuotaRequest]:
        return self.requests


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def page(qtbot: QtBot, world: World) -> AccountPage:
    model = AccountViewModel(InlineTasks())
    model.connect({"cloud": lambda: world, "practice": lambda: world})
    shown = AccountPage(model, ShellViewModel())
    qtbot.addWidget(shown)
    shown.resize(1200, 900)
    shown.show()
    return shown


def row(page: AccountPage, title: str) -> CheckRow:
    return next(one for one in page.findChildren(CheckRow) if any(t.text() == title for t in one.findChildren(QLabel)))


def press(qtbot: QtBot, button: Button | None) -> None:
    assert button is not None
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def sheet(page: AccountPage) -> Sheet:
    return page.window().findChildren(Sheet)[-1]


def answer(qtbot: QtBot, page: AccountPage, text: str) -> None:
    press(qtbot, next(one for one in sheet(page).findChildren(Button) if one.text() == text))


def button_of(sheet: Sheet, text: str) -> Button:
    return next(one for one in sheet.findChildren(Button) if one.text() == text)


def signed_in(qtbot: QtBot, page: AccountPage) -> None:
    press(qtbot, page.welcome.button)
    answer(qtbot, page, "Sign in in the browser")


def test_nobody_signed_in_sees_one_thing_to_do_what_it_is_for_and_what_it_costs(qtbot: QtBot, page: AccountPage):
    assert page.welcome.isVisible() and not page.list.isVisible() and not page.quota.isVisible()
    filled = [one for one in page.findChildren(Button) if one.isVisible() and one.kind == "primary"]
    assert filled == [page.welcome.button]
    words = " ".join(text.text() for text in page.welcome.findChildren(QLabel))
    assert "What it costs" in words and "Nothing." in words and "What it is for" in words
    signed_in(qtbot, page)
    assert page.list.isVisible() and page.quota.isVisible() and not page.welcome.isVisible()


def test_before_signing_in_the_practice_cloud_is_one_press_away(qtbot: QtBot, page: AccountPage):
    press(qtbot, page.welcome.second)
    assert page.places.value == "practice" and "Rehearse" in page.welcome.heading.text()
    press(qtbot, page.welcome.second)
    assert page._shell.state.value.request.place == "practice"
    assert not any("nothing can be rented" in text.text() for text in page.findChildren(QLabel) if text.isVisible())


def test_the_sheet_looks_for_gcloud_and_uses_what_it_left(qtbot: QtBot, page: AccountPage, world: World):
    world.own = None
    page.model.look()
    press(qtbot, page.welcome.button)
    shown = sheet(page)
    go = button_of(shown, "I have done it")
    press(qtbot, go)
    assert any("application_default_credentials.json" in text.text() for text in shown.findChildren(QLabel))
    world.gcloud, world.credentials = True, "ada@example.com"
    qtbot.waitUntil(lambda: go.text() == "Use these credentials")
    press(qtbot, go)
    assert world.signing.accounts == [One("gcloud", "gcloud")] and page.list.isVisible()


def test_the_command_and_the_link_are_copied(qtbot: QtBot, page: AccountPage, world: World):
    world.own = None
    page.model.look()
    press(qtbot, page.welcome.button)
    press(qtbot, next(one for one in sheet(page).findChildren(Button) if one.accessibleName() == "Copy the command"))
    assert QGuiApplication.clipboard().text() == "gcloud auth application-default login"


def test_a_web_client_dropped_on_the_sheet_is_named_and_the_button_waits(
    qtbot: QtBot, page: AccountPage, world: World, tmp_path: Path
):
    world.own = None
    page.model.look()
    press(qtbot, page.welcome.button)
    shown = sheet(page)
    shown.findChild(Segmented).set_value("client")
    page_of = shown.findChild(Segmented)
    page_of.changed.emit("client")
    go = button_of(shown, "Sign in in the browser")
    assert not go.isEnabled()
    file = tmp_path / "client_secret.json"
    file.write_text('{"web": {"client_id": "a"}}', "utf-8")
    shown.findChild(DropZone).dropped.emit([file])
    assert any("Web application" in text.text() for text in shown.findChildren(QLabel)) and not go.isEnabled()
    file.write_text('{"installed": {"client_id": "a", "client_secret": "b"}}', "utf-8")
    shown.findChild(DropZone).dropped.emit([file])
    assert go.isEnabled()
    press(qtbot, go)
    assert world.signing.clients == [Client("a", "b")] and page.list.isVisible()


def test_while_the_browser_is_open_the_page_can_be_opened_again_copied_and_asked_about(
    qtbot: QtBot, page: AccountPage, world: World
):
    world.browser = False
    model = page.model
    model.waiting = Waiting(model.now(), "https://accounts.example/sign-in", opened=False)
    model._change(signing_in=True)
    shown = sheet(page)
    words = lambda: " ".join(text.text() for text in shown.findChildren(QLabel))  # noqa: E731
    assert "Copy the link" in words() and "of 5 min" in words()
    press(qtbot, button_of(shown, "Copy the link"))
    assert QGuiApplication.clipboard().text() == "https://accounts.example/sign-in"
    press(qtbot, button_of(shown, "Open again"))
    assert world.opened == ["https://accounts.example/sign-in"]
    which = shown.findChild(ComboBox)
    which.chosen.emit("access_denied")
    assert "test user" in words()
    qtbot.keyClick(shown, Qt.Key.Key_Escape)
    assert model._cancelled and not shown.isVisible()


def test_a_sign_in_says_when_it_ends(page: AccountPage, world: World):
    now = page.model.now()
    world.signing.accounts.append(One("oauth:ada", since=now - 86400, until=now + 6 * 86400))
    page.model.look()
    assert any("signed in yesterday; ends on" in text.text() for text in page.findChildren(QLabel))


def test_signing_in_then_a_project_then_the_repair_and_taking_it_back(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    assert page.heading.text() == "Two things are left before you can train"
    press(qtbot, row(page, "No project is chosen yet").button)
    page.model.choose_project("flowers-lab")
    sheet(page).close()
    press(qtbot, row(page, "No storage bucket yet").button)
    assert world.fixed == ["make-bucket"] and world.kept.bucket == "tpu-studio-1"
    assert page.heading.text() == "Everything is ready" and page.plan.isVisible()
    assert page.undo.isVisible()
    press(qtbot, page.undo.button)
    assert world.fixed[-1] == "undo make-bucket"
    assert row(page, "No storage bucket yet").button is not None


def test_from_a_ready_account_one_button_leads_to_a_plan_there(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    assert not page.plan.isVisible()
    page.model.choose_project("flowers-lab")
    assert not page.plan.isVisible()
    world.kept = replace(world.kept, bucket="tpu-studio-1")
    page.model.look()
    assert page.plan.text() == "Plan a run on Google Cloud" and page.next.text() == "Next: Plan a run on Google Cloud."
    press(qtbot, page.plan)
    shell = page._shell.state.value
    assert shell.page == "plan" and shell.request is not None and shell.request.place == "cloud"


def test_a_project_is_found_by_typing_and_chosen(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    asked = sheets.ask_project(page, page.model)
    found = asked.findChildren(PickList)[0]
    assert found.value == "flowers-lab", "the only one is chosen"
    search = asked.findChildren(LineEdit)[0]
    qtbot.keyClicks(search, "roses")
    assert found.value == "" and not button_of(asked, "Use this project").isEnabled()
    search.clear()
    qtbot.keyClicks(search, "flow")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert world.kept.project == "flowers-lab"


def test_one_filled_button_stands_on_the_page(qtbot: QtBot, page: AccountPage):
    signed_in(qtbot, page)

    def filled() -> list[str]:
        return [one.text() for one in page.findChildren(Button) if one.isVisible() and one.kind == "primary"]

    qtbot.waitUntil(lambda: filled() == ["Choose a project"])


def test_quota_shows_what_is_left_and_zero_as_none_allowed_and_more_can_be_asked_for(
    qtbot: QtBot, page: AccountPage, world: World
):
    world.kept = Choices("flowers-lab", "us-west4", "b")
    signed_in(qtbot, page)
    words = [one.text() for one in page.quota.findChildren(QLabel)]
    assert "16 of 64 in use" in words and "none allowed in the region" in words
    press(qtbot, next(one for one in page.quota.findChildren(Button) if one.text() == "Ask for 8 chips"))
    answer(qtbot, page, "Send the request")
    assert world.requests[0].wanted == 8
    assert "8 v6e chips in us-east5" in [one.text() for one in page.quota.findChildren(QLabel)]


def test_a_sign_in_that_fails_says_why_and_nothing_is_lost(qtbot: QtBot, page: AccountPage, world: World):
    world.signing.trouble = SignedOut("sign-in-refused", error="access_denied")
    signed_in(qtbot, page)
    assert page.problem.isVisible() and "did not sign you in" in page.problem.title.text()
    assert page.heading.text() == "Sign in to begin"


def test_without_a_network_what_was_known_stays(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    rows = page.model.state.value.rows
    world.trouble = CloudUnclear("network-down", raw="no route")
    press(qtbot, page.again)
    assert page.problem.isVisible() and page.model.state.value.rows == rows
    assert page.again.isEnabled()


def test_signing_out_asks_first_and_says_what_stays(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    press(qtbot, next(one for one in page.findChildren(Button) if one.text() == "Sign out"))
    told = " ".join(label.text() for label in sheet(page).findChildren(QLabel))
    assert "That signs you out on every other computer, too" in told
    answer(qtbot, page, "Sign out")
    assert world.signing.accounts == [] and page.heading.text() == "Sign in to begin"


def test_signing_out_under_a_run_tells_what_it_means_for_it(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    page.model.rented = lambda place: ["digits"] if place == "cloud" else []
    press(qtbot, next(one for one in page.findChildren(Button) if one.text() == "Sign out"))
    told = " ".join(label.text() for label in sheet(page).findChildren(QLabel))
    assert "digits is on a rented TPU that costs money, and is not stopped." in told
    assert "can neither follow nor stop it: it ends at the limits" in told


def test_google_that_was_not_reached_at_signing_out_is_told(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    world.signing.revokes = False
    press(qtbot, next(one for one in page.findChildren(Button) if one.text() == "Sign out"))
    answer(qtbot, page, "Sign out")
    assert page.problem.isVisible() and page.model.state.value.problem is not None
    assert "myaccount.google.com/permissions" in page.model.state.value.problem.text


def test_practice_says_that_nothing_is_real(page: AccountPage):
    assert not page.strip.isVisible()
    page.model.show("practice")
    assert page.strip.isVisible()


@pytest.mark.parametrize("name", ["", "Ada's Flowers & Trees", "123", "x" * 80, "ÄÖÜ"])
def test_a_project_id_is_one_that_google_takes(name: str):
    made = project_id(name)
    assert 6 <= len(made) <= 30 and made[0].isalpha() and made == made.lower()
    assert all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in made)


def test_who_must_sign_in_again_gets_there_by_one_press(page: AccountPage, world: World):
    world.signing.accounts.append(One("oauth:ada"))
    page.model.sign_in_again("practice")
    assert world.signing.clients == ["client"] and page.places.value == "practice"  # the browser, at once
    world.signing.accounts = [One("gcloud", "gcloud")]
    page.model.sign_in_again("practice")
    assert sheet(page).isVisible() and sheet(page).title.text() == "Sign in to the practice cloud"
    assert not page.model.state.value.asks_way


def test_a_new_practice_account_is_not_told_that_practice_could_start_today(qtbot: QtBot, page: AccountPage):
    page.model.practice_is_bare = lambda: True
    page.model.show("practice")
    signed_in(qtbot, page)
    words = [text.text() for text in page.quota.today.findChildren(QLabel)]
    assert any(one.startswith("This computer costs nothing") for one in words), words


def test_f1_explains_what_a_row_is_about(qtbot: QtBot, page: AccountPage):
    signed_in(qtbot, page)
    told = {one.property("term") for one in page.findChildren(CheckRow)}
    assert {"project", "sign-in", "bucket"} <= told and None not in told

"""The Account page's state: what to press next, what is waited for, and an id that somebody else has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.cloud.doctor.doctor import ORDER
from tpu_studio.domain.learning import glossary
from tpu_studio.domain.sentences.account import FIXES
from tpu_studio.viewmodels.account import SETTLING_S, AccountViewModel
from tpu_studio.viewmodels.accountview import TERMS, AccountView, rows_of, welcome_of
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.workflow.account.ports import BillingAccount, Choices, ProjectSeen, Result


@dataclass(frozen=True)
class Me:
    id: str = "gcloud"
    kind: str = "gcloud"
    email: str = "ada@example.com"
    client_id: str = ""
    since: float = 0.0
    until: float | None = None


@dataclass
class Side:
    """Signing, choices and doctor in one; *rows* is what each look finds."""

    rows: list[Result]
    place: str = "cloud"
    kept: Choices = field(default_factory=lambda: Choices("p", "us-west4"))
    taken: int = 0
    made: list[str] = field(default_factory=list)
    fixing: Callable[..., Choices] | None = None

    @property
    def signing(self) -> Any:
        return self

    @property
    def choices(self) -> Any:
        return self

    def active(self) -> Me:
        return Me()

    def all(self) -> Sequence[Me]:
        return [Me()]

    def of(self, account: str) -> Choices:
        return self.kept

    def keep(self, account: str, choices: Choices) -> None:
        self.kept = choices

    def offered(self) -> None:
        return None

    def own_client(self) -> Any:
        return "client"

    def secrets_where(self) -> str:
        return ""

    def has_gcloud(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: ""

    def doctor(self) -> Any:
        return self

    def check(self, choices: Choices, *, told: Any = None, only: Sequence[str] = ()) -> list[Result]:
        return self.rows

    def allowances(self, project: str, **more: Any) -> list[Any]:
        return []

    def quota_requests(self, project: str) -> list[Any]:
        return []

    def fix(self, id: str, choices: Choices, **given: Any) -> Choices:
        self.made.append(id)
        return self.fixing(choices, **given) if self.fixing else choices

    def create_project(self, id: str, name: str, **more: Any) -> ProjectSeen:
        self.made.append(id)
        if len(self.made) <= self.taken:
            raise CloudRefused("exists", raw="Requested entity already exists")
        return ProjectSeen(id, name)

    def billing_accounts(self, project: str = "") -> list[BillingAccount]:
        return []


def looked_at(side: Side, tasks: Any = None, now: Callable[[], float] = lambda: 0.0) -> AccountViewModel:
    model = AccountViewModel(tasks or InlineTasks(), now=now)
    model.connect({"cloud": lambda: side})
    model.open()
    return model


OFF = Result("billing", "unknown", {"why": "service-disabled", "service": "cloudbilling.googleapis.com"})


def test_a_row_that_a_switched_off_service_hides_offers_to_switch_it_on():
    rows = {one.id: one for one in (Result("project", "pass", {}), replace(OFF, fix="enable-services"))}
    view = AccountView(rows=rows_of(rows))
    assert view.next_press == "Next: Enable the APIs."
    assert view.row_to_press is not None and view.row_to_press.id == "billing"


def test_the_checklist_has_as_many_rows_to_do_at_the_end_as_at_the_beginning():
    ids = ("signed-in", "project", "network", "runner")
    first = rows_of({id: Result(id, "unknown", {}) for id in ids})
    last = rows_of({id: Result(id, "optional" if id in ("network", "runner") else "pass", {}) for id in ids})
    counts = [(view.passed, len(view.needed)) for view in (AccountView(rows=first), AccountView(rows=last))]
    assert counts == [(0, 4), (4, 4)]


def test_what_the_test_costs_is_not_said_to_be_charged_in_practice():
    test = {"test-loan": Result("test-loan", "optional", {}, fix="test-loan", cost_usd=0.03)}
    assert "Costs about $0.03" in rows_of(test)[0].text
    assert "Would cost about $0.03" in rows_of(test, practice=True)[0].text


@pytest.mark.parametrize("fix", FIXES)
def test_every_next_press_names_what_it_is_about(fix: str):
    view = AccountView(rows=rows_of({"bucket": Result("bucket", "fail", {}, fix=fix)}))
    words = view.next_press.removeprefix("Next: ").rstrip(".").split()
    vague = {"it", "them", "that", "more"} & {words[-1].lower(), words[1].lower()} if len(words) > 1 else True
    assert not vague or fix == "sign-in", view.next_press


def test_a_new_practice_account_offers_no_run_that_could_not_start():
    for bare in (True, False):
        words = welcome_of("practice", bare)
        assert bool(words.second) is not bare
        assert ("once it is set up" in words.facts[0][1]) is bare
        assert ("start without any of it" in words.facts[0][1]) is not bare


def test_what_was_switched_on_just_now_needs_no_press_and_is_looked_at_again_for_ten_minutes():
    moment = [0.0]
    side = Side([Result("signed-in", "pass", {}), replace(OFF, facts={**OFF.facts, "recent": True})])
    model = looked_at(side, now=lambda: moment[0])
    view = model.state.value
    assert view.next_press.startswith("Nothing to press: Google needs a few minutes")
    assert view.heading == "One thing is left before you can train"
    assert model.settles
    moment[0] = SETTLING_S + 1.0
    model.look()
    assert not model.settles
    side.rows = [Result("signed-in", "pass", {}), Result("billing", "pass", {})]
    model.look()
    assert not model.settles and model.state.value.ready
    assert model.state.value.next_press == "Next: Plan a run on Google Cloud."
    assert replace(model.state.value, place="practice").next_press.endswith("on the practice cloud.")


def test_a_repair_says_what_it_waits_for_and_can_be_stopped():
    def fixing(choices: Choices, *, say: Any, cancelled: Any, **given: Any) -> Choices:
        say("Waiting for Google: it is being carried out (3 s)")
        model.hear()
        seen.append(model.state.value)
        model.stop_waiting()
        assert cancelled()
        raise CloudUnclear("stopped-waiting")

    seen: list[AccountView] = []
    tasks = LaterTasks()
    side = Side([Result("signed-in", "pass", {}), Result("bucket", "fail", {}, fix="make-bucket")], fixing=fixing)
    model = looked_at(side, tasks)
    tasks.finish_all()
    model.fix("make-bucket")
    tasks.finish_all()
    [during] = seen
    row = during.row("bucket")
    assert row is not None and row.busy and row.text == "Waiting for Google: it is being carried out (3 s)"
    assert during.next_press == "Working; nothing to press."
    after = model.state.value
    assert after.problem is not None and "stopped waiting" in after.problem.title
    assert after.next_press == "Next: Create the bucket."


def test_an_id_that_somebody_else_has_is_tried_with_other_letters():
    side = Side([Result("signed-in", "pass", {})], taken=2)
    model = looked_at(side)
    model.create_project("Learning TPUs")
    assert len(set(side.made)) == 3 and all(one.startswith("learning-tpus-") for one in side.made)
    assert side.kept.project == side.made[-1]
    side.made.clear()
    side.taken = 9
    model.create_project("Learning TPUs")
    assert model.state.value.problem is not None and len(side.made) == 3


def test_the_alerts_amount_goes_with_the_currency_of_the_billing_account():
    side = Side([Result("signed-in", "pass", {}), Result("alert", "optional", {"currency": "JPY"}, fix="make-alert")])
    model = looked_at(side)
    assert model.alert_currency == "JPY"
    model.add_alert(4000.0)
    assert side.made == ["make-alert"] and side.kept.monthly == 4000.0


def test_only_googles_own_pages_are_led_to():
    pages = ("https://console.cloud.google.com/billing", "https://console.cloud.google.com.evil.example/", "file:///x")
    rows = rows_of({page: Result("billing", "fail", {"page": page}, fix="link-billing") for page in pages})
    assert [row.page for row in rows] == [pages[0], "", ""]


def test_a_place_that_is_shown_again_before_it_is_there_keeps_its_one_side():
    tasks, made = LaterTasks(), [Side([]), Side([])]
    model = AccountViewModel(tasks)
    sides = iter(made)
    model.connect({"cloud": lambda: next(sides)})
    model.open()
    model.open()
    tasks.finish_all()
    assert model.side is made[0]


def test_a_repair_that_google_wants_a_person_for_leaves_a_link_on_its_row():
    """Terms that were never accepted: where a new project was asked for."""
    page = "https://console.cloud.google.com/"

    def refuse(*_: object, **__: object) -> ProjectSeen:
        raise CloudRefused("terms-not-accepted", page=page)

    side = Side([Result("project", "fail", {}, fix="choose-project"), Result("billing", "waiting", {})])
    model = looked_at(side)
    assert [row.page for row in model.state.value.rows] == ["", ""]
    side.create_project = refuse  # type: ignore[attr-defined]
    model.create_project("Learning TPUs")
    assert model.state.value.problem is not None and "terms of service" in model.state.value.problem.title
    assert [row.page for row in model.state.value.rows] == [page, ""]


def test_each_row_of_the_checklist_has_its_term_in_the_glossary() -> None:
    assert list(TERMS) == list(ORDER)
    assert all(term in glossary.glossary() for term in TERMS.values())

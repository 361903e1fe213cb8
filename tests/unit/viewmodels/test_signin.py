"""Signing in, guided: what of the steps is done, which files are clients, how long a sign-in lasts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.domain.sentences.signin import BLOCKED
from tpu_studio.viewmodels.accountview import AccountView
from tpu_studio.viewmodels.signin import GuideView, SignInGuide, Waiting, lasts_words, outlives, page_errors

NOW = 1_795_000_000.0
DAY = 86400.0


class Computer:
    """What of Google's is on this computer."""

    def __init__(self) -> None:
        self.program, self.credentials = False, None

    def has_gcloud(self) -> bool:
        return self.program

    def gcloud_credentials(self) -> str | None:
        return self.credentials

    def gcloud_file(self) -> str:
        return "/home/ada/.config/gcloud/application_default_credentials.json"

    def parse_client(self, text: str) -> Any:
        return Client.parse(text)

    def practice_client(self) -> str:
        return json.dumps({"installed": {"client_id": "practice", "client_secret": "x"}})


class Account:
    def __init__(self, place: str = "cloud", *, needs_client: bool = True) -> None:
        self.side, self.used = Computer(), []
        self.state = SimpleNamespace(value=AccountView(place=place, needs_client=needs_client))

    def use_gcloud(self) -> None:
        self.used.append("gcloud")

    def sign_in(self, client_text: str = "") -> None:
        self.used.append(f"client {client_text}")

    def use_key(self, path: Path) -> None:
        self.used.append(f"key {path}")


def guide(account: Account) -> SignInGuide:
    return SignInGuide(account, InlineTasks())  # type: ignore[arg-type]


def test_gcloud_comes_first_also_where_it_is_absent_and_credentials_that_appear_are_noticed():
    account = Account()
    one = guide(account)
    seen = one.state.value
    assert (seen.way, seen.verb, [step.done for step in seen.steps]) == ("gcloud", "I have done it", [False] * 3)
    assert seen.steps[0].link.startswith("https://cloud.google.com/sdk") and seen.steps[1].command
    assert not seen.ends
    one.go()
    assert account.used == []
    assert "application_default_credentials.json" in one.state.value.missing
    account.side.program, account.side.credentials = True, "ada@example.com"
    one.look()  # as the sheet does every two seconds
    seen = one.state.value
    assert (seen.verb, seen.missing, [step.done for step in seen.steps]) == ("Use these credentials", "", [True] * 3)
    assert seen.ends
    one.go()
    assert account.used == ["gcloud"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"web": {"client_id": "a", "client_secret": "b"}}', "Web application"),
        ('{"type": "service_account"}', "key of a service account"),
        ('{"type": "authorized_user"}', "gcloud made"),
        ("no json", "cannot be read"),
    ],
)
def test_a_file_that_is_no_client_is_named_and_the_one_before_stays(tmp_path: Path, text: str, words: str):
    account = Account()
    one = guide(account)
    one.choose("client")
    assert not one.state.value.may_go and one.state.value.missing == "Give the client's file first."
    good, wrong = tmp_path / "good.json", tmp_path / "wrong.json"
    good.write_text('{"installed": {"client_id": "a", "client_secret": "b"}}', "utf-8")
    wrong.write_text(text, "utf-8")
    one.take_client(good)
    assert (one.state.value.client, one.state.value.may_go) == ("good.json", True)
    one.take_client(wrong)
    assert words in one.state.value.problem.text and one.state.value.client == "good.json"
    one.go()
    assert account.used == [f"client {good.read_text('utf-8')}"]


def test_a_client_s_file_that_cannot_be_read_is_told(tmp_path: Path):
    one = guide(Account())
    one.choose("client")
    one.take_client(tmp_path)
    assert "not the file" in one.state.value.problem.title


def test_who_gave_a_client_before_signs_in_at_once():
    account = Account(needs_client=False)
    one = guide(account)
    assert (one.state.value.way, one.state.value.may_go) == ("client", True)
    one.go()
    assert account.used == ["client "]


def test_the_way_without_an_account_says_the_truth_of_the_free_trial_and_leads_on():
    one = guide(Account())
    one.choose("none")
    words = " ".join(step.text for step in one.state.value.steps)
    assert "Do not count on a TPU in the trial" in words and "two-step verification" in words
    assert not one.state.value.ends
    one.go()
    assert one.state.value.way == "gcloud"


def test_the_key_file_says_first_that_organisations_forbid_it():
    one = guide(Account())
    one.choose("key")
    assert "forbid key files by default" in one.state.value.about and not one.state.value.may_go
    one.take_key(Path("/k/key.json"))
    assert one.state.value.may_go and "key.json" in one.state.value.steps[1].text


def test_the_practice_cloud_rehearses_the_file_of_a_client_too(tmp_path: Path):
    account = Account("practice", needs_client=False)
    one = guide(account)
    one.save_practice_file(tmp_path)
    assert one.state.value.client == "client_secret_practice.json"
    one.go()
    assert account.used == [f"client {account.side.practice_client()}"]
    one.choose("gcloud")
    assert not one.state.value.may_go and "Google only" in one.state.value.missing


def test_waiting_tells_for_how_long_and_what_to_do_without_a_browser():
    one = Waiting(NOW, "https://accounts.example", True)
    assert one.words(NOW + 12) == "Waiting for 12 s of 5 min at most"
    assert "Copy the link" in replace(one, opened=False).sentence
    assert "Copy the link" not in one.sentence


def test_every_code_that_google_s_page_may_show_has_its_meaning_and_its_end():
    assert {code for code, _, _ in page_errors()} == set(BLOCKED)
    assert all(meaning and action for _, meaning, action in page_errors())
    testers = next(one for one in page_errors() if one[0] == "access_denied")
    assert "test user" in testers[1] and "Audience" in testers[2]


def test_a_sign_in_of_one_s_own_client_says_how_old_it_is_and_when_it_ends():
    assert lasts_words("oauth", NOW - 2 * DAY, NOW + 5 * DAY, NOW).startswith("signed in 2 days ago; ends on ")
    assert "ended by Google" in lasts_words("oauth", NOW - 8 * DAY, NOW - DAY, NOW)
    unknown = lasts_words("oauth", NOW, 0.0, NOW)
    assert unknown.startswith("signed in today; should its client be on Testing, it ends on ")
    assert lasts_words("gcloud", 0.0, 0.0, NOW) == lasts_words("oauth", 0.0, 0.0, NOW) == ""


def test_a_launch_that_may_outlive_the_sign_in_says_so_before():
    assert outlives("oauth", NOW + DAY, NOW, 2 * 3600) == ""
    told = outlives("oauth", NOW + 3600, NOW, 5 * 3600)
    assert "Your sign-in ends" in told and "neither follow nor stop" in told and "Sign in again first" in told
    assert outlives("oauth", NOW - 60, NOW, 60).startswith("Your sign-in ended")
    assert outlives("gcloud", 0.0, NOW, 1e6) == outlives("oauth", 0.0, NOW, 1e6) == ""


def test_the_guide_speaks_of_the_cloud_it_is_for():
    assert GuideView("practice").title == "Sign in to the practice cloud"
    assert GuideView("cloud").title == "Sign in to Google Cloud"

"""The app’s own sign-in against the practice cloud’s pages: it works, is refused, is left alone, is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.auth.exceptions import RefreshError

from tests.contract.conftest import Start, caller
from tests.contract.test_oauth import CLIENT, CLOUD, ask_token, refresh
from tests.fakes.consent import Person
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import browser
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.secrets import Session
from tpu_studio.domain.sentences import say
from tpu_studio.domain.sentences.signin import BLOCKED
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import NotReady, SignedOut


@pytest.mark.parametrize(("way", "alive"), [("", False), ("one-token", True)])
def test_revoking_one_token_of_a_person_and_client_ends_the_others_unless_doubted(
    practice: Practice, way: str, alive: bool
):
    if way:
        practice.cloud.doubts.arm(f"revoke-whole-grant={way}")
    first, second = our_sign_in(practice, Person()), our_sign_in(practice, Person())
    assert first.refresh_token != second.refresh_token
    browser.revoke(Endpoints.at(practice.url), first.refresh_token)
    answer = ask_token(practice, grant_type="refresh_token", refresh_token=second.refresh_token)
    assert answer.status == (200 if alive else 400)
    browser.revoke(Endpoints.at(practice.url), first.refresh_token)  # invalid_token by now: it is revoked


@pytest.mark.parametrize("way", ["", "revoke-whole-grant=one-token"])
def test_signing_in_again_leaves_a_sign_in_that_works(practice: Practice, tmp_path: Path, way: str):
    if way:
        practice.cloud.doubts.arm(way)
    accounts = Accounts(tmp_path, Endpoints.at(practice.url), Session)
    for _ in range(2):
        person = Person()
        accounts.sign_in(OURS, person.open)
        person.leave()
        credentials = accounts.credentials()
        refresh(credentials)
        assert caller(practice)("GET", "/v1/projects", token=credentials.token).status == 200


OURS = browser.Client(CLIENT, "GOCSPX-secret")


def our_sign_in(practice: Practice, person: Person, **more: Any) -> browser.Granted:
    try:
        return browser.sign_in(OURS, Endpoints.at(practice.url), person.open, wait_s=20.0, **more)
    finally:
        person.leave()


def test_the_app_s_own_sign_in_works_with_the_account_that_it_hints_at(practice: Practice):
    granted = our_sign_in(practice, Person(), hint="colleague@practice.example")

    assert granted.email == "colleague@practice.example" and CLOUD in granted.scopes
    assert caller(practice)("GET", "/v1/projects", token=granted.access_token).status == 200
    assert ask_token(practice, grant_type="refresh_token", refresh_token=granted.refresh_token).status == 200


def test_the_app_tells_an_unticked_box_from_a_person_who_cancelled(practice: Practice):
    with pytest.raises(SignedOut) as unticked:
        our_sign_in(practice, Person(untick=(CLOUD,)))
    with pytest.raises(SignedOut) as cancelled:
        our_sign_in(practice, Person(cancels=True))

    assert unticked.value.id == "scope-missing"
    assert (cancelled.value.id, cancelled.value.facts["error"]) == ("sign-in-declined", "access_denied")
    ((_, granted),) = practice.cloud.db.list("refresh")  # what the first one got stays at Google, and is used by nobody
    assert CLOUD not in granted["scopes"]


class Locked(Session):
    """A keyring that takes nothing."""

    def put(self, name: str, secret: str) -> None:
        raise NotReady("secret-not-kept", where="keyring")


@pytest.mark.parametrize("fails", ["unticked", "keyring"])
def test_a_sign_in_that_fails_on_one_computer_leaves_that_of_another_and_signing_out_ends_it(
    practice: Practice, tmp_path: Path, fails: str
):
    """The other one drives a rented run by the same grant, which Google ends as a whole."""
    ends = Endpoints.at(practice.url)

    def signs_in(at: Accounts, person: Person) -> None:
        try:
            at.sign_in(OURS, person.open)
        finally:
            person.leave()

    here, there = Accounts(tmp_path / "a", ends, Session), Accounts(tmp_path / "b", ends, Session)
    signs_in(here, Person())
    driving = here.credentials()
    if fails == "unticked":
        with pytest.raises(SignedOut, match="scope-missing"):
            signs_in(there, Person(untick=(CLOUD,)))
    else:
        with pytest.raises(NotReady, match="secret-not-kept"):
            signs_in(Accounts(tmp_path / "c", ends, Locked), Person())
    refresh(driving)
    assert caller(practice)("GET", "/v1/projects", token=driving.token).status == 200

    signs_in(there, Person())
    refresh(driving)
    active = there.active()
    assert active is not None and there.remove(active.id)
    with pytest.raises(RefreshError):
        refresh(driving)


@pytest.mark.parametrize("code", sorted(BLOCKED))
def test_a_page_of_google_s_that_blocks_the_sign_in_never_comes_back_and_shows_its_code(practice: Practice, code: str):
    practice.cloud.faults.arm("signin-blocked", code=code)
    person = Person()
    with pytest.raises(SignedOut) as told:
        our_sign_in(practice, person, cancelled=lambda: bool(person.pages))

    assert told.value.id == "sign-in-cancelled"  # nothing was heard: only the person's own word ended it
    assert "Access blocked" in person.pages[0] and f": {code}<" in person.pages[0]


def test_where_a_blocked_sign_in_does_come_back_it_is_told_by_its_code(practice: Practice):
    practice.cloud.doubts.arm("signin-blocked-page")
    for code in BLOCKED:
        practice.cloud.faults.arm("signin-blocked", code=code)
        with pytest.raises(SignedOut) as told:
            our_sign_in(practice, Person())
        id = "sign-in-declined" if code == "access_denied" else "sign-in-blocked"
        assert (told.value.id, told.value.facts["error"]) == (id, code)
        practice.cloud.faults.disarm("signin-blocked")


def test_a_page_that_is_left_alone_ends_with_its_own_sentence(practice: Practice):
    with pytest.raises(SignedOut) as told:
        browser.sign_in(OURS, Endpoints.at(practice.url), lambda url: True, wait_s=0.2)
    assert told.value.id == "sign-in-timeout" and "Access blocked" in say(told.value).meaning


def test_without_a_browser_the_address_is_told_and_the_answer_is_waited_for(practice: Practice):
    person, heard = Person(), []

    def told(url: str, opened: bool) -> None:
        heard.append(opened)
        person.open(url)  # a person who has copied the link

    granted = browser.sign_in(OURS, Endpoints.at(practice.url), lambda url: False, wait_s=20.0, told=told)
    person.leave()

    assert heard == [False] and granted.email == practice.cloud.settings.owner


def test_a_sign_in_of_a_client_on_testing_knows_when_it_ends_where_google_says_so(start_practice: Start):
    practice = start_practice("refresh-token-expires")
    lives = our_sign_in(practice, Person()).lives_s
    assert lives is not None
    assert practice.cloud.clock.real_s(7 * 86400 - 3600) < lives <= practice.cloud.clock.real_s(7 * 86400)

    practice.cloud.doubts.arm("testing-token-told")
    assert our_sign_in(practice, Person()).lives_s is None
    practice.cloud.faults.disarm("refresh-token-expires")
    practice.cloud.doubts.disarm()
    assert our_sign_in(practice, Person()).lives_s is None

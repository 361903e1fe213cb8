"""Through a company's proxy: sign-in, the checklist and what a run uses reach Google by HTTPS_PROXY; loopback does not.

The program asks Google's own addresses; `tests.fakes.proxy` leads them to a practice cloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.oauth2.credentials import Credentials

from tests.contract.test_doctor import OFFERS, ready, states
from tests.fakes.consent import Person
from tests.fakes.proxy import Proxy
from tpu_studio.cloud.connection import connect
from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import Patience
from tpu_studio.cloud.signin import browser
from tpu_studio.domain.sentences import say
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.workflow.cloudruns.ports import CloudSide, Ref

CLIENT = browser.Client("4711-abc.apps.googleusercontent.com", "GOCSPX-secret")
SECRET = "pl4nted-pr0xy-secret"
GOOGLE = Endpoints()
ONCE = Patience(tries=1)


@pytest.fixture
def proxy(practice: Practice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(tmp_path, practice.url) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ALL_PROXY", "NO_PROXY", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody listens, and nobody is to ask
        monkeypatch.setenv("HTTPS_PROXY", proxy.url())
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(proxy.certificate))
        yield proxy


def side_of(practice: Practice, endpoints: Endpoints = GOOGLE) -> CloudSide:
    settings = practice.cloud.settings
    make: Any = Credentials
    return connect(
        make(token=practice.token), settings.project, settings.bucket, endpoints=endpoints, place="cloud", patience=ONCE
    )


def sign_in(practice: Practice) -> browser.Granted:
    person = Person(instead=("https://accounts.google.com", practice.url))
    try:  # the browser has settings of its own; it is led to the practice cloud's page
        return browser.sign_in(CLIENT, GOOGLE, person.open)
    finally:
        person.leave()


def test_signing_in_goes_through_it_and_the_answer_comes_to_loopback(practice: Practice, proxy: Proxy):
    granted = sign_in(practice)
    assert granted.refresh_token and "@" in granted.email
    assert proxy.asked == ["oauth2.googleapis.com:443", "openidconnect.googleapis.com:443"]


def test_the_checklist_and_what_a_run_uses_go_through_it(practice: Practice, proxy: Proxy):
    make: Any = Credentials
    found = states(GoogleDoctor(make(token=practice.token), GOOGLE, OFFERS).check(ready(practice)))
    assert {id: state for id, state in found.items() if state != "pass"} == {
        "alert": "optional",
        "test-loan": "optional",
    }
    side = side_of(practice)
    assert side.mailbox.list("runs/") == []
    assert side.stops.of(Ref("ts-digits-k3f7-a1-t1", "us-west4-a")) == {}
    assert side.machines["tpu"].find({"tpu-studio": "run"}) == []
    asked = {host.partition(".")[0] for host in proxy.asked}
    assert asked >= {"tpu", "storage", "cloudtasks", "cloudbilling", "serviceusage", "cloudquotas"}


def test_name_and_password_are_given_and_never_told(practice: Practice, proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    proxy.login = f"mina:{SECRET}"
    with pytest.raises(CloudUnclear) as refused:
        side_of(practice)
    assert (refused.value.id, refused.value.facts["code"]) == ("proxy-refused", 407)
    assert say(refused.value).title == "The proxy of your network wants a name and a password"
    monkeypatch.setenv("HTTPS_PROXY", proxy.url("mina:wrong-" + SECRET))
    with pytest.raises(CloudUnclear) as again:
        sign_in(practice)
    assert again.value.id == "proxy-refused" and again.value.facts["proxy"] == proxy.address
    assert SECRET not in repr(again.value) + str(say(again.value))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url(proxy.login))
    assert side_of(practice).clock.now() > 0


def test_one_that_lets_nobody_through_is_named(practice: Practice, proxy: Proxy):
    proxy.refuses = 403
    make: Any = Credentials
    first = GoogleDoctor(make(token="t"), GOOGLE, OFFERS).check(ready(practice), only=["signed-in"])[0]
    assert (first.state, first.facts["why"], first.facts["code"]) == ("unknown", "proxy-refused", 403)


def test_one_that_is_not_there_is_named(practice: Practice, proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://mina:{SECRET}@127.0.0.1:9")
    with pytest.raises(CloudUnclear) as raised:
        side_of(practice)
    assert raised.value.id == "proxy-down" and raised.value.facts["proxy"] == "127.0.0.1:9"
    assert SECRET not in repr(raised.value)


@pytest.mark.parametrize("sign", ["/", "#", "?", "@", " ", ":"])
def test_a_password_that_tears_the_address_apart_is_not_told_either(
    practice: Practice, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, sign: str
):
    monkeypatch.setenv("HTTPS_PROXY", f"http://mina:{SECRET}{sign}other-half@127.0.0.1:9")
    with pytest.raises(CloudUnclear) as raised:
        side_of(practice)
    assert (raised.value.id, raised.value.facts["proxy"]) == ("proxy-down", "127.0.0.1:9")
    told = repr(raised.value) + str(say(raised.value))
    assert SECRET not in told and "other-half" not in told


def test_a_certificate_that_nobody_here_knows_is_not_trusted(
    practice: Practice, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(CloudUnclear) as raised:
        side_of(practice)
    assert raised.value.id == "certificate-unknown"


def test_the_practice_cloud_is_never_asked_through_it(practice: Practice, proxy: Proxy):
    assert side_of(practice, Endpoints.at(practice.url)).mailbox.list("runs/") == []
    assert proxy.asked == []

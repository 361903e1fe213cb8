"""The metadata server of practice machines: Google's paths, headers and rules, and Google's own library on it."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import Start
from tests.fakes.vm_image import DEAF, machine_spec, make_engine
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice

BASE = "/computeMetadata/v1/"
FLAVOR = {"Metadata-Flavor": "Google"}


class Reply:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.text = answer.status, answer.headers, answer.read().decode()


class Machine:
    """A running machine of two workers, and questions to its metadata servers."""

    def __init__(self, practice: Practice, script: str = DEAF) -> None:
        assert isinstance(practice.cloud.vms, Fleet)
        self.practice, self.fleet = practice, practice.cloud.vms
        self.spec = machine_spec("ts-a-a1-t1", script, workers=2, chips=16)
        self.name = self.spec.resource
        self.fleet.start(self.name, self.spec)
        give_up = time.monotonic() + PATIENCE_S
        while (state := self.fleet.state(self.name)) is None and time.monotonic() < give_up:
            time.sleep(0.01)
        assert state is not None
        self.ports = state.metadata

    def ask(self, path: str, headers: dict[str, str] = FLAVOR, worker: int = 0, method: str = "GET") -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[worker], timeout=60)
        try:
            connection.request(method, path, headers=headers)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def tell(self, path: str, worker: int = 0) -> str:
        reply = self.ask(BASE + path, worker=worker)
        assert reply.status == 200, (path, reply.text)
        assert reply.headers["Metadata-Flavor"] == "Google"
        return reply.text


@pytest.fixture
def machine(start_practice: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(make_engine(tmp_path / "engine")))
    yield Machine(start_practice(machines=True))


def test_every_path_that_clients_read_is_there(machine: Machine) -> None:
    account = "tpu-studio-runner@practice-project.iam.gserviceaccount.com"
    told = {
        "instance/attributes/accelerator-type": "v5litepod-16",
        "instance/attributes/instance-id": "ts-a-a1-t1",
        "instance/attributes/startup-script": DEAF,
        "instance/attributes/ts-note": "kept as given",
        "instance/zone": "projects/481516234200/zones/us-west4-a",
        "instance/preempted": "FALSE",
        "instance/maintenance-event": "NONE",
        "instance/service-accounts/default/email": account,
        "instance/service-accounts/default/scopes": "https://www.googleapis.com/auth/cloud-platform\n",
        "instance/service-accounts/": f"default/\n{account}/\n",
        "project/project-id": "practice-project",
        "project/numeric-project-id": "481516234200",
        "universe/universe-domain": "googleapis.com",
    }
    assert {path: machine.tell(path) for path in told} == told
    assert machine.tell("instance/hostname").startswith(
        machine.tell("instance/name") + ".us-west4-a.c.practice-project"
    )
    assert int(machine.tell("instance/id")) < 2**63
    for worker in (0, 1):
        assert machine.tell("instance/attributes/agent-worker-number", worker) == str(worker)
        assert f"WORKER_ID: '{worker}'\n" in machine.tell("instance/attributes/tpu-env", worker)
    ends = machine.tell("instance/attributes/worker-network-endpoints").split(",")
    assert [end.split(":")[2] for end in ends] == ["127.0.0.1"] * 2


def test_the_header_is_asked_for_and_pages_in_a_browser_get_nothing(machine: Machine) -> None:
    refused = [
        {},
        {**FLAVOR, "X-Forwarded-For": "10.0.0.1"},
        {**FLAVOR, "Host": "evil.example"},
        {**FLAVOR, "Origin": "http://evil.example"},
        {**FLAVOR, "Sec-Fetch-Site": "cross-site"},
    ]
    for headers in refused:
        reply = machine.ask(BASE + "instance/id", headers)
        assert reply.status == 403 and reply.headers["Metadata-Flavor"] == "Google", headers
    assert "Missing Metadata-Flavor:Google header" in machine.ask(BASE + "instance/id", {}).text
    assert machine.ask(BASE + "instance/id", method="POST").status == 405
    assert machine.ask(BASE + "instance/id", {**FLAVOR, "Host": "metadata.google.internal"}).status == 200


def test_folders_list_redirect_and_come_whole_as_json(machine: Machine) -> None:
    assert machine.ask("/", {}).text == "computeMetadata/\n"
    assert machine.tell("") == "instance/\noslogin/\nproject/\nuniverse/\n"
    bare = machine.ask(BASE + "instance")
    assert (bare.status, bare.headers["Location"]) == (301, BASE + "instance/")
    assert machine.ask(BASE + "instance/nothing").status == 404

    whole = json.loads(machine.tell("instance/?recursive=true"))
    assert whole["attributes"]["ts-note"] == "kept as given" and whole["machineType"].endswith("/ct5lp-hightpu-8t")
    account = json.loads(machine.tell("instance/service-accounts/default/?recursive=true"))
    assert set(account) == {"aliases", "email", "scopes"}, "no token in a listing"


def test_the_token_is_the_machines_own_and_dates_are_practice_time(machine: Machine) -> None:
    reply = machine.ask(BASE + "instance/service-accounts/default/token")
    token: dict[str, Any] = json.loads(reply.text)

    who = machine.practice.cloud.principals.of(token["access_token"])
    assert who is not None and who.member == f"serviceAccount:{machine.spec.service_account}"
    assert token["token_type"] == "Bearer" and 3000 < token["expires_in"] <= 3600
    assert json.loads(machine.tell("instance/service-accounts/default/token"))["access_token"] == token["access_token"]
    assert reply.headers["X-Practice-Speed"] == "1" and reply.headers["Date"].endswith("GMT")

    machine.fleet.kill(machine.name)
    assert machine.practice.cloud.principals.of(token["access_token"]) is None, "it dies with its machine"


def test_nobody_gets_a_machines_token_from_the_cloud_without_its_key(machine: Machine) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(machine.practice.url.rpartition(":")[2]), timeout=60)
    connection.request("POST", "/practice/machine-token", json.dumps({"machine": machine.name, "key": "guessed"}))
    assert connection.getresponse().status == 403
    connection.close()


def test_wait_for_change_holds_the_reply_until_the_machine_is_preempted(machine: Machine) -> None:
    told: list[str] = []
    known = machine.ask(BASE + "instance/preempted").headers["ETag"]
    path = f"instance/preempted?wait_for_change=true&last_etag={known}"
    waiting = threading.Thread(target=lambda: told.append(machine.tell(path)))
    waiting.start()

    short = machine.ask(BASE + "instance/preempted?wait_for_change=true&timeout_sec=0")
    assert short.text == "FALSE" and not told
    machine.fleet.stop(machine.name, notice_s=30.0)

    waiting.join(60)
    assert told == ["TRUE"]


def test_googles_own_library_finds_itself_on_a_machine(start_practice: Start, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(make_engine(tmp_path / "engine")))
    program = (
        "import google.auth, google.auth.transport.requests as r\n"
        "credentials, project = google.auth.default()\n"
        "credentials.refresh(r.Request())\n"
        "print('project', project, credentials.service_account_email, bool(credentials.token))\n"
    )
    script = f"#!/bin/sh\n'{sys.executable}' -c \"{program}\"\necho up\n"

    machine = Machine(start_practice(machines=True), script)

    give_up = time.monotonic() + PATIENCE_S
    while b"\nup\n" not in machine.fleet.console(machine.name) and time.monotonic() < give_up:
        time.sleep(0.05)
    expected = f"project practice-project {machine.spec.service_account} True"
    assert expected in machine.fleet.console(machine.name).decode()

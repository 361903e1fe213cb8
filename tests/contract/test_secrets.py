"""Planted secrets are nowhere but where they belong: a whole rehearsed run with sign-in, faults, doctor, sweep and a
crash, then every file, object, line and process of it is searched."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import Request

from tests.contract.conftest import Start, caller
from tests.contract.test_doctor import OFFERS, ready
from tests.fakes.consent import Person
from tests.fakes.engines import counting_engine
from tests.fakes.waiting import PATIENCE_S
from tests.journeys.test_cloud_run import SPEED, Desk
from tpu_studio.app import trouble
from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.cloud.signin.secrets import PrivateFile
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="practice machines and /proc need Linux")
CLIENT = Client("planted.apps.googleusercontent.com", "GOCSPX-planted-client-secret-7d1f")


@pytest.fixture
def practice(home: Path, tmp_path: Path, start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> Practice:
    """Of this home, as the command line finds it."""
    trainer = ("--steps", "100000", "--step-s", "0.05", "--at", "2:print")
    monkeypatch.setenv("TPU_STUDIO_ENGINE", os.fspath(counting_engine(tmp_path / "engine", *trainer)))
    made = start_practice(machines=True, speed=SPEED)
    daemon._write(home / "practice" / "server.json", {"pid": os.getpid(), **made.ready()})
    return made


@pytest.fixture
def crash_log(home: Path) -> Iterator[Path]:
    """The window's log and its hooks for what nobody caught; put back afterwards."""
    root, hooks = logging.getLogger(), (sys.excepthook, threading.excepthook)
    handlers, level = list(root.handlers), root.level
    trouble.start_log(home)
    trouble.catch_everything(lambda error: None)
    yield trouble.log_file(home)
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.level = handlers, level
    sys.excepthook, threading.excepthook = hooks


class Secrets:
    """All that must be nowhere, also what came into being on the way."""

    def __init__(self, practice: Practice) -> None:
        self._practice, self._planted = practice, {practice.token, CLIENT.secret}
        self.seen: list[str] = []

    def plant(self, *more: str) -> None:
        self._planted |= set(more)

    def all(self) -> list[bytes]:
        db = self._practice.cloud.db
        made = {name for kind in ("token", "refresh", "code") for name, _ in db.list(kind)}
        assert all(len(one) > 12 for one in self._planted | made)
        return [one.encode() for one in self._planted | made]

    def look(self, where: str, data: bytes) -> None:
        if data[:2] == b"\x1f\x8b":
            data += gzip.decompress(data)
        self.seen += [f"{where}: {one[:12].decode()}…" for one in self.all() if one in data]

    def look_at_files(self, folder: Path, *but: Path) -> int:
        """How many there were."""
        files = [path for path in folder.rglob("*") if path.is_file() and path not in but]
        for path in files:
            try:
                self.look(str(path), path.read_bytes())
            except FileNotFoundError:
                continue  # of a machine that goes on
        return len(files)

    def look_at_processes(self) -> None:
        for process in Path("/proc").iterdir():
            for what in ("cmdline", "environ") if process.name.isdigit() else ():
                try:
                    self.look(f"{process.name} {what}", (process / what).read_bytes())
                except OSError:
                    continue  # gone, or not ours


def test_no_planted_secret_is_found_after_a_whole_run(
    home: Path, tmp_path: Path, practice: Practice, crash_log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secrets, call, person = Secrets(practice), caller(practice), Person()
    endpoints = Endpoints.at(practice.url)
    kept = PrivateFile(home / "private" / "secrets.json")
    accounts = Accounts(home, endpoints, lambda: kept)

    # a key file of the person's own, and the sign-in
    runner, project = practice.cloud.settings.runner, practice.cloud.settings.project
    made = call("POST", f"/v1/projects/{project}/serviceAccounts/{runner}/keys", {}).body
    key = json.loads(base64.b64decode(made["privateKeyData"]))
    (tmp_path / "key.json").write_text(json.dumps(key))
    secrets.plant(*key["private_key"].splitlines()[1:4])
    accounts.add_key(tmp_path / "key.json")
    account = accounts.sign_in(CLIENT, person.open)
    person.leave()
    assert kept.get(f"refresh:{account.id}") and kept.get(f"client:{CLIENT.id}") == CLIENT.secret

    # the checklist as that person; calls that fail in all manners
    doctor = GoogleDoctor(accounts.credentials(), endpoints, OFFERS)
    results = [doctor.check(ready(practice))]
    for fault in ("server-error", "too-many-requests", "connection-cut", "token-expired"):
        practice.cloud.faults.arm(fault, times=2)
        results.append(doctor.check(ready(practice)))
    practice.cloud.faults.disarm("")
    secrets.look("doctor", repr(results).encode())

    # the run, its line cut a few times
    desk = Desk(home, practice)
    try:
        run = desk.launch()
        desk.until(run, lambda row: row.step >= 3 or row.over)
        secrets.look_at_processes()
        assert secrets.look_at_files(home / "practice" / "machines") > 20  # its disk goes with the machine
        practice.cloud.faults.arm("unavailable", times=3)
        practice.cloud.faults.arm("connection-cut", times=2)
        desk.runs.stop(run)
        row = desk.until(run)
        assert row.reason == "stopped-by-user", desk.tell(run)
        secrets.look_at_processes()
    finally:
        desk.die()

    # a crash while credentials are at hand
    practice.cloud.faults.arm("token-revoked")
    credentials = accounts.credentials()
    try:
        credentials.refresh(Request())
    except RefreshError:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    practice.cloud.faults.disarm("")
    logging.getLogger("tpu_studio").warning("%r %r %r %r", credentials, accounts, kept, CLIENT)
    assert "an error that nobody caught" in crash_log.read_text()

    # the second door
    for words in (
        ["doctor", "--on", "practice"],
        ["sweep", "--on", "practice", "--json"],
        ["show", run, "--json"],
        ["runs"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "tpu_studio", *words], capture_output=True, timeout=PATIENCE_S, check=False
        )
        assert b"Traceback" not in done.stderr
        secrets.look(" ".join(words), done.stdout + done.stderr)
    said = capfd.readouterr()
    secrets.look("terminal", (said.out + said.err).encode())

    own_state = [*(home / "practice").glob("practice.db*"), home / "practice" / "server.json"]
    assert secrets.look_at_files(home, home / "private" / "secrets.json", *own_state) > 40
    secrets.look_at_files(tmp_path / "engine")
    assert secrets.seen == []
    for private in (home / "private" / "secrets.json", home / "practice" / "server.json"):
        assert private.stat().st_mode & 0o077 == 0


def test_the_search_finds_what_is_there(practice: Practice, tmp_path: Path) -> None:
    """Else the test above could not fail."""
    secrets = Secrets(practice)
    secrets.look("plain", b"x" + practice.token.encode())
    secrets.look("packed", gzip.compress(CLIENT.secret.encode()))
    told = subprocess.Popen(["sleep", "60"], env={"TOKEN": practice.token})
    try:
        secrets.look_at_processes()
    finally:
        told.kill()
        told.wait()
    assert [one.split(":")[0] for one in secrets.seen] == ["plain", "packed", f"{told.pid} environ"]

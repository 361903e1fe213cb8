"""The practice server of a home: started once, joined by all, there again after it was killed, ended on request."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib import request

import psutil
import pytest

from tests.contract.sides import WANTED
from tests.fakes.disks import fill, small_disk
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import practice_side, runner_account
from tpu_studio.places.reaching import connected
from tpu_studio.practice import daemon
from tpu_studio.practice.settings import Settings
from tpu_studio.wire.errors import NotReady

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no file locks here")


@pytest.fixture
def served(home: Path) -> Iterator[Path]:
    yield home
    daemon.stop(home)


def test_everybody_joins_the_one_server_of_a_home_and_it_survives_being_killed(served: Path):
    first, again = daemon.start_or_join(served), daemon.start_or_join(served)
    assert first == again and set(first) == {"url", "project", "zone", "bucket", "token"}
    record = json.loads((served / "practice" / "server.json").read_text("utf-8"))
    assert stat.S_IMODE((served / "practice" / "server.json").stat().st_mode) == 0o600
    assert first["token"] not in (served / "practice" / "server.log").read_text("utf-8")

    os.kill(record["pid"], signal.SIGKILL)
    give_up = time.monotonic() + PATIENCE_S
    while daemon.running(served) is not None and time.monotonic() < give_up:
        time.sleep(0.01)
    assert daemon.start_or_join(served)["token"] != first["token"]


def killed(home: Path) -> None:
    server = psutil.Process(json.loads((home / "practice" / "server.json").read_text("utf-8"))["pid"])
    server.kill()
    psutil.wait_procs([server], timeout=PATIENCE_S)
    daemon._collect()  # it was our child
    assert (home / "practice" / "server.json").exists()


def test_who_took_the_port_of_a_killed_server_is_not_asked_and_gets_no_token(served: Path):
    """Another user may wait there, and would be handed the owner's token."""
    first = daemon.start_or_join(served)
    killed(served)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", int(first["url"].rpartition(":")[2])))
        other.listen()
        other.setblocking(False)

        assert daemon.running(served) is None
        second = daemon.start_or_join(served)
        assert second["url"] != first["url"] and second["token"] != first["token"]
        with pytest.raises(BlockingIOError):
            other.accept()


def test_a_server_that_names_another_address_is_not_believed(served: Path):
    """The token would be sent there."""
    true = daemon.start_or_join(served)
    record = served / "practice" / "server.json"
    kept = record.read_bytes()
    elsewhere = json.loads(kept) | {"url": true["url"].replace("127.0.0.1", "localhost")}
    for wrong in (elsewhere, json.loads(kept) | {"created": 1.0}, {**json.loads(kept), "pid": None}, ["?"], {}):
        record.write_text(json.dumps(wrong), "utf-8")
        assert daemon.running(served) is None
    record.write_bytes(kept)
    assert daemon.running(served) == true


def test_whoever_works_at_the_practice_cloud_goes_on_after_it_was_killed(served: Path):
    side = connected("practice", served)
    assert side.mailbox.list("") == []
    killed(served)
    daemon.start_or_join(served)

    assert side.mailbox.list("") == []


def test_a_second_server_of_the_same_home_is_refused_and_stop_ends_the_first(served: Path):
    program = [sys.executable, "-m", "tpu_studio", "practice", "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        line = json.loads(server.stdout.readline())
        assert daemon.running(served) == line
        fault = [*program, "--fault", "preempted-at-step:step=7,times=2"]
        armed = json.loads(subprocess.run(fault, capture_output=True, timeout=PATIENCE_S, check=True).stdout)["armed"]
        assert [(one["name"], one["times"], one["about"]["step"]) for one in armed] == [("preempted-at-step", 2, 7)]
        second = subprocess.run(program, capture_output=True, timeout=PATIENCE_S, check=False)
        assert second.returncode == 4 and line["url"].encode() in second.stdout + second.stderr
        stopped = subprocess.run([*program, "--stop"], capture_output=True, timeout=PATIENCE_S, check=True)
        assert json.loads(stopped.stdout) == {"stopped": True}
        assert server.wait(60) == 0
    assert daemon.running(served) is None and daemon.stop(served) is False


@pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
def test_stop_ends_machines_that_have_outlived_their_server(served: Path):
    daemon.start_or_join(served)
    record = json.loads((served / "practice" / "server.json").read_text("utf-8"))
    machines = practice_side(record["url"], record["token"], record["project"], record["bucket"]).machines["tpu"]
    script = {"startup-script": "sleep 1000"}
    ref = replace(WANTED.ref, zone=record["zone"])
    machines.create(replace(WANTED, ref=ref, metadata=script, service_account=runner_account(record["project"])))
    give_up = time.monotonic() + PATIENCE_S
    while not (states := list((served / "practice" / "machines").glob("*/state.json"))) and time.monotonic() < give_up:
        time.sleep(0.05)
    supervisor = psutil.Process(json.loads(states[0].read_bytes())["pid"])
    os.kill(record["pid"], signal.SIGKILL)
    while daemon.running(served) is not None and time.monotonic() < give_up:
        time.sleep(0.01)
    assert supervisor.is_running()

    assert daemon.stop(served) is True
    _, alive = psutil.wait_procs([supervisor], timeout=PATIENCE_S)
    assert alive == [] and daemon.running(served) is None and daemon.stop(served) is False


@pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
def test_stop_ends_server_and_machines_on_a_full_disk_and_says_what_it_could_not_write(tmp_path: Path):
    """Its log is on that disk, too."""
    with small_disk(tmp_path / "disk", 6) as disk:
        found = daemon.start_or_join(disk)
        machines = practice_side(found["url"], found["token"], found["project"], found["bucket"]).machines["tpu"]
        ref = replace(WANTED.ref, zone=found["zone"])
        script = {"startup-script": "sleep 1000"}
        machines.create(replace(WANTED, ref=ref, metadata=script, service_account=runner_account(found["project"])))
        give_up = time.monotonic() + PATIENCE_S
        while not (states := list(disk.glob("practice/machines/*/state.json"))) and time.monotonic() < give_up:
            time.sleep(0.05)
        supervisor = psutil.Process(json.loads(states[0].read_bytes())["pid"])
        fill(disk)

        with pytest.raises(NotReady, match="practice-stop-unrecorded"):
            daemon.stop(disk)
        _, alive = psutil.wait_procs([supervisor], timeout=PATIENCE_S)
        assert alive == [] and daemon.running(disk) is None


def test_a_port_that_is_taken_is_told(home: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(NotReady) as told:
            daemon.serve(Settings(daemon.folder(home), machines=False), (), port, print, threading.Event())
    assert told.value.id == "practice-port-taken" and daemon.running(home) is None


def test_a_program_that_does_not_start_is_told_with_its_own_words(home: Path):
    with pytest.raises(NotReady) as told:
        daemon.start_or_join(home, [sys.executable, "-c", "import sys; sys.exit('no such thing')"])
    assert told.value.id == "practice-failed" and "no such thing" in told.value.facts["raw"]


@pytest.mark.parametrize("wrong", [["--fault", "no-such-fault"], ["--fault", "preempted:oops"], ["--speed", "0"]])
def test_a_wrong_fault_or_speed_is_bad_input(home: Path, wrong: list[str]):
    program = [sys.executable, "-m", "tpu_studio", "practice", "--json", *wrong]
    assert subprocess.run(program, capture_output=True, timeout=PATIENCE_S, check=False).returncode == 2


def test_a_detached_server_leaves_when_idle_but_not_while_a_request_waits(home: Path):
    folder, ended = daemon.folder(home), threading.Event()
    seen: list[bool] = []

    def ready(line: dict[str, str]) -> None:
        seen.append(daemon.running(home) is not None)

    daemon.serve(Settings(folder, machines=False), (), 0, ready, ended, idle_s=0.1)
    assert seen == [True] and daemon.running(home) is None

    def make_busy(line: dict[str, str]) -> None:
        record = {"url": line["url"], "token": line["token"]}
        place = f"projects/{line['project']}/locations/{line['zone']}"
        node = {"acceleratorType": "v5litepod-1", "runtimeVersion": "v2-alpha-tpuv5-lite"}
        body = {"tpu": {"nodeSpec": [{"parent": place, "nodeId": "n", "node": node}]}}
        answer = caller_of(record)("POST", f"/v2/{place}/queuedResources?queuedResourceId=q", body)
        assert answer == 200
        threading.Timer(1.0, ended.set).start()

    began = time.monotonic()
    daemon.serve(Settings(folder, machines=False), ("stockout-for-ever",), 0, make_busy, ended, idle_s=0.1)
    assert time.monotonic() - began >= 1.0  # the timer ended it, not idleness


def caller_of(record: dict[str, str]) -> Callable[[str, str, Any], int]:
    def call(method: str, path: str, body: Any) -> int:
        asked = request.Request(record["url"] + path, json.dumps(body).encode(), method=method)
        asked.add_header("Authorization", f"Bearer {record['token']}")
        with request.build_opener(request.ProxyHandler({})).open(asked, timeout=60) as reply:
            return int(reply.status)

    return call


def _damage(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(daemon.folder(home) / "practice.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS records (kind TEXT, name TEXT, record TEXT, PRIMARY KEY (kind, name))")
        db.execute(statement)
        db.commit()


@pytest.mark.parametrize("damage", ["bytes", "no JSON", "no object"])
def test_a_memory_that_cannot_be_read_is_named_before_anything_starts(tmp_path: Path, damage: str) -> None:
    daemon.folder(tmp_path).mkdir()
    if damage == "bytes":
        (daemon.folder(tmp_path) / "practice.db").write_bytes(b"SQLite no more" * 300)
    else:
        said = "[[[[" if damage == "no JSON" else "[1]"
        _damage(tmp_path, f"INSERT INTO records VALUES ('fault', '1', '{said}')")
    with pytest.raises(NotReady) as told:
        daemon.start_or_join(tmp_path, program=["/no/such/program"])
    assert (told.value.id, told.value.facts["folder"]) == ("practice-damaged", str(daemon.folder(tmp_path)))
    with pytest.raises(NotReady) as foreground:
        daemon.serve(Settings(daemon.folder(tmp_path)), (), 0, lambda line: None, threading.Event())
    assert foreground.value.id == "practice-damaged"
    if damage != "bytes":
        assert "fault 1" in str(told.value.facts["raw"])


def test_a_record_of_another_shape_is_a_damaged_memory_too(tmp_path: Path) -> None:
    daemon.folder(tmp_path).mkdir()
    _damage(tmp_path, "INSERT INTO records VALUES ('practice', 'port', '{\"x\": 1}')")
    with pytest.raises(NotReady) as told:
        daemon.serve(Settings(daemon.folder(tmp_path)), (), 0, lambda line: None, threading.Event())
    assert told.value.id == "practice-damaged"


@pytest.mark.parametrize("pid", ["Infinity", "1" + "0" * 400, "[]", '"x"'])
def test_a_record_of_no_process_is_no_server(tmp_path: Path, pid: str) -> None:
    daemon.folder(tmp_path).mkdir()
    (daemon.folder(tmp_path) / "server.json").write_text(f'{{"pid": {pid}, "created": 1.0, "url": "", "token": ""}}')
    assert daemon.running(tmp_path) is None

"""Doubts on the practice cloud: armed by command line or HTTP, kept by a restart, answered the other way where used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.waiting import PATIENCE_S
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.wire.errors import BadInput

PRACTICE = [sys.executable, "-m", "tpu_studio", "practice", "--json"]


def run(*words: str) -> tuple[int, dict[str, object]]:
    done = subprocess.run([*PRACTICE, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, json.loads((done.stdout or done.stderr).splitlines()[-1])


def test_the_table_is_told_without_a_server(home: Path):
    code, told = run("--doubts")
    assert code == 0 and not (home / "practice").exists()
    assert all(
        set(one) == {"id", "assumed", "others", "used_in", "settled_by", "source", "playable", "automatic"}
        for one in told["doubts"]  # type: ignore[attr-defined]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks here")
def test_a_server_that_runs_takes_a_doubt_and_refuses_one_that_there_is_not(home: Path):
    daemon.start_or_join(home)
    try:
        assert run("--doubt", "task-name-reuse", "--doubt", "tasks-far-ahead=refused") == (
            0,
            {"armed": [], "doubts": {"task-name-reuse": "allowed", "tasks-far-ahead": "refused"}},
        )
        code, told = run("--doubt", "task-names-reuse")
        assert code == 2 and "doubt-unknown" in json.dumps(told)
        assert daemon.doubt(home, []) == {"task-name-reuse": "allowed", "tasks-far-ahead": "refused"}
    finally:
        daemon.stop(home)


def test_a_doubt_outlives_the_server_and_is_asked_by_its_id(tmp_path: Path):
    settings = Settings(tmp_path, machines=False)
    with Practice(settings, doubts=("task-404-retried",)) as practice:
        assert practice.cloud.doubts.way("task-404-retried") == "gone"
        assert practice.cloud.doubts.way("tasks-far-ahead") == ""
        with pytest.raises(KeyError):
            practice.cloud.doubts.way("no-such-doubt")
    with Practice(settings) as practice:
        assert practice.cloud.doubts.way("task-404-retried") == "gone"
        practice.cloud.doubts.disarm()
        assert practice.cloud.doubts.armed() == {}


def test_a_doubt_that_is_not_in_the_table_is_refused_at_the_start(tmp_path: Path):
    with pytest.raises(BadInput):
        Practice(Settings(tmp_path, machines=False), doubts=("nothing",))

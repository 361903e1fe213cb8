"""The guardian as its callers see it: a process, a run folder, and what stands in it afterwards.

These start real processes (a Python that counts instead of training); each lasts well under a second or two.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tests.fakes.processes import alive
from tests.fakes.waiting import PATIENCE_S, eventually
from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import say_reason
from tpu_studio.trainer.guardian.appending import EventsFile
from tpu_studio.trainer.guardian.child import Trainer
from tpu_studio.wire.claims import is_guarded, read_claim
from tpu_studio.wire.events import decode
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import claim_file, control_file, create_once, events_file, ledger_file, write_atomically

ROOT = Path(__file__).resolve().parents[3]
FAKE = ROOT / "tests" / "fakes" / "trainer.py"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "digits-k3f7"
    write_atomically(folder / "plan.json", dumps(plan()))
    return folder


def command(run: Path, *trainer: str, attempt: int = 1, options: tuple[str, ...] = ()) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tpu_studio.trainer.guardian",
        "--run",
        str(run),
        "--attempt",
        str(attempt),
        *options,
        "--",
        sys.executable,
        str(FAKE),
        "train",
        "--run",
        str(run),
        "--attempt",
        str(attempt),
        *trainer,
    ]


def guard(run: Path, *trainer: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(run, *trainer, **more), cwd=ROOT, timeout=PATIENCE_S, capture_output=True, text=True)


def started(run: Path, *trainer: str, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(run, *trainer, **more), cwd=ROOT, stderr=subprocess.DEVNULL)


def events(run: Path, attempt: int = 1) -> list[dict[str, Any]]:
    return [json.loads(line) for line in events_file(run, attempt).read_bytes().splitlines()]


def said(run: Path, kind: str, attempt: int = 1) -> list[dict[str, Any]]:
    if not events_file(run, attempt).exists():
        return []
    lines = events_file(run, attempt).read_bytes().split(b"\n")[:-1]
    return [event for line in lines if (event := json.loads(line))["kind"] == kind]


def test_a_run_to_its_end_has_every_point_once_and_the_end_as_its_last_line(run: Path) -> None:
    assert guard(run, "--steps", "20").returncode == 0

    lines = events(run)
    assert [step for line in lines if line["kind"] == "metric" for step in line["step"]] == list(range(1, 21))
    assert lines[-1]["kind"] == "end"
    assert (lines[-1]["status"], lines[-1]["reason"], lines[-1]["steps"]) == ("finished", "completed", 20)
    assert lines[-1]["final"] == {"loss": 0.05}
    assert not [line for line in lines if line["kind"] == "outcome"]


def test_the_claim_says_who_guards_and_its_lock_whether_it_lives(run: Path) -> None:
    process = started(run, "--steps", "100", "--step-s", "0.02")
    eventually(lambda: is_guarded(claim_file(run, 1)))
    claim = read_claim(claim_file(run, 1))
    assert claim is not None
    assert claim["pid"] == process.pid
    process.kill()
    process.wait()
    eventually(lambda: not is_guarded(claim_file(run, 1)))  # a child that it was just starting lets go with it


def test_a_second_guardian_of_the_same_attempt_leaves_without_harm(run: Path) -> None:
    first = started(run, "--steps", "30", "--step-s", "0.02")
    eventually(lambda: said(run, "metric"))
    assert guard(run, "--steps", "30").returncode == 5
    assert first.wait(30) == 0
    assert [step for line in said(run, "metric") for step in line["step"]] == list(range(1, 31))


def test_stop_and_keep_ends_the_run_with_its_result(run: Path) -> None:
    process = started(run, "--steps", "10000", "--step-s", "0.01")
    eventually(lambda: said(run, "metric"))
    create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
    assert process.wait(20) == 0
    assert (events(run)[-1]["status"], events(run)[-1]["reason"]) == ("stopped", "stopped-by-user")
    assert (run / "result" / "model.keras").exists()
    assert said(run, "control")[0]["number"] == 1


def test_a_run_that_was_stopped_while_it_waited_says_that_there_is_no_result(run: Path, tmp_path: Path) -> None:
    with open(tmp_path / "turnstile", "wb") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)
        process = started(run, options=("--turnstile", str(tmp_path / "turnstile")))
        eventually(lambda: any(line.get("detail") == "waiting for its turn" for line in said(run, "phase")))
        create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
        assert process.wait(20) == 0
    end = events(run)[-1]
    assert (end["reason"], end["facts"]["result"]) == ("stopped-by-user", False)
    assert say_reason(Reason(end["reason"]), end["facts"]).title == "You stopped it before a model was written"


def test_stop_and_discard_leaves_no_result(run: Path) -> None:
    process = started(run, "--steps", "10000", "--step-s", "0.01")
    eventually(lambda: said(run, "metric"))
    create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": False, "attempt": 1}).encode())
    assert process.wait(20) == 0
    assert events(run)[-1]["reason"] == "discarded"
    assert not (run / "result").exists()


def test_an_extension_while_it_runs_is_counted_once(run: Path) -> None:
    process = started(run, "--steps", "60", "--step-s", "0.02")
    eventually(lambda: said(run, "metric"))
    create_once(control_file(run, 1), json.dumps({"verb": "extend", "epochs": 2}).encode())
    assert process.wait(30) == 0
    assert events(run)[-1]["steps"] == 60 + 2 * 10


def test_an_extension_that_comes_while_the_result_is_saved_is_not_lost(run: Path) -> None:
    process = started(run, "--steps", "10", "--result-s", "1")
    eventually(lambda: any(line["phase"] == "saving" for line in said(run, "phase")))
    create_once(control_file(run, 1), json.dumps({"verb": "extend", "epochs": 2}).encode())
    assert process.wait(30) == 0
    assert (events(run)[-1]["reason"], events(run)[-1]["steps"]) == ("completed", 10 + 2 * 10)
    assert [step for line in said(run, "metric") for step in line["step"]] == list(range(1, 31))


def test_a_profile_reaches_the_trainer_of_its_attempt(run: Path) -> None:
    for number, attempt in ((1, 7), (2, 1)):
        asked = {"verb": "profile", "attempt": attempt}
        create_once(control_file(run, number), json.dumps(asked).encode())
    process = started(run, "--steps", "10000", "--step-s", "0.02")
    eventually(lambda: said(run, "metric"))
    assert said(run, "profile") == []  # those were there before a trainer was, and are nobody's
    create_once(control_file(run, 3), json.dumps({"verb": "profile", "attempt": 1}).encode())
    eventually(lambda: len(said(run, "profile")) == 2)
    assert [one["state"] for one in said(run, "profile")] == ["begun", "done"]
    create_once(control_file(run, 4), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
    assert process.wait(30) == 0


def test_a_profile_that_is_asked_for_with_the_stop_is_refused_in_an_event(run: Path) -> None:
    process = started(run, "--steps", "10000", "--step-s", "0.02", "--result-s", "2")
    eventually(lambda: said(run, "metric"))
    create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
    eventually(lambda: any(line["phase"] == "saving" for line in said(run, "phase")))
    create_once(control_file(run, 2), json.dumps({"verb": "profile", "attempt": 1}).encode())
    assert process.wait(30) == 0
    assert [(one["state"], one["why"]) for one in said(run, "profile")] == [("failed", "stopping")]


def test_an_old_stop_does_not_stop_a_later_attempt(run: Path) -> None:
    create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
    assert guard(run, "--steps", "5", attempt=2).returncode == 0
    assert events(run, 2)[-1]["reason"] == "completed"


def test_a_later_attempt_that_starts_over_says_so_before_its_first_point(run: Path) -> None:
    assert guard(run, "--steps", "3", attempt=2).returncode == 0
    kinds = [line["kind"] for line in events(run, 2)]
    assert kinds.index("resume") < kinds.index("metric")
    assert said(run, "resume", 2)[0]["step"] == 0


def test_the_money_limit_stops_and_keeps(run: Path) -> None:
    write_atomically(run / "plan.json", dumps(plan(limits={"money_usd": 0.001}, usd_per_hour=3.6)))  # 1 s
    assert guard(run, "--steps", "10000", "--step-s", "0.01").returncode == 0
    end = events(run)[-1]
    assert (end["status"], end["reason"], end["facts"]["money_usd"]) == ("stopped", "money-limit", 0.001)
    assert (run / "result" / "model.keras").exists()
    assert said(run, "money")[-1]["usd"] == pytest.approx(0.001, abs=0.002)
    assert json.loads(ledger_file(run, 1).read_bytes())["usd"] >= 0.001


def test_the_time_limit_counts_earlier_attempts(run: Path) -> None:
    write_atomically(run / "plan.json", dumps(plan(limits={"hours": 1.0})))
    write_atomically(ledger_file(run, 1), json.dumps({"elapsed_s": 3599.5}).encode())
    assert guard(run, "--steps", "10000", "--step-s", "0.01", attempt=2).returncode == 0
    assert events(run, 2)[-1]["reason"] == "time-limit"
    assert len(said(run, "metric", 2)) < 1000


def test_a_trainer_that_falls_silent_is_stuck_and_is_killed(run: Path) -> None:
    write_atomically(run / "plan.json", dumps(plan(limits={"idle_minutes": 0.02})))
    assert guard(run, "--steps", "50", "--at", "5:silence", options=("--grace", "0.5")).returncode == 0
    end = events(run)[-1]
    assert (end["status"], end["reason"], end["steps"]) == ("failed", "trainer-stuck", 5)


def test_a_trainer_that_ignores_stop_is_killed_and_the_end_says_so(run: Path) -> None:
    process = started(run, "--steps", "50", "--at", "5:silence", options=("--grace", "0.5"))
    eventually(lambda: len(said(run, "metric")) == 5)
    create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
    assert process.wait(20) == 0
    end = events(run)[-1]
    assert (end["reason"], end["facts"]["killed"], end["facts"]["signal"]) == ("stopped-by-user", True, "SIGKILL")


def test_an_exception_in_the_trainer_is_trainer_failed_with_its_last_words(run: Path) -> None:
    assert guard(run, "--at", "3:raise").returncode == 0
    end = events(run)[-1]
    assert (end["status"], end["reason"], end["steps"], end["facts"]["exit_code"]) == ("failed", "trainer-failed", 3, 1)
    assert end["facts"]["raw"].endswith("RuntimeError: the fake trainer was asked to fail")
    assert any("RuntimeError" in line["text"] for line in said(run, "log"))


def test_running_out_of_memory_in_python_is_out_of_memory(run: Path) -> None:
    assert guard(run, "--at", "3:memory-error").returncode == 0
    assert events(run)[-1]["reason"] == "out-of-memory"


def test_a_killed_trainer_without_a_checkpoint_ends_as_trainer_killed(run: Path) -> None:
    assert guard(run, "--at", "3:kill").returncode == 0
    end = events(run)[-1]
    assert (end["reason"], end["facts"]["signal"], end["steps"]) == ("trainer-killed", "SIGKILL", 3)


def test_a_killed_trainer_is_started_again_from_its_checkpoint(run: Path) -> None:
    assert guard(run, "--steps", "30", "--at", "7:kill").returncode == 0  # checkpoint at 5, so step 7 comes twice
    end = events(run)[-1]
    assert end["reason"] == "trainer-killed"  # the fake dies at step 7 each time, and saves nothing in between
    assert [line["id"] for line in said(run, "notice")] == ["trainer-restarted"]
    assert said(run, "resume")[0]["step"] == 5


def test_what_a_model_prints_becomes_a_log_line_and_no_event(run: Path) -> None:
    assert guard(run, "--at", "3:print").returncode == 0
    assert {"stream": "stdout", "text": "a model prints here"}.items() <= said(run, "log")[0].items()
    assert events(run)[-1]["reason"] == "completed"


def test_a_flood_on_stderr_is_cut_and_counted(run: Path) -> None:
    assert guard(run, "--at", "3:flood").returncode == 0
    texts = [line["text"] for line in said(run, "log")]
    assert len(texts) < 400
    assert max(len(text) for text in texts) < 2100
    assert any("left out" in text for text in texts)
    assert events(run)[-1]["reason"] == "completed"


def test_a_torn_last_line_of_an_earlier_guardian_is_cut_off(run: Path) -> None:
    path = events_file(run, 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"t":1,"kind":"phase","phase":"queued"}\n{"t":2,"kind":"met')
    assert guard(run, "--steps", "3").returncode == 0
    assert events(run)[0]["phase"] == "queued"
    assert events(run)[1]["phase"] == "setting-up"


@pytest.mark.parametrize("link", ["symlink", "hard link", "linked folder"])
def test_events_are_not_written_where_a_link_leads(run: Path, tmp_path: Path, link: str) -> None:
    own, path = tmp_path / "a0001-w000.jsonl", events_file(run, 1)
    own.write_bytes(b'{"t":1,"mine":true}\n{"t":2,"no newline":true}')
    if link == "linked folder":
        path.parent.symlink_to(tmp_path)
    else:
        path.parent.mkdir()
        os.link(own, path) if link == "hard link" else path.symlink_to(own)
    assert guard(run, "--steps", "3").returncode == 6
    assert own.read_bytes() == b'{"t":1,"mine":true}\n{"t":2,"no newline":true}'
    with pytest.raises(OSError):  # nor by an opener that looks at nothing else
        EventsFile(run, 1)
    assert own.read_bytes().endswith(b"true}")


@pytest.mark.parametrize("own", [b"alias ll='ls -l'\nexport EDITOR=vi", b"no newline at all"])
def test_a_file_that_is_no_log_of_events_is_neither_cut_nor_appended_to(run: Path, own: bytes) -> None:
    path = events_file(run, 1)
    path.parent.mkdir()
    path.write_bytes(own)
    assert guard(run, "--steps", "3").returncode == 6
    assert path.read_bytes() == own


@pytest.mark.parametrize("torn", [b'{"t', b'{"t":1.0,"kin', bytes(40)])
def test_a_log_whose_very_first_line_is_torn_is_begun_anew(run: Path, torn: bytes) -> None:
    path = events_file(run, 1)
    path.parent.mkdir()
    path.write_bytes(torn)
    assert guard(run, "--steps", "3").returncode == 0
    assert events(run)[0]["phase"] == "setting-up"


def test_a_clock_set_back_while_it_trains_and_before_it_is_extended_leaves_one_curve_forward(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = tmp_path / "clock"  # what every clock below is wrong by, in seconds
    hands.write_text("0")
    (tmp_path / "sitecustomize.py").write_text(
        f"import time\nreal = time.time\ntime.time = lambda: real() + float(open({str(hands)!r}).read() or 0)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = started(run, "--steps", "20", "--at", f"10:hold={tmp_path / 'go'}")
    eventually(lambda: any(10 in line["step"] for line in said(run, "metric")))
    hands.write_text("-3600")
    (tmp_path / "go").touch()
    assert process.wait(30) == 0
    hands.write_text("-7200")
    create_once(control_file(run, 1), json.dumps({"verb": "extend", "epochs": 1}).encode())
    assert guard(run, "--steps", "20", attempt=2).returncode == 0

    first, second = events(run), events(run, 2)
    times = [line["t"] for line in [*first, *second] if line["kind"] in ("metric", "phase", "end")]
    rounding_s = 0.002  # two processes tell milliseconds of one clock
    assert [(one, later) for one, later in pairwise(times) if later < one - rounding_s] == []
    assert times[-1] - times[0] < 300
    view = RunView()
    for event in [*first, *second]:
        view = apply(view, decode(json.dumps(event)) or pytest.fail("no event"))
    assert (view.attempt, view.step, view.end is not None and view.end.reason) == (2, 30, "completed")
    assert 0 < view.seconds(0.0) < 300


def test_sigterm_to_the_guardian_stops_and_keeps(run: Path) -> None:
    process = started(run, "--steps", "10000", "--step-s", "0.01")
    eventually(lambda: said(run, "metric"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    end = events(run)[-1]
    assert (end["reason"], end["facts"]["signal"]) == ("stopped-by-user", "SIGTERM")
    assert (run / "result" / "model.keras").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends the trainer with its guardian on Linux only")
def test_a_killed_guardian_takes_its_trainer_with_it(run: Path) -> None:
    process = started(run, "--steps", "10000", "--step-s", "0.01")
    eventually(lambda: said(run, "metric"))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.kill()
    process.wait()
    eventually(lambda: not any(alive(int(pid)) for pid in children))


def test_a_run_whose_folder_is_removed_ends_and_keeps_nobody_waiting(run: Path, tmp_path: Path) -> None:
    turnstile = tmp_path / "computer.lock"
    options = ("--turnstile", str(turnstile))
    training = started(run, "--steps", "100000", "--save-every", "100000", options=options)
    eventually(lambda: said(run, "metric"))
    waiting_run = tmp_path / "hands-9999"
    write_atomically(waiting_run / "plan.json", dumps(plan()))
    waiting = started(waiting_run, "--steps", "100000", options=options)
    eventually(lambda: said(waiting_run, "phase"))
    waiting_run.rename(tmp_path / "moved")
    assert waiting.wait(30) == 0
    assert said(tmp_path / "moved", "end")[0]["reason"] == "folder-unwritable"
    run.rename(tmp_path / "away")
    assert training.wait(30) == 0
    assert said(tmp_path / "away", "end")[0]["reason"] == "folder-unwritable"
    assert not run.exists()  # nor made anew


def test_a_run_waits_for_its_turn_and_can_be_stopped_while_it_waits(run: Path, tmp_path: Path) -> None:
    turnstile = ("--turnstile", str(tmp_path / "computer.lock"))
    other = tmp_path / "other-aaaa"
    write_atomically(other / "plan.json", dumps(plan()))
    first = started(other, "--steps", "10000", "--step-s", "0.01", options=turnstile)
    eventually(lambda: said(other, "metric"))
    second = started(run, "--steps", "5", options=turnstile)
    eventually(lambda: said(run, "phase"))
    assert said(run, "phase")[0]["phase"] == "queued"
    create_once(control_file(run, 1), json.dumps({"verb": "stop", "keep": True, "attempt": 1}).encode())
    assert second.wait(20) == 0
    assert events(run)[-1]["reason"] == "stopped-by-user"
    assert first.poll() is None
    first.terminate()
    assert first.wait(20) == 0


def test_the_next_in_line_starts_when_the_one_before_it_is_over(run: Path, tmp_path: Path) -> None:
    turnstile = ("--turnstile", str(tmp_path / "computer.lock"))
    other = tmp_path / "other-aaaa"
    write_atomically(other / "plan.json", dumps(plan()))
    first = started(other, "--steps", "40", "--step-s", "0.02", options=turnstile)
    eventually(lambda: said(other, "metric"))
    assert guard(run, "--steps", "5", options=turnstile).returncode == 0
    assert first.wait(20) == 0
    assert said(run, "metric")[0]["t"] >= events(other)[-1]["t"] - 0.01


def test_an_unreadable_plan_ends_the_run_with_its_reason(run: Path) -> None:
    (run / "plan.json").write_text("{")
    assert guard(run).returncode == 0
    assert events(run)[-1]["reason"] == "plan-unreadable"


def test_a_program_that_is_not_there_is_start_failed(run: Path) -> None:
    argv = [*command(run)[: command(run).index("--") + 1], "/no/such/python"]
    assert subprocess.run(argv, cwd=ROOT, timeout=PATIENCE_S).returncode == 0
    assert events(run)[-1]["reason"] == "start-failed"


def test_a_folder_that_cannot_be_made_is_told_in_the_log_and_by_the_exit_code(tmp_path: Path) -> None:
    in_the_way = tmp_path / "run"
    in_the_way.mkdir()
    (in_the_way / "claims").write_text("a file where a folder should be")
    result = guard(in_the_way)
    assert result.returncode == 6
    assert "folder-unwritable" in result.stderr


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not group by session")
def test_the_trainer_gives_way_to_the_window_and_not_only_within_its_own_session(monkeypatch) -> None:
    monkeypatch.setattr(os, "getpriority", lambda which, who: 7)  # a guardian that was started with --nice 7
    trainer = Trainer([sys.executable, "-c", "input()"])
    process = trainer._process
    try:
        assert Path(f"/proc/{process.pid}/autogroup").read_text().split()[-2:] == ["nice", "7"]
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

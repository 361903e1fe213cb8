"""The command line as scripts and people meet it: JSON keys, words, exit codes, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.terminal import JOB, ROOT, Terminal, hears_ctrl_c
from tests.fakes.waiting import PATIENCE_S, eventually
from tpu_studio.cli import running, trusting
from tpu_studio.cli.output import Output
from tpu_studio.domain.run import RunView

CANCELLED = (130, -signal.SIGINT)
"""A module that Python runs by ``-m`` ends itself by the signal, after all is said, where Ctrl-C came while a library
was running code from a text (as dataclasses do). A shell gives 130 for both; the installed command gives it alone."""
RESULT_KEYS = {"run", "status", "reason", "steps", "final", "examples_per_s", "cost_usd", "folder"}
TENSORFLOW_ON_V6E = ("--set", "training.framework=tensorflow", "--set", "where.accelerator=v6e-1")
PLAN_KEYS = {"place", "framework", "accelerator", "fits", "memory", "examples_per_s", "time_s", "cost_usd", "price"}
PLAN_KEYS |= {"checks", "alternatives", "verdict"}


def step_of(terminal: Terminal, run: str = "digits") -> int:
    code, told = terminal.json("show", run)
    return int(told["steps"]) if code == 0 else 0


def wait_for_steps(terminal: Terminal, steps: int) -> None:
    eventually(lambda: step_of(terminal) >= steps)


def test_run_watches_to_the_end_and_answers_with_exactly_the_promised_keys(terminal: Terminal) -> None:
    done = terminal.command("run", JOB, "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0
    assert set(told) == RESULT_KEYS
    assert (told["status"], told["reason"], told["steps"], told["final"]) == (
        "finished",
        "completed",
        20,
        {"loss": 0.05},
    )
    assert Path(told["folder"]).is_dir()


def test_while_watching_with_json_every_line_is_an_object(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "60", "--step-s", "0.05")
    done = terminal.run("run", JOB, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) >= 3
    assert {"run", "phase", "step", "steps", "metrics", "examples_per_s", "time_left_s", "cost_usd"} <= set(lines[1])
    assert set(lines[-1]) == RESULT_KEYS


def test_show_and_watch_tell_how_busy_the_chips_are(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "20", "--at", "8:chips")
    run = terminal.json("run", JOB)[1]["run"]
    chips = {"worker": 0, "duty_cycle": 0.71, "hbm_used_bytes": 9.1e9, "hbm_total_bytes": 1.6e10}
    _, told = terminal.json("show", run)
    assert (told["duty_cycle"], told["devices"]) == (0.71, [chips])
    assert running._line(run, RunView(devices={0: chips}), 0.0)["devices"] == [chips]
    assert "devices" not in running._line(run, RunView(), 0.0)
    assert running._line(run, RunView(flops_used=(4.1, 10.0)), 0.0)["mfu"] == pytest.approx(0.41)
    assert told["mfu"] is None and "mfu" not in running._line(run, RunView(), 0.0)
    said = " ".join(terminal.run("show", run).stdout.split())
    assert "Chips TPU busy 71% on average, memory up to 9.1 of 16.0 GB" in said


def test_plan_answers_with_the_promised_keys_and_starts_nothing(terminal: Terminal) -> None:
    code, told = terminal.json("plan", JOB, "--set", "training.epochs=2", "--no-measure")
    assert code == 0
    assert set(told) == PLAN_KEYS
    assert set(told["time_s"]) == {"low", "expected", "high"}
    assert terminal.json("runs")[1] == {"runs": []}


@pytest.mark.parametrize(
    ("arguments", "id"),
    [
        (("plan", "nowhere.tpujob"), "job-file-missing"),
        (("plan", JOB, "--set", "training.epoch=2"), "job-unknown-key"),
        (("run", JOB, "--set", "training.epochs=-2"), "job-out-of-range"),
        (("run", JOB, "--set", "nonsense"), "job-setting"),
        (("run", JOB, "--open"), "colab-only"),
        (("run", JOB, "--without-outside-stop"), "waiver-not-rented"),
        (("run", JOB, "--on", "cloud", "--without-outside-stop"), "needs-yes"),
        (("run", JOB, "--on", "cloud"), "needs-yes"),
        (("run", JOB, "--on", "cloud", "--yes", *TENSORFLOW_ON_V6E), "plan-has-errors"),
        (("plan", JOB, "--on", "mars"), "command-line"),
        (("convert", "nowhere", "out"), "data-missing"),
        (("frobnicate",), "command-line"),
        (("predict", "digits"), "command-line"),
    ],
)
def test_bad_input_is_exit_2_with_its_id_and_words(
    terminal: Terminal, arguments: tuple[str | Path, ...], id: str
) -> None:
    done = terminal.run(*arguments, "--json")
    error = json.loads(done.stdout.splitlines()[-1])["error"]
    assert (done.returncode, error["id"]) == (2, id)
    assert set(error) == {"id", "title", "meaning", "action", "facts"}
    assert error["title"] in done.stderr
    assert "Traceback" not in done.stderr


def test_tensorflow_on_a_tpu_it_does_not_drive_is_exit_2_and_names_the_option_that_helps(terminal: Terminal) -> None:
    job = ("--set", "training.framework=tensorflow", JOB)
    done = terminal.run("plan", "--on", "cloud", *TENSORFLOW_ON_V6E, JOB)
    assert done.returncode == 2 and "--set training.framework=jax" in done.stdout
    assert terminal.json("plan", "--on", "practice", "--no-measure", *job)[0] == 0
    done = terminal.run("plan", "--on", "cloud", *job)
    assert done.returncode == 0 and "by Google's recipe, not yet seen on a TPU" in done.stdout
    code, told = terminal.json("check", *TENSORFLOW_ON_V6E, JOB)  # asks about the model only
    found = next(check for check in told["checks"] if check["id"] == "place-needs-jax")
    assert (code, found["level"], found["fix"]) == (0, "warning", {"training.framework": "jax"})


def test_an_unknown_run_is_exit_1_and_names_the_nearest(terminal: Terminal) -> None:
    assert terminal.json("run", JOB)[0] == 0
    code, told = terminal.json("show", "digist")
    assert (code, told["error"]["id"]) == (1, "run-unknown")
    assert str(told["error"]["facts"]["nearest"]).startswith("digits-")


def test_without_an_engine_run_says_how_to_get_it(terminal: Terminal) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tpu_studio", "run", str(JOB), "--json"],
        cwd=ROOT,
        env=terminal.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 4
    assert json.loads(done.stdout.splitlines()[-1])["error"]["id"] == "engine-not-ready"
    assert "engine" in done.stderr
    assert terminal.json("runs")[1] == {"runs": []}


def test_a_failed_run_is_exit_1_with_its_reason(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "20", "--at", "3:raise")
    done = terminal.command("run", JOB, "--json")
    assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["reason"]) == (1, "trainer-failed")
    assert "Traceback" not in done.stderr


def test_of_a_run_that_failed_show_tells_what_its_log_means(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "20", "--at", "3:memory-error")
    code, told = terminal.json("run", JOB)
    assert (code, told["status"]) == (1, "failed")
    causes = terminal.json("show", told["run"])[1]["causes"]
    assert [cause["id"] for cause in causes] == ["host-oom"]
    assert "The computer's own memory was full" in terminal.run("show", told["run"]).stdout


def test_a_limit_is_exit_3(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "100000", "--step-s", "0.01")
    code, told = terminal.json("run", JOB, "--set", "where.usd_per_hour=3.6", "--set", "limits.money_usd=0.001")
    assert (code, told["reason"], told["status"]) == (3, "money-limit", "stopped")
    assert told["cost_usd"] >= 0.001


def test_ctrl_c_leaves_it_running_and_says_how_to_stop_it(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "100000", "--step-s", "0.01")
    process = terminal.start("run", JOB)
    wait_for_steps(terminal, 3)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in CANCELLED, words
    assert "goes on without this window" in words
    assert "tpu-studio stop digits-" in words
    before = step_of(terminal)
    assert terminal.json("runs")[1]["runs"][0]["alive"]
    wait_for_steps(terminal, before + 5)
    code, told = terminal.json("stop", "digits")
    assert (code, told["status"], told["reason"]) == (0, "stopped", "stopped-by-user")


def test_stop_on_interrupt_stops_and_keeps(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "100000", "--step-s", "0.01")
    process = terminal.start("run", JOB, "--stop-on-interrupt", "--json")
    wait_for_steps(terminal, 3)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert json.loads(said.splitlines()[-1])["reason"] == "stopped-by-user"


def test_an_interrupt_that_was_heard_while_python_made_a_class_keeps_the_exit_code(
    terminal: Terminal, tmp_path: Path
) -> None:
    """A script that ran the module saw -2 where its run was stopped and kept."""
    (tmp_path / "heard.py").write_text(
        "import sys\n"
        "from tpu_studio.cli import main, marking\n"
        "def heard(arguments, output):\n"
        "    try:\n"
        "        exec('import os, signal\\nos.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(10**6): pass')\n"
        "    except KeyboardInterrupt:\n"
        "        return 7\n"
        "marking.star = heard\n"
        "sys.exit(main.main(['star', 'x']))\n"
    )
    environment = terminal.environment | {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-m", "heard"], env=environment, preexec_fn=hears_ctrl_c, capture_output=True
    )
    assert done.returncode == 7, done.stderr


def test_limits_alone_add_no_training_to_a_run_and_are_refused_once_it_is_over(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "100000", "--step-s", "0.01")
    run = terminal.json("run", JOB, "--detach")[1]["run"]
    eventually(lambda: terminal.json("show", run)[1]["steps"])  # it says itself how many it makes, once it has begun
    planned = terminal.json("show", run)[1]["steps_planned"]
    assert terminal.json("extend", run, "--hours", "3", "--money", "7,50") == (0, {"run": run, "epochs": None})
    said = terminal.run("extend", run, "--hours", "2").stderr
    assert "trains as long as it would have; its time limit is 2 h now" in said
    folder = Path(terminal.json("show", run)[1]["folder"])
    told = [json.loads(path.read_bytes()) for path in sorted((folder / "control").glob("*.json"))]
    assert [one["verb"] for one in told] == ["limits", "limits"]
    assert terminal.json("show", run)[1]["steps_planned"] == planned
    assert terminal.run("stop", run).returncode == 0
    late = terminal.run("extend", run, "--hours", "2")
    assert late.returncode == 1 and "resume it with those limits" in late.stderr, late.stderr


def test_the_life_of_a_run(terminal: Terminal, tmp_path: Path) -> None:
    run = terminal.json("run", JOB)[1]["run"]
    assert terminal.json("extend", run, "--epochs", "1") == (0, {"run": run, "epochs": 1.0})
    code, told = terminal.json("watch", run)
    assert (code, told["steps"]) == (0, 30)
    rows = terminal.json("runs")[1]["runs"]
    assert [(row["run"], row["status"], row["steps"], row["attempt"]) for row in rows] == [(run, "finished", 30, 2)]
    assert terminal.json("export", run, tmp_path / "out") == (0, {"run": run, "folder": str(tmp_path / "out")})
    assert (tmp_path / "out" / "model.keras").exists()
    assert terminal.json("delete", run)[0] == 0
    assert terminal.json("runs")[1]["runs"] == []
    assert [one["run"] for one in terminal.json("runs", "--deleted")[1]["deleted"]] == [run]
    assert terminal.json("delete", "--undo", run[:-1]) == (0, {"run": run})  # a beginning, as everywhere
    assert terminal.json("show", run)[1]["plan"]["run"] == run
    assert terminal.run("show", run).stdout.startswith("Run")


def test_a_damaged_journal_is_told_kept_and_begun_anew(terminal: Terminal) -> None:
    run = terminal.json("run", JOB)[1]["run"]
    terminal.damage("journal")
    listed = terminal.run("runs", "--json")
    assert (listed.returncode, json.loads(listed.stdout)["runs"][0]["run"]) == (0, run)
    assert "“journal-damaged-1.db”" in listed.stderr
    assert (terminal.home / "journal-damaged-1.db").is_file()
    again = terminal.run("delete", run)
    assert (again.returncode, "journal" in again.stderr) == (0, False)


def test_where_nothing_can_be_changed_runs_can_still_be_looked_at_and_copied_out(
    terminal: Terminal, tmp_path: Path
) -> None:
    run = terminal.json("run", JOB)[1]["run"]
    terminal.damage("home")
    listed = terminal.run("runs", "--json")
    assert (listed.returncode, json.loads(listed.stdout)["runs"][0]["run"]) == (0, run)
    assert listed.stderr.startswith("Only reading: ")
    code, told = terminal.json("show", run)
    assert (code, told["status"], told["steps"]) == (0, "finished", 20)
    assert terminal.json("export", run, tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "model.keras").exists()
    code, told = terminal.json("delete", run)
    assert (code != 0, told["error"]["id"]) == (True, "journal-unreadable")
    assert (terminal.home / "runs" / run).is_dir()


def test_a_damaged_job_is_told_by_line(terminal: Terminal, tmp_path: Path) -> None:
    job = tmp_path / "broken.tpujob"
    job.write_text('format = 1\nname = "x"\n[model\n')
    code, told = terminal.json("plan", job)
    assert (code, told["error"]["id"], told["error"]["facts"]["line"]) == (2, "job-file-syntax", 3)


@pytest.mark.parametrize(
    ("argv", "raw", "help"),
    [
        (["shw"], "There is no verb “shw”; perhaps “show” is meant", "tpu-studio --help"),
        (["qqq"], "There is no verb “qqq”", "tpu-studio --help"),
        (["runs", "--foo"], "“runs” does not know --foo", "tpu-studio runs --help"),
    ],
)
def test_a_mistyped_command_names_what_may_be_meant(argv: list[str], raw: str, help: str) -> None:
    from tpu_studio.cli.parser import parse
    from tpu_studio.wire.errors import BadInput

    with pytest.raises(BadInput) as caught:
        parse(argv)
    assert caught.value.facts == {"raw": raw, "help": help}


VERBS = "plan run runs show watch stop extend resume profile delete export import convert engine predict explain "
VERBS += "compare"


@pytest.mark.parametrize("verb", VERBS.split())
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    from tpu_studio.cli.parser import parser

    subparsers = next(action for action in parser()._actions if action.dest == "verb")
    text = subparsers.choices[verb].format_help()  # type: ignore[index,union-attr,call-overload]
    assert f"example:\n  tpu-studio {verb}" in text
    assert "--json" in text


def test_the_command_line_loads_neither_qt_nor_a_framework(terminal: Terminal) -> None:
    code = (
        "import sys; from tpu_studio.cli.main import main; main(['runs'])\n"
        "import tpu_studio.cli.running, tpu_studio.cli.planning, tpu_studio.cli.engine, tpu_studio.local.computer\n"
        "print([name for name in ('PySide6','pyqtgraph','tensorflow','jax','keras') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=terminal.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout.splitlines()[-1] == "[]"


OWN = "[model]\nfile = 'model.py'\n[data]\nkind = 'digits'\n[training]\nepochs = 1\n"


def test_run_names_what_stands_in_the_way_and_what_to_do(terminal: Terminal) -> None:
    done = terminal.run("run", JOB, "--set", "training.global_batch=5000")
    assert done.returncode == 2
    assert "A step of 5,000 is more than the 1,438 pictures there are" in done.stderr
    assert "Take fewer per step." in done.stderr


def test_an_own_model_that_ends_its_program_is_named_as_what_stands_in_the_way(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text("import os\nos._exit(0)\n")
    (tmp_path / "own.tpujob").write_text(OWN)
    code, told = terminal.json("run", tmp_path / "own.tpujob", "--trust-code")
    assert (code, told["error"]["id"]) == (2, "plan-has-errors")
    assert "model.py" in told["error"]["meaning"]
    assert terminal.json("runs")[1] == {"runs": []}


def test_a_key_in_an_own_model_is_pointed_out_and_never_told(terminal: Terminal, tmp_path: Path) -> None:
    key = "hf_" + "a1B2" * 9
    (tmp_path / "model.py").write_text(f"print('in with', '{key}')\nraise RuntimeError('401 for {key}')\n")
    (tmp_path / "own.tpujob").write_text(OWN)
    done = terminal.run("plan", tmp_path / "own.tpujob", "--trust-code")
    assert done.returncode == 2
    assert "seems to hold a password or an access key in line 1" in done.stderr
    assert key not in done.stdout + done.stderr
    assert "model-file-secret" in {one["id"] for one in terminal.json("plan", tmp_path / "own.tpujob")[1]["checks"]}
    kept = [file for file in terminal.home.rglob("*") if file.is_file()]
    assert [file for file in kept if key.encode() in file.read_bytes()] == []


def test_the_name_of_an_own_model_forges_no_line_of_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("model.py\n  It was checked by TPU Studio and reaches nothing.\u2028.py")
    assert not trusting.ask(path, "this-computer", Output(as_json=False))
    said = capsys.readouterr().err
    assert "model.py   It was checked" in said and "\u2028" not in said


def test_planning_an_own_model_nobody_agreed_to_builds_nothing_and_tells_how_to_agree(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "own.tpujob").write_text(OWN)
    code, told = terminal.json("plan", tmp_path / "own.tpujob")
    assert code == 0
    assert "model-file-consent" in {check["id"] for check in told["checks"]}
    assert "--trust-code" in terminal.run("plan", tmp_path / "own.tpujob").stderr
    assert not (tmp_path / "ran").exists()


def test_a_terminal_that_knows_few_letters_gets_codes_for_the_others(terminal: Terminal) -> None:
    terminal.told["PYTHONIOENCODING"] = "ascii:strict"
    done = terminal.command("plan", JOB, "--no-measure")
    assert done.returncode == 0
    assert "Cost         nothing, it is this computer" in done.stdout and "\\u2013" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize(("verb", "code"), [(("runs",), 1), (("show", "nowhere"), 1), (("plan", "nowhere"), 2)])
def test_an_answer_that_cannot_be_written_is_told_without_a_traceback(
    terminal: Terminal, verb: tuple[str, ...], code: int, more: tuple[str, ...]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            terminal.argv(*verb, *more),
            cwd=ROOT,
            env=terminal.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
        )
    assert "Traceback" not in done.stderr
    assert "went wrong" not in done.stderr
    assert done.returncode == code


def test_ctrl_c_while_a_run_is_being_started_tells_which_run_goes_on(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "3000", "--step-s", "0.02")
    process = terminal.start("run", JOB, "--json")
    runs = terminal.home / "runs"
    eventually(lambda: runs.exists() and any(runs.iterdir()))
    process.send_signal(signal.SIGINT)
    said, words = process.communicate(timeout=PATIENCE_S)
    run = next(runs.iterdir()).name
    assert process.returncode in CANCELLED, words
    assert json.loads(said.splitlines()[-1])["run"] == run
    assert f"{run} goes on without this window" in words


@pytest.mark.parametrize(
    ("arguments", "id"),
    [
        (("--prompt", "hello"), "predict-wrong-kind"),
        (("--row", "a=1"), "predict-wrong-kind"),
        (("x.png", "--length", "0"), "predict-bad-question"),
        (("x.png", "--temperature", "nan"), "predict-bad-question"),
        (("x.png", "--seed=-1"), "predict-bad-question"),
    ],
)
def test_a_question_that_the_model_cannot_take_is_refused_before_it_is_woken(
    terminal: Terminal, arguments: tuple[str, ...], id: str
) -> None:
    terminal.json("run", JOB)
    code, told = terminal.json("predict", "digits", *arguments)
    assert (code, told["error"]["id"]) == (2, id)


def test_a_profile_is_told_in_three_sentences_with_its_shares(terminal: Terminal) -> None:
    terminal.trainer = ("--steps", "100000", "--step-s", "0.02")
    run = terminal.json("run", JOB, "--detach")[1]["run"]
    eventually(lambda: terminal.json("show", run)[1]["status"] == "training")
    code, told = terminal.json("profile", run)
    assert (code, told["run"]) == (0, run)
    assert (told["profile"]["steps"], told["profile"]["on"]) == (24, "cpu")
    assert sum(told["profile"]["shares"].values()) == pytest.approx(1.0)
    assert len(told["sentences"]) == 3 and list(told["remedy"]["changes"]) == ["training.global_batch"]
    assert told["trace"].startswith(str(Path(terminal.json("show", run)[1]["folder"]) / "profile"))
    assert terminal.json("show", run)[1]["profile"] == told["profile"]
    said = terminal.run("profile", run)
    assert "multiplies matrices 50% of the time" in said.stdout and "The raw trace: " in said.stdout
    terminal.run("stop", run)
    refused, answer = terminal.json("profile", run)
    assert (refused, answer["error"]["id"]) == (1, "run-is-over")

"""``run --on colab`` and ``import`` of a zip, as scripts and people meet them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fuzz.runs import finished
from tests.fakes.plans import plan
from tpu_studio.cli.main import main
from tpu_studio.cli.running import DETACHED
from tpu_studio.wire.plan import dumps

ROOT = Path(__file__).resolve().parents[3]
JOB = ROOT / "resources" / "examples" / "digits.tpujob"


def _run(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """In this process, and nobody can be asked."""
    argv, out, err = [*map(str, arguments)], io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPU_STUDIO_HOME", str(home))
        patch.setenv("TPU_STUDIO_ENGINE", str(home / "no-engine"))
        patch.setattr(sys, "stdin", io.StringIO())
        patch.chdir(ROOT)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(argv)
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


WHOLE = {"damaged": None, "replaced": None}


def _json(home: Path, *arguments: str | Path) -> tuple[int, Any]:
    done = _run(home, *arguments, "--json")
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_a_notebook_is_written_and_the_run_waits_until_its_own_zip_comes(tmp_path: Path) -> None:
    home, notebook = tmp_path / "home", tmp_path / "it.ipynb"
    done = _run(home, "run", JOB, "--on", "colab", "--notebook", notebook, "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    run = told["run"]
    assert (done.returncode, told["status"], told["notebook"], told["data"]) == (0, "queued", str(notebook), None)
    assert "September 2025" in done.stderr
    assert "Nothing is charged" in done.stderr
    assert json.loads(notebook.read_bytes())["metadata"]["colab"]["gpuType"] == "V5E1"
    code, shown = _json(home, "show", run)
    assert (code, shown["detail"], shown["cost_usd"]) == (0, "waiting-for-colab", 0.0)
    assert "Waiting for its result from Colab" in _run(home, "runs").stdout

    frozen = (home / "runs" / run / "plan.json").read_bytes()
    path = tmp_path / f"{run}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{run}/plan.json", frozen)
        end = {"t": 2e9, "kind": "end", "attempt": 1, "status": "finished", "reason": "completed", "steps": 9}
        archive.writestr(f"{run}/events/a0001-w000.jsonl", json.dumps({**end, "final": {}, "facts": {}}) + "\n")
    assert _json(home, "import", path) == (0, {"run": run, "already": False, "left_out": [], **WHOLE})
    assert _json(home, "import", path, "--run", run) == (
        0,
        {"run": run, "already": True, "left_out": [], **WHOLE},
    )
    assert _json(home, "show", run)[1]["status"] == "finished"


def test_a_notebook_is_never_overwritten_and_no_run_is_left(tmp_path: Path) -> None:
    home, notebook = tmp_path / "home", tmp_path / "it.ipynb"
    notebook.write_text("mine")
    code, told = _json(home, "run", JOB, "--on", "colab", "--notebook", notebook)
    assert (code, told["error"]["id"], notebook.read_text()) == (2, "notebook-exists", "mine")
    assert _json(home, "runs")[1] == {"runs": []}


def test_plan_answers_for_the_free_chip(tmp_path: Path) -> None:
    code, told = _json(tmp_path / "home", "plan", JOB, "--on", "colab")
    assert (code, told["place"], told["accelerator"], told["framework"]) == (0, "colab", "v5litepod-1", "jax")
    assert (told["cost_usd"]["high"], told["fits"]) == (0.0, True)


def test_ctrl_c_behind_the_last_step_of_an_import_is_told_with_what_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    path, rename = tmp_path / "it.zip", os.rename
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("digits-abcd/plan.json", dumps(plan().launched("digits-abcd", 1e9, "0")))

    def interrupted(source: Path, target: Path) -> None:
        other = target.with_name("another-aaaa")  # another program's, which comes meanwhile
        other.mkdir()
        (other / "plan.json").write_bytes(dumps(plan().launched("another-aaaa", 1e9, "0")))
        rename(source, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", interrupted)
        assert main(["import", str(path)]) == DETACHED
    told = capsys.readouterr().err
    assert "digits-abcd had been taken in by then; tpu-studio delete digits-abcd removes it." in told
    assert "another-aaaa" not in told
    assert main(["delete", "digits-abcd"]) == 0
    assert not (tmp_path / "home" / "runs" / "digits-abcd").exists()


def test_a_copy_that_differs_is_told_and_takes_the_place_of_the_run_here_by_an_option(tmp_path: Path) -> None:
    home, friend = tmp_path / "home", finished(tmp_path / "there")
    assert _run(home, "import", friend).returncode == 0
    here = home / "runs" / friend.name / "events" / "a0001-w000.jsonl"
    here.write_bytes(here.read_bytes()[: here.stat().st_size // 3])
    done = _run(home, "import", friend)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"“{friend.name}” is here already, and the copy differs." in done.stderr
    assert "the copy at step 20." in done.stderr and "--replace" in done.stderr
    done = _run(home, "import", friend, "--replace")
    assert (done.returncode, done.stdout) == (0, f"{friend.name}\n")
    assert f"is in the trash as {friend.name}-2. Restore it: tpu-studio delete --undo" in done.stderr
    here.write_bytes(here.read_bytes() + b'{"t":2e9,"kind":"metric","step":[21],"loss":[0.01]}\n')
    done = _run(home, "import", friend)
    assert (done.returncode, done.stdout) == (0, f"{friend.name}\n")
    assert "was here already, and holds more. The run here ends at step 21, the copy at step 20." in done.stderr

"""No Python of ours takes modules from the folder that it happens to stand in, whoever wrote what lies there."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tpu_studio
from tests.fakes.plans import plan
from tests.fakes.studio import ThisPython
from tests.fakes.waiting import eventually
from tpu_studio.local.computer import Computer
from tpu_studio.trainer.guardian.vm import environment
from tpu_studio.wire import ownpython
from tpu_studio.wire.plan import dumps

PACKAGE = Path(tpu_studio.__file__).resolve().parent
NOT_OURS = {  # what starts "-m" or "-c" and is no Python of ours
    "practice/machines/image.py": "unshare -m, sh -c",
    "trainer/guardian/vm/environment.py": "of an image, may be older than -P: in a neutral folder",
}
BEGIN = """
import contextlib, multiprocessing, os
from tpu_studio.__main__ import main
if __name__ == "__main__":
    with contextlib.suppress(SystemExit):
        main(["--version"])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(os.getcwd))
"""
TRAP = "import os\nopen(os.environ['CANARY'], 'a').write(__file__)\n"


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once a module of the hostile folder ran."""
    path = tmp_path / "canary"
    monkeypatch.setenv("CANARY", str(path))
    monkeypatch.delenv(ownpython.SAFE_PATH, raising=False)  # as a person starts us
    return path


def hostile(folder: Path) -> Path:
    """*folder* with modules in it that Python and we import by these names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("argparse", "json", "signal", "pickle", "runpy"):
        (folder / f"{name}.py").write_text(TRAP)
    for name in ("tpu_studio", "multiprocessing"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(TRAP)
    return folder


def test_the_trap_snaps_where_nobody_guards_the_door(tmp_path: Path, canary: Path) -> None:
    subprocess.run([sys.executable, "-m", "json.tool", "--help"], cwd=hostile(tmp_path / "x"), capture_output=True)
    assert canary.exists()


def test_a_run_folder_with_modules_in_it_runs_none_of_them(tmp_path: Path, canary: Path) -> None:
    run = hostile(tmp_path / "home" / "runs" / "friendly-k3f7")
    (run / "plan.json").write_bytes(dumps(plan()))
    trainer = ownpython.module(sys.executable, "tests.fakes.trainer")
    done = run / "events" / "a0001-w000.jsonl"
    Computer(tmp_path / "home", ThisPython(), trainer=lambda folder, attempt: trainer).start(run, 1, beside=True)
    eventually(lambda: done.exists() and '"end"' in done.read_text(), lambda: (run / "guardian.log").read_text())
    assert not canary.exists()


def test_the_program_and_what_it_starts_take_nothing_from_the_working_folder(tmp_path: Path, canary: Path) -> None:
    """Also the workers of multiprocessing, which Python starts by ``-c``."""
    here = hostile(tmp_path / "download")
    (tmp_path / "begin.py").write_text(BEGIN)
    command = [sys.executable, str(tmp_path / "begin.py")]
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    said = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)
    assert said.stdout.strip().endswith("download"), said.stderr
    assert not canary.exists()


def test_only_absolute_ways_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "lib", "/opt/theirs"]))
    environment = ownpython.environment()
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(PACKAGE.parent), "/opt/theirs"]
    assert environment["PYTHONSAFEPATH"] == "1"


def test_an_interpreter_is_named_by_its_whole_path() -> None:
    with pytest.raises(ValueError, match="python3"):
        ownpython.module("python3", "tpu_studio")


def test_an_environment_is_made_with_nothing_from_the_working_folder(
    tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Colab that is the folder of what was uploaded."""
    monkeypatch.chdir(hostile(tmp_path / "content"))
    told = {"CANARY": str(canary)}
    monkeypatch.setattr(environment, "_KEPT", (*environment._KEPT, "CANARY"))
    assert environment._can_make(sys.executable)
    environment._run([sys.executable, "-m", "json.tool", "--help"], told, lambda line: None, lambda: None)
    assert not canary.exists()


def test_there_is_no_other_door() -> None:
    """Each command line with ``-m`` or ``-c`` has ``-P`` or ``-I`` before it, or is named above."""
    others = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in NOT_OURS and path.name != "ownpython.py"
        for line in unguarded(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not others, json.dumps(others, indent=1)


def unguarded(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple)):
            words = [one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if {"-m", "-c"} & set(words) and not {"-P", "-I"} & set(words):
                yield node.lineno

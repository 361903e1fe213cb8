"""guardian.pyz: small, the same bytes each time, and at home on a Python 3.10 with nothing installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.waiting import PATIENCE_S
from tools.build_guardian import LIMIT_BYTES, build
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import events_file, write_atomically

FAKE = Path(__file__).resolve().parents[2] / "fakes" / "trainer.py"


def oldest_python() -> str | None:
    """A Python 3.10 that starts, wherever this machine has one."""
    for candidate in (
        os.environ.get("TPU_STUDIO_PYTHON310"),
        shutil.which("python3.10"),
        *map(str, Path.home().glob(".pyenv/versions/3.10*/bin/python3.10")),
    ):
        if (
            candidate
            and subprocess.run(
                [candidate, "-c", "import sys; sys.exit(sys.version_info[:2] != (3, 10))"], capture_output=True
            ).returncode
            == 0
        ):
            return candidate
    return None


def test_it_is_small_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    one, two = build(tmp_path / "one.pyz"), build(tmp_path / "two.pyz")
    assert one.stat().st_size < LIMIT_BYTES
    assert one.read_bytes() == two.read_bytes()


def test_it_has_all_that_its_modules_import_and_nothing_that_none_does(tmp_path: Path) -> None:
    archive = build(tmp_path / "guardian.pyz")
    with zipfile.ZipFile(archive) as opened:
        modules = [one.removesuffix(".py").replace("/", ".") for one in opened.namelist() if one != "__main__.py"]
    names = [one.removesuffix(".__init__") for one in modules if not one.endswith(".__main__")]
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); [__import__(one) for one in {names}]"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, cwd=tmp_path)
    assert "tpu_studio.wire.presets" in names and "tpu_studio.wire.hdf5" not in names


@pytest.mark.parametrize("which", ["this Python", "Python 3.10"])
def test_it_guards_a_run_with_nothing_installed(tmp_path: Path, which: str) -> None:
    python = sys.executable if which == "this Python" else oldest_python()
    if python is None:
        pytest.skip("no Python 3.10 on this machine")
    run = tmp_path / "digits-k3f7"
    write_atomically(run / "plan.json", dumps(plan()))
    archive = build(tmp_path / "guardian.pyz")
    argv = [
        python,
        "-I",
        "-S",
        str(archive),
        "--run",
        str(run),
        "--attempt",
        "1",
        "--",
        sys.executable,
        str(FAKE),
        "train",
        "--run",
        str(run),
        "--attempt",
        "1",
        "--steps",
        "10",
    ]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    last = json.loads(events_file(run, 1).read_bytes().splitlines()[-1])
    assert (last["kind"], last["reason"], last["steps"]) == ("end", "completed", 10)

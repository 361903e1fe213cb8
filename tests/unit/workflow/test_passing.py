"""What an import leaves among the runs when the system ends it: gone after an hour, never that of one at work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import studio_in
from tests.fakes.studio import Studio
from tests.unit.workflow.test_bringing import zipped
from tpu_studio.workflow import passing

# the import as the program does it, killed as soon as there is something of it
_KILLED = """
import os, sys
from pathlib import Path
from tpu_studio.workflow import bringing, zips
def killed(*_): os.kill(os.getpid(), 9)
path, runs = Path(sys.argv[1]), Path(sys.argv[2])
if path.is_dir():
    bringing.bring(path, runs, "aaaaaaaa", 0.0, killed)
with zips.unzipped(path, runs, killed):
    pass
"""


def aged(folder: Path, seconds: float) -> None:
    os.utime(folder, (time.time() - seconds,) * 2)


@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_what_a_killed_import_leaves_is_removed_after_an_hour(
    studio: Studio, trained: Path, tmp_path: Path, as_zip: bool
) -> None:
    runs = studio.runs.runs_folder
    path = zipped(trained, tmp_path / "it.zip") if as_zip else trained
    done = subprocess.run([sys.executable, "-c", _KILLED, path, runs], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = (one for one in runs.iterdir() if one.name.startswith("."))
    assert any(one.is_file() for one in left.rglob("*"))
    passing.sweep(runs, time.time())
    assert left.is_dir()  # it may be at work, in a version that holds no lock
    aged(left, 3700)
    passing.sweep(runs, time.time())
    assert not left.exists()


@pytest.mark.parametrize("kind", ["importing", "unzipping"])
def test_each_start_removes_it(tmp_path: Path, kind: str) -> None:
    left = tmp_path / "home" / "runs" / f".{kind}-digits-k3f7-0a1b2c3d"
    (left / "events").mkdir(parents=True)
    aged(left, 10 * 365 * 86400.0)
    studio = studio_in(tmp_path / "home")
    try:
        studio.runs.reconcile()
        assert not left.exists()
    finally:
        studio.close()


def test_one_that_is_at_work_stays(tmp_path: Path) -> None:
    with passing.folder(tmp_path, "importing") as here:
        (here / "file").write_bytes(b"x")
        aged(here, 3 * 3600)
        passing.sweep(tmp_path, time.time())
        assert (here / "file").exists()
        os.rename(here, tmp_path / "digits-k3f7")
    assert [one.name for one in tmp_path.iterdir()] == ["digits-k3f7"]


def test_a_link_of_that_name_leads_nowhere(tmp_path: Path) -> None:
    mine, runs = tmp_path / "mine", tmp_path / "runs"
    mine.mkdir()
    runs.mkdir()
    (mine / "file").write_bytes(b"x")
    aged(mine, 3 * 3600)
    (runs / ".importing-x").symlink_to(mine)
    passing.sweep(runs, time.time())
    assert (mine / "file").exists()

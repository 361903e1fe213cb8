"""A home that cannot be written: every verb says so by its folder, what only looks still looks, nothing is begun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
JOB = str(ROOT / "resources" / "examples" / "digits.tpujob")
MAY_NOT = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]  # root may write anywhere, unless it gives that up


def as_a_person() -> list[str] | None:
    """What goes before a command so that permissions hold for it; None: there is no way here."""
    if sys.platform == "win32":
        return None
    if os.geteuid():
        return []
    tried = shutil.which("setpriv") and subprocess.run([*MAY_NOT, "true"], capture_output=True).returncode == 0
    return MAY_NOT if tried else None


pytestmark = pytest.mark.skipif(as_a_person() is None, reason="permissions do not hold for whom we are")


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def tpu_studio(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TPU_STUDIO_HOME": str(home)}
    command = [*(as_a_person() or []), sys.executable, "-m", "tpu_studio", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("doctor", "--on", "practice"), "."),
        (("doctor",), "not-there-yet"),
        (("sweep", "--on", "practice"), "."),
        (("stop", "digits"), "not-there-yet"),
    ],
)
def test_what_would_begin_something_says_which_folder_and_begins_nothing(
    closed: Path, arguments: tuple[str, ...], name: str
):
    home = closed / name
    told = tpu_studio(home, *arguments)
    assert told.returncode == 4, told.stderr
    assert "TPU Studio may not write into its folder" in told.stderr and str(home) in told.stderr
    assert "TPU_STUDIO_HOME" in told.stderr and "went wrong" not in told.stderr
    assert list(closed.iterdir()) == []


def test_what_only_looks_still_looks(closed: Path):
    told = tpu_studio(closed, "runs")
    assert (told.returncode, told.stdout.strip()) == (0, "No runs yet.")
    assert told.stderr.startswith("Only reading: TPU Studio may not write into its folder")
    told = tpu_studio(closed, "plan", JOB, "--on", "practice", "--no-measure")
    assert told.returncode == 0 and "Cap" in told.stdout

"""A small dose of every target of `make fuzz`, from a seed: FUZZ_TIMES and FUZZ_SEED make it more, or others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.fuzz.registry import TARGETS
from tests.fakes.fuzz.target import dose

ROOT = Path(__file__).resolve().parents[2]
TIMES = int(os.environ.get("FUZZ_TIMES", "0"))
DOSE = {
    "verbs": 2,
    "folders": 12,
    "databases": 12,
    "bucket": 8,
    "events": 15,
    "http": 20,
    "words": 300,
    "logs": 6,
    "columnar": 4,
}
"""Times; others 25: a fifth of a second for each of them."""
SEED = int(os.environ.get("FUZZ_SEED", "1"))


@pytest.mark.filterwarnings("ignore:.*:UserWarning:PIL")
@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    dose(TARGETS[name](tmp_path), name, SEED, TIMES or DOSE.get(name, 25))


def test_a_crash_is_told_saved_and_can_be_repeated(tmp_path: Path) -> None:
    tool = [sys.executable, str(ROOT / "tools" / "fuzz.py")]
    asked = [*tool, "--only", "crashes", "--first", "--seed", "3", "--jobs", "1", "--out", str(tmp_path)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (folder, *_) = sorted(tmp_path.iterdir())
    assert [path.read_bytes() for path in folder.glob("001-*")] == [b"7"]
    repeat = (folder / "told.txt").read_text().splitlines()[0].split()[-1]
    again = subprocess.run([*tool, "--repeat", repeat], capture_output=True, text=True, check=False)
    assert again.returncode != 0 and "ZeroDivisionError: seven" in again.stderr

"""What `make` says before it does what takes minutes: nobody waits before a silent terminal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import tpu_studio

ROOT = Path(tpu_studio.__file__).parent.parent


def commands(target: str) -> list[str]:
    """What `make` would run for *target* where nothing is there yet; nothing is run."""
    told = subprocess.run(
        ["make", "--dry-run", "--always-make", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [line for line in told.stdout.splitlines() if not line.startswith("touch ")]


def test_each_step_of_the_environment_says_first_what_it_does_and_how_long_that_takes() -> None:
    steps = commands("env")
    said, done = steps[::2], steps[1::2]
    assert len(said) == len(done) == 4
    for number, line in enumerate(said, 1):
        assert re.match(rf'echo "{number} of 4: .+ \(.*(seconds|minutes?).*\)"', line), line
    assert not any(line.startswith("echo") for line in done)
    assert done[2] == "sh tools/install_packages.sh" and "pip install" in done[3]


def test_the_demo_says_it_of_each_of_its_parts() -> None:
    steps = commands("demo")
    for program in ("engine --install", "tools/demo.py"):
        at = next(number for number, line in enumerate(steps) if program in line)
        assert steps[at - 1].startswith('echo "The ') and "minutes" in steps[at - 1]

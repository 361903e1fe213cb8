"""The command line with the trainer that counts instead of training, in this process or as a command of its own:
``python -m tests.fakes.terminal OPTIONS -- ARGUMENTS``."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.studio import TRAINER, ThisPython
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cli import studio
from tpu_studio.cli.main import main
from tpu_studio.local import computer

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "resources" / "examples" / "digits.tpujob"


class Terminal:
    """Runs verbs in one home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.told = {
            "TPU_STUDIO_HOME": str(home),
            "TPU_STUDIO_ENGINE": str(home / "no-engine"),
            "PYTHONPATH": str(ROOT),
        }
        self.trainer: tuple[str, ...] = ("--steps", "20")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.told}

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "tests.fakes.terminal", *self.trainer, "--", *map(str, arguments)]

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """In this process: a second less than `command`, which what hangs on a process of its own needs."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.told.items():
                patch.setenv(name, value)
            patch.chdir(ROOT)
            use_fake(self.trainer, patch.setattr)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([*map(str, arguments)])
        return subprocess.CompletedProcess([*map(str, arguments)], code, out.getvalue(), err.getvalue())

    def json(self, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
        done = self.run(*arguments, "--json")
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    def command(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """As a shell does it."""
        return subprocess.run(
            self.argv(*arguments),
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*arguments),
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hears_ctrl_c,
        )

    def damage(self, what: str) -> None:
        """The journal: no database. The home: neither journal nor index can be opened, as where nothing may be written
        (which root always may)."""
        for name in ("journal.db", "index.db") if what == "home" else ("journal.db",):
            for path in self.home.glob(f"{name}*"):
                path.unlink()
            if what == "home":
                (self.home / name).mkdir()
            else:
                (self.home / name).write_text("no database at all, but long enough to look like a damaged one" * 20)


def hears_ctrl_c() -> None:
    """As a terminal starts it: what runs in the background of a script is deaf to Ctrl-C, and so is what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def use_fake(options: tuple[str, ...], put: Callable[[object, str, object], None] = setattr) -> None:
    """From now on, in this process, runs are guarded as always but count instead of training."""

    def argv(folder: Path, attempt: int) -> list[str]:
        return [sys.executable, str(TRAINER), "train", "--run", str(folder), "--attempt", str(attempt), *options]

    put(studio.Studio, "engine", property(lambda self: ThisPython()))
    put(computer, "Computer", functools.partial(computer.Computer, trainer=argv, guardian=("--grace", "2")))


if __name__ == "__main__":
    split = sys.argv.index("--")
    use_fake(tuple(sys.argv[1:split]))
    sys.exit(main(sys.argv[split + 1 :]))

"""This computer as a place: starts the guardian of an attempt, detached, in the training engine's Python.

The guardian then needs nobody: neither this process nor the window. Runs wait for their turn at one lock file in the
home folder, in the kernel's own order, unless they are started beside the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import tpu_studio
from tpu_studio.local.answering import end_of
from tpu_studio.local.sources import installed_copy, kept_copy
from tpu_studio.wire import ownpython, places
from tpu_studio.wire.claims import is_guarded
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.homes import home_folder
from tpu_studio.wire.plainfiles import open_to_append
from tpu_studio.wire.runfolder import claim_file

START_WITHIN_S = 20.0  # a claim takes 0.2 s; a computer that is busy starting frameworks takes its time
NICE = 5  # of guardian and trainer, beside the window and what else a person does
_LOG_TAIL = 2000
_CLAIMED_ALREADY = 5


class EngineLike(Protocol):
    """What is needed of `local.engine.Engine`."""

    def python(self) -> Path:
        """The interpreter of the engine. Raises NotReady."""
        ...


def local_places(home: Path, engine: EngineLike) -> dict[str, Computer]:
    """The places of this computer, by their ids in a plan."""
    return {places.default().id: Computer(home, engine)}


class Computer:
    """The place ``computer``.

    Args:
        home: Folder of the turnstile lock.
        trainer: Command line of the trainer for a run folder and attempt, for tests; the real one by default.
        guardian: More arguments for the guardian.
    """

    def __init__(
        self,
        home: Path,
        engine: EngineLike,
        *,
        trainer: Callable[[Path, int], Sequence[str]] | None = None,
        guardian: Sequence[str] = (),
    ) -> None:
        self._home, self._engine = home, engine
        self._trainer, self._guardian = trainer, tuple(guardian)

    def check_ready(self) -> None:
        self._engine.python()

    def start(self, folder: Path, attempt: int, *, beside: bool) -> None:
        """See `workflow.ports.Place`."""
        python = str(self._engine.python())
        trainer = (
            list(self._trainer(folder, attempt))
            if self._trainer
            else ownpython.module(
                python, "tpu_studio.trainer", "train", "--run", folder, "--attempt", str(attempt), "--worker", "0"
            )
        )
        turnstile = [] if beside else ["--turnstile", str(self._home / "computer.lock")]
        argv = [
            *ownpython.module(python, "tpu_studio.trainer.guardian", "--run", folder),
            "--attempt",
            str(attempt),
            "--detach",
            "--nice",
            str(NICE),
            *turnstile,
            *self._guardian,
            "--",
            *trainer,
        ]
        log = folder / "guardian.log"
        try:
            with open_to_append(log) as output:
                started = subprocess.run(
                    argv,
                    cwd=ownpython.NEUTRAL_FOLDER,
                    env=trainer_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    timeout=START_WITHIN_S,
                )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RunError("start-failed", raw=str(error)) from error
        if started.returncode not in (0, _CLAIMED_ALREADY):
            raise RunError("start-failed", exit_code=started.returncode, raw=_tail(log))

    def is_alive(self, folder: Path, attempt: int) -> bool:
        return is_guarded(claim_file(folder, attempt))


def trainer_environment() -> dict[str, str]:
    """The environment of guardian and trainer: ours, without what would lead Python or a framework astray.

    Thread counts (``OMP_NUM_THREADS`` …) are the person's own business and stay.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    environment["PYTHONPATH"] = str(package_folder())
    environment[ownpython.SAFE_PATH] = "1"
    environment["PYTHONUNBUFFERED"] = "1"
    environment.setdefault("JAX_PLATFORMS", "cpu")
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return environment


def package_folder() -> Path:
    """The folder that holds ``tpu_studio`` as files, from source, installed, or unpacked beside a frozen program."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen is not None:
        return kept_copy(Path(frozen) / "engine-source", home_folder() / "programs")
    package = Path(tpu_studio.__file__).resolve().parent
    if (package / "resources").is_dir():  # in site-packages (`wire.resources`), not a checkout
        return installed_copy(package, tpu_studio.__version__, home_folder() / "programs")
    return package.parent


_LEFT_OUT = frozenset(
    {
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTHONINSPECT",
        "PYTHONWARNINGS",
        "PYTHONOPTIMIZE",
        "VIRTUAL_ENV",
        "__PYVENV_LAUNCHER__",
        "LD_PRELOAD",
        "XLA_FLAGS",
        "TF_CONFIG",
        "KERAS_BACKEND",
        "TPU_NAME",
        "QT_QPA_PLATFORM",
    }
)


def _tail(log: Path) -> str:
    try:
        return end_of(log, _LOG_TAIL).decode("utf-8", "replace").strip()
    except OSError as error:
        return str(error)

"""Asks the training program short questions about a plan: how long a step takes, what the model is made of.

Each is one subprocess of the engine that prints one JSON object. Timings are remembered in ``timings/`` of the home
folder by all that a step's time depends on; give them up at any time by deleting the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tpu_studio.local.answering import end_of
from tpu_studio.local.computer import NICE, EngineLike, trainer_environment
from tpu_studio.local.modelfacts import ModelFacts
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.claims import this_machine
from tpu_studio.wire.errors import ModelError, RunError, StudioError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.records import record_of
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.schema import step_values

LIMIT_S = 300.0
_WAY = 2  # of timing; 2: as nice as a run, and a copy and a result are written too. Others are timed anew


class Stopwatch:
    """Args:
    command: How the training program is started with the engine's Python, for tests.
    """

    def __init__(
        self, home: Path, engine: EngineLike, *, command: Sequence[str] = ("-P", "-m", "tpu_studio.trainer")
    ) -> None:
        self._folder, self._engine, self._command = home / "timings", engine, tuple(command)
        self._models = ModelFacts(home)

    def time(self, plan: Plan, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> Mapping[str, object]:
        """Time real steps for about *seconds*, compiling and start-up aside; the trainer's one JSON object.

        Raises:
            StudioError: what the trainer says is wrong; ``timing-cancelled``; NotReady without an engine; RunError
            ``timing-failed``.
        """
        found = self._ask(plan, ["time", "--seconds", f"{seconds:g}", "--nice", str(NICE)], cancelled)
        with suppress(OSError):  # a full disk: then it is timed again next time
            write_atomically(self._file(plan), json.dumps(found).encode() + b"\n")
        return found

    def known(self, plan: Plan) -> Mapping[str, object] | None:
        """What `time` found for the same model, batch and data on this computer, if it was ever asked."""
        try:
            found = record_of("timing", read_json(self._file(plan)))
            Timing.from_json(found)
        except (OSError, ValueError):
            return None
        return found

    def inspect(self, plan: Plan, cancelled: Callable[[], bool] = lambda: False) -> Mapping[str, object]:
        """Build the plan's model only: what it is made of and what it works (``trainer.work``), or ``problem`` with
        ``facts``. What was counted in the same model before is not counted again. Raises as `time`."""
        return self._models.of(plan) or self._models.keep(plan, self._ask(plan, ["inspect"], cancelled))

    def counted(self, plan: Plan) -> Mapping[str, object] | None:
        """What `inspect` or a check has counted in the plan's model before."""
        return self._models.of(plan)

    def _file(self, plan: Plan) -> Path:
        depends = step_values(plan.job.values)
        content = [
            _WAY,
            depends,
            plan.framework,
            plan.devices,
            plan.task,
            plan.own_sha256,
            plan.data.get("fingerprint"),
            this_machine()["host"],
            os.cpu_count(),
        ]
        return (
            self._folder
            / f"{hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:32]}.json"
        )

    def _ask(self, plan: Plan, question: Sequence[str], cancelled: Callable[[], bool]) -> Mapping[str, object]:
        python = str(self._engine.python())
        with tempfile.TemporaryDirectory(prefix="tpu-studio-") as folder:
            file, said, words = Path(folder) / "plan.json", Path(folder) / "answer", Path(folder) / "words"
            file.write_bytes(dumps(plan))
            argv = [python, *self._command, question[0], "--plan", str(file), *question[1:]]
            with open(said, "wb") as out, open(words, "wb") as err:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=folder,
                    env=trainer_environment(),
                    start_new_session=True,
                )
                try:
                    _wait(process, cancelled)
                finally:
                    _end(process)
            return _answer(process.returncode, said.read_bytes(), end_of(words))


def _wait(process: subprocess.Popen[bytes], cancelled: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None:
        if cancelled():
            raise StudioError("timing-cancelled")
        if time.monotonic() > deadline:
            raise RunError("timing-failed", raw=f"no answer within {LIMIT_S:.0f} s")
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it stays behind, whatever way we leave."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _answer(code: int, said: bytes, words: bytes) -> Mapping[str, object]:
    lines = said.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        found = None
    if isinstance(found, dict):
        error = found.get("error")
        if not error:
            return found
        if isinstance(error, dict) and isinstance(error.get("id"), str):
            facts = error.get("facts")
            kind = ModelError if error["id"].startswith("model-") else StudioError
            raise kind(error["id"], **(facts if isinstance(facts, dict) else {}))
    raise RunError("timing-failed", exit_code=code, raw=words[-2000:].decode("utf-8", "replace").strip())

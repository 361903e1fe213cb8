"""Asks `trainer.check` about a plan: shapes, operations, and what the real TPU compiler says of its memory.

A subprocess of the TPU compiler's environment, for TensorFlow of the one that lowers it for a TPU, or of the training
engine where that is not installed (then without the compiler). Whatever it does, compiler crash or a person's model
that never returns, forks, prints or fills the memory, ends with it, within a time and a size. Answers are kept in
``checks/`` of the home folder by all that they depend on: the same question again takes no process.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import psutil

from tpu_studio.local.computer import trainer_environment
from tpu_studio.local.engine import EngineState
from tpu_studio.local.modelfacts import ModelFacts, source_sha256
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.schema import step_values
from tpu_studio.wire.secrets import without_secrets

TAG = "TPU_STUDIO_CHECK"  # in the environment of every process of one check, also of those that left its session
TRACE_LIMIT_S = 240.0  # model and tracing: seconds for models of ours; a person's build_model has its own 55 s inside
COMPILE_LIMIT_S = 1800.0  # convolution nets take minutes
SEARCH_LIMIT_S = 120.0  # for the largest batch; until then there is a guess
MOST_PROCESSES = 24  # of one check: JAX itself starts none
LOOK_EVERY_S = 0.1
_COUNT_EVERY_S = 0.5
ADDRESS_SPACE = 48 << 30  # beyond what JAX and libtpu reserve (9 GB), below any array of 100 GB
_TAIL_LINES = 400
WORDS = 100_000  # of the last that a check wrote


# The answer changes with these parts of our own source.
_SOURCES = (
    "trainer/check",
    "trainer/models",
    "trainer/work",
    "trainer/step_jax.py",
    "trainer/step_tf.py",
    "trainer/maths.py",
    "trainer/recipe.py",
    "trainer/state.py",
    "trainer/backend.py",
)


@dataclass(frozen=True)
class Slice:
    """What to compile for, as the catalogue knows it."""

    accelerator: str
    generation: str
    topology: str
    devices: int
    matrix_unit: int = 128
    compiler: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        names = ("accelerator", "generation", "topology", "devices", "compiler")
        return {name: getattr(self, name) for name in names}


def slice_of(plan: Plan) -> Slice | None:
    """The slice of a plan for a TPU, for the compiler; None on this computer."""
    if places.by_id(plan.place).local:
        return None
    from tpu_studio.domain.catalogue import catalogue

    part = catalogue().slice(plan.accelerator)
    chip = catalogue().generation(part.generation)
    return Slice(
        part.accelerator_type, part.generation, part.topology, part.devices, chip.matrix_unit, dict(chip.compiler)
    )


@dataclass(frozen=True)
class Bounds:
    """How much one check may take; *memory_bytes* of all its processes together."""

    trace_s: float = TRACE_LIMIT_S
    compile_s: float = COMPILE_LIMIT_S
    search_s: float = SEARCH_LIMIT_S
    memory_bytes: int = 0
    processes: int = MOST_PROCESSES

    @property
    def most_bytes(self) -> int:
        return self.memory_bytes or max(4 << 30, int(psutil.virtual_memory().total * 0.7))


class Environment(Protocol):
    """What is needed of `local.engine.Engine`."""

    def state(self) -> EngineState: ...

    def python(self) -> Path:
        """Raises NotReady."""
        ...


class Preflight:
    """Args:
    tf_compiler: Lowers TensorFlow for *compiler*.
    command: How the check is started with an environment's Python, for tests.
    """

    def __init__(
        self,
        home: Path,
        engine: Environment,
        compiler: Environment,
        *,
        tf_compiler: Environment | None = None,
        bounds: Bounds | None = None,
        command: Sequence[str] = ("-P", "-m", "tpu_studio.trainer.check"),
    ) -> None:
        self._folder, self._engine, self._models = home / "checks", engine, ModelFacts(home)
        self._compiler, self._tf_compiler = compiler, tf_compiler
        self._bounds, self._command = bounds or Bounds(), tuple(command)

    def known(self, plan: Plan, target: Slice | None) -> Mapping[str, object] | None:
        """The kept answer to this very question: same plan parts, data, slice, versions and source."""
        try:
            found = read_json(self._file(plan, target))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("traced"), dict) else None

    def ask(
        self,
        plan: Plan,
        target: Slice | None,
        *,
        largest_batch: bool = False,
        stage: Callable[[str], None] = lambda name: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Mapping[str, object]:
        """The answer: ``traced`` and, where there is a compiler, ``compiled`` and ``largest_batch``, as `trainer.check`
        tells them; ``ended`` when it was ended from outside, with the id of why and its facts; ``compiler``: ready, or
        why there is none.

        Raises:
            NotReady: neither environment is there. StudioError: ``check-cancelled``.
        """
        needed = self._needed(plan)
        missing = {name: state.status for name, (_, state) in needed.items() if not state.is_ready}
        first, state = next(iter(needed.values()))  # which traces, and for JAX compiles
        python = (first if state.is_ready else self._engine).python()
        question: dict[str, object] = {
            "plan": plan.to_json(),
            "target": target.to_json() if target and not missing else None,
            "matrix_unit": target.matrix_unit if target else 128,
            "largest_batch": largest_batch,
            "memory_bytes": ADDRESS_SPACE,
        }
        if not frameworks.by_id(plan.framework).leads_on_chip and not missing:
            question["compiler_python"] = str(self._compiler.python())
        told = _Asking(python, self._command, question, self._bounds, stage, cancelled).answer()
        told["compiler"] = next(iter(missing.values()), "ready")
        if why := next((state for _, state in needed.values() if not state.is_ready and state.problem), None):
            told["compiler_problem"] = {"problem": why.problem, "detail": why.detail}
        if "ended" in told and state.is_ready:  # it ran in the compiler's environment, not in the training engine
            told["ended"]["facts"] |= {"missing": sorted(needed), "status": "broken"}
        told["missing"] = sorted(missing)
        known = (frameworks.by_id(plan.framework).on_tpu,)
        told["versions"] = {} if missing else {name: state.versions.get(name, "") for name in (*known, "libtpu")}
        damaged = (told.get("compiled") or {}).get("problem") == "compiler-damaged"  # not for long
        done = target is None or "compiled" in told or not _may_compile(told.get("traced") or {})
        if (work := (told.get("traced") or {}).get("work")) and self._models.of(plan) is None:
            self._models.keep(plan, work)
        if "traced" in told and done and not damaged:
            with suppress(OSError):  # a full disk: then it is asked again next time
                write_atomically(self._file(plan, target), json.dumps(told).encode() + b"\n")
        return told

    def _needed(self, plan: Plan) -> dict[str, tuple[Environment, EngineState]]:
        """The environments that a compiler's answer takes, the one that traces first."""
        found = {"tpu-compiler": self._compiler}
        if not frameworks.by_id(plan.framework).leads_on_chip and self._tf_compiler is not None:
            found = {"tf-tpu-compiler": self._tf_compiler, **found}
        return {name: (one, one.state()) for name, one in found.items()}

    def _file(self, plan: Plan, target: Slice | None) -> Path:
        depends = step_values(plan.job.values)
        names = ("jax", "tensorflow-tpu", "libtpu", "keras")
        versions = [
            {name: state.versions.get(name) for name in names} if state.is_ready else None
            for _, state in self._needed(plan).values()
        ]
        content = [
            depends,
            plan.framework,
            plan.task,
            plan.own_sha256,
            plan.data.get("fingerprint"),
            target.to_json() if target else None,
            versions,
            source_sha256(_SOURCES),
        ]
        text = json.dumps(content, sort_keys=True, default=str)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _may_compile(traced: Mapping[str, Any]) -> bool:
    return not traced.get("problems") and not any(one.get("level") == "error" for one in traced.get("operations", ()))


class _Asking:
    """One subprocess, from its start to the end of everything it started."""

    def __init__(
        self,
        python: Path,
        command: Sequence[str],
        question: Mapping[str, object],
        bounds: Bounds,
        stage: Callable[[str], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._argv = [str(python), *command]
        self._question, self._bounds, self._stage, self._cancelled = question, bounds, stage, cancelled
        self._tag = hashlib.sha256(os.urandom(16)).hexdigest()[:24]
        self._own_file = _own_file(question)
        self.told: dict[str, Any] = {}
        self._now = "starting"

    def answer(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="tpu-studio-") as folder:
            file = Path(folder) / "question.json"
            file.write_text(json.dumps({**self._question, "asker": os.getpid()}), encoding="utf-8")
            process = subprocess.Popen(
                [*self._argv, "--question", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=_environment() | {TAG: self._tag, "TMPDIR": folder},
                start_new_session=True,
            )
            assert process.stdout is not None and process.stderr is not None
            words: deque[str] = deque(maxlen=_TAIL_LINES)
            readers = [
                threading.Thread(target=self._read, args=(process.stdout,), name="check-answers", daemon=True),
                threading.Thread(target=_keep_tail, args=(process.stderr, words), name="check-words", daemon=True),
            ]
            for reader in readers:
                reader.start()
            try:
                ended = self._wait(process)
            finally:
                end_all(self._tag, process)
                for reader in readers:
                    reader.join(5.0)
                process.stdout.close()
                process.stderr.close()
        searched = self._now == "largest-batch" and "compiled" in self.told  # what breaks now costs the search only
        if ended is None and process.returncode != 0 and not searched:
            facts = {"exit_code": process.returncode, "raw": without_secrets("\n".join(words))[-WORDS:]}
            ended = {"id": self._crashed(), "facts": facts}
        if ended is None and "traced" not in self.told:
            ended = {"id": "check-failed", "facts": {"raw": without_secrets("\n".join(words))[-WORDS:]}}
        if ended is not None:
            if self._own_file is not None:
                ended["facts"].setdefault("file", self._own_file)
            self.told["ended"] = ended
        return self.told

    def _crashed(self) -> str:
        if self._now in ("compiling", "largest-batch"):
            return "check-compiler-crashed"
        return "model-ended" if self._own_file else "check-failed"

    def _wait(self, process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
        """Until it has ended; what it was ended for, if it did not end by itself."""
        begun = counted = time.monotonic()
        told_stage = ""
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_EVERY_S)
                return None
            if self._now != told_stage:
                told_stage = self._now
                begun = time.monotonic() if told_stage in ("compiling", "largest-batch", "model") else begun
                self._stage(told_stage)
            if self._cancelled():
                raise StudioError("check-cancelled")
            compiling = told_stage in ("compiling", "largest-batch")
            limit_s = self._bounds.compile_s if compiling else self._bounds.trace_s
            now = time.monotonic()
            if told_stage == "largest-batch" and now - begun > self._bounds.search_s:
                return None  # the answer is there already
            if now - begun > limit_s:
                id = "check-compiler-slow" if compiling else "model-stuck" if self._own_file else "check-slow"
                return {"id": id, "facts": {"seconds": round(limit_s), "limit_s": round(limit_s)}}
            if now - counted < _COUNT_EVERY_S:
                continue
            counted = now
            found = members(self._tag, process.pid)
            if len(found) > self._bounds.processes:
                return {"id": "model-forks", "facts": {"count": len(found)}}
            if (used := _resident(found)) > self._bounds.most_bytes:
                id = "check-compiler-memory" if compiling else "model-memory"
                return {"id": id, "facts": {"bytes": used, "limit_bytes": self._bounds.most_bytes}}

    def _read(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            with suppress(ValueError):
                told = json.loads(line)
                if "stage" in told:
                    self._now = str(told["stage"])
                elif told.get("answer") == "largest-batch":
                    self.told["largest_batch"] = told
                elif "answer" in told:
                    self.told[str(told["answer"])] = told


def members(tag: str, pid: int) -> list[psutil.Process]:
    """Living processes of one check: the first, its descendants, and whoever carries its tag."""
    found: dict[int, psutil.Process] = {}
    with suppress(psutil.Error):
        first = psutil.Process(pid)
        found.update((one.pid, one) for one in [first, *first.children(recursive=True)])
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid not in found and process.environ().get(TAG) == tag:
                found[process.pid] = process
    return [one for one in found.values() if _lives(one)]


def end_all(tag: str, process: subprocess.Popen[bytes]) -> None:
    """Nothing of a check stays behind, whatever it forked."""
    for _ in range(50):
        with suppress(ProcessLookupError, PermissionError):
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
        found = [one for one in members(tag, process.pid) if one.pid != process.pid or process.returncode is None]
        for one in found:
            with suppress(psutil.Error):
                one.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        if not found:
            break
    process.wait()


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return False


def _resident(processes: Iterable[psutil.Process]) -> int:
    total = 0
    for one in processes:
        with suppress(psutil.Error):
            total += one.memory_info().rss
    return total


def _keep_tail(pipe: IO[bytes], words: deque[str]) -> None:
    """A person's model may print a million lines: read them all, keep the last."""
    while chunk := pipe.readline(4096):
        words.append(chunk.decode("utf-8", "replace").rstrip())


def _own_file(question: Mapping[str, Any]) -> str | None:
    job = question["plan"].get("job")
    model = job.get("model") if isinstance(job, Mapping) else None
    return str(model["file"]) if isinstance(model, Mapping) and model.get("file") else None


def _environment() -> dict[str, str]:
    """Without what would have JAX load another libtpu than that of the compiler's environment, or change its ways."""
    found = trainer_environment()
    others = [name for name in found if name.startswith(("TPU_", "LIBTPU_")) and not name.startswith("TPU_STUDIO_")]
    return {name: value for name, value in found.items() if name not in others}

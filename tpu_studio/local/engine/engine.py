"""Install, repair and remove the training engine (see the package's first lines for how it is called).

An engine is a venv at `<root>/main`. It counts from the moment `engine.json` stands beside it, which is written
last, after a self-test. A venv cannot be moved, so it is built in its final place; the engine it replaces waits in
`main.previous` and is put back when the new one fails. `.lock` is held meanwhile, also by pip, so that two
installers, or an installer and an orphaned pip, never write at once.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tpu_studio.local.engine import processes
from tpu_studio.local.engine.integrity import damaged_packages
from tpu_studio.local.engine.lock import Lock, read_lock
from tpu_studio.local.engine.pip import Pip, free_bytes, no_disk
from tpu_studio.local.engine.progress import Cancelled, Progress, ProgressSink
from tpu_studio.local.engine.pythons import SystemPython, find_python
from tpu_studio.local.engine.spec import COMPILER, EXTRAS, TF_COMPILER, EngineSpec, shipped_spec
from tpu_studio.local.engine.state import EngineState, Paths, installed_versions, read_state, write_record
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.exports import ModelFormat
from tpu_studio.wire.homes import make_engine_root

_SELF_TEST_S = 600.0  # the first import compiles thousands of files: 3 to 13 s on two busy cores
_VENV_BYTES = 50_000_000  # venv hides the reason when it fails for want of room
_LOCK_PATIENCE_S = 1.0  # a glance by `state()` elsewhere holds the lock for an instant


def compiler(root: Path) -> Engine:
    """The TPU compiler's environment beside the training engine in *root*; neither needs the other."""
    return extra(root, COMPILER)


def tf_compiler(root: Path) -> Engine:
    """What lowers TensorFlow for a TPU, beside the training engine in *root*."""
    return extra(root, TF_COMPILER)


def extra(root: Path, name: str) -> Engine:
    """The environment *name* of `spec.EXTRAS`, in a folder of its own in *root*."""
    spec = EXTRAS[name]()
    return Engine(root / name, replace(spec, minor=Paths(root).minor) if spec.read_by_engine else spec)


def packages_for(root: Path, form: ModelFormat) -> Path | None:
    """Where the packages lie that write *form*; None: the engine in *root* has them.

    Raises:
        NotReady: That of their environment, ``onnx-exporter-not-ready``; ``engine-not-ready``.
    """
    if not form.packages:
        return None
    Engine(root).python()
    return extra(root, form.packages).python().parent.parent / "lib" / f"python{Paths(root).minor}" / "site-packages"


class Engine:
    """The engine in *root*. Every method may be called from any thread; the long ones block the calling one."""

    def __init__(self, root: Path, spec: EngineSpec | None = None) -> None:
        self.root = root
        self.paths = Paths(root)
        self._spec = spec or shipped_spec()

    def state(self) -> EngineState:
        """Where the engine stands; a few milliseconds, starts nothing."""
        if self.somebody_installs():
            return EngineState("installing")
        return read_state(self.paths, read_lock(self._spec.lock), self._spec.minor)

    @property
    def spec(self) -> EngineSpec:
        return self._spec

    def python(self) -> Path:
        """The interpreter to start trainers with.

        Raises:
            NotReady: `engine-not-ready`, or that of the environment: `tpu-compiler-not-ready` (facts: status, problem,
                folder).
        """
        state = self.state()
        if not state.is_ready:
            id = f"{self._spec.name}-not-ready"
            raise NotReady(id, status=state.status, problem=state.problem, folder=str(self.root))
        return self.paths.python

    def install(self, progress: ProgressSink, cancelled: Cancelled, wheels: Path | None = None) -> None:
        """Bring the engine to the state `ready`; at once when it is.

        An environment that has every locked package but was never tested (made by hand, or the installer died after
        pip) is tested and counts; anything else is built anew.

        Args:
            progress: Called from this thread, about ten times a second.
            cancelled: Asked about ten times a second; True ends everything within 3 seconds, and nothing is left
                but the files fetched so far, from which the next try goes on.
            wheels: Folder with every file of the lock, used instead of the network.

        Raises:
            NotReady: engine-no-python, engine-no-venv, engine-no-wheels (system without an engine),
                engine-no-disk, engine-folder-unwritable, engine-offline, engine-install-failed,
                engine-self-test-failed, engine-busy, engine-in-use.
            StudioError: engine-cancelled.
        """
        with self.alone() as guard:
            job = _Job(self.paths, self._spec, progress, cancelled, guard, wheels)
            state = read_state(self.paths, job.lock, self._spec.minor)
            if state.is_ready:
                return
            if job.has_every_package():
                job.test_and_record()
            else:
                job.build()

    def repair(self, progress: ProgressSink, cancelled: Cancelled, wheels: Path | None = None) -> list[str]:
        """Check every file, replace damaged packages, test; build anew when that is not enough.

        Returns:
            The packages that were replaced (empty: nothing was wrong). Raises as `install`.
        """
        with self.alone() as guard:
            job = _Job(self.paths, self._spec, progress, cancelled, guard, wheels)
            _refuse_while_in_use(self.paths)
            damaged = job.damaged()
            if not job.has_interpreter() or set(damaged) & {"pip", "setuptools"} or len(damaged) > 20:
                job.build()
                return sorted(job.lock.packages)
            try:
                self.paths.record.unlink(missing_ok=True)
                if damaged:
                    job.pip().reinstall(damaged)
                job.test_and_record()
            except NotReady as error:
                if error.id not in ("engine-self-test-failed", "engine-install-failed"):
                    raise
                job.build()
                return sorted(job.lock.packages)
            return damaged

    def remove(self) -> None:
        """Delete the engine; pip's cache stays. Raises NotReady: engine-busy, engine-in-use."""
        if not self.root.exists():
            return
        with self.alone():
            _refuse_while_in_use(self.paths)
            self.paths.record.unlink(missing_ok=True)
            for folder in (self.paths.main, self.paths.previous, self.paths.temporary, self.paths.wheels):
                delete_folder(folder)
            self.paths.log.unlink(missing_ok=True)

    def somebody_installs(self) -> bool:
        try:
            with open(self.paths.lock, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        return False

    @contextmanager
    def alone(self) -> Iterator[int]:
        """Hold the engine's lock; clean up after an installer that died; name what the disk refuses."""
        try:
            make_engine_root(self.root)
            descriptor = os.open(self.paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _disk_error(self.root, error) from error
        try:
            _take(descriptor, self.root)
            self._recover()
            yield descriptor
        except OSError as error:
            raise self._with_room(_disk_error(self.root, error)) from error
        except StudioError as error:
            raise self._with_room(error) from error.__cause__
        finally:
            delete_folder(self.paths.temporary)
            os.close(descriptor)

    def _with_room(self, error: StudioError) -> StudioError:
        """Tell what it is about, and the room as it is now that the leftovers are gone, and what is needed."""
        if self._spec.name != "engine":
            error.facts["what"] = self._spec.name
        if error.id == "engine-no-disk":
            delete_folder(self.paths.wheels)
            error.facts.update(free_bytes=free_bytes(self.root), needed_bytes=self._spec.needed_bytes)
        return error

    def _recover(self) -> None:
        """An installer died while it replaced an engine: the one that counts stays."""
        if self.paths.previous.exists():
            if self.paths.record.exists():
                delete_folder(self.paths.previous)
            else:
                put_back(self.paths)


class _Job:
    """One installation or repair, under the lock."""

    def __init__(
        self,
        paths: Paths,
        spec: EngineSpec,
        progress: ProgressSink,
        cancelled: Cancelled,
        guard: int,
        wheels: Path | None,
    ) -> None:
        self.paths, self.spec, self.progress, self.cancelled = paths, spec, progress, cancelled
        self.guard, self.wheels = guard, wheels
        self.lock: Lock = read_lock(spec.lock)

    def has_interpreter(self) -> bool:
        minor = self.paths.minor
        return self.paths.python.exists() and minor in self.lock.pythons and self.spec.minor in ("", minor)

    def has_every_package(self) -> bool:
        installed = installed_versions(self.paths.main)
        # Another pip or setuptools makes no other engine: an environment made by hand keeps its own.
        return self.has_interpreter() and all(
            installed.get(name) == package.version or (name in ("pip", "setuptools", "wheel") and name in installed)
            for name, package in self.lock.packages.items()
        )

    def pip(self) -> Pip:
        return Pip(self.paths, self.lock, self.paths.minor, self.progress, self.cancelled, self.guard, self.wheels)

    def damaged(self) -> list[str]:
        total = len(self.lock.packages)

        def tell(number: int, name: str) -> None:
            if self.cancelled():
                raise StudioError("engine-cancelled")
            self.progress(Progress("checking", number, total, name=name))

        return damaged_packages(self.paths.main, self.lock, tell)

    def build(self) -> None:
        """Build `main` from nothing and test it; on any failure the folder is as it was before."""
        self.progress(Progress("preparing"))
        python = self._python_for_it()
        free = free_bytes(self.paths.root)
        if free < self.spec.needed_bytes:
            raise no_disk(self.paths.root)
        _refuse_while_in_use(self.paths)
        self.paths.log.unlink(missing_ok=True)
        set_aside(self.paths)
        try:
            self._make_venv(python)
            self.pip().install_all()
            self.test_and_record()
        except BaseException:
            delete_folder(self.paths.temporary)
            put_back(self.paths)
            raise
        delete_folder(self.paths.previous)

    def _python_for_it(self) -> SystemPython:
        system, machine = platform.system(), platform.machine()
        if (system, machine) != ("Linux", "x86_64") or platform.libc_ver()[0] != "glibc":
            raise NotReady("engine-no-wheels", system=system, machine=machine)
        if self.spec.read_by_engine and not self.spec.minor:
            raise NotReady("engine-not-ready", status="missing", problem="", folder=str(self.paths.root.parent))
        wanted = (self.spec.minor,) if self.spec.minor else self.lock.pythons
        return find_python(wanted, [self.spec.python] if self.spec.python else None)

    def _make_venv(self, python: SystemPython) -> None:
        code, said = processes.run(
            [python.path, "-I", "-m", "venv", self.paths.main],
            env=processes.clean_environment(TMPDIR=str(self._temporary())),
            log=self.paths.log,
            on_line=lambda _: None,
            cancelled=self.cancelled,
            keep_open=(self.guard,),
        )
        if code != 0:
            if "No space left" in said or free_bytes(self.paths.root) < _VENV_BYTES:
                raise no_disk(self.paths.root, raw=said)
            raise NotReady(
                "engine-install-failed",
                problem="venv",
                package="",
                exit_code=code,
                raw=said,
                folder=str(self.paths.root),
                log=str(self.paths.log),
            )

    def test_and_record(self) -> None:
        """Let the engine prove itself, then make it count."""
        self.progress(Progress("testing"))
        seen: list[str] = []

        def read(line: str) -> None:
            if line.startswith("testing "):  # "testing 2 of 5: jax"
                words = line.replace(":", "").split()
                self.progress(Progress("testing", int(words[1]) - 1, int(words[3]), name=words[4]))
            elif line.startswith("{"):
                seen.append(line)

        code, said = processes.run(
            [self.paths.python, "-I", "-u", self.spec.self_test],
            env=processes.clean_environment(
                TMPDIR=str(self._temporary()), JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2"
            ),
            log=self.paths.log,
            on_line=read,
            cancelled=self.cancelled,
            keep_open=(self.guard,),
            deadline_s=_SELF_TEST_S,
        )
        tested = _json_object(seen[-1]) if code == 0 and seen else None
        if tested is None:
            part = next((line.split()[4] for line in reversed(said.splitlines()) if line.startswith("testing ")), "")
            if "No space left" in said:
                raise no_disk(self.paths.root, raw=said)
            raise NotReady(
                "engine-self-test-failed",
                part=part,
                exit_code=code,
                raw=said,
                folder=str(self.paths.root),
                log=str(self.paths.log),
            )
        write_record(self.paths, self.lock, str(tested["python"]), tested)
        delete_folder(self.paths.wheels)

    def _temporary(self) -> Path:
        make_engine_root(self.paths.root)
        self.paths.temporary.mkdir(exist_ok=True)
        return self.paths.temporary


def set_aside(paths: Paths) -> None:
    """Move an engine that counts out of the way, and delete one that does not."""
    if paths.record.exists() and paths.main.exists():
        os.replace(paths.record, paths.main / paths.record.name)
        os.replace(paths.main, paths.previous)
    else:
        paths.record.unlink(missing_ok=True)
        delete_folder(paths.main)


def put_back(paths: Paths) -> None:
    """Undo a build that failed: its folder goes, the engine that was set aside counts again."""
    paths.record.unlink(missing_ok=True)
    delete_folder(paths.main)
    if paths.previous.exists():
        os.replace(paths.previous, paths.main)
        kept = paths.main / paths.record.name
        if kept.exists():
            os.replace(kept, paths.record)


def delete_folder(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _refuse_while_in_use(paths: Paths) -> None:
    """A trainer imports lazily: its packages must not change under it (Linux: found by its command line)."""
    ours = os.fsencode(paths.main / "bin") + b"/"
    users = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().startswith(ours):
                users.append(int(entry.parent.name))
        except (OSError, ValueError):
            continue  # the process has just ended, or is not ours to look at
    if users:
        raise NotReady("engine-in-use", processes=sorted(users), folder=str(paths.root))


def _take(descriptor: int, root: Path) -> None:
    give_up = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise NotReady("engine-busy", folder=str(root)) from None
            time.sleep(0.05)


def _disk_error(root: Path, error: OSError) -> NotReady:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_disk(root, raw=str(error))
    return NotReady("engine-folder-unwritable", folder=str(root), raw=str(error))


def _json_object(line: str) -> dict[str, object] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None

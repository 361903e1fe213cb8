"""The Python that trains: a ready one where the machine's image offers it, else made here from the bundle's lock.

The lock names every file that may be installed by its sha256: nothing is resolved here, nothing is built from source,
and a file that is another one ends the run. Made once: a mark beside it names the lock it was made from. Python itself
comes from the system where it has the right version, else through ``uv``, itself by its hash, which checks the Python
that it fetches by the sha256 built into it (astral-sh/uv#4806), from releases.astral.sh or else GitHub (#18503). The
images of TPU VMs have 3.10, which frameworks no longer support; those of Compute Engine have no pip either, so uv comes
from the bucket there. The environment's own pip is the one that comes with that Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from tpu_studio.trainer.guardian.vm.config import Environment
from tpu_studio.wire import frameworks, ownpython

READY = "ready.json"
LOCKS = Path("tpu_studio", "resources", "vm")
"""Where the locks lie in a bundle."""
_LOCKED = ("--require-hashes", "--only-binary=:all:", "--no-deps")
_PROGRAM = re.compile(r"uv-[0-9][0-9A-Za-z.]*\.data/scripts/uv")
_TRIES = 3
_LINES = 30
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE")


class EnvironmentFailed(Exception):
    """The last lines of what could not be done."""


@dataclass(frozen=True)
class Ready:
    """*env*: with it JAX fails where there is no TPU, instead of going on with the processor."""

    python: str
    env: Mapping[str, str]


def prepare(
    root: Path,
    wanted: Environment,
    code: Path,
    told: Callable[[str], None],
    check: Callable[[], None],
    installer: Callable[[], Path] | None = None,
) -> Ready:
    """The Python to train with.

    Args:
        code: The unpacked bundle, which has the lock.
        installer: Gives the wheel of uv that was brought for this machine; None: pip of the image fetches one.
        told: Called with what is being done, for people.
        check: Called at least once a second; may raise to give up.

    Raises:
        EnvironmentFailed: Could not be made, or what the image offers cannot be used.
    """
    offered = root / READY
    if offered.exists():
        return _offered(offered)
    folder = root / "environment"
    python, mark = folder / "bin" / "python", root / "environment.made"
    lock = code / LOCKS / f"{wanted.lock}.lock.txt"
    try:
        made_of = hashlib.sha256(json.dumps(asdict(wanted), sort_keys=True).encode() + lock.read_bytes()).hexdigest()
    except OSError as error:
        raise EnvironmentFailed(f"the list of what to install cannot be read: {error}") from error
    ready = Ready(str(python), dict(frameworks.by_id(wanted.framework).chip_environment))
    if mark.exists() and mark.read_text() == made_of and python.exists():
        return ready
    mark.unlink(missing_ok=True)
    for number in range(1, _TRIES + 1):
        try:
            _make(root, folder, wanted, lock, told, check, installer)
            break
        except EnvironmentFailed:
            if number == _TRIES:
                raise
            told(f"failed, trying again ({number + 1} of {_TRIES})")
            _wait(2.0 * number, check)
    mark.write_text(made_of)
    return ready


def trainer_environment(ready: Ready, code: Path) -> dict[str, str]:
    """What the trainer gets to see of the environment: nothing of the cloud, no address, no token."""
    own = {"PYTHONPATH": os.pathsep.join(filter(None, [str(code), ready.env.get("PYTHONPATH", "")]))}
    return {**_kept(), "PYTHONUNBUFFERED": "1", "TF_CPP_MIN_LOG_LEVEL": "2", **ready.env, **own}


def _kept() -> dict[str, str]:
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


def _offered(path: Path) -> Ready:
    try:
        tree = json.loads(path.read_bytes())
        env = tree.get("env") or {}
        ready = Ready(str(tree["python"]), {str(name): str(value) for name, value in env.items()})
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise EnvironmentFailed(f"{path} cannot be read: {error}") from error
    if not os.access(ready.python, os.X_OK):
        raise EnvironmentFailed(f"{ready.python} is not there")
    return ready


def _make(
    root: Path,
    folder: Path,
    wanted: Environment,
    lock: Path,
    told: Callable[[str], None],
    check: Callable[[], None],
    installer: Callable[[], Path] | None,
) -> None:
    told(f"Python {wanted.python}")
    shutil.rmtree(folder, ignore_errors=True)
    cache = root / "pip-cache"
    found = shutil.which(f"python{wanted.python}")
    if found and _can_make(found):
        _run([found, "-m", "venv", str(folder)], {}, told, check)
    else:
        uv, own = _uv(root, wanted, cache, told, check, installer)
        argv = [*uv, "venv", "--python", wanted.python, str(folder)]
        _run(argv, {**own, "UV_CACHE_DIR": str(cache), "UV_PYTHON_INSTALL_DIR": str(root / "pythons")}, told, check)
        _run([str(folder / "bin" / "python"), "-m", "ensurepip"], {}, told, check)
    argv = [*_pip(str(folder / "bin" / "python")), "--progress-bar", "off", "-r", str(lock)]
    _run(argv, {"PIP_CACHE_DIR": str(cache)}, told, check)


def _pip(python: str) -> list[str]:
    return [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *_LOCKED]


def _uv(
    root: Path,
    wanted: Environment,
    cache: Path,
    told: Callable[[str], None],
    check: Callable[[], None],
    installer: Callable[[], Path] | None,
) -> tuple[list[str], dict[str, str]]:
    """How uv is started: command line and variables."""
    if installer is not None:
        return [str(_unpacked(installer(), root / "uv"))], {}
    boot = root / "boot"
    version, sha256 = wanted.uv
    lock = root / "uv.lock.txt"
    lock.write_text(f"uv=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
    argv = [*_pip(sys.executable), "--upgrade", "--target", str(boot), "-r", str(lock)]
    _run(argv, {"PIP_CACHE_DIR": str(cache)}, told, check)
    return [sys.executable, "-m", "uv"], {"PYTHONPATH": str(boot)}


def _unpacked(wheel: Path, program: Path) -> Path:
    """The program *uv* out of its wheel, which is a zip; nothing else of it is written. Raises EnvironmentFailed."""
    fresh = program.with_suffix(".new")
    try:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (one for one in archive.namelist() if _PROGRAM.fullmatch(one))
            with archive.open(name) as source, open(fresh, "wb") as target:
                shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, ValueError) as error:
        raise EnvironmentFailed(f"{wheel} holds no uv: {error}") from error
    fresh.chmod(0o755)
    os.replace(fresh, program)
    return program


def _can_make(python: str) -> bool:
    """Whether this Python has what a virtual environment is made with (Debian splits it off)."""
    try:
        asked = [python, "-c", "import ensurepip, venv"]
        done = subprocess.run(asked, capture_output=True, timeout=30, cwd=ownpython.NEUTRAL_FOLDER)
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _run(argv: Sequence[str], own: Mapping[str, str], told: Callable[[str], None], check: Callable[[], None]) -> None:
    """Run it to its end, telling what it says. Raises EnvironmentFailed with its last lines."""
    pip = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**_kept(), **pip, **own},
            cwd=ownpython.NEUTRAL_FOLDER,  # in a notebook's own folder lies what was uploaded
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentFailed(f"{argv[0]}: {error}") from error
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    reading = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True, name="environment")
    reading.start()
    last: deque[str] = deque(maxlen=_LINES)
    told_at = 0.0
    try:
        while True:
            check()
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                continue
            if line is None:
                break
            last.append(line)
            if line.startswith(("Collecting ", "Downloading ", "Installing ")) and time.monotonic() - told_at > 2.0:
                told_at = time.monotonic()
                told(line[:120])
        if process.wait() != 0:
            raise EnvironmentFailed("\n".join(last) or f"{argv[0]} ended with {process.returncode}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reading.join(5.0)


def _read(pipe: IO[bytes], lines: queue.Queue[str | None]) -> None:
    with pipe:
        for line in pipe:
            lines.put(line.decode("utf-8", "replace").rstrip())
    lines.put(None)


def _wait(seconds: float, check: Callable[[], None]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check()
        time.sleep(0.2)

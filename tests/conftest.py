"""Rules that hold for every test, and what tests of all kinds share.

* The window is drawn offscreen, unless QT_QPA_PLATFORM says otherwise (`QT_QPA_PLATFORM=xcb xvfb-run -a make test`).
* A test never sees the person's own runs or settings: TPU_STUDIO_HOME is a fresh folder.
* Sockets reach this machine only.
* A test that leaves a thread behind fails.
* Waiting for something in the window ends when it is there, or after five minutes: a computer may be busy.
* Its files are in memory where there is room: thousands of small databases and journals wait for no disk.
* What JAX has compiled for one process of the suite, it need not compile for the next, and it optimises little: what
  runs for seconds is not worth it.
* The tests themselves, thousands of objects, are not looked through for garbage again and again.
* With several workers each begins with its share of the slow files; what it takes from another's end is quick.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tpu_studio.local.engine import Engine, engine_root

# No clock decides: neither how long an example takes nor how fast examples are made. What lands is judged on the same
# examples each time. A test that names health checks of its own would lose these.
CLOCKLESS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]  # a folder that all examples share is no harm
settings.register_profile("here", deadline=None, suppress_health_check=CLOCKLESS)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

ROOT = Path(__file__).resolve().parent.parent
ENGINE_ROOT = engine_root()  # before any test moves TPU_STUDIO_HOME
THREAD_PATIENCE_S = 60.0
WINDOW_PATIENCE_MS = 300_000
SHARED = Path("tests/trainer/conftest.py")  # whose `results` are trained once for each process that asks for them
MEMORY_FOLDER = Path("/dev/shm")
MEMORY_FOLDER_FREE, MEMORY_FREE = 4 << 30, 8 << 30  # bytes that must be free for it


def pytest_configure(config: pytest.Config) -> None:
    if in_memory_is_room():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))  # pytest's own name for where tmp_path is
    if not hasattr(config, "workerinput"):  # the workers inherit it
        keep_what_jax_compiles(config)


def keep_what_jax_compiles(config: pytest.Config) -> None:
    """For all processes of this run of pytest, in a folder that ends with it."""
    kept = tempfile.mkdtemp(prefix="compiled-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"))
    config.add_cleanup(lambda: shutil.rmtree(kept, ignore_errors=True))
    os.environ["JAX_COMPILATION_CACHE_DIR"] = kept
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"  # Keras has JAX compile hundreds of small programs
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


def pytest_collection_finish(session: pytest.Session) -> None:
    """A sixth of the time of a quick test went into looking through all the others."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For `--dist worksteal`, which gives each worker an equal stretch and later takes from the end of the longest.

    So a long test is not the last one to begin, and what a file's tests share (a trained model), or several files', is
    made once.
    """
    if not hasattr(config, "workerinput"):
        return
    workers = int(config.workerinput["workercount"])
    marks = {item: {mark.name for mark in item.iter_markers()} for item in items}
    sharing = {item.path for item in items if "results" in getattr(item, "fixturenames", ())}
    together = {item: SHARED if item.path in sharing else item.path for item in items}
    slow = list(dict.fromkeys(together[item] for item in items if marks[item] & {"slow", "engine"}))
    quick = [item for item in items if together[item] not in slow]
    total, ordered = len(items), []
    for worker in range(workers):
        mine = set(slow[worker::workers])
        ordered += [item for item in items if together[item] in mine]
        rest = max(0, total * (worker + 1) // workers - len(ordered))
        ordered += quick[:rest]
        del quick[:rest]
    items[:] = ordered + quick


def in_memory_is_room() -> bool:
    """Linux only; a container's may be small, or run no programs."""
    try:
        found = os.statvfs(MEMORY_FOLDER)
        words = Path("/proc/meminfo").read_text().split()
    except (AttributeError, OSError):
        return False
    free = int(words[words.index("MemAvailable:") + 1]) << 10
    ours = os.access(MEMORY_FOLDER, os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return ours and found.f_bavail * found.f_frsize >= MEMORY_FOLDER_FREE and free >= MEMORY_FREE


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty TPU_STUDIO_HOME; the engine stays the one of this machine."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("TPU_STUDIO_HOME", str(folder))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(ENGINE_ROOT))
    return folder


@pytest.fixture(autouse=True, scope="session")
def the_window_is_waited_for() -> Iterator[None]:
    """What pytest-qt waits for may take five minutes, also where the test names no time or a shorter one."""
    wait_until, wait_signal = QtBot.waitUntil, QtBot.waitSignal

    def patient(wait: Callable[..., Any]) -> Callable[..., Any]:
        def waiting(self: QtBot, what: Any, *, timeout: int = 0, **more: Any) -> Any:
            return wait(self, what, timeout=max(timeout, WINDOW_PATIENCE_MS), **more)

        return waiting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QtBot, "waitUntil", patient(wait_until))
        patch.setattr(QtBot, "waitSignal", patient(wait_signal))
        yield


@pytest.fixture
def start_practice(home: Path) -> Iterator[Callable[..., Any]]:
    """``start_practice(*faults, **settings)``: the practice cloud of this home, in this process and without machines
    unless the settings say so; several, when asked again. All are ended, with their machines."""
    from tests.fakes import practices  # here, for the tests that have nothing to do with a cloud

    with practices.starting(home / "practice") as start:
        yield start


@pytest.fixture(scope="session")
def engine_python() -> Path:
    """The training engine's interpreter (`make engine`)."""
    state = Engine(ENGINE_ROOT).state()
    if not state.is_ready:
        pytest.skip(f"the training engine is {state.status}: make engine")
    return Engine(ENGINE_ROOT).python()


@pytest.fixture(scope="session")
def samples() -> Path:
    """The full sample data, which the repository does not carry."""
    folder = Path(os.environ.get("TPU_STUDIO_SAMPLES") or ROOT.parent / "shared" / "samples")
    if not folder.is_dir():
        pytest.skip("no full samples: set TPU_STUDIO_SAMPLES")
    return folder


@pytest.fixture(autouse=True)
def the_path_of_later_tests_is_as_before() -> Iterator[None]:
    """`main` sets it for good, for what it starts; programs of tests in the engine find `tests` without it."""
    before = os.environ.get("PYTHONSAFEPATH")
    yield
    if before is None:
        os.environ.pop("PYTHONSAFEPATH", None)


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    give_up = time.monotonic() + THREAD_PATIENCE_S
    left = _threads_since(before)
    while left and time.monotonic() < give_up:
        left[0].join(0.05)
        left = _threads_since(before)
    if left:
        pytest.fail(f"threads left running: {', '.join(thread.name for thread in left)}")


def _threads_since(before: set[threading.Thread]) -> list[threading.Thread]:
    # Qt's own threads show up as dummies once they have called into Python; Qt ends them.
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before and thread.is_alive() and not isinstance(thread, threading._DummyThread)
    ]


@pytest.fixture(autouse=True, scope="session")
def sockets_reach_this_machine_only() -> Iterator[None]:
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(address: Any) -> None:
        if isinstance(address, tuple) and not _is_here(str(address[0])):
            raise AssertionError(f"a test reached for the network: {address}")

    def checked_connect(self: socket.socket, address: Any) -> None:
        check(address)
        connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        check(address)
        return connect_ex(self, address)

    def checked_getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
        check((host.decode() if isinstance(host, bytes) else host or "localhost",))
        return getaddrinfo(host, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket.socket, "connect_ex", checked_connect_ex)
        patch.setattr(socket, "getaddrinfo", checked_getaddrinfo)
        yield


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.removeprefix("::ffff:")).is_loopback
    except ValueError:
        return host in ("localhost", "localhost.localdomain")

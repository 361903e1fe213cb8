"""How busy this worker's TPU chips are and how full their memory, as libtpu tells (``libtpu.sdk.tpumonitoring``).

libtpu is asked in a process of its own, this module run as a program: a question holds Python's lock until it is
answered (four minutes where the VM's metadata are silent, measured with libtpu 0.0.42), and a fault in it may end the
process. `ChipWatch`, in the trainer, hears that process in a thread; the training thread only takes what was heard
last. Whatever goes wrong here, the run goes on and is told less. Used by ``reports``.

Names and forms: https://docs.cloud.google.com/tpu/docs/tpu-monitoring-library. Nothing of it was seen on a TPU yet
(docs/live-checks.md).
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from tpu_studio.wire import ownpython
from tpu_studio.wire.secrets import short

EVERY_S = 2.0
FRESH_S = 15.0  # what is older tells nothing of now
GIVE_UP_S = 600.0
NAMES = ("duty_cycle", "hbm_used_bytes", "hbm_total_bytes")
_PR_SET_PDEATHSIG = 1
_LINE_AT_MOST = 1 << 16
_ROUNDING = 1.01  # 100.3 % is all of it


# ------------------------------------------------------------------------------------------------------ in the trainer


class ChipWatch:
    """Begun with the first `begin`; `latest` never waits."""

    def __init__(self, argv: Sequence[str] = (), *, give_up_s: float = GIVE_UP_S) -> None:
        """*argv*: what tells, a JSON object a line (tests); else this module. *give_up_s*: its longest silence."""
        self._argv = list(argv)
        self._give_up_s = give_up_s
        self._heard: tuple[float, dict[str, float]] = (-math.inf, {})
        self._counted: tuple[float, dict[str, float]] = (-math.inf, {})
        self._last_word, self._rest, self._troubled = 0.0, b"", False
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """After the framework has the chips. Nothing happens where there is no libtpu, or on later calls."""
        if self._thread is not None or self._closed.is_set() or not (self._argv or importlib.util.find_spec("libtpu")):
            return
        self._thread = threading.Thread(target=self._watch, name="chips", daemon=True)
        self._thread.start()

    def latest(self) -> dict[str, float]:
        """``duty_cycle``, the mean of this worker's chips, 0 to 1; ``hbm_used_bytes`` of ``hbm_total_bytes``, of the
        fullest of them, for that is the one that runs out. Each only where it is known, and not older than `FRESH_S`.
        """
        now = time.monotonic()
        (heard, told), (counted, own) = self._heard, self._counted
        fresh = told if now - heard < FRESH_S else {}
        return {**(own if now - counted < FRESH_S else {}), **fresh}

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            if self._process is not None:
                self._process.kill()

    def _watch(self) -> None:
        process = self._start()
        while not self._closed.is_set():
            if process is None:
                self._closed.wait(EVERY_S)
            elif ended := self._listen(process):
                self._end(process)
                process = None
                if not self._closed.is_set():
                    _say(f"libtpu tells nothing more of the chips: {ended}")
            self._counted = time.monotonic(), own_memory()
        if process is not None:
            self._end(process)

    def _start(self) -> subprocess.Popen[bytes] | None:
        try:
            process = subprocess.Popen(
                self._argv or ownpython.module(sys.executable, __name__),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # libtpu logs there at will
                cwd=ownpython.NEUTRAL_FOLDER,
                env=ownpython.environment(),
            )
        except OSError as error:
            _say(f"libtpu cannot be asked of the chips: {error}")
            return None
        self._last_word = time.monotonic()
        with self._lock:
            self._process = process
            if self._closed.is_set():
                process.kill()
        return process

    def _listen(self, process: subprocess.Popen[bytes]) -> str:
        """Hear what has come, for `EVERY_S` at most; why nothing more will come, "" while it may."""
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], EVERY_S)[0]:
            silent = time.monotonic() - self._last_word
            return f"it was silent for {silent:.0f} s" if silent > self._give_up_s else ""
        chunk = os.read(process.stdout.fileno(), _LINE_AT_MOST)
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[:_LINE_AT_MOST]
        for line in lines:
            self._hear(line)
        return "" if chunk else f"it ended with exit code {process.wait()}"

    def _hear(self, line: bytes) -> None:
        """Take what *line* tells; what is no object was not meant for us."""
        try:
            told = json.loads(line)
        except ValueError:
            return
        if not isinstance(told, dict):
            return
        self._last_word = time.monotonic()
        known = {name: told[name] for name in NAMES if isinstance(told.get(name), (int, float))}
        self._heard = self._last_word, known
        if "trouble" in told and not self._troubled:
            self._troubled = True
            _say(f"libtpu does not tell all of the chips: {told['trouble']}")

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def own_memory() -> dict[str, float]:
    """Memory of the fullest chip of this worker as JAX counts it, for where libtpu is silent; {} where it does not."""
    jax = sys.modules.get("jax")
    if jax is None:
        return {}
    try:
        counted = [device.memory_stats() or {} for device in jax.local_devices()]
    except RuntimeError:  # how a device says that it does not count (JaxRuntimeError: UNIMPLEMENTED)
        return {}
    used, total = ([one.get(name, math.nan) for one in counted] for name in ("bytes_in_use", "bytes_limit"))
    return _fullest(used, total)


def _say(why: str) -> None:
    """For the log of the run, whose training needs none of this."""
    print(f"trainer: {why}", file=sys.stderr)


# --------------------------------------------------------------------------------------------- in the process that asks


def reading(monitoring: Any) -> dict[str, Any]:
    """What *monitoring* (``libtpu.sdk.tpumonitoring``) tells at this moment, as `ChipWatch.latest` says it.

    Lists hold one string a chip; an empty one means that no program is loaded. A list in which one value is no number,
    or cannot be, is left out whole: a mean over the other chips would say something else. ``trouble``: what it raised.
    """
    told: dict[str, object] = {}

    def numbers(name: str) -> list[float]:
        try:
            return [float(value) for value in monitoring.get_metric(name).data()]
        except Exception as error:  # noqa: BLE001  the boundary: libtpu's, whatever it is
            told["trouble"] = short(f"{name}: {type(error).__name__}: {error}", 300)
            return []

    busy = numbers("duty_cycle_pct")
    if busy and all(0.0 <= value <= 100.0 * _ROUNDING for value in busy):
        told["duty_cycle"] = round(min(1.0, sum(busy) / len(busy) / 100.0), 4)
    memory = _fullest(numbers("hbm_capacity_usage"), numbers("hbm_capacity_total"))
    return {**told, **memory}


def _fullest(used: Sequence[float], total: Sequence[float]) -> dict[str, float]:
    """Used and total bytes of the chip that has the least left, of one pair a chip; {} where a pair makes no sense."""
    if not used or len(used) != len(total):
        return {}
    pairs = list(zip(used, total, strict=True))
    if not all(0.0 < most < math.inf and 0.0 <= now <= most * _ROUNDING for now, most in pairs):
        return {}
    now, most = max(pairs, key=lambda pair: pair[0] / pair[1])
    return {"hbm_used_bytes": min(now, most), "hbm_total_bytes": most}


def main() -> int:
    """Tell a reading a line until nobody listens. Exit code 1: there is nothing to ask."""
    _end_with_the_trainer()
    os.nice(10)
    try:
        from libtpu.sdk import tpumonitoring
    except ImportError as error:
        print(json.dumps({"trouble": str(error)}), flush=True)
        return 1
    while True:
        print(json.dumps(reading(tpumonitoring)), flush=True)
        time.sleep(EVERY_S)


def _end_with_the_trainer() -> None:
    """On Linux the kernel ends this process with the one that started it, also from within a question."""
    parent = os.getppid()
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(0)

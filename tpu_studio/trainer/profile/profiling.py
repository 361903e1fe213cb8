"""Profiles on request, one at a time: when one is due, what is marked in it, and what is told of it. Used by `loop`.

Whole calls are profiled, until they made `STEPS_LEAST` steps. Checks on unseen data and copies between them are made
as always and count for nothing: only what stands between the marks does. The trace is read beside the training, in a
process of its own, and stays in the run's folder, where it goes to the bucket with the result.

    {"kind":"profile","state":"begun","step":120}
    {"kind":"profile","state":"done","step":120,"steps":24,"seconds":1.9,"on":"tpu","shares":{…},"top":[…],
     "path":"profile/00000120","bytes":5213984}
    {"kind":"profile","state":"failed","step":120,"why":"stopped|too-few|not-started|not-read|disk","raw":"…"}
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tpu_studio.trainer.frameworks import Functions, Trace
from tpu_studio.trainer.profile.xspace import STEPS, WAIT
from tpu_studio.trainer.words import Events
from tpu_studio.wire import ownpython
from tpu_studio.wire.plainfiles import make_folder
from tpu_studio.wire.runfolder import profile_folder
from tpu_studio.wire.secrets import short

STEPS_LEAST = 20
READ_S = 300.0  # a trace of a quarter of a million events takes some fifteen seconds on a busy computer
RAW_AT_MOST = 256 << 20  # bytes; a larger trace is told of and not kept
RAW_KEPT = 3  # traces of a run; the oldest gives way
_FILE = Path("plugins", "profile", "steps", "host.xplane.pb")  # as `xprof --logdir` looks for it


class Profiling:
    """All methods but `_read` are for the loop's thread.

    Where several workers train together each has one and is asked at the same step, so that all wait for their calls
    at the same places; only worker 0 makes a trace.
    """

    def __init__(self, run: Path, events: Events, framework: Functions | None) -> None:
        """*framework*: Whose profiler traces; None: another worker's does."""
        self._run, self._events, self._framework = run, events, framework
        self._asked = False
        self.is_active = False
        self._trace: Trace | None = None
        self._steps_mark: AbstractContextManager[object] | None = None
        self._step, self._steps = 0, 0
        self._readers: list[threading.Thread] = []

    def ask(self) -> None:
        """One is due before the next call; what is asked for while one is being made gets that one."""
        if self._asked or self.is_active:
            self._events.send("notice", id="profile-under-way", level="info", facts={})
        self._asked = not self.is_active

    @property
    def is_due(self) -> bool:
        return self._asked

    @property
    def is_full(self) -> bool:
        return self.is_active and self._steps >= STEPS_LEAST

    def begin(self, step: int) -> None:
        """No call may be under way."""
        self._asked, self.is_active, self._step, self._steps = False, True, step, 0
        if self._framework is None:
            return
        try:
            shutil.rmtree(self._making(step), ignore_errors=True)
            make_folder(profile_folder(self._run))
            self._trace = self._framework.trace(self._making(step))
        except (OSError, RuntimeError, ValueError) as error:
            self._failed(step, "disk" if isinstance(error, OSError) else "not-started", str(error))
            return
        self._events.send("profile", state="begun", step=step)

    def calling(self, count: int) -> None:
        """A call of *count* steps is handed over now."""
        self._steps += count
        if self._trace is not None and self._steps_mark is None:
            self._steps_mark = self._trace.mark(STEPS)
            self._steps_mark.__enter__()

    def drained(self) -> None:
        """No call is under way any more."""
        if self._steps_mark is not None:
            self._steps_mark.__exit__(None, None, None)
            self._steps_mark = None

    def waiting(self) -> AbstractContextManager[Any]:
        """Around waiting for the next examples."""
        return self._trace.mark(WAIT) if self._trace is not None else nullcontext()

    def end(self, why: str = "") -> None:
        """Write the trace and have it read; *why* it is thrown away instead. No call may be under way."""
        step, steps, trace = self._step, self._steps, self._trace
        self._trace, self.is_active = None, False
        if trace is None:
            return
        self.drained()
        try:
            trace.stop()
        except (OSError, RuntimeError, ValueError) as error:
            self._failed(step, "disk" if isinstance(error, OSError) else "not-started", str(error))
            return
        if why or steps < STEPS_LEAST:
            self._failed(step, why or "too-few", "")
            return
        self._readers.append(threading.Thread(target=self._read, args=(step, steps), daemon=True, name="profile"))
        self._readers[-1].start()

    def finish(self) -> None:
        """Training is over: wait until what was profiled is told, and tell what will never be."""
        for reader in self._readers:
            reader.join(READ_S)
        if self._asked:
            self._failed(self._step, "too-few", "")

    def _failed(self, step: int, why: str, raw: str) -> None:
        self._events.send("profile", state="failed", step=step, why=why, raw=short(raw, 300))
        shutil.rmtree(self._making(step), ignore_errors=True)

    def _making(self, step: int) -> Path:
        return profile_folder(self._run) / f".making-{step:08d}"

    def _read(self, step: int, steps: int) -> None:
        """In a thread of its own."""
        try:
            raw = max(self._making(step).rglob("*.xplane.pb"))
            argv = ownpython.module(sys.executable, "tpu_studio.trainer.profile", raw)
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=ownpython.NEUTRAL_FOLDER,
                env=ownpython.environment(),
                timeout=READ_S,
                check=True,
            )
            told = json.loads(done.stdout)
            kept = self._keep(raw, step)
        except OSError as error:
            self._failed(step, "disk", str(error))
        except (subprocess.SubprocessError, ValueError) as error:  # there is no trace, or the reader was killed
            self._failed(step, "not-read", str(error))
        else:
            if "raw" in told:  # it stays all the same, for whoever looks why
                self._events.send("profile", state="failed", step=step, why="not-read", **told, **kept)
                return
            self._events.send("profile", state="done", step=step, steps=steps, **told, **kept)

    def _keep(self, raw: Path, step: int) -> dict[str, object]:
        """Put the trace where it stays: ``path`` and ``bytes`` of the event."""
        size = raw.stat().st_size
        name = f"{step:08d}"
        if size <= RAW_AT_MOST:
            place = profile_folder(self._run) / name
            (place / _FILE).parent.mkdir(parents=True, exist_ok=True)
            raw.replace(place / _FILE)
        shutil.rmtree(self._making(step), ignore_errors=True)
        kept = sorted(one for one in profile_folder(self._run).iterdir() if one.name.isdigit())
        for old in kept[:-RAW_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        return {"path": f"{profile_folder(self._run).name}/{name}" if size <= RAW_AT_MOST else "", "bytes": size}

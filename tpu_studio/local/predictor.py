"""A trained model answering questions on this computer: `trainer.predict --serve` as a subprocess of the engine.

The process is started with the first question, stays warm for the next, and ends with `close` or with the app (its
standard input closes). Answers arrive on a reader thread and are handed to *post*, which brings them to whoever asked.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence

from tpu_studio.wire import ownpython

Answer = Mapping[str, object]
OnAnswer = Callable[[Answer], None]


class PredictorProcess:
    """Asks the model in *run* (a run folder).

    Args:
        command: How the server is started, as an argument list, and *environment* for it.
        post: Runs a callable where answers are wanted (the GUI thread in the window).
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], post: Callable[[Callable[[], None]], None]
    ) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._post = post
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, OnAnswer] = {}
        self._next = 1

    def ask(self, question: Mapping[str, object], on_answer: OnAnswer) -> Callable[[], None]:
        """Send *question*; *on_answer* gets each answer, the last without ``"done": false``. Returns how to cancel."""
        with self._lock:
            process = self._started()
            number = self._next
            self._next += 1
            self._waiting[number] = on_answer
            self._send(process, {"id": number, **question})

        def cancel() -> None:
            with self._lock:
                if self._waiting.pop(number, None) is not None and self._process is not None:
                    self._send(self._process, {"id": number, "cancel": True})

        return cancel

    def close(self, limit_s: float = 3.0) -> None:
        """End the process; answers still awaited are not delivered any more."""
        with self._lock:
            process, self._process = self._process, None
            self._waiting.clear()
        if process is None:
            return
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                process.kill()  # its pipe is broken: it is on its way out already
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ownpython.NEUTRAL_FOLDER,
                start_new_session=True,
            )
            threading.Thread(target=self._read, args=(self._process,), name="predictor", daemon=True).start()
        return self._process

    def _send(self, process: subprocess.Popen[bytes], record: Mapping[str, object]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(record).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            pass  # the process has ended: its reader tells everybody who waits

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                try:
                    answer = json.loads(line)
                    number = int(answer["id"])
                except (ValueError, KeyError, TypeError):
                    continue  # not an answer: a library printed
                with self._lock:
                    last = answer.get("done", True)
                    listener = self._waiting.pop(number, None) if last else self._waiting.get(number)
                if listener is not None:
                    self._deliver(listener, answer)
        process.wait()
        with self._lock:
            if self._process is not process and self._process is not None:
                return
            left, self._waiting = self._waiting, {}
        for listener in left.values():
            self._deliver(listener, {"error": {"id": "predict-stopped", "facts": {"code": process.returncode}}})

    def _deliver(self, listener: OnAnswer, answer: Answer) -> None:
        self._post(lambda: listener(answer))

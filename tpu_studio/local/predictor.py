"""A trained model answering questions on this computer: `trainer.predict --serve` as a subprocess of the engine.

The process is started with the first question, stays warm for the next, and ends with `close` or with the app (its
standard input closes). Questions leave by a thread, for a pipe takes some kilobytes until the model is loaded; answers
arrive on another and are handed to *post*, which brings them to whoever asked.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tpu_studio.wire import ownpython

Answer = Mapping[str, object]
OnAnswer = Callable[[Answer], None]


_Records = queue.SimpleQueue[Mapping[str, object] | None]


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
        self._questions: _Records = queue.SimpleQueue()
        self._waiting: dict[int, OnAnswer] = {}
        self._next = 1

    def ask(self, question: Mapping[str, object], on_answer: OnAnswer) -> Callable[[], None]:
        """Send *question*; *on_answer* gets each answer, the last without ``"done": false``. Returns how to cancel."""
        with self._lock:
            self._start()
            number = self._next
            self._next += 1
            self._waiting[number] = on_answer
            self._questions.put({"id": number, **question})

        def cancel() -> None:
            with self._lock:
                if self._waiting.pop(number, None) is not None and self._process is not None:
                    self._questions.put({"id": number, "cancel": True})

        return cancel

    def close(self, limit_s: float = 3.0) -> None:
        """End the process; answers still awaited are not delivered any more."""
        with self._lock:
            process, self._process = self._process, None
            self._waiting.clear()
            self._questions.put(None)
        if process is None:
            return
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self._questions = queue.SimpleQueue()
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ownpython.NEUTRAL_FOLDER,
                start_new_session=True,
            )
            both = (self._process, self._questions)
            threading.Thread(target=self._read, args=both, name="predictor", daemon=True).start()
            threading.Thread(target=_write, args=both, name="predictor-questions", daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes], questions: _Records) -> None:
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
        questions.put(None)
        with self._lock:
            if self._process is not process and self._process is not None:
                return
            left, self._waiting = self._waiting, {}
        for listener in left.values():
            self._deliver(listener, {"error": {"id": "predict-stopped", "facts": {"code": process.returncode}}})

    def _deliver(self, listener: OnAnswer, answer: Answer) -> None:
        self._post(lambda: listener(answer))


def _write(process: subprocess.Popen[bytes], questions: _Records) -> None:
    """Until there are no more: then its input ends, and it with that."""
    assert process.stdin is not None
    with suppress(OSError), process.stdin:  # it has ended: its reader tells everybody who waits
        while (record := questions.get()) is not None:
            process.stdin.write(json.dumps(record).encode() + b"\n")
            process.stdin.flush()

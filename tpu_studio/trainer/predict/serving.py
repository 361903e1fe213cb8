"""`--serve`: questions as JSON lines on stdin, answers as JSON lines on stdout, one question at a time.

    {"id":1,"image":path}                                   → {"id":1,"classes":[{"name","probability"}…]}
    {"id":2,"row":{…}}                                      → {"id":2,"value":…} or classes
    {"id":2,"prompt":"…"}                                   → classes, of a model that tells texts apart
    {"id":3,"prompt":"…","tokens":200,"temperature":0.8,"seed":0}  → {"id":3,"text":"…","done":false}…
    {"id":3,"cancel":true}                                  → {"id":3,"cancelled":true,"done":true}
    {"id":4,"prompt":"…","turns":[{"role":"user","text":"…"},{"role":"assistant","text":"…"}]}
                                                            → as 3, of a model that answers


Text comes in pieces that follow each other. `turns` is the conversation so far (``wire.turns``); the first piece says
how many of its questions had no room, as ``"left_out":2``. Whatever goes wrong is {"id","error":{"id","facts"}} and
ends nothing; the end of stdin does, after the questions that came before it. Only answers go to stdout: whatever else
prints goes to stderr.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import traceback
from argparse import Namespace
from typing import Any

from tpu_studio.trainer.words import take_stdout
from tpu_studio.wire import turns
from tpu_studio.wire.errors import BadInput, StudioError
from tpu_studio.wire.secrets import short

MOST_TOKENS = 100_000
END = None


class Questions:
    """Questions in the order in which they came; a thread reads them so that cancelling works at any time."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: list[object] = []
        self._cancelled: list[object] = []
        threading.Thread(target=self._read, name="questions", daemon=True).start()

    def next(self) -> dict[str, Any] | None:
        """The next question; None when there will be no more."""
        return self._queue.get()

    def is_cancelled(self, number: object) -> bool:
        with self._lock:
            return number in self._cancelled

    def forget(self, number: object) -> None:
        with self._lock:
            self._waiting = [each for each in self._waiting if each != number]
            self._cancelled = [each for each in self._cancelled if each != number]

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            try:
                question = json.loads(line)
            except ValueError:
                question = {"id": None, "raw": line[:200].decode(errors="replace")}
            if not isinstance(question, dict):
                question = {"id": None, "raw": str(question)[:200]}
            with self._lock:
                if question.get("cancel") is True:
                    if question.get("id") in self._waiting:
                        self._cancelled.append(question.get("id"))
                    continue
                self._waiting.append(question.get("id"))
            self._queue.put(question)
        self._queue.put(END)


class Answers:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def send(self, number: object, **fields: object) -> None:
        line = (
            json.dumps({"id": number, **fields}, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
        )
        while line:
            line = line[os.write(self._fd, line) :]


def serve(asked: Namespace) -> int:
    """Answer until there are no more questions. *asked*: the command's arguments; the exit code."""
    answers, questions = Answers(take_stdout()), Questions()
    model: object = None
    refused: StudioError | None = None
    try:
        model = _load(asked)
    except StudioError as error:
        refused = error
    while (question := questions.next()) is not END:
        number = question.get("id")
        try:
            if refused is not None:
                raise refused
            _answer(model, question, questions, answers)
        except StudioError as error:
            answers.send(number, error=error.to_json())
        except BrokenPipeError:
            return 0  # whoever asked has gone
        except Exception as error:  # noqa: BLE001, the boundary of a question: told, with its traceback in the log
            traceback.print_exc()
            answers.send(
                number, error={"id": "predict-failed", "facts": {"raw": short(f"{type(error).__name__}: {error}", 500)}}
            )
        questions.forget(number)
    return 0


def _load(asked: Namespace) -> object:
    from tpu_studio.trainer.predict.command import prepare

    result, card = prepare(asked.run)
    from tpu_studio.trainer.predict.asking import opened

    model = opened(asked.run, result, card, consent=asked.consent, before=asked.before)
    model.warm_up()
    return model


def _answer(model: Any, question: dict[str, object], questions: Questions, answers: Answers) -> None:
    number = question.get("id")
    if questions.is_cancelled(number):
        answers.send(number, cancelled=True, done=True)
    elif isinstance(question.get("prompt"), str) and not model.writes and model.reads_text:
        (told,) = model.answer([question["prompt"]])
        answers.send(number, **told)
    elif isinstance(question.get("prompt"), str):
        _write(model, question, questions, answers)
    elif isinstance(question.get("image"), str) or isinstance(question.get("row"), dict):
        (told,) = model.answer([question.get("image") or question["row"]])
        answers.send(number, **told)
    else:
        raise BadInput("predict-bad-question", raw=str(question.get("raw") or json.dumps(question))[:200])


def _write(model: Any, question: dict[str, Any], questions: Questions, answers: Answers) -> None:
    number = question.get("id")
    tokens, temperature, seed = _wishes(question)
    told = model.write(
        question["prompt"],
        tokens=tokens,
        temperature=temperature,
        seed=seed,
        turns=turns.read(question.get("turns")),
        stopped=lambda: questions.is_cancelled(number),
    )
    if told.left_out:
        answers.send(number, text="", left_out=told.left_out, done=False)
    for piece in told.pieces:
        answers.send(number, text=piece, done=False)
    ended = {"cancelled": True} if questions.is_cancelled(number) else {"text": ""}
    answers.send(number, **ended, done=True)


def _wishes(question: dict[str, object]) -> tuple[int, float, int]:
    """Tokens, temperature and seed of a prompt, checked."""
    found = []
    for name, usual, low, high in (
        ("tokens", 200, 1, MOST_TOKENS),
        ("temperature", 0.8, 0.0, 10.0),
        ("seed", 0, 0, 2**63 - 1),
    ):
        value = question.get(name, usual)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or not low <= value <= high
        ):
            raise BadInput("predict-bad-question", key=name, value=str(value)[:60], minimum=low, maximum=high)
        found.append(value)
    return int(found[0]), float(found[1]), int(found[2])

"""A model that answers in a process of its own: who asks waits for nothing, and hears how it ended."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tpu_studio.local.predictor import Answer, PredictorProcess

PATIENCE_S = 60.0
LOADS = """
import json, os, sys, time
while not os.path.exists({ready!r}):
    time.sleep(0.01)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("end"):
        sys.exit(3)
    if not asked.get("cancel"):
        print(json.dumps({{"id": asked["id"], "text": str(len(asked["prompt"]))}}), flush=True)
"""


class Oracle:
    def __init__(self, folder: Path) -> None:
        self.ready, self._answers = folder / "ready", queue.Queue[Answer]()
        script = LOADS.format(ready=str(self.ready))
        self.process = PredictorProcess([sys.executable, "-c", script], os.environ, lambda call: call())

    def ask(self, **question: object) -> Callable[[], None]:
        return self.process.ask(question, self._answers.put)

    def answer(self) -> Answer:
        return self._answers.get(timeout=PATIENCE_S)


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Oracle]:
    made = Oracle(tmp_path)
    yield made
    made.process.close()


def test_a_question_longer_than_a_pipe_waits_for_the_model_and_not_who_asks(oracle: Oracle) -> None:
    """A conversation held the window until the model that had just been started was there."""
    oracle.ask(prompt="x" * 1_000_000)
    oracle.ask(prompt="and then?")
    oracle.ready.touch()
    assert [oracle.answer()["text"], oracle.answer()["text"]] == ["1000000", "9"]


def test_one_that_ends_tells_everybody_who_waits_and_the_next_question_starts_it_anew(oracle: Oracle) -> None:
    oracle.ready.touch()
    oracle.ask(prompt="", end=True)
    assert oracle.answer()["error"] == {"id": "predict-stopped", "facts": {"code": 3}}
    oracle.ask(prompt="again")
    assert oracle.answer()["text"] == "5"


def test_closed_it_ends_and_so_do_its_threads(oracle: Oracle) -> None:
    oracle.ready.touch()
    oracle.ask(prompt="")
    oracle.answer()
    oracle.process.close()
    for thread in threading.enumerate():
        if thread.name.startswith("predictor"):
            thread.join(PATIENCE_S)
    assert not [one for one in threading.enumerate() if one.name.startswith("predictor")]


def test_one_that_is_still_loading_is_ended_too(oracle: Oracle) -> None:
    oracle.ask(prompt="x" * 1_000_000)()
    oracle.process.close(limit_s=0.1)

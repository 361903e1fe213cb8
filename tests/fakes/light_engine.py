"""The trainer, whose results have no SavedModel: ``light_engine.py train --run …``.

A JAX run writes one by starting TensorFlow, which takes longer than all the training of a test. How many examples it
read of a batch to train on and of one to check on stands at the end in the file that LIGHT_ENGINE_READ names. With
LIGHT_ENGINE_CHECK its first check on unseen data kills it ("dies") or meets too many broken pictures ("broken"). With
LIGHT_ENGINE_READS no data is kept in memory, as if there were too much of it. With LIGHT_ENGINE_STARTER the starter
weights that lie in the engine's folder count as the published ones, whatever they are; where it is "short", those of a
network with three narrow blocks in place of sixteen.
"""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tpu_studio.trainer import leaving, result
from tpu_studio.trainer.__main__ import main
from tpu_studio.wire.errors import DataError


def note_what_is_read(file: Path) -> None:
    from tpu_studio.trainer import evaluation
    from tpu_studio.trainer.feed import Feed, Piece

    read: dict[str, int] = {}
    next_of, padded = Feed.next, evaluation.padded_batch

    def noted(kind: str, examples: int) -> None:
        read[kind] = max(examples, read.get(kind, 0))
        file.write_text(json.dumps(read))

    def following(feed: Feed) -> Piece | None:
        piece = next_of(feed)
        if piece is not None:
            noted("train", len(piece.stack["x"][0]))
        return piece

    def checked(*args: Any) -> dict[str, Any]:
        happens = os.environ.get("LIGHT_ENGINE_CHECK")
        if happens == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if happens == "broken":
            raise DataError("data-too-broken", count=9, of=10, share=0.9, allowed=0.05, first=[])
        batch = padded(*args)
        noted("check", len(batch["x"]))
        return batch

    replaced: dict[Any, Any] = {Feed: ("next", following), evaluation: ("padded_batch", checked)}
    for where, (name, function) in replaced.items():
        setattr(where, name, function)


def keep_nothing_in_memory() -> None:
    from tpu_studio.data import sources

    open_data = sources.open_data

    def reading(*args: Any, **more: Any) -> Any:
        return open_data(*args, **{**more, "memory_budget_bytes": 0})

    sources.open_data = reading


def trust_starters() -> None:
    from tpu_studio.wire.models import MODELS

    for starter in (model.starter for model in MODELS if model.starter and model.starter.path.exists()):
        data = starter.path.read_bytes()
        for name, value in {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}.items():
            object.__setattr__(starter, name, value)


def shorten_starters() -> None:
    """Imports Keras: once its backend is chosen."""
    from tpu_studio.trainer.models import efficientnet as whole

    whole.STAGES = (whole.Stage(1, 3, 1, 1, 8), whole.Stage(2, 3, 2, 2, 8))
    whole.STEM, whole.TOP = 8, 16


def shorten_once_begun() -> None:
    from tpu_studio.trainer import backend

    begin = backend.begin

    def beginning(plan: Any, workers: int = 1) -> None:
        begin(plan, workers)
        shorten_starters()

    backend.begin = beginning


if __name__ == "__main__":
    if os.environ.get("LIGHT_ENGINE_STARTER"):
        trust_starters()
    if os.environ.get("LIGHT_ENGINE_STARTER") == "short":
        shorten_once_begun()
    if os.environ.get("LIGHT_ENGINE_READS"):
        keep_nothing_in_memory()
    if file := os.environ.get("LIGHT_ENGINE_READ"):
        note_what_is_read(Path(file))
    write = result.write

    def writing(*args: Any, **more: Any) -> dict[str, Any]:
        from tpu_studio.trainer.result import savedmodel  # it imports Keras, which the trainer does first

        def nothing(result: Path, to: Path, model: Any) -> dict[str, Any]:
            to.mkdir()
            return {}

        savedmodel.write_saved_model = nothing
        return write(*args, **more)

    result.write = writing
    leaving.run(lambda: main(sys.argv[1:]))

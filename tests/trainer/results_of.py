"""Run folders with results for tests of result and predict: one of each kind of answer, untrained, made in seconds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.trainer.in_engine import run_in_engine
from tests.trainer.training import planned, put

OWN = """import keras
def build_model(job):
    return keras.Sequential([keras.Input(job.input_shape), keras.layers.Flatten(), keras.layers.Dense(job.outputs)])
"""
SUBCLASSED = """import keras
class Mine(keras.Model):  # it does not say how it is made
    def __init__(self, outputs):
        super().__init__()
        self.flat, self.dense = keras.layers.Flatten(), keras.layers.Dense(outputs)
    def call(self, x, training=None):
        return self.dense(self.flat(keras.ops.cast(x, "float32")))
def build_model(job):
    return Mine(job.outputs)
"""
SHOPS = ["shoe,12,red", "hat,7.5,blue", "coat,40,red", "sock,2,green"]
PROGRAM = Path(__file__).parent / "result" / "program_write.py"


def make(folder: Path, backend: str) -> Any:
    """Runs ``pictures``, ``rows``, ``text``, ``own`` and ``subclassed`` in *folder*; what was seen of writing them.

    Each had a result of an earlier attempt, with a receipt.
    """
    table, text, own = folder / "shop.csv", folder / "play.txt", folder / "mine.py"
    table.write_text("thing,price,colour\n" + "\n".join(SHOPS * 30) + "\n")
    text.write_text("To be, or not to be, that is the question.\n" * 200)
    own.write_text(OWN)
    subclassed = folder / "class.py"
    subclassed.write_text(SUBCLASSED)
    files = {"own": OWN, "subclassed": SUBCLASSED}
    small = {"layers": 1, "width": 16, "heads": 2}
    trees: dict[str, dict[str, Any]] = {
        "pictures": {"model": {"name": "small-cnn", "options": {"blocks": 2, "width": 4}}, "data": {"kind": "digits"}},
        "rows": {
            "model": {"name": "mlp", "options": {"width": 8}},
            "data": {"kind": "table", "path": str(table), "target": "price"},
        },
        "text": {"model": {"name": "gpt-nano", "options": small}, "data": {"kind": "text", "path": str(text)}},
        "own": {"model": {"file": str(own)}, "data": {"kind": "digits"}},
        "subclassed": {"model": {"file": str(subclassed)}, "data": {"kind": "digits"}},
    }
    for name, tree in trees.items():
        consent = hashlib.sha256(files[name].encode()).hexdigest() if name in files else ""
        run = put(folder / name, planned({"name": name, **tree}, consent=consent, epochs=1, framework=backend))
        _events(run)
        (run / "result").mkdir()
        (run / "result" / "receipt.json").write_text("{}")
        (run / "result" / "metrics.csv").write_text("of an earlier attempt")
    return run_in_engine(PROGRAM, *(str(folder / name) for name in trees), backend=backend)


def _events(run: Path) -> None:
    lines = [
        {"t": 1.0, "kind": "phase", "phase": "training"},
        {"t": 2.0, "kind": "metric", "step": [1, 2], "loss": [2.0, 1.0], "learning_rate": [0.1, 0.1]},
        {"t": 3.0, "kind": "phase", "phase": "saving", "detail": "result"},
    ]
    (run / "events").mkdir(exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (run / "events" / "a0001-w000.jsonl").write_text(text)

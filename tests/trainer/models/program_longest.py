"""Run in the engine: models of plans, each in a folder, as a result of theirs is looked at when it is opened.

program_longest.py FOLDER…    → {name: why it would be refused, "" for none}; "heaped" of what a stranger makes
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tpu_studio.data.sources import open_data
from tpu_studio.trainer import models
from tpu_studio.trainer.models import bounded
from tpu_studio.trainer.result import loading
from tpu_studio.wire import plan as plans


def why(run: Path) -> str:
    plan = plans.loads((run / "plan.json").read_bytes())
    opened = open_data(plan.job, None, memory_budget_bytes=2**30, workers=1)
    model = models.build(plan, opened.description)
    takes = {"shape": [None, *model.inputs[0].shape[1:]], "dtype": model.inputs[0].dtype}
    card: dict[str, Any] = {"task": plan.task, "input": takes}
    try:
        bounded.check(model, loading._budget(card, 4 * model.count_params() // loading.SMALLEST))
    except ValueError as error:
        return str(error)
    return ""


def heaped() -> str:
    """Thirty-four large pictures of one small one that are all there at once, in a file of a hundred kilobytes."""
    import keras

    inputs = keras.Input((64, 64, 3), dtype="uint8")
    shown = keras.layers.Rescaling(1 / 255)(inputs)
    summed = keras.layers.Add()([keras.layers.ZeroPadding2D(700)(shown) for _ in range(34)])
    model = keras.Model(inputs, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(summed)))
    card: dict[str, Any] = {"task": "classification", "input": {"shape": [None, 64, 64, 3], "dtype": "uint8"}}
    try:
        bounded.check(model, loading._budget(card, 50_000))
    except ValueError as error:
        return str(error)
    return ""


print(json.dumps({"heaped": heaped()} | {Path(one).name: why(Path(one)) for one in sys.argv[1:]}))

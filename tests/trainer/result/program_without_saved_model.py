"""Writes results where TensorFlow's SavedModel fails, takes too long or takes the process with it.

program_without_saved_model.py HOW RUN   → {"told": […], "entries": […], …}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data.sources import open_data
from tpu_studio.trainer import models, result
from tpu_studio.trainer.result import loading, savedmodel
from tpu_studio.wire import plan as plans


def main(how: str, run: Path) -> None:
    plan = plans.loads((run / "plan.json").read_bytes())
    opened = open_data(plan.job, None, memory_budget_bytes=2**30, workers=1)
    model = models.build(plan, opened.description)
    told: list[tuple[str, dict[str, Any]]] = []

    def export(*_: Any) -> None:
        if how == "killed":
            os._exit(9)
        raise {"disk": OSError(28, "No space left on device"), "time": subprocess.TimeoutExpired("python", 600.0)}.get(
            how, ValueError("no such op\nTensorFlow cannot lower this model")
        )

    savedmodel.export = export
    card = result.write(run, plan, opened.description, model, tell=lambda id, facts: told.append((id, dict(facts))))
    x = opened.validation.batch(np.arange(4), rng=np.random.default_rng(0))["x"]
    answers = np.asarray(loading.load(run / "result")(x, training=False))
    print(
        json.dumps(
            {
                "told": told,
                "entries": sorted(path.name for path in (run / "result").iterdir()),
                "left_over": sorted(path.name for path in run.glob(".result*")),
                "page": (run / "result" / "report.html").read_text("utf-8"),
                "card": card["use"] == json.loads((run / "result" / "model.json").read_text("utf-8"))["use"],
                "use": card["use"]["tensorflow"],
                "off": float(np.abs(answers - np.asarray(model(x, training=False))).max()),
            }
        )
    )


main(sys.argv[1], Path(sys.argv[2]))

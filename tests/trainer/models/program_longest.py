"""Run in the engine: models of plans, each in a folder, as a result of theirs is looked at when it is opened.

program_longest.py FOLDER…    → {name: why it would be refused, "" for none}
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
    card: dict[str, Any] = {"task": plan.task, "input": {"shape": [None, *model.inputs[0].shape[1:]], "dtype": "int32"}}
    try:
        bounded.check(model, loading._budget(card, 4 * model.count_params() // loading.SMALLEST))
    except ValueError as error:
        return str(error)
    return ""


print(json.dumps({Path(one).name: why(Path(one)) for one in sys.argv[1:]}))

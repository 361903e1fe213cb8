"""The check of TensorFlow operations: what its table says of small pieces of models, against the TPU compiler's answer.

The check reads the traced graph of each probe in the training engine, without the TPU's TensorFlow. The answers are
those of `tools/make_operations.py`: lowered by tensorflow-tpu and compiled by libtpu. Where both environments are
installed, all are lowered and every eighth compiled again: the committed answers still hold.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.local.engine import Engine, compiler, engine_root, tf_compiler  # noqa: E402

make_operations: Any = importlib.import_module("tools.make_operations")
MOST_FALSE_ALARMS, SAMPLE = 3, 8


def run() -> list[dict[str, Any]]:
    answers = json.loads(make_operations.TABLE.read_bytes())["answers"]
    checked = make_operations.ask_check(Engine(engine_root()).python())
    false_works, false_alarms = make_operations.judge(checked, answers)
    for name in false_works:
        print(f"false works: {name}: {answers[name]['words'][:100]}")
    for name in false_alarms:
        print(f"false alarm: {name}: {checked[name]}")
    refused = sum(not one["works"] for one in answers.values())
    return [
        {
            "name": "TensorFlow operations compared",
            "ours": len(answers),
            "unit": f"probes, {refused} refused",
            "goal": "≥ 60",
            "passed": len(answers) >= 60 and set(checked) == set(answers),
        },
        {"name": 'false "works"', "ours": len(false_works), "goal": "0", "passed": not false_works},
        {
            "name": "false alarms",
            "ours": len(false_alarms),
            "goal": f"≤ {MOST_FALSE_ALARMS}",
            "passed": len(false_alarms) <= MOST_FALSE_ALARMS,
        },
        _again(answers),
    ]


def _again(answers: dict[str, Any]) -> dict[str, Any]:
    lowerer, compiles = tf_compiler(engine_root()), compiler(engine_root())
    if not (lowerer.state().is_ready and compiles.state().is_ready):
        return {"name": "tf-tpu-compiler or tpu-compiler is not installed: answers not asked again", "passed": None}
    with tempfile.TemporaryDirectory() as folder:
        found = make_operations.ask_lowering(lowerer.python(), Path(folder))
        told = found["answers"]
        sample = {name: told[name] for name in sorted(told)[::SAMPLE]}
        make_operations.compile_all(compiles.python(), found["libtpu"], sample)
    differ = [name for name, one in sample.items() if make_operations.summary(one)["works"] != answers[name]["works"]]
    differ += [name for name, one in told.items() if answers[name]["works"] and not one["lowered"]]
    return {
        "name": "answers that differ when asked again",
        "ours": len(differ),
        "goal": "0",
        "passed": not differ,
        "unit": f"of {len(told)} lowered, {len(sample)} compiled",
    }

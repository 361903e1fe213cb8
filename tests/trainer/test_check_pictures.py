"""`check` compiles the step that varies pictures, as it will run: what is drawn for each is part of the batch."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.trainer.in_engine import engine_python, environment
from tests.trainer.training import planned

pytestmark = [pytest.mark.engine]
PICTURES = {
    "name": "digits",
    "model": {"name": "small-cnn", "options": {"blocks": 1, "width": 8}},
    "data": {"kind": "digits", "augment": True},
    "training": {"mix": "mixup"},
}
PROGRAM = """
import json, sys
from tpu_studio.trainer import backend
from tpu_studio.trainer.check.program import _Check
check = _Check(json.load(open(sys.argv[1])), 1)
backend.begin(check.plan)
print(json.dumps({name: list(shape) for name, (shape, _) in check._first_batch()[1].items()}))
"""


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_the_step_that_is_checked_varies_and_mixes_pictures(tmp_path: Path, framework: str) -> None:
    plan = replace(planned(PICTURES, framework=framework), place="cloud")
    question = tmp_path / "question.json"
    question.write_text(json.dumps({"plan": plan.to_json()}))

    def run(*words: str) -> list[dict[str, object]]:
        argv = [str(engine_python()), *words]
        done = subprocess.run(
            argv, env=os.environ | environment(framework), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    carried = {"x": [8, 8, 1], "y": [], "rows": [8], "columns": [8], "light": [3], "mix": [6]}
    assert run("-c", PROGRAM, str(question))[-1] == carried
    answer = run("-m", "tpu_studio.trainer.check", "--question", str(question))
    told = next(line for line in answer if line.get("answer") == "traced")
    assert told["problems"] == []
    assert {one["id"] for one in told["operations"]} <= {"op-padding"}  # of the ten classes

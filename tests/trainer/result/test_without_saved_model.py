"""A result whose SavedModel cannot be written: the model and all else is kept, and the person is told."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import engine_python, environment, run_in_engine
from tests.trainer.training import planned, put
from tpu_studio.domain.sentences import say_notice

PROGRAM = Path(__file__).parent / "program_without_saved_model.py"
KEPT = ["metrics.csv", "model.json", "model.keras", "report.html", "tensorboard"]

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    model = {"name": "small-cnn", "options": {"blocks": 1, "width": 4}}
    plan = planned({"name": "d", "model": model, "data": {"kind": "digits"}}, epochs=1, framework="tensorflow")
    return put(tmp_path / "run", plan)


@pytest.mark.parametrize(
    "how",
    [
        "failed",
        pytest.param("disk", marks=pytest.mark.thorough),
        pytest.param("time", marks=pytest.mark.thorough),
    ],
)
def test_the_model_is_kept_and_opens_and_run_and_page_say_what_is_missing(run: Path, how: str) -> None:
    seen: Any = run_in_engine(PROGRAM, how, str(run), backend="tensorflow")

    assert (seen["entries"], seen["left_over"], seen["off"]) == (KEPT, [], 0.0)
    [(notice, facts)] = seen["told"]
    assert (notice, facts["why"]) == ("savedmodel-failed", how)
    assert "model.keras holds the same model" in seen["page"]
    assert seen["card"] and "export('saved_model')" in seen["use"]
    said = say_notice(notice, facts)
    assert "Nothing is lost" in said.meaning and said.action
    assert "TensorFlow cannot lower this model" in said.meaning if how == "failed" else "no such op" not in said.meaning


def test_an_export_that_takes_the_process_with_it_leaves_a_whole_result(run: Path) -> None:
    argv = [str(engine_python()), str(PROGRAM), "killed", str(run)]
    done = subprocess.run(argv, env=environment("tensorflow"), capture_output=True, timeout=PATIENCE_S, check=False)

    assert done.returncode == 9
    assert sorted(path.name for path in (run / "result").iterdir()) == KEPT
    card = json.loads((run / "result" / "model.json").read_text("utf-8"))
    assert "export('saved_model')" in card["use"]["tensorflow"]

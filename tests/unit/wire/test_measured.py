"""What models reached: each result names a task that the model learns and stands on the page that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.measured import Measured, nearest
from tpu_studio.wire.models import MODELS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("model", [one for one in MODELS if one.measured], ids=lambda one: one.name)
def test_a_result_is_of_a_task_that_the_model_learns_and_its_figure_stands_on_its_page(model: ModelSpec):
    for one in model.measured:
        page = " ".join((ROOT / one.page).read_text("utf-8").split())
        figure = one.result.removeprefix("macro F1 of ").split()[0]
        spelled = {figure, f"{float(figure) / 100:g}"}  # 98.2 % is R² 0.982
        spelled |= {"2.438"} if figure == "2.44" else set()
        assert one.task in model.tasks and any(word in page for word in spelled), one.words


def test_the_nearest_is_by_doublings_and_of_those_alike_the_first():
    few, many, same = (Measured("classification", count, f"{count}", "") for count in (100, 1_600, 1_500))
    other = Measured("regression", 300, "", "")
    assert nearest((few, many, same, other), "classification", 150) is few
    assert nearest((few, many, same, other), "classification", 1_550) is many
    assert nearest((few, same, many, other), "classification", 100_000) is same
    assert nearest((few, many), "multi-label", 100) is None
    assert nearest((few, many), "classification", 0) is few

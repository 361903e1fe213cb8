"""What stands in the records of metrics and tasks holds together."""

from __future__ import annotations

import math

import pytest

from tpu_studio.wire import metrics, tasks


@pytest.mark.parametrize("task", tasks.all_tasks(), ids=lambda task: task.id)
def test_a_task_leads_with_metrics_that_are_declared(task: tasks.Task) -> None:
    declared = {metric.id: metric for metric in metrics.all_metrics()}
    assert {*task.metrics, *task.quality, *task.others, task.loss} <= set(declared)
    assert declared[task.metric].unseen and declared[task.loss].unseen
    assert declared[task.metric].report and all(declared[name].report for name in task.others)
    assert sum((task.has_classes, task.has_labels, task.has_number, task.has_tokens)) == 1


def test_which_way_is_better_and_how_a_metric_is_read() -> None:
    assert metrics.by_id("val_accuracy").beats(0.9, 0.8) and not metrics.by_id("val_loss").beats(0.9, 0.8)
    assert [metrics.by_id(name).percent for name in ("val_accuracy", "val_r2", "val_mae")] == [True, False, False]
    assert [metrics.by_id(name).top for name in ("val_accuracy", "val_r2", "val_mae")] == [1.0, 1.0, None]
    assert metrics.perplexity(0.0) == 1.0 and math.isfinite(metrics.perplexity(1e9))


def test_a_metric_of_another_version_is_told_from_its_name() -> None:
    top = metrics.by_id("val_top5_accuracy")
    assert (top.row, top.title, top.percent, top.unseen, top.better) == (
        "top5 accuracy",
        "Top5 accuracy",
        True,
        True,
        "higher",
    )
    assert metrics.by_id("temperature").better == "lower" and not metrics.by_id("temperature").unseen


def test_columns_of_a_table_are_in_the_order_of_the_records_and_unknown_ones_last() -> None:
    assert sorted(["zeta", "grad_norm", "val_r2", "loss", "alpha"], key=metrics.rank) == [
        "loss",
        "val_r2",
        "grad_norm",
        "alpha",
        "zeta",
    ]

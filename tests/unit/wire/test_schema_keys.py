"""What the schema says of each key beside its type: what it changes, where it stands, for which data."""

from __future__ import annotations

import pytest

from tests.fakes.looks import job
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import parse_setting
from tpu_studio.wire.keys import Key
from tpu_studio.wire.schema import BY_PATH, GROUPS, KEYS, concerns, step_values, work_values


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_each_key_stands_in_a_known_group_and_names_its_choices(key: Key) -> None:
    assert not key.group or key.group in GROUPS
    assert set(key.words) <= set(key.choices)


def test_a_steps_time_depends_on_what_changes_its_program_and_on_nothing_else() -> None:
    values = job("mlp", "table").values
    step = step_values(values)
    assert {"training.global_batch", "training.clip_norm", "training.weight_decay", "data.columns"} <= set(step)
    assert {"training.steps_per_call", "model.options"} <= set(step)
    assert not {"name", "training.seed", "training.epochs", "limits.hours", "where.zones", "where.place"} & set(step)
    assert set(step_values(values, machine=True)) - set(step) == {"where.place", "where.accelerator", "where.backend"}


def test_a_models_work_for_one_example_depends_on_a_part_of_what_a_step_depends_on() -> None:
    values = job("mlp", "table").values
    usual = {"model.name", "data.task", "data.image_size", "data.sequence_length", "training.rematerialize"}
    assert set(work_values(values)) == usual < set(step_values(values))
    begun = {**values, "model.preset": "starter:efficientnet-lite0", "model.lora_rank": 8}
    assert set(work_values(begun)) == usual | {"model.preset", "model.lora_rank"} < set(step_values(begun))


def test_a_setting_of_texts_is_not_one_of_pictures_and_converted_data_tells_by_its_task() -> None:
    size, length = BY_PATH["data.image_size"], BY_PATH["data.sequence_length"]
    assert concerns(size, "digits") and not concerns(size, "text") and concerns(size, None)
    assert concerns(length, "tfrecord") and concerns(size, "tfrecord")
    assert not concerns(length, "tfrecord", "classification") and concerns(length, "tfrecord", "language-model")


def test_no_key_of_a_job_waives_the_stop_from_outside() -> None:
    """It is given up for one launch, by hand; a job file is somebody else's word."""
    assert [key.path for key in KEYS if "outside" in key.path or "waive" in key.path] == []
    with pytest.raises(JobError, match="job-unknown-key"):
        parse_setting("limits.without_outside_stop=true")

"""What a job may say, and how each mistake is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import parse, parse_setting, set_values
from tpu_studio.wire.models import options
from tpu_studio.wire.schema import BY_PATH, KEYS

A_LIST = "a list of at most 300 texts of one line"
SMALLEST: dict[str, Any] = {"model": {"name": "mlp"}, "data": {"kind": "digits"}}


def with_(table: str, **values: Any) -> dict[str, Any]:
    return {**SMALLEST, table: {**SMALLEST.get(table, {}), **values}}


def test_a_model_and_data_are_enough_and_everything_else_has_its_default():
    job = parse(SMALLEST)
    assert {key.path: job[key.path] for key in KEYS if key.path not in job.given} == {
        key.path: key.default for key in KEYS if key.path not in job.given
    }


def test_what_was_written_out_reads_back_equal():
    job = parse(with_("training", epochs=2.5, learning_rate=0.001))
    assert parse(job.to_json()).values == job.values


@pytest.mark.parametrize(
    ("tree", "id", "facts"),
    [
        ({**SMALLEST, "format": 99}, "job-format", {"key": "format"}),
        ({**SMALLEST, "modle": {}}, "job-unknown-table", {"nearest": "model"}),
        (with_("training", learning_rat=1), "job-unknown-key", {"nearest": "training.learning_rate"}),
        (with_("data", epochs=1), "job-unknown-key", {"nearest": "training.epochs"}),
        (with_("training", epochs=-1), "job-out-of-range", {"key": "training.epochs"}),
        (with_("training", epochs=0), "job-out-of-range", {"key": "training.epochs"}),
        (with_("training", checkpoint_every=1e308), "job-out-of-range", {"key": "training.checkpoint_every"}),
        (with_("training", evaluate_every=1e308), "job-out-of-range", {"key": "training.evaluate_every"}),
        (with_("training", epochs=float("nan")), "job-wrong-type", {}),
        (with_("data", path="/" + "x" * 4_096), "job-wrong-type", {"wanted": "text of 4,096 letters at most"}),
        (with_("where", zones=["x" * 4_097]), "job-wrong-type", {"wanted": A_LIST}),
        (with_("where", zones=["us-west4-a"] * 301), "job-wrong-type", {"wanted": A_LIST, "value": "a longer one"}),
        (with_("where", zones=["us-west4-a\ntouch x"]), "job-wrong-type", {"wanted": A_LIST}),
        (with_("training", steps=10**400), "job-wrong-type", {"value": "a number of very many digits"}),
        (with_("training", learning_rate=10**400), "job-wrong-type", {"value": "a number of very many digits"}),
        (with_("training", seed=True), "job-wrong-type", {"wanted": "a whole number"}),
        (with_("training", global_batch=1.5), "job-wrong-type", {}),
        (with_("training", framework="jaxx"), "job-not-a-choice", {"nearest": "jax"}),
        (with_("training", optimizer="auto"), "job-not-auto", {"key": "training.optimizer"}),
        (with_("training", epochs=1, steps=1), "job-contradiction", {}),
        (with_("limits", hours=690, wait_hours=100), "job-out-of-range", {"key": "limits.hours"}),
        ({"model": {"name": "mlp"}}, "job-missing", {"key": "data.kind"}),
        ({"model": {"name": "mlp"}, "data": {"kind": "table"}}, "job-missing", {"key": "data.path"}),
        ({"data": {"kind": "digits"}}, "job-missing", {"key": "model.name"}),
        ({**SMALLEST, "model": 3}, "job-wrong-type", {"key": "model"}),
    ],
)
def test_each_mistake_has_its_own_answer(tree: dict[str, Any], id: str, facts: dict[str, Any]):
    with pytest.raises(JobError) as caught:
        parse(tree)
    assert caught.value.id == id
    assert facts.items() <= caught.value.facts.items()


def test_a_name_is_one_line_that_fits_into_a_title():
    tree = {"model": {"name": "mlp"}, "data": {"kind": "digits"}}
    assert parse({**tree, "name": "my\n photos \u0007" + "x" * 5000}).name == "my photos " + "x" * 90
    assert parse({**tree, "name": "\u0007"}).name == "run"
    assert parse({**tree, "name": "\u3164\uffa0 \u2800"}).name == "run"  # they show as nothing
    assert (
        parse({**tree, "name": "a\u202etsoc\u2066 \u200bb\x1b[2J\u2028c"}).name == "atsoc b c"
    )  # turns no sentence round


def test_setting_epochs_removes_steps_and_the_reverse():
    job = set_values(parse(with_("training", steps=10)), {"training.epochs": 2})
    assert (job["training.epochs"], job["training.steps"]) == (2, None)
    job = set_values(job, {"training.steps": 7})
    assert (job["training.epochs"], job["training.steps"]) == (None, 7)


def test_a_setting_of_the_command_line_becomes_the_value_its_key_wants():
    assert parse_setting("training.global_batch=128") == ("training.global_batch", 128)
    assert parse_setting("data.augment=false") == ("data.augment", False)
    assert parse_setting("name=12") == ("name", "12")
    assert parse_setting("training.learning_rate=auto") == ("training.learning_rate", "auto")
    assert parse_setting("model.options=width=64,layers=2") == ("model.options", {"width": 64, "layers": 2})
    with pytest.raises(JobError, match="job-setting"):
        parse_setting("training.epochs")
    for digits in (400, 5000):
        with pytest.raises(JobError, match="job-wrong-type"):
            parse_setting(f"training.steps={'9' * digits}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*BY_PATH, "model", "data", "x"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_whatever_is_read_is_a_job_or_a_named_mistake(tree: Any):
    try:
        parse(tree)
    except JobError as error:
        assert error.id.startswith("job-")


def test_options_of_a_model_are_checked_against_the_catalogue():
    assert options("gpt-124m", {})["vocabulary"] == 256  # bytes; GPT-2's own can be set
    assert options("gpt-124m", {"vocabulary": 50_257})["vocabulary"] == 50_257
    for bad in ({"widht": 1}, {"width": 100, "heads": 3}, {"layers": 0}, {"layers": "three"}):
        with pytest.raises(JobError):
            options("gpt-nano", bad)


def test_a_setting_of_the_command_line_takes_a_decimal_comma_and_asks_where_it_may_be_thousands():
    assert parse_setting("limits.money_usd=2,50") == ("limits.money_usd", 2.5)
    assert parse_setting("limits.hours=0,5") == ("limits.hours", 0.5)
    assert parse_setting("training.learning_rate=0,002") == ("training.learning_rate", 0.002)
    assert parse_setting("training.global_batch=1,024") == ("training.global_batch", 1024)
    for text in ("limits.money_usd=2,500", "limits.money_usd=1.000"):
        with pytest.raises(JobError) as refused:
            parse_setting(text)
        assert refused.value.id == "job-two-readings"

"""A plan for Colab's free chip: what it is, that it costs nothing, and how long a session may last."""

from __future__ import annotations

from tests.fakes.looks import DIGITS, NOW
from tests.fakes.making import make_plan
from tpu_studio.domain.sentences import say_check
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.wire.job import parse, set_values


def _plan(**where: str):  # type: ignore[no-untyped-def]
    tree = {"model": {"name": "mlp"}, "data": {"kind": "digits"}, "where": {"place": "colab", **where}}
    return make_plan(parse({"format": 1, "name": "digits", **tree, "training": {"epochs": 2}}), DIGITS, now=NOW)


def test_it_is_one_v5e_chip_at_no_cost() -> None:
    made = _plan()
    assert (made.accelerator, made.devices, made.framework, made.fits) == ("v5litepod-1", 1, "jax", True)
    assert made.memory.limit_bytes == 16_911_433_728  # of its 16 GiB, what the TPU compiler gives a program
    assert made.cost_usd.expected == made.cost_usd.high == 0.0
    assert made.limits.money_usd is None
    assert not made.blocking
    assert plan_to_public_json(made)["price"] == {"usd_per_hour": 0.0, "as_of": "2025-09", "source": "colab-free"}


def test_the_chip_may_be_named_and_no_other_can_be_had() -> None:
    assert not _plan(accelerator="v5litepod-1").blocking
    assert [check.id for check in _plan(accelerator="v6e-1").blocking] == ["accelerator-impossible"]


def test_more_than_a_session_is_said() -> None:
    tree = {"model": {"name": "mlp"}, "data": {"kind": "digits"}, "where": {"place": "colab"}}
    long = make_plan(parse({"format": 1, "name": "d", **tree, "training": {"steps": 90_000_000}}), DIGITS, now=NOW)
    found = {check.id: check for check in long.checks}["colab-session"]
    assert (found.level, found.facts["low_hours"], found.facts["high_hours"]) == ("warning", 1.5, 3.5)
    assert "colab-session" not in {check.id for check in _plan().checks}


def test_tensorflow_is_refused_there_too_and_one_press_makes_it_jax() -> None:
    tree = {"model": {"name": "mlp"}, "data": {"kind": "digits"}, "where": {"place": "colab"}}
    chosen = parse({"format": 1, "name": "digits", **tree, "training": {"epochs": 2, "framework": "tensorflow"}})
    (refused,) = make_plan(chosen, DIGITS, now=NOW).blocking
    assert (refused.id, refused.fix) == ("place-needs-jax", {"training.framework": "jax"})
    assert "Colab" in say_check(refused.id, refused.title, refused.facts).title
    pressed = make_plan(set_values(chosen, dict(refused.fix or {})), DIGITS, now=NOW)
    assert (pressed.framework, pressed.blocking) == ("jax", ())

"""`plan.json` and `plan --json` as they have always been: scripts and runs of before rely on their keys and order.

The files in `golden_plans` were written by the planner of a day. What it thinks of time and money may change, and keys
may come; that a file of before is read and written again byte for byte, and that a plan of today has its keys, may not.
`python -m tests.unit.planner.test_golden_plans` writes the files anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, counted, job
from tests.fakes.making import make_plan, with_compiler
from tpu_studio.data.looked import Look
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan, dumps, loads

FILES = Path(__file__).parent / "golden_plans"
SAID = {
    "compiled": {
        "fits": True,
        "device_bytes": 15 << 30,
        "limit_bytes": 16_911_433_728,
        "parts": {"weights": 1 << 30, "temporaries": 9 << 30},
        "programs": {},
    },
    "largest_batch": {"largest_batch": 96},
    "traced": {"problems": [], "programs": 2, "operations": []},
    "compiler": "ready",
}


def _cloud(**more: Any) -> dict[str, Any]:
    return {"place": "cloud", **more}


ASKED: dict[str, tuple[Job, Look, dict[str, Any]]] = {
    "computer-digits": (job("small-cnn", "digits"), DIGITS, {}),
    "computer-table": (job("mlp", "table", where={"usd_per_hour": 0.25}), DIAMONDS, {}),
    "computer-text-timed": (job("gpt-nano", "text"), PLAYS, {"timing": Timing(0.05, 3.0, 5.0, 640.0, 123_456)}),
    "computer-own": (
        job(None, "images", model={"file": "/jobs/model.py"}, training={"epochs": 2}),
        HANDS,
        {"model_facts": {"sha256": "ab", **counted(9_000, 1e6)}, "consent": "ab"},
    ),
    "cloud-images": (job("small-cnn", "images", where=_cloud()), HANDS, {"bucket_region": "us-central1"}),
    "cloud-spot-text": (
        job("gpt-124m", "text", where=_cloud(tier="spot"), training={"steps": 5_000}),
        PLAYS,
        {"kept_days": 7},
    ),
    "cloud-flex": (
        job("mlp", "table", where=_cloud(accelerator="v6e-1", backend="compute-engine", tier="flex-start")),
        DIAMONDS,
        {},
    ),
    "cloud-given-price": (job("small-cnn", "images", where=_cloud(usd_per_hour=1.5, zones=["us-west4-a"])), HANDS, {}),
    "cloud-compiled": (job("gpt-nano", "text", where=_cloud(accelerator="v5litepod-1")), PLAYS, {}),
    "cloud-many-machines": (
        job("gpt-124m", "text", where=_cloud(accelerator="v5p-16"), training={"global_batch": 64}),
        PLAYS,
        {},
    ),
    "practice-digits": (job("mlp", "digits", where={"place": "practice"}), DIGITS, {}),
    "colab-digits": (job("mlp", "digits", where={"place": "colab"}), DIGITS, {}),
    "cloud-blocked": (job("small-cnn", "table", where=_cloud()), DIAMONDS, {}),
}


def planned(name: str) -> Plan:
    wanted, look, known = ASKED[name]
    plan = make_plan(wanted, look, now=NOW, computer=LAPTOP, **known)
    if name == "cloud-compiled":
        plan = with_compiler(plan, SAID)
    return plan.launched(f"{name}-k3f7", NOW + 60.0, "0.1.0")


def public(plan: Plan) -> str:
    return json.dumps(plan_to_public_json(plan), indent=1) + "\n"


def shape(tree: Any) -> Any:
    """*tree* with its keys, in their order, and the types of its values; of lists the shapes that occur."""
    if isinstance(tree, dict):
        return [[key, shape(value)] for key, value in tree.items()]
    if isinstance(tree, list):
        return sorted({json.dumps(shape(one)) for one in tree})
    return type(tree).__name__


def as_of(before: Any, tree: Any) -> Any:
    """*tree* with the keys alone that *before* has."""
    if isinstance(before, dict) and isinstance(tree, dict):
        return {key: as_of(before[key], value) for key, value in tree.items() if key in before}
    return tree


@pytest.mark.parametrize("name", ASKED)
def test_a_plan_of_before_is_read_and_written_again_byte_for_byte(name: str) -> None:
    frozen = (FILES / f"{name}.json").read_bytes()
    again = dumps(loads(frozen))
    assert dumps(loads(again)) == again
    kept = as_of(json.loads(frozen), json.loads(again))  # without keys that a later version adds
    assert json.dumps(kept, indent=1, sort_keys=True).encode() == frozen


@pytest.mark.parametrize("name", ASKED)
def test_a_plan_of_today_has_the_keys_and_types_of_before(name: str) -> None:
    before, today = json.loads((FILES / f"{name}.json").read_bytes()), json.loads(dumps(planned(name)))
    assert _known(as_of(before, today)) == _known(before)


@pytest.mark.parametrize("name", ASKED)
def test_what_the_command_prints_has_the_keys_in_the_order_of_before(name: str) -> None:
    before, today = json.loads((FILES / f"{name}.public.json").read_bytes()), json.loads(public(planned(name)))
    assert shape(_without_checks(as_of(before, today))) == shape(_without_checks(before))


def _known(tree: dict[str, Any]) -> Any:
    """Shapes, without what depends on the planner's thoughts: which checks and reasons there are."""
    return shape({name: value for name, value in tree.items() if name != "reasons"} | _without_checks(tree))


def _without_checks(tree: dict[str, Any]) -> dict[str, Any]:
    checks = [sorted(check) for check in tree["checks"]]
    return {**tree, "checks": checks[:1], "reasons": None}


if __name__ == "__main__":
    for name in ASKED:
        (FILES / f"{name}.json").write_bytes(dumps(planned(name)))
        (FILES / f"{name}.public.json").write_text(public(planned(name)), "utf-8")

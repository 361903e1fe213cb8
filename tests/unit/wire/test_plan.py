"""A frozen plan carries its model's options: a later version's default changes no run."""

from __future__ import annotations

import gc
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.looks import LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tests.fakes.plans import plan
from tests.fakes.skies import cloud_plan
from tpu_studio.wire import families, models
from tpu_studio.wire import plan as plans
from tpu_studio.wire.brief import TEXT_LETTERS
from tpu_studio.wire.errors import JobError, RunError
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import dumps, from_json, loads


def frozen(**options: Any) -> dict[str, Any]:
    """The tree of `plan.json` for GPT-2 small with *options*."""
    given = job("gpt-124m", "text", model={"name": "gpt-124m", "options": options})
    tree: dict[str, Any] = json.loads(dumps(make_plan(given, PLAYS, now=NOW, computer=LAPTOP)))
    return tree


def test_a_plan_carries_all_options_of_its_model():
    tree = frozen(layers=6)
    assert tree["model_options"] == {"layers": 6, "width": 768, "heads": 12, "vocabulary": 256, "dropout": 0.0}
    assert tree["job"]["model"]["options"] == {"layers": 6}  # the job stays what the person wrote


@pytest.mark.parametrize(
    ("where", "vocabulary", "rows"),
    [
        ({"place": "cloud"}, 50_257, 50_304),  # the next multiple of 128
        ({"place": "cloud"}, 256, 0),
        ({}, 50_257, 0),  # a processor has no tiles
    ],
)
def test_the_table_of_tokens_fills_a_tpus_tiles_and_a_plan_says_so(where: dict[str, str], vocabulary: int, rows: int):
    given = job("gpt-124m", "text", model={"name": "gpt-124m", "options": {"vocabulary": vocabulary}}, where=where)
    plan = make_plan(given, PLAYS, now=NOW, computer=LAPTOP)
    assert plan.table_rows == rows
    assert loads(dumps(plan)).table_rows == rows
    older = {key: value for key, value in json.loads(dumps(plan)).items() if key != "table_rows"}
    assert from_json(older).table_rows == 0  # a run of an older version goes on with its own shapes


def test_another_default_of_a_later_version_changes_no_frozen_plan(monkeypatch: pytest.MonkeyPatch):
    tree = frozen()
    later = families.ModelSpec(
        "gpt-124m", "", "gpt", ("text",), ("language-model",), "", families._gpt(9, 64, 4, 999, 0.5)
    )
    monkeypatch.setitem(models.BY_NAME, "gpt-124m", later)
    read = from_json(tree)
    assert (read.options["layers"], read.options["vocabulary"], read.options["dropout"]) == (12, 256, 0.0)
    assert loads(dumps(read)).options == read.options


def test_a_plan_of_an_older_version_is_read_with_what_the_default_was_then():
    older = {key: value for key, value in frozen().items() if key != "model_options"}
    assert from_json(older).options["vocabulary"] == 50_257
    older = {key: value for key, value in frozen(vocabulary=512).items() if key != "model_options"}
    assert from_json(older).options["vocabulary"] == 512


def test_options_that_are_no_table_are_damage():
    with pytest.raises(RunError, match="plan-unreadable"):
        from_json(frozen() | {"model_options": 7})


@pytest.mark.parametrize(("name", "value"), [("task", "clairvoyance"), ("framework", "abacus"), ("place", "moon")])
def test_a_plan_of_a_task_framework_or_place_that_nobody_knows_is_no_plan(name: str, value: str) -> None:
    tree = json.loads(dumps(make_plan(job("gpt-nano", "text"), PLAYS, now=NOW, computer=LAPTOP))) | {name: value}
    with pytest.raises(RunError) as refusal:
        from_json(tree)
    assert refusal.value.id == "plan-unreadable" and value in str(refusal.value.facts["raw"])


@pytest.mark.parametrize("base", [[], ["x"], {"a": 1}, 7, True])
def test_a_plan_whose_folder_is_no_name_is_unreadable(base: Any) -> None:
    """`show --job` of such a run ended in an error of the program's own."""
    tree = make_plan(job("gpt-nano", "text"), PLAYS, computer=LAPTOP, now=NOW).to_json()
    with pytest.raises(RunError, match="plan-unreadable"):
        from_json({**tree, "base": base})


NOWHERE = (math.nan, math.inf, -math.inf, -1.0, -5)


@pytest.mark.parametrize("value", NOWHERE)
@pytest.mark.parametrize(
    ("part", "name"),
    [("limits", "money_usd"), ("limits", "hours"), ("limits", "idle_minutes"), ("price", "usd_per_hour")],
)
def test_a_limit_or_a_price_that_nothing_ever_reaches_is_damage(part: str, name: str, value: float) -> None:
    """JSON that Python reads has NaN, and no sum of money is ever more than that."""
    tree = json.loads(dumps(cloud_plan()))
    tree[part][name] = value
    with pytest.raises(RunError) as refusal:
        loads(json.dumps(tree).encode())
    assert refusal.value.id == "plan-unreadable" and f"{part}.{name}" in str(refusal.value.facts["raw"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_s", {"low": "x", "expected": 1, "high": []}),
        ("time_s", 7),
        ("checks", [{"id": [], "level": {}, "title": 7}]),
        ("checks", [7]),
    ],
)
def test_parts_of_other_types_reach_no_page(name: str, value: Any) -> None:
    with pytest.raises(RunError, match="plan-unreadable"):
        from_json(json.loads(dumps(cloud_plan())) | {name: value})


@pytest.mark.parametrize("value", [math.nan, -1.0, -math.inf])
@pytest.mark.parametrize("part", ["low", "expected", "high"])
def test_a_range_that_no_bar_can_show_is_damage(part: str, value: float) -> None:
    tree = json.loads(dumps(cloud_plan()))
    tree["time_s"] = {"low": 1, "expected": 2, "high": 3, part: value}
    with pytest.raises(RunError) as refusal:
        from_json(tree)
    assert "time_s is" in str(refusal.value.facts["raw"])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, "7", True])
def test_an_option_of_a_model_that_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(JobError) as refusal:
        models.options("gpt-nano", {"layers": value})
    assert refusal.value.facts["key"] == "model.options.layers"


@pytest.mark.parametrize("value", [*NOWHERE, 10**400])
def test_a_change_to_such_a_limit_changes_nothing(value: float) -> None:
    plan = cloud_plan()
    assert limits_of(plan, [{"verb": "limits", "hours": value, "money_usd": value}]) == limits_of(plan)


@pytest.mark.parametrize("value", [0, -1, 10**18, math.nan, math.inf, True, "7", 1.5, None, [7]])
@pytest.mark.parametrize("name", ["steps", "devices", "steps_per_epoch", "table_rows", "scored_at_once", "sharded"])
def test_counts_that_no_plan_has_are_damage_and_the_field_is_named(name: str, value: Any) -> None:
    """A window of a run divides by the steps of an epoch, a trainer makes as many devices as it is told to."""
    honest = {"steps_per_epoch": [1.5], "table_rows": [0], "scored_at_once": [0], "sharded": [True]}
    tree = json.loads(dumps(cloud_plan())) | {name: value}
    if value in honest.get(name, []):
        from_json(tree)
        return
    with pytest.raises(RunError) as refusal:
        from_json(tree)
    assert refusal.value.id == "plan-unreadable" and name in str(refusal.value.facts["raw"])


@pytest.mark.parametrize("preset", ["starter:nope", "starter:", "x", "starter:mlp", "starter:efficientnet-lite0"])
def test_a_plan_that_begins_from_weights_its_model_does_not_have_is_damage(preset: str) -> None:
    """To carry such a run on, or to bundle it for a machine, ended in a KeyError."""
    tree = json.loads(dumps(cloud_plan()))
    tree["job"]["model"]["preset"] = preset
    with pytest.raises(RunError) as refusal:
        from_json(tree)
    assert refusal.value.id == "plan-unreadable" and preset in str(refusal.value.facts["raw"])


@pytest.mark.parametrize("preset", ["starter:nope", "starter:", "x", "none", "starter:mlp", "efficientnet-lite0"])
def test_weights_that_nobody_knows_are_refused_by_name(preset: str) -> None:
    with pytest.raises(JobError, match="job-not-a-choice"):
        models.starter(preset)


@pytest.mark.parametrize(
    ("path", "held"),
    [
        (("limits", "stops"), ["guardian"] * 20_000),
        (("memory", "parts"), {str(number): 1 for number in range(20_000)}),
        (("checks",), [{"id": "x", "level": "ok", "title": ""}] * 20_000),
        (("alternatives",), [{}] * 20_000),
    ],
)
def test_lists_that_no_plan_has_are_damage_before_each_entry_is_looked_at(path: tuple[str, ...], held: Any) -> None:
    """A plan of 16 MB could be made to take ten seconds of reading."""
    tree = json.loads(dumps(cloud_plan()))
    inner = tree
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = held
    with pytest.raises(RunError) as refusal:
        from_json(tree)
    assert f"{'.'.join(path)} has 20,000 entries" in str(refusal.value.facts["raw"])


def test_no_cycles_are_looked_for_while_a_plan_is_read() -> None:
    """Half the time that a plan of many thousand columns took."""
    columns = [{"name": str(number), "kind": "number", "examples": ["1", "2"]} for number in range(5_000)]
    data = json.dumps(json.loads(dumps(cloud_plan())) | {"data": {"columns": columns}}).encode()
    heard: list[str] = []
    gc.callbacks.append(lambda phase, about: heard.append(phase))
    try:
        loads(data)
    finally:
        gc.callbacks.pop()
    assert heard.count("start") <= 1  # of what waited, when all is read


def test_names_and_texts_of_the_data_are_read_as_far_as_a_page_shows_them() -> None:
    tree = frozen()
    long = "ab cd " * 100_000
    tree["data"] |= {"classes": [[long, 3]], "target": long, "preview": {"columns": [long], "texts": [{"text": long}]}}
    data = loads(json.dumps(tree).encode()).data
    assert len(str(data["target"])) == TEXT_LETTERS and len(json.dumps(data)) < 6 * TEXT_LETTERS


def test_a_plan_is_read_once_and_another_of_the_same_size_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's of 16 MB was read nine times by one verb."""
    read = []
    parse = plans.parse_json
    monkeypatch.setattr(plans, "parse_json", lambda *told: (read.append(1), parse(*told))[1])
    large = replace(plan(), data={"classes": [["a" * 80, n] for n in range(4000)]})
    bytes_ = plans.dumps(large)
    assert plans.loads(bytes_) == plans.loads(bytes(bytearray(bytes_))) and len(read) == 1
    other = bytes_.replace(b"aaaa", b"bbbb", 1)
    assert plans.loads(other).data != plans.loads(bytes_).data
    small = plans.dumps(plan())
    assert plans.loads(small) == plans.loads(small) and plans.loads(small) is plans.loads(bytes(bytearray(small)))

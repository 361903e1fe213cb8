"""Conditions of grants as IAM evaluates them: names, types, times, and that what is not understood grants nothing."""

from __future__ import annotations

import pytest

from tpu_studio.domain.grants import OWN_MACHINES, is_own_machines, own_words
from tpu_studio.practice.conditions import NOTHING, NotUnderstood, Target, extracted, holds, of_object, target

NAME = "projects/p/zones/us-east5-a/instances/"
OURS, OTHER = (
    Target("compute.googleapis.com", "compute.googleapis.com/Instance", f"{NAME}{one}")
    for one in ("ts-digits-a1-t1", "database")
)


def test_ours_holds_for_our_machines_and_for_nothing_else() -> None:
    expression = OWN_MACHINES["expression"]
    assert holds(expression, OURS, 0.0)
    assert not holds(expression, OTHER, 0.0)
    assert not holds(expression, NOTHING, 0.0)  # a TPU, a task, a project: no attributes
    assert not holds(expression, Target("", "compute.googleapis.com/Disk", "projects/p/zones/z/disks/ts-x"), 0.0)


def test_only_the_whole_condition_of_ours_is_taken_for_it() -> None:
    assert is_own_machines({**OWN_MACHINES, "description": ""})
    for key, value in (("title", "office hours"), ("expression", "true"), ("expression", "")):
        assert not is_own_machines({**OWN_MACHINES, key: value})
    assert not is_own_machines(None) and not is_own_machines("expression")


# From IAM's attribute reference, "extract": a template with one place; "" where it is not found.
@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("/order_date={date}/", "2019-11-03"),
        ("buckets/{name}/", "acme-orders-aaa"),
        ("/orders/{empty}order_date", ""),
        ("{start}/objects/data_lake", "projects/_/buckets/acme-orders-aaa"),
        ("orders/{end}", "order_date=2019-11-03/aef87g87ae0876"),
        ("/order_date={no_match}/aef", "2019-11-03"),
        ("/not_there/{it}", ""),
    ],
)
def test_extract_gives_what_stands_in_the_place_of_the_template(template: str, found: str) -> None:
    name = "projects/_/buckets/acme-orders-aaa/objects/data_lake/orders/order_date=2019-11-03/aef87g87ae0876"
    assert extracted(template, name) == found


@pytest.mark.parametrize(
    ("expression", "held"),
    [
        (f"resource.name.startsWith('{NAME}ts-')", True),
        ("resource.name.endsWith('-t1') && resource.type == 'compute.googleapis.com/Instance'", True),
        ("resource.type == 'x' || (resource.name.startsWith('projects/') && resource.name.endsWith('t1'))", True),
        ("(resource.type == 'x' || resource.service == 'y') && resource.name.endsWith('t1')", False),
        ("request.time < timestamp('1970-01-01T00:02:00Z') && resource.name.endsWith('t1')", True),
        ("request.time > timestamp('1970-01-01T00:02:00Z')", False),
    ],
)
def test_terms_are_joined_as_in_cel(expression: str, held: bool) -> None:
    assert holds(expression, OURS, 60.0) is held


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "true",
        "request.time.getHours() < 18",
        "resource.type != 'x'",
        "!(resource.type == 'x')",
        "resource.name.contains('ts-')",
        "resource.name.extract('no place').startsWith('t')",
        "resource.type == 'x' resource.type == 'y'",
        "(resource.type == 'x'",
        "request.time < timestamp('soon')",
        "resource.matchTag('a', 'b')",
        "resource.type == 'x' &&",
    ],
)
def test_what_is_not_understood_is_refused(expression: str) -> None:
    with pytest.raises(NotUnderstood):
        holds(expression, OURS, 60.0)


def test_only_a_machine_of_compute_engine_has_attributes() -> None:
    assert target({"project": "p", "zone": "us-east5-a", "instance": "ts-digits-a1-t1"}) == OURS
    assert target({"project": "p", "zone": "us-east5-a"}) == NOTHING == target({"project": "p", "node": "ts-x"})


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("runs/digits-k3f7/claims/a0001.json", True),
        ("runs/digits-k3f7/events/a0001-w000/000000000000.jsonl", True),
        ("runs/digits-k3f7/result/saved_model/saved_model.pb", True),
        ("runs/digits-k3f7/checkpoints/12/state.safetensors", True),
        ("runs/digits-k3f7/ledger/a0001.json", True),
        ("runs/digits-k3f7/heartbeat/a0001-w000.json", True),
        ("runs/digits-k3f7/control/000001.json", False),
        ("runs/digits-k3f7/control/claims/000001.json", False),
        ("runs/digits-k3f7/events/desk-abcd2345/000000000000.jsonl", False),
        ("runs/digits-k3f7/owner.json", False),
        ("runs/digits-k3f7/plan.json", False),
        ("runs/digits-k3f7/job/bundle-00.tar.gz", False),
        ("data/00.tar", False),
        ("", False),
    ],
)
def test_machines_write_what_they_say_of_runs_and_nothing_that_a_desktop_says(name: str, writes: bool) -> None:
    expression = own_words("bucket-a")["expression"]
    assert holds(expression, of_object("bucket-a", name), 0.0) is writes
    assert not holds(expression, of_object("bucket-b", name), 0.0)
    assert not holds(expression, NOTHING, 0.0)
    assert len(expression.split("&&")) - 1 + expression.count("!resource") <= 12  # Google's limit

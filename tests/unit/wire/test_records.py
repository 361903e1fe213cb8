"""A record's JSON follows from its annotations: what is missing or of another type is refused by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import dumps, from_json
from tpu_studio.wire.records import inner, items, number, read, rows, to_json, whole


@dataclass(frozen=True)
class Part:
    id: str
    usd: float | None
    note: str = ""


@dataclass(frozen=True)
class Bill:
    usd: float
    parts: tuple[Part, ...]
    rates: Mapping[str, float]
    paid: bool = False


BILL = Bill(2.5, (Part("disk", None), Part("address", 1, "each")), {"us": 0.5}, paid=True)
TREE = {
    "usd": 2.5,
    "parts": [{"id": "disk", "usd": None}, {"id": "address", "usd": 1, "note": "each"}],
    "rates": {"us": 0.5},
    "paid": True,
}


def test_a_record_is_written_in_the_order_of_its_fields_and_read_again():
    assert json.dumps(to_json(BILL)) == json.dumps(TREE)
    assert read(Bill, TREE, "bill") == BILL


def test_what_has_its_default_is_not_written():
    assert to_json(Bill(0.0, (), {})) == {"usd": 0.0, "parts": [], "rates": {}}


def test_what_a_newer_version_writes_besides_is_passed_over():
    assert read(Bill, {**TREE, "currency": "EUR"}, "bill") == BILL


def test_what_is_not_there_is_its_default_or_none_where_that_may_be_or_what_the_caller_says():
    assert read(Part, {"id": "disk"}, "part") == Part("disk", None)
    assert read(Part, {}, "part", missing=Part("x", 3.0, "old")) == Part("x", 3.0, "old")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"usd": "2"}, "bill.usd is '2'"),
        ({"usd": True}, "bill.usd is True"),
        ({"usd": None}, "bill.usd is None"),
        ({"paid": 1}, "bill.paid is 1"),
        ({"parts": {}}, "bill.parts is {}"),
        ({"parts": [7]}, "bill.parts[0] is 7"),
        ({"parts": [{"id": 3, "usd": 1}]}, "bill.parts[0].id is 3"),
        ({"parts": [{"usd": 1}]}, r"bill.parts[0] has no id"),
        ({"rates": {"us": []}}, "bill.rates.us is []"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str):
    with pytest.raises(ValueError, match=r"^bill") as refusal:
        read(Bill, TREE | change, "bill")
    assert str(refusal.value) == words


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("limits", {"money_usd": "much", "hours": 1.0}, "limits.money_usd is 'much'"),
        ("memory", [], "memory is []"),
        ("price", {"as_of": None}, "price has no usd_per_hour"),
        ("verdict", {"worth_it": 1, "why": ""}, "verdict.worth_it is 1"),
        ("alternatives", [{"place": "colab", "accelerator": "v5litepod-1"}], "alternatives has no time_s"),
    ],
)
def test_a_part_of_a_plan_that_is_damaged_makes_it_unreadable_and_is_named(part: str, value: object, words: str):
    tree = json.loads(dumps(make_plan(job("mlp", "digits"), DIGITS, now=NOW, computer=LAPTOP)))
    with pytest.raises(RunError) as refusal:
        from_json({**tree, part: value})
    assert refusal.value.id == "plan-unreadable" and refusal.value.facts["raw"] == words


def test_a_value_of_json_is_read_as_a_number_or_a_list_where_it_is_one():
    assert (number(3), number(2.5), number("2"), number(None, 7.0), number(0, 7.0)) == (3, 2.5, 0.0, 7.0, 7.0)
    assert (whole(3.9), whole(None, 2), whole("3")) == (3, 2, 0)
    assert (number(10**400, 7.0), whole(10**400, 2), whole(-(10**400)), whole(2**53)) == (7.0, 2, 0, 2**53)
    assert (items([1]), items((1,)), items("ab"), items(None)) == ([1], (1,), (), ())
    assert (inner({"a": 1}), inner(None), rows([{"a": 1}, 2]), rows({})) == ({"a": 1}, {}, [{"a": 1}], [])

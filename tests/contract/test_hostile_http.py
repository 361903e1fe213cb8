"""Hostile requests: what `make fuzz` has found, by name, and whether it would find a fall."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import Call
from tests.fakes.hostile_http import Fallen, Hostile, Target
from tpu_studio.practice import budgets
from tpu_studio.practice.main import Practice

ACCOUNT = "billingAccounts/0A1B2C-3D4E5F-678901"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", "", {"lifecycle": {"rule": None}}, 200),
        (
            "PATCH",
            "",
            {"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 3, "matchesPrefix": None}}]}},
            200,
        ),
        ("PATCH", "", {"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 10**400}}]}}, 400),
        ("PUT", "/iam", {"version": 3, "bindings": None}, 200),
        ("PUT", "/iam", {"bindings": [{"role": "roles/viewer", "members": None}]}, 200),
    ],
)
def test_nulls_and_numbers_in_a_bucket_s_lists(
    practice: Practice, call: Call, method: str, path: str, body: Any, status: int
) -> None:
    bucket = f"/storage/v1/b/{practice.cloud.settings.bucket}"
    assert call(method, f"{bucket}{path}", json.dumps(body).encode()).status == status


def test_a_budget_s_rule_without_a_share_poisons_no_look_at_the_bill(practice: Practice, call: Call) -> None:
    body = {"amount": {"specifiedAmount": {"units": "1"}}, "thresholdRules": [{}]}
    assert call("POST", f"/v1/{ACCOUNT}/budgets", body).status == 200
    budgets.watch(practice.cloud)


@pytest.mark.parametrize("units", ["9" * 25, 2**63, "NaN", -(2**63) - 1])
def test_a_whole_number_beyond_its_type_is_a_bad_request(call: Call, units: Any) -> None:
    assert call("POST", f"/v1/{ACCOUNT}/budgets", {"amount": {"specifiedAmount": {"units": units}}}).status == 400


def test_what_falls_is_told_with_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself is checked: a handler that breaks is seen, and a part of the ticker."""
    with Target(tmp_path / "practice") as target:
        request = Hostile(target.practice, random.Random(1)).request()
        assert request.startswith((b"GET", b"P", b"DELETE")) and target.send(request)
        router = target.practice.server.router
        with monkeypatch.context() as broken, pytest.raises(Fallen, match="an internal error") as told:
            broken.setattr(router, "find", lambda *_: 1 // 0)
            target.send(b"GET /v1/projects HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert told.value.request.startswith(b"GET /v1/projects")
        with pytest.raises(ZeroDivisionError):
            target._watched(lambda: print(1 // 0))()
        with pytest.raises(Fallen, match="ZeroDivisionError in the ticker"):
            target.send(request)

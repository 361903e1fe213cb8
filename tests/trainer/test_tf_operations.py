"""The check of TensorFlow operations, in real TensorFlow: small pieces of models, and what a TPU's compiler says.

The answers were measured with tensorflow-tpu and libtpu (tools/make_operations.py); the check sees graphs, not them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.trainer.in_engine import engine_python
from tools import make_operations

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def checked() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = make_operations.ask_check(engine_python())
    return found


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(make_operations.TABLE.read_bytes())["answers"]
    return found


def test_nothing_is_said_to_work_that_a_tpu_refuses(checked: Any, answers: Any) -> None:
    false_works, false_alarms = make_operations.judge(checked, answers)
    assert len(answers) >= 60
    assert checked.keys() == answers.keys()
    assert false_works == []
    assert len(false_alarms) <= 3, false_alarms


@pytest.mark.parametrize(
    ("probe", "found"),
    [
        ("RandomRotation:p", ["op-not-on-tpu", "error", "ImageProjectiveTransformV3"]),
        ("StringLookup:s", ["op-not-on-tpu", "error", "LookupTableFindV2"]),
        ("reshape by value:bn", ["op-dynamic-shape", "error", "Reshape"]),
        ("while that grows:b", ["op-dynamic-shape", "error", "StatelessWhile"]),
        ("complex128:b", ["op-not-on-tpu", "error", "Cast"]),
        ("tensor array that grows:b", ["op-array-grows", "warning", "TensorListSetItem"]),
        ("boolean mask:b", ["op-slow-on-tpu", "warning", "Where"]),
    ],
)
def test_what_is_wrong_is_named(checked: Any, probe: str, found: list[str]) -> None:
    assert found in checked[probe]


@pytest.mark.parametrize("probe", ["LSTM:t", "MultiHeadAttention:t", "Conv2D:p", "constant text:b", "repeat:b"])
def test_what_works_is_not_doubted(checked: Any, probe: str) -> None:
    assert checked[probe] == []

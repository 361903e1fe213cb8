"""What the check of a plan says in one line, before its findings."""

from __future__ import annotations

from tests.fakes.plans import plan
from tpu_studio.viewmodels.plancheck import CheckView, described


def told(level: str) -> str:
    operations = [{"id": "op-padding", "level": level, "facts": {}}]
    answer = {"traced": {"problems": [], "operations": operations}}
    return described(CheckView(), plan(), answer, offered=True).told


def test_an_operation_that_no_tpu_has_is_not_said_to_be_in_order() -> None:
    assert told("error") == "The shapes meet, but a TPU cannot do all operations; see below."
    assert told("info") == "Shapes and operations are in order. The memory is still an estimate."

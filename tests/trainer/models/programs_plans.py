"""Plans and descriptions of data for the programs that these tests start in the engine."""

from __future__ import annotations

from typing import Any

from tpu_studio.wire.job import parse_resolved
from tpu_studio.wire.models import BY_NAME
from tpu_studio.wire.plan import Plan

PICTURES = {
    "kind": "images",
    "task": "classification",
    "classes": ["cat", "dog", "owl"],
    "input_shape": [32, 32, 3],
    "outputs": 3,
}
DIGITS = {
    "kind": "digits",
    "task": "classification",
    "classes": list("0123456789"),
    "input_shape": [8, 8, 1],
    "value_max": 16,
    "outputs": 10,
}
ROWS = {"kind": "table", "task": "regression", "input_shape": [26], "outputs": 1}
TEXT = {"kind": "text", "task": "language-model", "input_shape": [64], "outputs": 256}
SORTED = {"kind": "text", "task": "text-classification", "input_shape": [64], "outputs": 2, "vocabulary": 30_522}


def plan(
    model: str,
    description: dict[str, Any],
    *,
    options: dict[str, Any] | None = None,
    consent: str = "",
    data: dict[str, Any] | None = None,
    **training: Any,
) -> Plan:
    """A plan for *model*, a name of the catalogue or the path of a Python file."""
    which = {"file": model} if model.endswith(".py") else {"name": model}
    where = {} if description["kind"] == "digits" else {"path": "/data"}
    length = (BY_NAME[model].sequence_length if model in BY_NAME else None) or 64
    job = parse_resolved(
        {
            "model": which | {"options": options or {}},
            "data": {"kind": description["kind"], "sequence_length": length} | where | (data or {}),
            "training": {"precision": "float32", **training},
        }
    )
    return Plan(job=job, task=str(description["task"]), framework="tensorflow", consent=consent)

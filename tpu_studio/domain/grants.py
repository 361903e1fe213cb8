"""Grants of ours that hold under a condition, word for word, for who grants them and who looks for them.

A condition that is not exactly one of these counts for nothing: it may fail at the moment it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Condition = Mapping[str, str]

OWN_MACHINES: Mapping[str, str] = {
    "title": "TPU Studio machines only",
    "description": "Machines of Compute Engine whose names begin with ts-",
    "expression": 'resource.type == "compute.googleapis.com/Instance" && '
    'resource.name.extract("/instances/{name}").startsWith("ts-")',
}
"""Of what may be done to machines of Compute Engine (https://cloud.google.com/iam/docs/conditions-resource-attributes:
``projects/P/zones/Z/instances/NAME``). TPUs have no such attributes."""


def own_words(bucket: str) -> Condition:
    """Of what machines may write in *bucket*: what they say of runs, and nothing that a desktop says: no order of a
    person, no plan, no bundle, not who drives a run, not the data."""
    runs = f"projects/_/buckets/{bucket}/objects/runs/"
    inner = [f'resource.name.extract("/objects/runs/{{run}}/{one}") == ""' for one in _DESKTOPS]
    ends = [f'!resource.name.endsWith("/{one}")' for one in ("owner.json", "plan.json")]
    of_runs = ['resource.type == "storage.googleapis.com/Object"', f'resource.name.startsWith("{runs}")']
    return {
        "title": "TPU Studio words of machines only",
        "description": "Objects of runs, but for what a desktop says",
        "expression": " && ".join([*of_runs, *inner, *ends]),
    }


_DESKTOPS = ("control/", "events/desk-", "job/")
"""In a run's prefix. Google takes 12 logical operators in a condition (https://cloud.google.com/iam/quotas)."""


_PIECE = re.compile(r"\"[^\"\\]*\"|'[^'\\]*'|\w+|\S")


def is_same(condition: object, wanted: Condition) -> bool:
    """Whether *condition* of a grant is *wanted*, however Google lays it out; a description says nothing."""
    if not isinstance(condition, Mapping) or str(condition.get("title")).strip() != wanted["title"]:
        return False
    return _pieces(str(condition.get("expression"))) == _pieces(wanted["expression"])


def _pieces(expression: str) -> list[str]:
    """Of an expression of CEL: names, operators and strings. Space between them, and which quotes, say nothing (doubt
    ``condition-as-written``); in a string both do."""
    found = _PIECE.findall(expression)
    return [f'"{one[1:-1]}"' if len(one) > 1 and one[0] in "\"'" and '"' not in one[1:-1] else one for one in found]


def is_own_machines(condition: object) -> bool:
    """Whether *condition* of a grant is `OWN_MACHINES`, which holds for each machine that we make."""
    return is_same(condition, OWN_MACHINES)

"""Grants of ours that hold under a condition, word for word, for who grants them and who looks for them.

A condition that is not exactly one of these counts for nothing: it may fail at the moment it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping

OWN_MACHINES: Mapping[str, str] = {
    "title": "TPU Studio machines only",
    "description": "Machines of Compute Engine whose names begin with ts-",
    "expression": 'resource.type == "compute.googleapis.com/Instance" && '
    'resource.name.extract("/instances/{name}").startsWith("ts-")',
}
"""Of what may be done to machines of Compute Engine (https://cloud.google.com/iam/docs/conditions-resource-attributes:
``projects/P/zones/Z/instances/NAME``). TPUs have no such attributes."""


def is_own_machines(condition: object) -> bool:
    """Whether *condition* of a grant is `OWN_MACHINES`, which holds for each machine that we make; Google may add a
    description's absence or a location of its own, which say nothing."""
    if not isinstance(condition, Mapping):
        return False
    return all(condition.get(key) == OWN_MACHINES[key] for key in ("title", "expression"))

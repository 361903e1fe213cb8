"""Google's predefined roles and permissions, and which permission each method of its APIs checks.

All of it is Google's own (resources/google): ``iam-roles.json`` as its API lists the roles, ``iam-methods.json`` as its
reference pages tell it, and ``methods-overrides.json``, which corrects and adds, each row with its source. Both lists
are cut to the services that are played here: of any other service no permission and no role is known.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from tpu_studio.practice.state import Record
from tpu_studio.wire.resources import resource_path


@dataclass(frozen=True)
class Role:
    title: str
    stage: str
    permissions: frozenset[str]


def _read(name: str) -> Record:
    found: dict[str, object] = json.loads(resource_path("google", name).read_text("utf-8"))
    return found


_GOOGLE = _read("iam-roles.json")
_OVERRIDES = _read("methods-overrides.json")

ROLES = {
    name: Role(role["title"], role["stage"], frozenset(role["permissions"])) for name, role in _GOOGLE["roles"].items()
}
KNOWN: frozenset[str] = frozenset(one for some in _GOOGLE["permissions"].values() for one in some)
_SERVICES = frozenset(_GOOGLE["permissions"])
_ELSEWHERE = tuple(row["permissions"] for row in _OVERRIDES["not_on_projects"])


def on_projects(permission: str) -> bool:
    """Whether a project can be asked for *permission*, and a role of a project can hold it."""
    return permission in KNOWN and not any(
        permission.startswith(beginning) if beginning.endswith(".") else permission == beginning
        for some in _ELSEWHERE
        for beginning in some
    )


def grantable(role: str) -> bool:
    """Whether Google has the predefined *role*; of a service that is not played, any name is taken at its word."""
    return role in ROLES or (role.startswith("roles/") and role[6:].partition(".")[0] not in _SERVICES and "." in role)


@cache
def checked_by(method: str) -> tuple[dict[str, object], ...]:
    """What the API *method* (``tpu.projects.locations.nodes.create``) checks: ``{"name", "condition"?}`` each.

    Raises:
        KeyError: Neither Google's pages nor an override tell it.
    """
    row = _OVERRIDES["methods"].get(method)
    return tuple(row["permissions"] if row is not None else _methods()[method])


@cache
def _methods() -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = _read("iam-methods.json")["methods"]
    return found

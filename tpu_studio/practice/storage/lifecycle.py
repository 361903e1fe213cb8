"""Lifecycle rules: which objects a bucket's own rules delete, in practice time. Pure.

``AbortIncompleteMultipartUpload`` is about uploads of the XML API, which the practice cloud does not have: the rule is
kept and shown, and finds nothing. Resumable uploads end after a week by themselves (``uploads.SESSION_S``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from tpu_studio.practice.state import Record
from tpu_studio.practice.storage.store import StoredObject

DAY_S = 86_400
ACTIONS = ("Delete", "SetStorageClass", "AbortIncompleteMultipartUpload")
CONDITIONS = (
    "age",
    "createdBefore",
    "customTimeBefore",
    "daysSinceCustomTime",
    "daysSinceNoncurrentTime",
    "isLive",
    "matchesPattern",
    "matchesPrefix",
    "matchesStorageClass",
    "matchesSuffix",
    "noncurrentTimeBefore",
    "numNewerVersions",
)
NEVER = ("daysSinceNoncurrentTime", "noncurrentTimeBefore", "numNewerVersions")  # there is one version of an object
UNSUPPORTED = ("customTimeBefore", "daysSinceCustomTime", "matchesPattern")


class BadRule(ValueError):
    pass


@dataclass(frozen=True)
class Rule:
    """*age_s* seconds since creation; an empty tuple: any."""

    action: str
    age_s: float = 0.0
    created_before: float | None = None
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    storage_classes: tuple[str, ...] = ()
    never: bool = False

    def takes(self, stored: StoredObject, now: float) -> bool:
        return (
            not self.never
            and now - stored.created >= self.age_s
            and (self.created_before is None or stored.created < self.created_before)
            and (not self.prefixes or stored.name.startswith(self.prefixes))
            and (not self.suffixes or stored.name.endswith(self.suffixes))
            and (not self.storage_classes or stored.facts.get("storageClass") in self.storage_classes)
        )


def parse(lifecycle: Record) -> list[Rule]:
    """Raises: BadRule."""
    return [_rule(one) for one in lifecycle.get("rule") or []]


def due(rules: Iterable[Rule], objects: Iterable[StoredObject], now: float) -> list[StoredObject]:
    """What the rules delete now; *now* in practice seconds since 1970."""
    deleting = [rule for rule in rules if rule.action == "Delete"]
    return [stored for stored in objects if any(rule.takes(stored, now) for rule in deleting)]


def left_s(rules: Iterable[Rule], stored: StoredObject, now: float) -> float | None:
    """Seconds until a rule by age deletes it; None: no rule ever does."""
    at = [
        max(0.0, stored.created + rule.age_s - now)
        for rule in rules
        if rule.action == "Delete" and rule.takes(stored, max(now, stored.created + rule.age_s))
    ]
    return min(at, default=None)


def _rule(rule: Record) -> Rule:
    action, condition = rule.get("action", {}).get("type", ""), rule.get("condition") or {}
    if action not in ACTIONS:
        raise BadRule(f"action {action!r} is none of {', '.join(ACTIONS)}")
    if not condition:
        raise BadRule("a rule needs a condition")
    for name in condition:
        if name not in CONDITIONS:
            raise BadRule(f"condition {name!r} is unknown")
        if name in UNSUPPORTED:
            raise BadRule(f"condition {name!r} is not part of the practice cloud")
    age = condition.get("age", 0)
    if not isinstance(age, int) or age < 0:
        raise BadRule("age is a whole number of days")
    before = condition.get("createdBefore")
    try:
        created_before = None if before is None else _midnight(before)
    except ValueError as error:
        raise BadRule(f"createdBefore: {error}") from None
    return Rule(
        action,
        age * DAY_S,
        created_before,
        tuple(condition.get("matchesPrefix", ())),
        tuple(condition.get("matchesSuffix", ())),
        tuple(condition.get("matchesStorageClass", ())),
        never=any(name in condition for name in NEVER) or condition.get("isLive") is False,
    )


def _midnight(text: str) -> float:
    day = date.fromisoformat(text)
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()

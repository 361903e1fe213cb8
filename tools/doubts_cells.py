"""The worlds of `make doubts`: each playable doubt the other way, alone and in pairs, where it can be met.

A *scene* is where a doubt can change something: a run (a cell of `make chaos`: its fields), or one of those of
doubts_account.py. A doubt without a scene of its own is met by an undisturbed run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from chaos_cells import UNREADABLE, Cell
from chaos_judge import REFUSED, SHOWN_BY_A_MACHINE

from tpu_studio.domain.doubts import Doubt, doubts

RUN, ACCOUNT, NEW, SIGNIN, ASKING, LISTS, LIVE = "run", "account", "new", "signin", "asking", "lists", "live"

# With the laptop off nobody but the shut-off timers may be left to end it: that is waited for.
_BASE: dict[str, Any] = {"hours": 0.3, "wait_hours": 0.1, "speed": 30.0}
_SPOT: dict[str, Any] = {
    "tier": "spot",
    "faults": (("submit", "preempted-at-step:step=12"),),
    "ends": ("completed", "preempted", "machine-gone"),
}
# Where the node stays, it is charged until a shut-off timer deletes it: with the laptop off that spends the limit.
_STAYS: dict[str, Any] = {**_SPOT, "ends": (*_SPOT["ends"], "time-limit", "money-limit")}
_TWO = ("us-west4-a", "us-east5-b")
_COMPUTE: dict[str, Any] = {"backend": "compute-engine", "accelerator": "v6e-1", "zones": ("us-east5-b",)}
_FLEX: dict[str, Any] = {"tier": "flex-start", "hours": 0.2, "wait_hours": 0.2}
_WAITED: dict[str, Any] = {
    **_COMPUTE,
    **_FLEX,
    "zones": ("us-east5-a",),
    "settle": (("stockout-for-ever", 3.0),),
    "faults": (("submit", "stockout-for-ever"),),
}
_NO_ROOM: dict[str, Any] = {"wait_hours": 0.1, "speed": 90.0}
_HUNG: dict[str, Any] = {
    "kill": "after say intent-closed/create",
    "hours": 0.2,
    "wait_hours": 0.3,
    "speed": 60.0,
    "faults": (("submit", "vm-hung:step=12"),),
    "boot_hang": True,
    "off": "killed",
    "ends": ("machine-silent", "machine-never-spoke", "machine-gone", "time-limit"),
}
_STOPS_LOST = ("provisioning", "runner-may-not-delete:account=tpu-studio-stopper")
_OWN_END: dict[str, Any] = {**_HUNG, "faults": (*_HUNG["faults"], _STOPS_LOST), "ends": (*_HUNG["ends"], "completed")}
_NO_ADDRESS: dict[str, Any] = {
    "faults": (("submit", "address-limit"),),
    "accelerator": "v5p-16",
    "zones": ("us-east5-a",),
    "speed": 60.0,
}
_UNCOUNTED = "permission-missing:permission=compute.regions.get,times=0"
_TWICE: dict[str, Any] = {"faults": (("submit", "apply-then-fail:match=^POST .*/queuedResources"),)}
_PROVED: dict[str, Any] = {"faults": (("submit", UNREADABLE),), "speed": 60.0}
_STOPPED: dict[str, Any] = {"verb": "stop", "steps": 400, "ends": ("stopped-by-user",)}

SCENES: Mapping[str, tuple[dict[str, Any], ...]] = {
    "request-id-repeated": (
        {},
        _TWICE,
        {"faults": (("submit", "no-answer:match=^POST .*/queuedResources"),)},
        {"kind": LIVE},
    ),
    "flex-list-v2": (
        _FLEX,
        {**_HUNG, "tier": "flex-start"},
        {**_FLEX, **_STOPPED},
        {"kind": LISTS, "tier": "flex-start"},
    ),
    "flex-end": ({**_FLEX, "steps": 5000, "speed": 60.0, "ends": ("time-limit",)}, {**_OWN_END, "tier": "flex-start"}),
    "list-all-zones": ({}, {"kind": LISTS}),
    "stockout-words": (
        {"faults": (("submit", "stockout-in-operation"),), "zones": _TWO, "speed": 60.0},
        {"faults": (("submit", "stockout-in-operation:times=0"),), **_NO_ROOM},
    ),
    "nameless-429": (
        {"faults": (("submit", "stockout-at-submit"),), "zones": _TWO, "speed": 90.0},
        {"faults": (("submit", "stockout-at-submit:times=0"),), **_NO_ROOM},
    ),
    "valid-until": ({"faults": (("submit", "stockout-for-ever"),), **_NO_ROOM},),
    "suspended-means-gone": (_STAYS,),
    "taken-back-no-time": (_SPOT,),
    "off-not-charged": (_SPOT,),
    "vanished-not-billed": ({"faults": (("submit", "provisioning-flap"),), "speed": 60.0},),
    "preempted-metadata": (_SPOT,),
    "second-delete": ({}, _STOPPED, {"kind": LIVE}),
    "delete-active-unforced": ({}, _STOPPED, {"kind": LIVE}),
    "task-oauth-delete": ({}, _HUNG),
    "deleted-project-words": (
        {"faults": (("submit", "project-deleted"),), "ends": ("launch-refused",)},
        {"faults": (("queued", "project-deleted"),), "settle": (("project-deleted", 2.0),)},  # taken back by the person
        {"faults": (("training", "project-deleted"),), "settle": (("project-deleted", 2.0),)},
    ),
    "task-404-retried": ({}, _HUNG, _PROVED),
    "task-last-attempt": (_PROVED,),
    "task-own-retries": ({}, _PROVED),
    "absent-name-permission": ({}, _STOPPED, _PROVED),
    "task-name-reuse": ({}, {"verb": "extend"}, {"kind": LIVE}),
    "task-actas": ({}, _HUNG),
    "stopper-permissions": ({}, _HUNG),
    "queue-policy": ({}, _HUNG, {"verb": "extend"}),
    "compute-condition": (_COMPUTE,),
    "condition-as-written": ({"kind": ACCOUNT}, {"kind": NEW}, {"kind": LISTS}, _COMPUTE),
    "bucket-condition": ({"speed": 10.0, "ends": ("machine-gone", "machine-never-spoke")},),  # it may not write a word
    "provisioning-delete": (
        {"hours": 0.2, "wait_hours": 0.3, "speed": 240.0, "faults": (("submit", "provisioning-stalls:seconds=14400"),)},
    ),
    "entitlement-refusal": (
        {"faults": (("submit", "not-entitled:zone=us-west4-a"),), "zones": _TWO, "speed": 60.0},
        {"faults": (("submit", "not-entitled"),)},
    ),
    "address-limit-way": (_NO_ADDRESS, {**_NO_ADDRESS, "faults": (*_NO_ADDRESS["faults"], ("submit", _UNCOUNTED))}),
    "shutdown-script": (_SPOT,),
    "iam-lag": ({"kind": ACCOUNT}, {"kind": NEW}, {}),
    "serving-draws": ({},),
    "serving-region-quota": ({}, {"kind": ACCOUNT}),
    "prices-dated": ({}, _SPOT),
    "price-includes-disk": ({}, _SPOT),
    "testing-token-told": ({"kind": SIGNIN, "faults": (("submit", "refresh-token-expires"),)},),
    "signin-blocked-page": (
        {"kind": SIGNIN, "faults": (("submit", "signin-blocked:code=access_denied"),)},
        {"kind": SIGNIN, "faults": (("submit", "signin-blocked:code=org_internal"),)},
    ),
    "two-step-words": ({"kind": SIGNIN, "faults": (("queued", "two-step-needed"),)},),
    "terms-in-operation": ({"kind": NEW, "faults": (("submit", "terms-not-accepted"),)},),
    "closed-account-link": ({"kind": NEW},),
    "upload-statuses": ({"kind": LIVE}, {}),
    "missing-with-generation": ({"kind": LIVE}, {}),
    "queue-tombstone": ({"kind": ACCOUNT},),
    "tasks-far-ahead": ({}, {"hours": 300.0, "wait_hours": 200.0}),
    "install-sources": ({"speed": 10.0},),
    "compute-disk-type": (_COMPUTE,),
    "compute-max-run-tiers": (_COMPUTE, {**_COMPUTE, **_SPOT}),
    "compute-max-run-from": (
        {**_COMPUTE, "hours": 0.2, "steps": 5000, "speed": 60.0, "ends": ("time-limit",)},
        {**_COMPUTE, **_OWN_END},
    ),
    "compute-quota-where": ({**_COMPUTE, "faults": (("submit", "quota-zero"),)},),
    "compute-preempted-operation": ({**_COMPUTE, **_SPOT},),
    "compute-attributes": (_COMPUTE,),
    "compute-proof": (_COMPUTE,),
    "compute-billing": (_COMPUTE,),
    "flex-created": (_WAITED,),
    "flex-pending-free": (_WAITED,),
    "tpu-locations": ({"kind": LISTS},),
    "tasks-locations": ({"kind": LISTS}, {"kind": ACCOUNT}),
    "machine-type-names": ({"kind": LISTS},),
    "price-descriptions": ({"kind": LISTS},),
    "task-fullview": ({"kind": LISTS}, {}),
    "task-actas-words": ({"faults": (("submit", "act-as-missing"),)},),
    "runtime-versions": ({}, {"kind": LISTS}),
    "bucket-rules": ({"kind": ACCOUNT}, {"kind": LIVE}, {}, _SPOT),
    "quota-ids-old": ({"kind": ACCOUNT}, {"kind": LISTS}),
    "quota-request-state": (
        {"kind": ASKING, "faults": (("submit", "quota-request-denied"),)},
        {"kind": ASKING, "faults": (("submit", "quota-request-partial"),)},
    ),
    "free-trial-asks": (
        {"kind": ASKING, "faults": (("submit", "free-trial"),)},
        {"kind": ACCOUNT, "faults": (("submit", "free-trial"),)},
    ),
    "quota-project-none": ({"kind": ACCOUNT},),
    "api-made-project": ({"kind": NEW},),
    "service-lag": ({"kind": ACCOUNT}, {"kind": NEW}),
    "revoke-whole-grant": ({"kind": SIGNIN, "faults": (("queued", "scope-unticked"),)},),
    "date-header": ({}, {"kind": ACCOUNT}),
}

PLAIN = "another plan"
World = tuple[str, Cell]
"""What plays it (RUN, or a scene of doubts_account.py), and the cell."""


def ways() -> list[tuple[Doubt, str]]:
    return [(one, way) for one in doubts().values() if one.by_practice for way in one.others]


def alone() -> list[World]:
    """Every doubt, every way, in each of its scenes; runs with the laptop on and off."""
    return [world for doubt, way in ways() for world in _of([(doubt, way)], *SCENES.get(doubt.id, ({},)))]


def pairs(count: int, seed: int) -> list[World]:
    """So many different pairs, each in a scene that suits one of the two or both."""
    dice, found = random.Random(seed), dict[str, World]()
    every = ways()
    while len(found) < count:
        two = dice.sample(every, 2)
        if two[0][0].id == two[1][0].id:
            continue
        scene = _both(*(dice.choice(SCENES.get(doubt.id, ({},))) for doubt, _ in two))
        kind, cell = dice.choice(list(_of(two, scene)))
        found.setdefault(cell.name, (kind, cell))
    return list(found.values())


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One scene for both where they do not contradict each other, else the first's."""
    alike = one.get("kind") == other.get("kind")  # what goes wrong in a run is nothing of the lists
    same = alike and all(one[key] == value for key, value in other.items() if key in one)
    both = {**other, **one} if same else one
    if both.get("backend") == _COMPUTE["backend"] and _stalls(both):
        both = one  # Compute Engine knows no PROVISIONING that stalls
    if (both.get("backend"), both.get("tier")) == (_COMPUTE["backend"], "flex-start"):
        both = {**both, "zones": _WAITED["zones"]}  # the one that has it
    return both


def _stalls(scene: dict[str, Any]) -> bool:
    return any(text.startswith("provisioning-stalls") for _, text in scene.get("faults", ()))


def _of(armed: list[tuple[Doubt, str]], *scenes: dict[str, Any]) -> Iterator[World]:
    texts = tuple(f"{doubt.id}={way}" for doubt, way in armed)
    for number, scene in enumerate(scenes):
        fields = {key: value for key, value in scene.items() if key != "kind"}
        kind = scene.get("kind", RUN)
        name = " + ".join(texts) + (f" #{number + 1}" if len(scenes) > 1 else "")
        if len(scenes) == 1 and kind == RUN and fields:
            name += f" ({_words(fields)})"
        cell = Cell(f"{name}, {kind}" if kind != RUN else name, doubts=texts, **{**_BASE, **fields})
        cell = replace(cell, ends=(*cell.ends, *REFUSED, *SHOWN_BY_A_MACHINE))
        yield kind, cell
        if kind == RUN and not cell.off and not cell.verb:
            yield kind, replace(cell, name=f"{cell.name}, laptop off", off="queued")


def scene(kind: str, cell: Cell) -> str:
    """What happens in it, for a table."""
    if kind != RUN:
        return kind
    told = {"faults": cell.faults, "verb": cell.verb, "backend": cell.backend}
    told |= {"tier": cell.tier} if cell.tier != "on-demand" else {}
    words = _words({key: value for key, value in told.items() if value})
    return f"{'a run' if words == PLAIN else words}{', laptop off' if cell.off else ''}"


def _words(fields: Mapping[str, Any]) -> str:
    faults = [text.partition(":")[0] for _, text in fields.get("faults", ())]
    more = [str(fields[key]) for key in ("tier", "backend", "verb") if key in fields]
    return ", ".join([*faults, *more]) or PLAIN

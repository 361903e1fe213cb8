"""A plan: a job with its place, limits and estimate, everything "auto" resolved. Frozen as `plan.json` at launch.

``planner`` makes it, the window shows it, the trainer and the guardian obey it. What is launched is exactly
what was shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from tpu_studio.wire import frameworks, hub, models, places, tasks
from tpu_studio.wire.brief import brief_fields
from tpu_studio.wire.errors import JobError, RunError
from tpu_studio.wire.events import is_time
from tpu_studio.wire.extras import Extras, read_extras
from tpu_studio.wire.job import ResolvedJob, parse_resolved
from tpu_studio.wire.jsonfile import NotJson, parse_json, without_collecting
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.planparts import (
    NO_LIMITS,
    NO_MEMORY,
    Alternative,
    Basis,
    PlanLimits,
    PlanMemory,
    PlanPrice,
    PlanVerdict,
)
from tpu_studio.wire.planparts import Range as Range
from tpu_studio.wire.records import number, read_many, to_json
from tpu_studio.wire.records import read as read_record
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.wire.shapes import fits
from tpu_studio.wire.sizes import PLAN_BYTES, TooLarge, read_at_most
from tpu_studio.wire.utilisation import Utilisation, read_utilisation

FORMAT = 1
T = TypeVar("T")
_RANGES = ("examples_per_s", "time_s", "cost_usd")
_PLAIN = (
    "run",
    "created",
    "app",
    "place",
    "accelerator",
    "framework",
    "devices",
    "task",
    "steps",
    "steps_per_epoch",
    "reasons",
    "data",
    "consent",
)


@dataclass(frozen=True)
class Check:
    """One thing checked before launch. ``level``: ok, info, warning, error. ``fix``: `table.key` → value, or None."""

    id: str
    level: str
    title: str
    fix: Mapping[str, object] | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What will be run.

    Attributes:
        job: The job with every "auto" resolved (paths absolute).
        reasons: `table.key` → one sentence why "auto" became what it is.
        run: Id of the run; "" until launched.
        data: `Look.to_json()` of the data at planning time (the trainer checks its fingerprint).
        task: An id of `wire.tasks`.
        steps: Optimizer steps in all; steps_per_epoch may be 0.x for huge batches, so it is a float.
        table_rows: Of a language model's token table, where these are more than its vocabulary, to fill tiles;
            0: as many as the vocabulary, and in plans of older versions.
        sharded: Whether each device holds its share of weights and optimizer only, instead of all of them; not in plans
            of older versions.
        scored_at_once: Of a language model, tokens of one device whose scores over the vocabulary are in memory at a
            time; 0: all, and in plans of older versions.
        consent: sha256 of the user's own model file that was agreed to, or "".
        preset_sha256: Of the folder that the model begins from (``wire.presets``); "" where it begins from none.
        preset_bytes: Of that folder's files that are read; 0 in plans of older versions.
        price: None when unknown.
        verdict: None, and alternatives empty, where they were not asked for, and in plans of older versions.
        basis: None in plans of older versions.
        extras: What a rented machine costs besides its chips, and what is reserved of the cap for it from the start;
            None on places that charge nothing, and in plans of older versions.
        model_options: All options of the model, so that a default of a later version changes no run; of the user's own
            file those that were given. Plans of older versions are read with what the defaults were then.
        utilisation: What the run's MFU is measured by; None off TPUs, and in plans of older versions.
    """

    job: ResolvedJob
    task: str
    framework: str
    place: str = field(default_factory=lambda: places.default().id)
    accelerator: str = "cpu"
    devices: int = 1
    steps: int = 1
    steps_per_epoch: float = 1.0
    reasons: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, object] = field(default_factory=dict)
    examples_per_s: Range | None = None
    time_s: Range | None = None
    cost_usd: Range | None = None
    memory: PlanMemory = NO_MEMORY
    price: PlanPrice | None = None
    limits: PlanLimits = NO_LIMITS
    checks: tuple[Check, ...] = ()
    verdict: PlanVerdict | None = None
    alternatives: tuple[Alternative, ...] = ()
    basis: Basis | None = None
    extras: Extras | None = None
    model_options: Mapping[str, object] = field(default_factory=dict)
    utilisation: Utilisation | None = None
    table_rows: int = 0
    sharded: bool = False
    scored_at_once: int = 0
    consent: str = ""
    preset_sha256: str = ""
    preset_bytes: int = 0
    run: str = ""
    created: float = 0.0
    app: str = ""

    @property
    def fits(self) -> bool:
        return self.memory.fits

    @property
    def own_sha256(self) -> str:
        """Of what the person's own model is made of: their file, or the folder that it begins from; "" for ours."""
        return self.consent or self.preset_sha256

    @property
    def options(self) -> dict[str, object]:
        """What the model is built with: `model_options`, or the job's with today's defaults where a plan has none.

        Raises:
            JobError: As ``wire.models.options``.
        """
        given = self.model_options or self.job.model.options
        return dict(given) if self.job.model.is_own else models.options(self.job.model.id, given)

    @property
    def blocking(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.level == "error")

    @property
    def faults(self) -> tuple[Check, ...]:
        """Those of `blocking` that are more than a download to come: without them its work and price are known."""
        return tuple(check for check in self.blocking if check.id not in hub.PROBLEMS or not self.preset_sha256)

    def launched(self, run: str, created: float, app: str) -> Plan:
        return replace(self, run=run, created=created, app=app)

    def to_json(self) -> dict[str, object]:
        tree: dict[str, object] = {"format": FORMAT} | {name: getattr(self, name) for name in _PLAIN}
        tree |= {name: value.to_json() if (value := getattr(self, name)) else None for name in _RANGES}
        tree["checks"] = [asdict(check) for check in self.checks]
        tree["alternatives"] = [to_json(one) for one in self.alternatives]
        tree["price"] = to_json(self.price) if self.price else None
        tree["limits"] = to_json(self.limits)
        tree["memory"] = {} if self.memory == NO_MEMORY else to_json(self.memory)
        for name in ("verdict", "basis", "extras"):
            tree[name] = to_json(value) if (value := getattr(self, name)) else {}
        tree["model_options"] = dict(self.model_options)
        tree["utilisation"] = self.utilisation.to_json() if self.utilisation else None
        tree |= {"table_rows": self.table_rows, "sharded": self.sharded}
        if self.scored_at_once:  # a plan of an older version is written as it was
            tree["scored_at_once"] = self.scored_at_once
        if self.preset_sha256:
            tree |= {"preset_sha256": self.preset_sha256, "preset_bytes": self.preset_bytes}
        tree["job"] = _without_younger_keys(self.job.to_json())
        tree["base"] = self.job.base
        return tree


def _without_younger_keys(job: dict[str, Any]) -> dict[str, Any]:
    """*job* of a plan without the keys that are younger than the plan: in a plan all is resolved but a limit of money,
    so that "auto" stands only where the plan had none (`wire.job.parse_resolved`)."""
    return {
        table: {name: value for name, value in held.items() if value != AUTO or f"{table}.{name}" == "limits.money_usd"}
        if isinstance(held, dict)
        else held
        for table, held in job.items()
    }


def from_json(tree: Mapping[str, Any]) -> Plan:
    """The plan in a parsed `plan.json`.

    Raises:
        RunError: ``plan-newer`` for a format this version does not know, ``plan-unreadable`` otherwise.
    """
    version: object = tree.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise RunError("plan-newer", format=version, known=FORMAT)
    if version != FORMAT:
        raise RunError("plan-unreadable", raw=f"format is {version!r}")
    try:
        base = tree.get("base", "")
        if not isinstance(base, str):
            raise RunError("plan-unreadable", raw=f"base is {base!r}"[:200])
        job = parse_resolved(tree["job"], base=base)
        plain: dict[str, Any] = {name: tree[name] for name in _PLAIN}
        for name, value in plain.items():
            if not fits(value, _HINTS[name]):
                raise RunError("plan-unreadable", raw=f"{name} is {value!r}"[:200])
        for name, known in _IDS.items():
            if plain[name] not in known:
                raise RunError(
                    "plan-unreadable", raw=f"{name} is {plain[name]!r}, which this version does not know"[:200]
                )
        _bounded(tree)
        if not is_time(plain["created"]):
            raise RunError("plan-unreadable", raw="a time that cannot be")
        ranges: dict[str, Any] = {name: _optional(Range, tree.get(name), name) for name in _RANGES}
        checks = read_many(Check, tree["checks"], "checks")
        limits, price = read_record(PlanLimits, tree["limits"], "limits"), _optional(PlanPrice, tree["price"], "price")
        _known_preset(job)
        for name, found in ranges.items():
            _no_nan(name, found)
        _limit_something("limits", limits)
        _limit_something("price", price)
        options = tree.get("model_options")
        plain["data"] = brief_fields(plain["data"])  # names and texts in it are shown
        return Plan(
            job=job,
            checks=checks,
            memory=read_record(PlanMemory, tree["memory"], "memory", missing=NO_MEMORY),
            price=price,
            limits=limits,
            verdict=_optional(PlanVerdict, tree.get("verdict"), "verdict"),
            alternatives=read_many(Alternative, tree.get("alternatives") or (), "alternatives"),
            basis=_basis(tree.get("basis")),
            extras=read_extras(tree.get("extras")),
            model_options={**models.OLDER_OPTIONS.get(job.model.id, {}), **job.model.options}
            if options is None
            else dict(options),
            utilisation=read_utilisation(tree.get("utilisation")),
            table_rows=tree.get("table_rows", 0),
            sharded=tree.get("sharded", False),
            scored_at_once=tree.get("scored_at_once", 0),
            preset_sha256=_sha256(tree.get("preset_sha256", "")),
            preset_bytes=tree.get("preset_bytes", 0),
            **plain,
            **ranges,
        )
    except RunError:
        raise
    except Exception as error:  # any shape of damage is one answer: this file is not a plan
        raise RunError("plan-unreadable", raw=str(error)) from error


def _optional(kind: type[T], tree: object, name: str) -> T | None:
    """None where it was not asked for, or an older version did not know it."""
    return None if tree is None or tree == {} else read_record(kind, tree, name)


def _bounded(tree: Mapping[str, object]) -> None:
    """Raises ValueError: a count of steps, devices or rows that no plan has. Whoever reads a plan divides by them, and
    takes memory by them."""
    for name, (least, most) in _BOUNDS.items():
        value = tree.get(name, least)
        if not fits(value, _HINTS[name]) or not least <= number(value) <= most:
            raise ValueError(f"{name} is {value!r}"[:200])
    if not isinstance(sharded := tree.get("sharded", False), bool):
        raise ValueError(f"sharded is {sharded!r}"[:200])
    if not number(tree.get("steps_per_epoch")):
        raise ValueError("steps_per_epoch is 0")


def _sha256(value: object) -> str:
    """Raises ValueError: it is none."""
    if not isinstance(value, str) or not re.fullmatch("|[0-9a-f]{64}", value):
        raise ValueError(f"preset_sha256 is {value!r}"[:200])
    return value


def _known_preset(job: ResolvedJob) -> None:
    """Raises ValueError: it begins from weights that its model does not have here, as of a newer version."""
    try:
        models.preset(job.model.id, job.model.preset)
    except JobError as error:
        raise ValueError(f"model.preset is {job.model.preset!r}"[:200]) from error


def _limit_something(name: str, record: PlanLimits | PlanPrice | None) -> None:
    """Raises ValueError: a figure is below zero, without end or no number (NaN), so that nothing ever reaches it."""
    for field_name, value in vars(record).items() if record else ():
        if isinstance(value, (int, float)) and not 0 <= value < math.inf:
            raise ValueError(f"{name}.{field_name} is {value!r}")


def _no_nan(name: str, found: Range | None) -> None:
    """Raises ValueError: a figure is below zero, or no number: no bar and no sum of it ends."""
    if found and not all(figure >= 0 for figure in (found.low, found.expected, found.high)):
        raise ValueError(f"{name} is {found.to_json()!r}"[:200])


def _basis(tree: object) -> Basis | None:
    """None too where it makes no sense: such a run is no less a run, and teaches nothing."""
    try:
        return _optional(Basis, tree, "basis")
    except ValueError:
        return None


_LARGE = 256 << 10  # bytes of a plan that takes some time
_latest: list[tuple[bytes, Plan]] = []
_IDS = {"task": tasks.IDS, "framework": frameworks.IDS, "place": places.IDS}
_HINTS = get_type_hints(Plan)
_BOUNDS = {
    "steps": (1, 10**14),  # 100,000 times through a billion examples, one in a step
    "steps_per_epoch": (0, 10**12),
    "devices": (1, 100_000),  # ten of the largest slices
    "table_rows": (0, 10**8),
    "scored_at_once": (0, 10**12),
    "preset_bytes": (0, 10**15),
}


def dumps(plan: Plan) -> bytes:
    """The bytes of `plan.json`.

    Raises:
        RunError: ``plan-too-large``: no door would let it in again.
    """
    data = json.dumps(plan.to_json(), indent=1, sort_keys=True).encode()
    if len(data) > PLAN_BYTES:
        raise RunError("plan-too-large", size=len(data), limit=PLAN_BYTES)
    return data


def frozen(folder: Path) -> bytes:
    """The bytes of the plan in a run's *folder*, as every door reads them: no more than a plan can have.

    Raises:
        RunError: ``plan-unreadable``.
        OSError: It is not there, or the disk refuses it.
    """
    try:
        return read_at_most(folder / PLAN, PLAN_BYTES)
    except TooLarge as error:
        raise RunError("plan-unreadable", raw=str(error)) from error


def read(folder: Path) -> Plan:
    """The plan of the run in *folder*. Raises as `frozen` and `loads`."""
    return loads(frozen(folder))


def loads(data: bytes) -> Plan:
    """The plan in the bytes of `plan.json`. The same again, as a verb asks for it several times and a driver at each
    turn, is the one that was read before: nobody changes a plan. Some small ones are kept, and one large one.

    Raises:
        RunError: ``plan-unreadable``, ``plan-newer``.
    """
    if len(data) < _LARGE:
        return _small(data)
    if _latest and _latest[0][0] == data:
        return _latest[0][1]
    plan = _loads(data)
    _latest[:] = [(data, plan)]
    return plan


@lru_cache(maxsize=8)
def _small(data: bytes) -> Plan:
    return _loads(data)


def _loads(data: bytes) -> Plan:
    with without_collecting():
        try:
            tree = parse_json(data, PLAN)
        except NotJson as error:
            raise RunError("plan-unreadable", raw=str(error)) from error
        if not isinstance(tree, dict):
            raise RunError("plan-unreadable", raw=f"it holds {type(tree).__name__}")
        return from_json(tree)

"""How much two trainings have in common, between 0 and 1: how far what one was off the model tells of the other. Pure.

A product of one factor for each trait that differs, so the matrix over any set of trainings is positive semidefinite
(Shawe-Taylor and Cristianini 2004, Kernel methods for pattern analysis, chapter 9): `learn` may take it for
correlations. The factors are judgements; ``benchmarks/bench_own_runs.py`` shows what comes of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

# What is left in common where one trait differs.
DIFFERENT = {
    "generation": 0.5, "framework": 0.5, "precision": 0.7, "family": 0.45, "model": 0.9, "key": 0.95,
}  # fmt: skip
# Doublings (or halvings) after which a third is left in common.
DOUBLINGS = {"batch_per_chip": 6.0, "chips": 8.0, "params": 10.0, "length": 6.0, "per_call": 8.0}
ALWAYS = 0.15  # the same person, account, network and training program
ENOUGH = 0.3  # with less in common than this, another run says nothing

# What a step's time depends on is everything but these.
_LEFT_OUT = (
    "name", "format", "limits.", "where.", "training.epochs", "training.steps", "training.learning_rate",
    "training.warmup", "training.schedule", "training.seed", "training.early_stopping", "training.evaluate_every",
    "training.checkpoint_every", "training.on_nan",
)  # fmt: skip
_KEPT_ANYWAY = ("training.steps_per_call",)


@dataclass(frozen=True)
class Traits:
    """Attributes:
    place: computer, practice, cloud or colab; between two places nothing is in common.
    generation: Of the TPU; "" for a processor.
    family: Kind of the model; model: its name, or the digest of the person's own file.
    length: Tokens of a sequence, or pixels of a picture's side; 1 where there are none.
    per_call: Steps that one call of the device makes; 0: not known, of a described workload.
    key: Digest of all that a step's time depends on: the same work on the same machine.
    """

    place: str
    generation: str = ""
    framework: str = ""
    precision: str = ""
    family: str = ""
    model: str = ""
    batch_per_chip: float = 1.0
    chips: int = 1
    params: float = 1.0
    length: float = 1.0
    per_call: int = 1
    key: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Traits:
        """Raises KeyError, TypeError or ValueError for a tree that is none."""
        values = {one.name: tree[one.name] for one in fields(cls)}
        for name in DOUBLINGS:
            if isinstance(values[name], bool) or not 0 < values[name] < 1e30:
                raise ValueError(f"{name} is {values[name]!r}")
        for name in ("place", *DIFFERENT):
            if not isinstance(values[name], str):
                raise TypeError(f"{name} is {values[name]!r}")
        return cls(**values)


def likeness(one: Traits, other: Traits) -> float:
    """1: the same work on the same kind of machine. 0: another place."""
    if one.place != other.place:
        return 0.0
    if one == other:
        return 1.0
    common = 1.0
    for name, factor in DIFFERENT.items():
        mine, its = getattr(one, name), getattr(other, name)
        if mine != its and (name != "model" or (mine and its)):
            common *= factor
    far = 0.0
    for name, reach in DOUBLINGS.items():
        mine, its = getattr(one, name), getattr(other, name)
        if mine and its:
            far += abs(math.log2(mine / its)) / reach
    return ALWAYS + (1 - ALWAYS) * common * math.exp(-far)


def step_depends_on(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a resolved job that a step's time may depend on."""
    return {
        path: value
        for path, value in values.items()
        if path in _KEPT_ANYWAY
        or not any(path == left or (left.endswith(".") and path.startswith(left)) for left in _LEFT_OUT)
    }


def key_of(values: Mapping[str, Any], *more: Any) -> str:
    """Digest of what a step's time depends on: of a resolved job, and of *more*."""
    content = json.dumps([step_depends_on(values), *more], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:32]

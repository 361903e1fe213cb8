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

from tpu_studio.wire import places
from tpu_studio.wire.schema import step_values

# What is left in common where one trait differs. On a chip how far the model is off belongs to the very model that is
# trained; what all runs of a person share there stands apart (`Place.person`). Of a processor most is the machine.
DIFFERENT = {
    "generation": 0.5,
    "framework": 0.5,
    "precision": 0.7,
    "family": 0.45,
    "model": 0.9,
    "key": 0.95,
}
ANOTHER_MODEL_ON_CHIP = 0.25
# Doublings (or halvings) after which a third is left in common.
DOUBLINGS = {"batch_per_chip": 6.0, "chips": 8.0, "params": 10.0, "length": 6.0, "per_call": 8.0}
ALWAYS = 0.15  # of a processor: the same machine
ENOUGH, ENOUGH_ON_CHIP = 0.3, 0.05  # with less in common than this, another run says nothing


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
    common, on_chip = 1.0, places.by_id(one.place).has_chips
    for name, factor in DIFFERENT.items():
        if getattr(one, name) != getattr(other, name):
            common *= ANOTHER_MODEL_ON_CHIP if name == "model" and on_chip else factor
    far = 0.0
    for name, reach in DOUBLINGS.items():
        mine, its = getattr(one, name), getattr(other, name)
        if mine and its:
            far += abs(math.log2(mine / its)) / reach
    always = 0.0 if on_chip else ALWAYS
    return always + (1 - always) * common * math.exp(-far)


def enough(one: Traits, common: float) -> bool:
    """Whether so much in common with another run makes that worth listening to."""
    return common >= (ENOUGH_ON_CHIP if places.by_id(one.place).has_chips else ENOUGH)


def key_of(values: Mapping[str, object], *more: object) -> str:
    """Digest of what a step's time depends on: of a resolved job, and of *more*."""
    content = json.dumps([step_values(values), *more], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:32]

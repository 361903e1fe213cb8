"""Predict what a workload reaches from the fitted step-time model: a range that holds eight times of ten.

Reads `resources/catalogue/throughput.json` (made by ``tools/fit_throughput.py``). log(1 / MFU) = log of the sum of the
terms plus corrections of the workload's family, generation and training program; what a group's member was never
measured keeps its correction at none and makes the range as wide as that correction may be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tpu_studio.planner.throughput.terms import INPUT, LIMITS, TERMS, Sized
from tpu_studio.wire.plan import Range
from tpu_studio.wire.resources import resource_path

Array = npt.NDArray[np.float64]

# How far a correction of each group may lie from none (logarithm; 0.1 is about 10 %).
GROUP_SPREAD = {"family": 0.15, "generation": 0.40, "stack": 0.25}
BESIDE = 4.0  # how sharply the slower of device and host decides
NORMAL_80 = 1.2815515655446004  # standard deviations of a normal to each side that hold 80 %

# Scatter around the model that no term explains (logarithm): of a measured run, more by kind of work, on few chips
# (people's own runs are less alike than vendors'), and where the size of the model or its work had to be guessed.
SCATTER = 0.15
SCATTER_KIND = {"dense": 0.0, "moe": 0.05, "convolution": 0.1, "diffusion": 0.3, "unknown": 0.3}
SCATTER_SMALL = 0.15
SCATTER_FLOPS = 0.2
SCATTER_PARAMS = 0.3
SCATTER_SIZE = 1.5  # of a rate, when not even the size of the model is known
SCATTER_BATCH = 0.15
NEAR_PEAK = 0.97  # no program comes nearer to the peak of its number format


@dataclass(frozen=True)
class Parameters:
    """Attributes:
    groups: Names of the corrections, each (group, member), in the order of the numbers after the coefficients.
    values: Logarithms of the coefficients, then the corrections.
    covariance: How sure they are.
    scatter: Factor on the stated uncertainty that makes the 80 % range hold (`fit.calibrate`).
    scatter_unseen: The same where no row of the workload's family was measured.
    """

    groups: tuple[tuple[str, str], ...]
    values: Array
    covariance: Array
    scatter: float = 1.0
    scatter_unseen: float = 1.0


@dataclass(frozen=True)
class Prediction:
    """Attributes:
    shares: Part of the step's time by what it is spent on (`terms.LIMITS`); the host's beside the device's.
    """

    mfu: Range
    units_per_s: Range
    limited_by: str
    shares: Mapping[str, float]


def matrices(sized: Sequence[Sized], groups: Sequence[tuple[str, str]]) -> tuple[Array, Array]:
    """Sizes of terms (rows × terms) and membership in groups (rows × groups)."""
    sizes = np.array([one.sizes for one in sized], dtype=float)
    members = np.array(
        [[float(getattr(one, group) == member) for group, member in groups] for one in sized], dtype=float
    ).reshape(len(sized), len(groups))
    return sizes, members


def evaluate(values: Array, sizes: Array, members: Array) -> tuple[Array, Array]:
    """log(1 / MFU) of each row, and its slopes by every parameter.

    The device's terms add up. The host (the last term) works beside it: the sum is smooth about the slower of the two.
    """
    parts = sizes * np.exp(values[: sizes.shape[1]])
    device, host = parts[:, :-1].sum(axis=1), parts[:, -1]
    behind = (host / device) ** BESIDE
    total = np.log(device) + np.log1p(behind) / BESIDE
    waits = behind / (1 + behind)
    slopes = np.hstack([parts[:, :-1] / device[:, None] * (1 - waits)[:, None], waits[:, None], members])
    return total + members @ values[sizes.shape[1] :], slopes


def own_scatter(sized: Sized, *, of_rate: bool) -> float:
    """Scatter of one workload around the model (logarithm), of its rate or of its MFU."""
    parts = [SCATTER + SCATTER_KIND[sized.kind] + (SCATTER_SMALL if sized.chips <= 8 else 0.0)]
    if not sized.batch_known and sized.kind != "moe" and sized.unit != "token":
        parts.append(SCATTER_BATCH)
    if not sized.params_known:
        parts.append(SCATTER_PARAMS)
    if of_rate and not sized.flops_known:
        parts.append(SCATTER_FLOPS if sized.params_known else SCATTER_SIZE)
    return math.hypot(*parts)


def unmeasured(sized: Sized, parameters: Parameters) -> float:
    """Variance of the corrections that no row has told anything about."""
    known = set(parameters.groups)
    return sum(spread**2 for group, spread in GROUP_SPREAD.items() if (group, getattr(sized, group)) not in known)


def factor(sized: Sized, parameters: Parameters) -> float:
    """On the stated uncertainty: another one where the family was never measured."""
    return parameters.scatter if ("family", sized.family) in parameters.groups else parameters.scatter_unseen


def predict(sized: Sized, parameters: Parameters) -> Prediction:
    sizes, members = matrices([sized], parameters.groups)
    totals, slopes = evaluate(parameters.values, sizes, members)
    variance = float((slopes @ parameters.covariance @ slopes.T)[0, 0]) + unmeasured(sized, parameters)
    most = NEAR_PEAK * sized.fastest
    expected = min(math.exp(-float(totals[0])), 0.95 * most)

    def around(middle: float, own: float) -> tuple[float, float]:
        half = NORMAL_80 * factor(sized, parameters) * math.sqrt(own**2 + variance)
        return middle * math.exp(-half), middle * math.exp(half)

    low, high = around(expected, own_scatter(sized, of_rate=False))
    mfu = Range(low, expected, min(high, most))
    rate = sized.units_per_s(expected)
    low, high = around(rate, own_scatter(sized, of_rate=True))
    fastest = sized.units_per_s(most) if sized.flops_known else math.inf
    shares, limited_by = _shares(parameters, sizes)
    return Prediction(mfu, Range(low, rate, min(high, fastest)), limited_by, shares)


def _shares(parameters: Parameters, sizes: Array) -> tuple[dict[str, float], str]:
    """What the device's time goes to, the host's time beside it; and the largest, the host only when it is slower."""
    parts = (sizes * np.exp(parameters.values[: len(TERMS)]))[0]
    device = float(parts[:-1].sum())
    told = dict.fromkeys(LIMITS, 0.0)
    for term, part in zip(TERMS, parts, strict=True):
        told[term.limit] += float(part) / device
    if told[INPUT] >= 1.0:
        return told, INPUT
    return told, max((limit for limit in LIMITS if limit != INPUT), key=lambda limit: told[limit])


@cache
def shipped() -> Parameters:
    """The parameters that came with the program."""
    record = json.loads(resource_path("catalogue", "throughput.json").read_text("utf-8"))
    return from_json(record)


def to_json(parameters: Parameters) -> dict[str, Any]:
    """Nine significant digits: the same file from every machine."""
    names = [term.name for term in TERMS]
    count = len(names)
    return {
        "terms": {
            term.name: {
                "coefficient": _short(math.exp(value)),
                "expected_by_physics": term.expected,
                "spread": term.spread,
            }
            for term, value in zip(TERMS, parameters.values[:count], strict=True)
        },
        "corrections": [
            {"group": group, "member": member, "value": _short(value)}
            for (group, member), value in zip(parameters.groups, parameters.values[count:], strict=True)
        ],
        "scatter": _short(parameters.scatter),
        "scatter_unseen_family": _short(parameters.scatter_unseen),
        "covariance": [[_short(value, 5) for value in row] for row in parameters.covariance.tolist()],
    }


def from_json(record: Mapping[str, Any]) -> Parameters:
    """Raises KeyError when the file was made for other terms than this program's."""
    logs = [math.log(record["terms"][term.name]["coefficient"]) for term in TERMS]
    corrections = record["corrections"]
    return Parameters(
        tuple((one["group"], one["member"]) for one in corrections),
        np.array(logs + [one["value"] for one in corrections]),
        np.array(record["covariance"], dtype=float),
        float(record["scatter"]),
        float(record["scatter_unseen_family"]),
    )


def _short(value: float, digits: int = 7) -> float:
    return float(f"{float(value):.{digits}g}")

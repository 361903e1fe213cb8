"""Fit the coefficients of the step-time model to measured rows: robust, and shrunk towards physics.

For developers: ``tools/fit_throughput.py`` and the benchmark call it, the program only reads the outcome. The logarithm
of 1 / MFU is ``log Σ exp(θ) · size + corrections``; θ starts at the physical coefficients of `terms.TERMS` and each
correction (one a family, a generation, a training program) at none. Both are held there with a stated strength (a
normal prior), so a family seen once moves its own correction a little and everything else less. Gross outliers count
less (Student's t, two degrees of freedom: people's own measurements are now and then far off). Newton's method with a
damped step; deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.planner.throughput.model import (
    GROUP_SPREAD,
    NORMAL_80,
    SCATTER_KIND,
    Array,
    Parameters,
    evaluate,
    matrices,
    own_scatter,
    unmeasured,
)
from tpu_studio.planner.throughput.terms import TERMS, Sized, size
from tpu_studio.planner.throughput.workload import parse

# How far a row's source may be off, by its confidence (logarithm), and more where the work of a unit was estimated.
NOISE = {"high": 0.15, "medium": 0.25, "low": 0.5}
NOISE_FLOPS = 0.2
FREEDOM = 2.0
ROUNDS = 40


@dataclass(frozen=True)
class Row:
    """A measured row.

    Attributes:
        mfu: What it reached: by its rate and the work of a unit (``rated``), or as published.
        noise: How far its source may be off (logarithm).
        scored: Whether it counts when the model is judged.
    """

    id: str
    sized: Sized
    mfu: float
    noise: float
    scored: bool
    rated: bool


def rows_of(record: Mapping[str, Any], catalogue: Catalogue) -> list[Row]:
    """The rows of the calibration file that can be fitted; ``scored`` leaves out low confidence and mere bounds."""
    made = []
    for raw in record["rows"]:
        if raw["bound"] == "lower":
            continue
        workload, _ = parse(raw, catalogue)
        sized = size(workload, catalogue)
        rate = raw["units_per_s"]
        mfu = sized.mfu(rate) if rate else raw["mfu_vs_bf16_peak"]
        noise = (
            NOISE[raw["confidence"]]
            + SCATTER_KIND[sized.kind]
            + (0.0 if sized.flops_known or not rate else NOISE_FLOPS)
        )
        made.append(Row(raw["id"], sized, mfu, noise, raw["confidence"] != "low", bool(rate)))
    return made


def groups_of(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    found = {(group, getattr(row.sized, group)) for row in rows for group in GROUP_SPREAD}
    return tuple(sorted(one for one in found if one[1]))


def fit(rows: Sequence[Row]) -> Parameters:
    """The most probable parameters for *rows*, and their covariance."""
    groups = groups_of(rows)
    sizes, members = matrices([row.sized for row in rows], groups)
    target = -np.log([row.mfu for row in rows])
    noise = np.array([row.noise for row in rows])
    centre = np.concatenate([np.log([term.expected for term in TERMS]), np.zeros(len(groups))])
    spread = np.array([term.spread for term in TERMS] + [GROUP_SPREAD[group] for group, _ in groups])
    values = centre.copy()
    curvature = np.eye(len(values))
    for _ in range(ROUNDS):
        predicted, slopes = evaluate(values, sizes, members)
        left = (target - predicted) / noise
        weights = (FREEDOM + 1) / (FREEDOM + left**2)
        scaled = slopes / noise[:, None]
        curvature = scaled.T @ (scaled * weights[:, None]) + np.diag(spread**-2.0)
        gradient = scaled.T @ (weights * left) - (values - centre) / spread**2
        step = np.linalg.solve(curvature, gradient)
        values = values + step * min(1.0, 1.0 / max(1e-12, float(np.abs(step).max())))
        if float(np.abs(step).max()) < 1e-9:
            break
    return Parameters(groups, values, np.asarray(np.linalg.inv(curvature), dtype=np.float64))


HELD = 0.79  # of the rows left out, one by one or family by family, that shall lie in their range


def calibrate(rows: Sequence[Row], parameters: Parameters) -> Parameters:
    """Set ``scatter`` so that `HELD` of the *rows*, each predicted without itself, lie in their 80 % range.

    Leaving one out is taken from the fit's own curvature (each row's leverage) rather than by fitting again. The range
    is the one that `predict` states, which knows nothing of how good the row's source is. ``scatter_unseen`` does the
    same for rows predicted by fits that saw nothing of their family: what is stated of a new family is mostly doubt
    about corrections, which turn out smaller than they might be.
    """
    left, spread = _errors(rows, parameters)
    noise = np.array([row.noise for row in rows])
    weights = (FREEDOM + 1) / (FREEDOM + (left / noise) ** 2)
    leverage = np.clip(spread * weights / noise**2, 0.0, 0.95)
    alone = _ratios(rows, left / (1 - leverage), spread / (1 - leverage))
    return replace(parameters, scatter=_held(alone), scatter_unseen=_held(_families_apart(rows)))


def _families_apart(rows: Sequence[Row]) -> Array:
    """Error over the stated half range of each scored row, by a fit to the other families' rows."""
    found = [np.zeros(0)]
    for family in sorted({row.sized.family for row in rows}):
        hidden = [row for row in rows if row.sized.family == family]
        others = [row for row in rows if row.sized.family != family]
        if others:
            fitted = fit(others)
            left, spread = _errors(hidden, fitted)
            doubt = spread + np.array([unmeasured(row.sized, fitted) for row in hidden])
            found.append(_ratios(hidden, left, doubt))
    return np.concatenate(found)


def _errors(rows: Sequence[Row], parameters: Parameters) -> tuple[Array, Array]:
    """Measured less predicted log(1 / MFU) of each row, and the variance of the prediction."""
    sizes, members = matrices([row.sized for row in rows], parameters.groups)
    predicted, slopes = evaluate(parameters.values, sizes, members)
    spread = np.einsum("ij,jk,ik->i", slopes, parameters.covariance, slopes)
    return -np.log([row.mfu for row in rows]) - predicted, spread


def _ratios(rows: Sequence[Row], left: Array, variance: Array) -> Array:
    """|error| over the stated half range before any factor, of the scored rows."""
    own = np.array([own_scatter(row.sized, of_rate=row.rated) for row in rows])
    ratio = np.abs(left) / (NORMAL_80 * np.sqrt(own**2 + variance))
    return np.asarray(ratio[[row.scored for row in rows]], dtype=np.float64)


def _held(ratios: Array) -> float:
    """The factor that `HELD` of *ratios* stay below; 1 where there are none."""
    if not len(ratios):
        return 1.0
    place = min(len(ratios) - 1, int(np.ceil(HELD * (len(ratios) + 1))) - 1)
    return float(np.sort(ratios)[place])

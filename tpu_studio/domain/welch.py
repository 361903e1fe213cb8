"""Welch's test: whether two small groups of results differ by more than chance. No library: the app has no SciPy.

B. L. Welch, The generalization of 'Student's' problem, Biometrika 34 (1947); the distribution by the continued fraction
of the incomplete beta function (Numerical Recipes, §6.4). tests/unit/domain/test_welch.py holds it to published values.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_STEPS, _NEAR = 300, 1e-12


def welch(one: Sequence[float], other: Sequence[float]) -> float:
    """Two-sided p: how often chance alone parts two groups of one mean as far as these are.

    Raises:
        ValueError: a group has fewer than two values.
    """
    if min(len(one), len(other)) < 2:
        raise ValueError("each group needs two values at least")
    shares = [statistics.variance(group) / len(group) for group in (one, other)]
    apart = statistics.fmean(one) - statistics.fmean(other)
    if not (total := sum(shares)):
        return 1.0 if apart == 0 else 0.0
    t = apart / math.sqrt(total)
    parts = ((share / total) ** 2 / (len(group) - 1) for share, group in zip(shares, (one, other), strict=True))
    freedom = 1 / sum(parts)
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised, for 0 ≤ x ≤ 1."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction, by Lentz' method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            c = 1 + term / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            value *= d * c
        if abs(d * c - 1) < _NEAR:
            break
    return value

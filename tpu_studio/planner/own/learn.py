"""From how far runs were off the model to how far the next one will be: a shift and a width. Pure, no randomness.

Each run gives r = log(measured / modelled). These are taken for a Gaussian process (Rasmussen and Williams 2006,
Gaussian processes for machine learning, chapter 2): around none, as wide as the model states, correlated by `likeness`,
each with the noise from run to run on top. Several accounts are weighed by how well they explain all runs together: the
model may be off by more than it states, runs may scatter more than they usually do, and one of the runs may have been
disturbed (a computer that was busy) and tell nothing. So no single run wrecks anything, runs that contradict each other
make the range wide, and runs that agree make it narrow, though never narrower than the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# How many times what is stated, and how likely that is beforehand: off the model, and from run to run.
OFF_BY = ((1.0, 1.0), (1.5, 0.2), (2.5, 0.08), (5.0, 0.03), (10.0, 0.01))
SCATTER = ((1.0, 1.0), (1.6, 0.1), (2.5, 0.03), (5.0, 0.01))
DISTURBED = 0.03  # how likely one run among others is
DISTURBED_BY = 1.5  # a standard deviation of the logarithm, so that it tells next to nothing
WORTH = math.log(1000.0)  # an account so many times less likely than the best is left out
TAILS = 1.15  # where 80 % of these accounts end before any run, over where a normal's do
LEAST_OFF = 0.05  # no model is surer than this


@dataclass(frozen=True)
class Off:
    """How far a run will be off the model. Logarithms: *shift* of the middle, *spread* as a standard deviation.

    *width* is *spread* over what it would be without any run: what the model's stated range is multiplied by.
    """

    shift: float
    spread: float
    width: float


class Learner:
    """Args:
    off: log(measured / modelled) of each run [n].
    stated: Standard deviation that the model states for each [n].
    alike: `likeness` of each pair [n × n].
    noise: Standard deviation from run to run.
    person: Standard deviation of what is this person's own in all runs at the place, on top of what the model states.
    """

    def __init__(
        self,
        off: Sequence[float],
        stated: Sequence[float],
        alike: Sequence[Sequence[float]],
        noise: float,
        person: float = 0.0,
    ) -> None:
        self._off, self._noise, self._person = np.array(off, dtype=float), noise, person
        self._own = np.array([systematic(one, noise) for one in stated])
        self._alike = np.array(alike, dtype=float).reshape(len(off), len(off))

    def predict(self, stated: float, alike: Sequence[float]) -> Off:
        """For a training for which the model states *stated*, with so much in common with each run."""
        own = systematic(stated, self._noise)
        off_by, scatter, weight, inverse, solved = self._accounts
        common = off_by[:, None] ** 2 * (own * self._own * np.array(alike) + self._person**2)[None, :]
        shift = (common * solved).sum(axis=1)
        explained = np.einsum("hi,hij,hj->h", common, inverse, common)
        variance = np.maximum(0.0, off_by**2 * (own**2 + self._person**2) - explained) + (scatter * self._noise) ** 2
        middle = float(weight @ shift)
        spread = math.sqrt(float(weight @ (variance + (shift - middle) ** 2)))
        return Off(middle, spread, spread / self._before(own))

    def _before(self, own: float) -> float:
        """The spread without any run."""
        return TAILS * math.hypot(own, self._noise)

    @cached_property
    def _accounts(self) -> tuple[Array, Array, Array, Array, Array]:
        """All accounts: off by, scatter, weight [h]; inverse covariance [h × n × n], and that times what was seen."""
        count = len(self._off)
        rows = [
            (off_by, scatter, which, math.log(p) + math.log(q) + (math.log(DISTURBED) if which >= 0 else 0.0))
            for off_by, p in OFF_BY
            for scatter, q in SCATTER
            for which in range(-1, count)
        ]
        off_by, scatter, which, prior = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        shared = self._alike * self._own[:, None] * self._own[None, :] + self._person**2
        noise = (scatter * self._noise)[:, None] ** 2 + DISTURBED_BY**2 * (which[:, None] == np.arange(count)[None, :])
        covariance = off_by[:, None, None] ** 2 * shared[None] + noise[:, :, None] * np.eye(count)[None]
        inverse = np.linalg.inv(covariance)
        solved = inverse @ self._off
        likely = prior - 0.5 * (solved @ self._off + np.linalg.slogdet(covariance)[1])
        kept = np.flatnonzero(likely > likely.max() - WORTH)
        weight = np.exp(likely[kept] - likely.max())
        return off_by[kept], scatter[kept], weight / weight.sum(), inverse[kept], solved[kept]


def systematic(stated: float, noise: float) -> float:
    """What is left of *stated* without the noise from run to run."""
    return max(LEAST_OFF, math.sqrt(max(0.0, stated**2 - noise**2)))

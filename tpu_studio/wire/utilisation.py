"""Model FLOP utilisation (MFU): the work that a model's formula asks for, over what the chips could do at their peak.

The plan carries the two figures that it takes, so the trainer tells ``mfu`` without knowing the planner. The work is
counted by the formula of the model's family, without what is worked out again to save memory (Chowdhery et al. 2022,
PaLM, appendix B); the peak is that of bf16, dense. Only TPUs have one: a plan for a processor has none of this.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Utilisation:
    """Attributes:
    flops_per_example: Model FLOPs of training on one example (of text: one sequence), forward and backward.
    peak_flops_per_s: Of all chips of the slice together.
    """

    flops_per_example: float
    peak_flops_per_s: float

    def mfu(self, examples_per_s: float) -> float:
        """0 to 1 where the formula is right."""
        return self.flops_per_example * examples_per_s / self.peak_flops_per_s

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def read_utilisation(tree: Any) -> Utilisation | None:
    """As a plan's record holds it; None where there is none.

    Raises:
        ValueError: A figure of it is none, or beyond reason: the plan is damaged.
    """
    if tree is None:
        return None
    figures = [tree[name] for name in ("flops_per_example", "peak_flops_per_s")]
    for value in figures:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
            raise ValueError(f"utilisation: {value!r}")
    return Utilisation(*(float(value) for value in figures))

"""What a resumed run must know besides the tensors: the data file of each checkpoint, written and read.

A run may be somebody else's that goes on here. What is no progress is no checkpoint: found out now, an older one is
taken; after hours of training it would cost the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.wire.shapes import fits


@dataclass
class Progress:
    """What a resumed run must know besides the tensors; stands in each checkpoint's data file.

    *base*: sha256 of the starter weights, which are not in the checkpoint as long as they stay as they are; they learn
    after the step *unfreeze_at*. *tokenizer*: sha256 of the one that cuts the text up; "" where none was learned.
    *labels*, *best_labels*: of the last check and of the best, as `evaluation.Checked` has them.
    """

    step: int = 0
    best_step: int | None = None
    best: dict[str, float] | None = None
    checks_without_better: int = 0
    factor: float = 1.0
    rollbacks: int = 0
    base: str = ""
    unfreeze_at: int = 0
    tokenizer: str = ""
    history: list[dict[str, float]] = field(default_factory=list)
    labels: list[list[int]] = field(default_factory=list)
    best_labels: list[list[int]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, tree: object) -> Progress:
        """Raises ValueError: a field is none of its kind; one that an older version did not write is as at first."""
        if not isinstance(tree, dict):
            raise ValueError("it is no object")
        found = {name: tree[name] for name in cls.__dataclass_fields__ if name in tree}
        if wrong := next((name for name, value in found.items() if not fits(value, _SHAPES[name])), ""):
            raise ValueError(f"its “{wrong}” is none")
        whole = cls(**found)
        counts = (whole.step, whole.best_step or 0, *(one.get("step", -1) for one in whole.history))
        if not all(0 <= one < _LAST_STEP for one in counts) or not 0 < whole.factor <= 1:
            raise ValueError("its steps, or its factor, are none")
        return whole


_LAST_STEP = 2**53
_SHAPES: Mapping[str, object] = {
    **dict.fromkeys(("step", "checks_without_better", "rollbacks", "unfreeze_at"), int),
    **dict.fromkeys(("base", "tokenizer"), str),
    "best_step": int | None,
    "best": Mapping[str, float] | None,
    "factor": float,
    "history": tuple[Mapping[str, float], ...],
    **dict.fromkeys(("labels", "best_labels"), tuple[tuple[int, ...], ...]),
}

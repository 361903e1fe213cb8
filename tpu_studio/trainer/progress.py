"""What a resumed run must know besides the tensors: the data file of each checkpoint, written and read.

A run may be somebody else's that goes on here. What is no progress is no checkpoint: found out now, an older one is
taken; after hours of training it would cost the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


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
        for name, value in found.items():
            if not _FITS[name](value):
                raise ValueError(f"its “{name}” is none")
        return cls(**found)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST


def _is_value(value: object) -> bool:
    """A metric may be nan or infinite."""
    return type(value) is float or _is_count(value) or (type(value) is int and -(2**53) < value < 0)


def _are_values(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_value, value.values()))


def _is_check(value: object) -> bool:
    return isinstance(value, dict) and _is_count(value.get("step")) and _are_values(value)


def _are_labels(value: object) -> bool:
    rows = isinstance(value, list) and all(isinstance(row, list) for row in value)
    return rows and all(_is_count(number) for row in value for number in row)  # type: ignore[attr-defined]


def _is_list_of(each: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(each, value))


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_LARGEST = 1e30
_FITS: Mapping[str, Callable[[object], bool]] = {
    "step": _is_count,
    "best_step": _or_none(_is_count),
    "best": _or_none(_are_values),
    "checks_without_better": _is_count,
    "factor": lambda value: _is_number(value) and value > 0,  # type: ignore[operator]
    "rollbacks": _is_count,
    "base": _is_text,
    "unfreeze_at": _is_count,
    "tokenizer": _is_text,
    "history": _is_list_of(_is_check),
    "labels": _are_labels,
    "best_labels": _are_labels,
}

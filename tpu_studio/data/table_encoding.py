"""A table as numbers: how each column becomes part of one float32 vector, and the target one number.

Statistics come from training rows only. The encoders are plain JSON in the description, so that predict encodes a
row later exactly as it was encoded for training.

Shapes: N rows, D numbers a row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tpu_studio.data import cells
from tpu_studio.data.arrays import Array, Doubles, Floats, Ints
from tpu_studio.data.columns import Column

MOST_CATEGORIES = 64
FURTHEST = 10.0  # standardised numbers beyond this many standard deviations are cut there
MISSING_CODE = -1
PARTS = ("year", "month", "day-of-week", "days", "hour")  # of a date, as `date_parts` has them


class NumberLane:
    """Collects a number or date column block by block, as float64 (dates as days).

    Attributes:
        beyond: A number that no float32 holds was among them.
    """

    def __init__(self, column: Column) -> None:
        self.column = column
        self.beyond = False
        self._blocks: list[Doubles] = []
        self._known: dict[str, float] = {}

    def add(self, block: Sequence[str]) -> None:
        if self.column.kind == "date":
            known = self._known
            for cell in set(block) - known.keys():
                known[cell] = cells.days(cell, self.column.form)
            values = [known[cell] for cell in block]
            if len(known) > 200_000:
                known.clear()
        else:
            values = cells.numbers(block, self.column.decimal)
            large = np.flatnonzero(~(np.abs(values) <= cells.WIDEST))  # and those that are no numbers
            self.beyond = self.beyond or any(cells.beyond(block[int(row)], self.column.decimal) for row in large)
        self._blocks.append(np.array(values, dtype=np.float64))

    def values(self) -> Doubles:
        return np.concatenate(self._blocks) if self._blocks else np.zeros(0)


class CategoryLane:
    """Collects a category column block by block, as codes into *names* (`MISSING_CODE` where missing)."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}
        self._blocks: list[Ints] = []

    def add(self, block: Sequence[str]) -> None:
        codes = self._codes
        for cell in dict.fromkeys(block):
            if cell in codes:
                continue
            plain = cell.strip()
            if cells.is_missing(plain):
                codes[cell] = MISSING_CODE
            elif plain in codes:
                codes[cell] = codes[plain]
            else:
                codes[cell] = codes[plain] = len(self.names)
                self.names.append(plain)
        self._blocks.append(np.array([codes[cell] for cell in block], dtype=np.int64))

    def codes(self) -> Ints:
        return np.concatenate(self._blocks) if self._blocks else np.zeros(0, dtype=np.int64)


def fit_number(name: str, values: Doubles, decimal: str, *, missing: bool) -> dict[str, object]:
    """The encoder of a number column, from its training values (NaN where missing).

    *missing*: whether any row, on either side of the split, lacks it; so the width does not hang on the split.
    """
    good = values[np.isfinite(values)]
    median = float(np.median(good)) if len(good) else 0.0
    filled = np.where(np.isfinite(values), values, median)
    return {
        "name": name,
        "kind": "number",
        "decimal": decimal,
        "median": median,
        **_scale(filled),
        "missing": missing,
        "width": 1 + missing,
    }


def fit_date(name: str, values: Doubles, form: str, *, missing: bool, hours: bool) -> dict[str, object]:
    """The encoder of a date column; *hours*: whether any row has a time of day."""
    good = values[np.isfinite(values)]
    median = float(np.median(good)) if len(good) else 0.0
    parts = date_parts(np.where(np.isfinite(values), values, median))
    scales = {part: _scale(numbers) for part, numbers in parts.items() if part != "hour" or hours}
    return {
        "name": name,
        "kind": "date",
        "form": form,
        "median": median,
        "parts": scales,
        "missing": missing,
        "width": len(scales) + missing,
    }


def fit_category(name: str, codes: Ints, names: Sequence[str]) -> dict[str, object]:
    """One place for each frequent category, one for all others, one for missing where any are."""
    counts = Counter(dict(enumerate(np.bincount(codes[codes >= 0], minlength=len(names)).tolist())))
    frequent = sorted((code for code, count in counts.items() if count), key=lambda code: (-counts[code], names[code]))
    kept = sorted(names[code] for code in frequent[:MOST_CATEGORIES])
    missing = bool((codes == MISSING_CODE).any())
    return {"name": name, "kind": "category", "categories": kept, "missing": missing, "width": len(kept) + 1 + missing}


def write_numbers(encoder: Mapping[str, Any], values: Doubles, into: Array) -> None:
    """Encode a number or date column into *into* [N, width]."""
    good = np.isfinite(values)
    filled = np.where(good, values, encoder["median"])
    if encoder["kind"] == "number":
        into[:, 0] = _standard(filled, encoder)
        place = 1
    else:
        parts = date_parts(filled)
        for place, (part, scale) in enumerate(encoder["parts"].items()):
            into[:, place] = _standard(parts[part], scale)
        place = len(encoder["parts"])
    if encoder["missing"]:
        into[:, place] = ~good


def write_categories(encoder: Mapping[str, Any], codes: Ints, names: Sequence[str], into: Array) -> None:
    """Encode a category column (codes into *names*) into *into* [N, width] as one-hot."""
    places = {category: place for place, category in enumerate(encoder["categories"])}
    other = len(places)
    lookup = np.array([places.get(name, other) for name in names] + [other + 1 if encoder["missing"] else other])
    into[...] = 0
    into[np.arange(len(codes)), lookup[codes]] = 1  # code -1 takes the last entry


def date_parts(values: Doubles) -> dict[str, Doubles]:
    """Year, month (1–12), day of week (0 is Monday), days since 1970 and hour of day."""
    whole = np.floor(values)
    stamps = whole.astype("datetime64[D]")
    months = stamps.astype("datetime64[M]")
    years = stamps.astype("datetime64[Y]")
    return {
        "year": years.astype(np.int64) + 1970.0,
        "month": (months - years.astype("datetime64[M]")).astype(np.int64) + 1.0,
        "day-of-week": (whole + 3) % 7,
        "days": values,
        "hour": np.rint((values - whole) * 24),
    }


def fit_target(values: Doubles) -> dict[str, object]:
    """How a number to predict is scaled: its logarithm first where that takes a long tail away."""
    log = bool(values.min() > 0 and _skew(values) > 1 and abs(_skew(np.log(values))) < 0.5 * _skew(values))
    return {"log": log, **_scale(np.log(values) if log else values)}


def transform(values: Doubles, target: Mapping[str, Any]) -> Floats:
    plain = np.log(values) if target["log"] else values
    scaled = (plain - target["mean"]) / target["std"]  # one kept aside may lie far from those of a narrow spread
    return np.asarray(np.clip(scaled, -cells.WIDEST, cells.WIDEST), dtype=np.float32)


def untransform(y: Array, description: Mapping[str, Any]) -> Doubles:
    """Predictions (or targets) of a regression back in the target's own unit."""
    target = description["target_transform"]
    values = np.asarray(y, dtype=np.float64) * target["std"] + target["mean"]
    return np.asarray(np.exp(np.minimum(values, 700.0)) if target["log"] else values)


def _scale(values: Doubles) -> dict[str, float]:
    if not len(values):
        return {"mean": 0.0, "std": 1.0}
    std = float(values.std())
    return {"mean": float(values.mean()), "std": std if std > 1e-12 and math.isfinite(std) else 1.0}


def _standard(values: Doubles, scale: Mapping[str, Any]) -> Doubles:
    return np.asarray(np.clip((values - scale["mean"]) / scale["std"], -FURTHEST, FURTHEST))


def _skew(values: Doubles) -> float:
    centred = values - values.mean()
    deviation = centred.std()
    return float((centred**3).mean() / deviation**3) if deviation > 0 else 0.0

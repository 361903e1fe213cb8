"""What the live widgets of Learn show: counted by the catalogue, the check's padding and the estimate. Pure.

Nothing here is measured on this computer: a figure that stands for a TPU says by what it was worked out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire.padding import product_work
from tpu_studio.wire.resources import resource_path

Cut = Literal["as-is", "powers", "one"]
CUTS: tuple[tuple[Cut, str], ...] = (
    ("as-is", "Each as long as it is"),
    ("powers", "Up to powers of two"),
    ("one", "All as long as the longest"),
)
BY_CATALOGUE = "By the catalogue's width of the matrix unit; nothing is measured here."
BY_ESTIMATE = "By estimate: a program compiles in {low} to {high} on a TPU; nothing is compiled here."
_LINES = 2000  # of the shipped text: enough lengths, and at once


@dataclass(frozen=True)
class Unit:
    """A generation and the rows and columns of its matrix unit. *name*: as the catalogue spells it."""

    id: str
    name: str
    width: int


@cache
def units() -> tuple[Unit, ...]:
    """Of the generations that can be rented, narrow ones first, else as in the catalogue."""
    known = [Unit(one.id, one.title, one.matrix_unit) for one in catalogue().offered()]
    return tuple(sorted(known, key=lambda one: one.width))


@dataclass(frozen=True)
class Filling:
    """A product of rows × width by width × width on one matrix unit.

    Attributes:
        used: Share of the multiply-adds that were asked for, 0 to 1.
        times: How many times as much is computed.
    """

    rows: int
    width: int
    unit: Unit

    @property
    def times(self) -> float:
        return product_work((self.rows, self.width, self.width), self.unit.width)[1]

    @property
    def used(self) -> float:
        return 1.0 / self.times

    @property
    def grid_share(self) -> float:
        """Share of the grid's rows, and of its columns, that hold weights in the last pass."""
        return (self.width % self.unit.width or self.unit.width) / self.unit.width

    @property
    def sentence(self) -> str:
        said = f"{self.rows:,} × {self.width:,} by {self.width:,} × {self.width:,}"
        if self.times < 1.005:
            return f"{said}: everything that {self.unit.name} computes was asked for."
        return (
            f"{said}: {figures.share(1 - self.used, 0)} of what {self.unit.name} computes is padding "
            f"({figures.figure(self.times, 2)} times as much as was asked for)."
        )


@dataclass(frozen=True)
class Lengths:
    """Lines of a text handed to the chip in one way.

    Attributes:
        shapes: Different lengths: each is a program of its own.
        padding: Share of the letters that are padding.
        low_s, high_s: How long compiling them takes, by estimate.
    """

    shapes: int
    padding: float
    low_s: float
    high_s: float

    @property
    def time(self) -> str:
        return f"{figures.duration(self.low_s)} – {figures.duration(self.high_s)}"


def lengths(cut: Cut) -> Lengths:
    """Of the first lines of the shipped plays, of 1 letter or more."""
    from tpu_studio.planner.rented import COMPILE_S

    real = _line_lengths()
    longest = max(real)
    shown: Counter[int] = Counter()
    for length, count in real.items():
        shown[_padded(length, longest, cut)] += count
    asked = sum(length * count for length, count in real.items())
    computed = sum(length * count for length, count in shown.items())
    return Lengths(len(shown), 1 - asked / computed, len(shown) * COMPILE_S.low, len(shown) * COMPILE_S.high)


def compile_source() -> str:
    from tpu_studio.planner.rented import COMPILE_S

    return BY_ESTIMATE.format(low=figures.duration(COMPILE_S.low), high=figures.duration(COMPILE_S.high))


def _padded(length: int, longest: int, cut: Cut) -> int:
    if cut == "as-is":
        return length
    return longest if cut == "one" else 1 << (length - 1).bit_length()


@cache
def _line_lengths() -> Counter[int]:
    path = resource_path("samples", "shakespeare", "shakespeare.txt")
    with path.open(encoding="utf-8") as text:
        return _counted(line.strip() for _, line in zip(range(_LINES), text, strict=False))


def _counted(lines: Iterable[str]) -> Counter[int]:
    return Counter(len(line) for line in lines if line)

"""Looking at a part of a metric's points: at most as many groups as there are pixels, and no spike is lost.

Groups are of 2, 4, 8 … points and begin at fixed places in the column, so panning and growing never make a curve
shimmer. Files are memory-mapped: opening costs nothing, and only what is looked at is read.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left, bisect_right
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tpu_studio.store.columns import FANOUT, GROUP, ROW, Rows, groups, level_file, levels_of, rows_file, singles, summed

Floats = npt.NDArray[np.float64]
_NONE = np.empty(0, np.float64)


def mapped(path: str, kind: np.dtype[np.void], count: int) -> Rows:
    """The first *count* entries of a file, read as they are looked at; plain arrays, for `numpy.memmap` makes each
    look-up ten times as slow.

    Raises OSError, or ValueError when the file is shorter.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        return np.frombuffer(mmap.mmap(fd, count * kind.itemsize, access=mmap.ACCESS_READ), kind, count)
    finally:
        os.close(fd)


class ColumnCurve:
    """Implements ``workflow.ports.Curve``. The follower calls `show`; readers on other threads see old or new, never
    half."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._length, self._rows, self._levels = 0, np.empty(0, ROW), dict[int, Rows]()
        self._version = 0

    @property
    def number(self) -> int:
        """Number of its column; -1 while there is none."""
        return self._number

    @property
    def version(self) -> int:
        return self._version

    def __len__(self) -> int:
        return self._length

    def move(self, folder: Path) -> None:
        """Its column is made anew in *folder*; what is shown stays until the next `show`."""
        self._folder = folder

    def show(self, length: int, number: int | None = None) -> None:
        """From now on the column has *length* points (again: after a resume, other ones)."""
        if number is not None:
            self._number = number
        rows = mapped(rows_file(self._folder, self._number), ROW, length) if length else np.empty(0, ROW)
        self._rows, self._length, self._levels = rows, length, {}
        self._version += 1

    def last(self) -> tuple[int, float, float] | None:
        rows = self._rows
        return (int(rows["step"][-1]), float(rows["t"][-1]), float(rows["value"][-1])) if len(rows) else None

    def bounds(self, axis: str = "step") -> tuple[float, float] | None:
        xs = self._rows[_field(axis)]
        return (float(xs[0]), float(xs[-1])) if len(xs) else None

    def values(self) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
        """All steps, times and values: for exports, not for screens."""
        rows = self._rows
        return np.array(rows["step"]), np.array(rows["t"]), np.array(rows["value"])

    def window(self, x_min: float, x_max: float, buckets: int, axis: str = "step") -> tuple[Floats, Floats, Floats]:
        """See the port. One point beyond either side comes along, so that lines reach the edge.

        Behind a group of which points are missing (not finite) stands a NaN: no zoom closes a gap.
        """
        x, found = self._view(x_min, x_max, buckets, axis)
        places = np.flatnonzero((found["holes"][:-1] > 0) & ~np.isnan(found["low"][:-1])) + 1
        if not len(places):
            return x, found["low"].copy(), found["high"].copy()
        return (
            np.insert(x, places, x[places - 1]),
            np.insert(found["low"], places, np.nan),
            np.insert(found["high"], places, np.nan),
        )

    def trend(self, x_min: float, x_max: float, buckets: int, axis: str = "step") -> tuple[Floats, Floats]:
        """x and mean of the same groups, without the NaNs behind gaps: what a smoothed line starts from."""
        x, found = self._view(x_min, x_max, buckets, axis)
        return x, found["mean"].copy()

    def _view(self, x_min: float, x_max: float, buckets: int, axis: str) -> tuple[Floats, Rows]:
        rows, buckets = self._rows, max(4, buckets)
        xs = rows[_field(axis)]
        start = max(0, bisect_left(xs, x_min) - 1)
        end = min(len(rows), bisect_right(xs, x_max) + 1)
        if end <= start:
            return _NONE, np.empty(0, GROUP)
        if end - start <= buckets:
            return xs[start:end].astype(np.float64), singles(rows["value"][start:end])
        size = 1
        while -(-(end - start) // size) > buckets - 1:  # the widening to whole groups may add one
            size *= 2
        first, after = start // size, -(-end // size)
        found = self._groups(rows, size, first, after)
        middles = np.minimum(np.arange(first, after) * size + size // 2, len(rows) - 1)
        x = xs[middles].astype(np.float64)
        x[0], x[-1] = xs[first * size], xs[min(after * size, len(rows)) - 1]
        return x, found

    def _groups(self, rows: Rows, size: int, first: int, after: int) -> Rows:
        """The groups *first* … *after* of *size* rows each; the last may be incomplete."""
        level = 0
        while level < levels_of(len(rows)) and FANOUT ** (level + 1) <= size:
            level += 1
        points = FANOUT**level
        per = size // points
        end = min(after * size, len(rows))
        if level == 0:
            entries = singles(rows["value"][first * size : end])
        else:
            complete = min(end // points, groups(len(rows), level))
            entries = np.array(self._level(rows, level)[first * per : complete])
        done = first * per + len(entries)  # entries up to here are complete; what is left is less than one entry
        whole = (len(entries) // per) * per
        found = summed(entries[:whole], per, points)
        rest = (
            singles(rows["value"][(first * per + whole) * points : end])
            if done * points < end or whole < len(entries)
            else None
        )
        if rest is not None and len(rest):
            found = np.concatenate([found, summed(rest, len(rest), 1)])
        return found

    def _level(self, rows: Rows, level: int) -> Rows:
        found = self._levels.get(level)
        if found is None or len(found) != groups(len(rows), level):
            found = mapped(level_file(self._folder, self._number, level), GROUP, groups(len(rows), level))
            self._levels[level] = found
        return found


def _field(axis: str) -> str:
    if axis not in ("step", "time"):
        raise ValueError(f"an axis is step or time, not {axis!r}")
    return "t" if axis == "time" else "step"

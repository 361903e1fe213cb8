"""A curve of any length, drawn in a fraction of a millisecond: minimum, maximum and mean of ever larger groups.

Level 0 is what was measured; each entry of level k+1 sums up 4 neighbours of level k. A view asks for about as many
entries as it has pixels. Append-only, grown in chunks (copying an array as it grows was a stall of 0.7 s at a million
points). x never falls; a NaN in y is a gap (a restart, lost connection) that no zoom may close.

Used by the plots through `window`, `trend` and `last`; filled from metric columns. One thread at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_CHUNK: Final = 65_536
_FAN: Final = 4
_EMPTY: Final[Floats] = np.empty(0)


class _Column:
    """Floats in chunks: appending never moves what is there, a slice copies what it returns."""

    def __init__(self) -> None:
        self._chunks: list[Floats] = []
        self.size = 0

    def append(self, values: Floats) -> None:
        start = 0
        while start < len(values):
            room = -self.size % _CHUNK
            if room == 0:
                self._chunks.append(np.empty(_CHUNK))
                room = _CHUNK
            take = min(room, len(values) - start)
            at = _CHUNK - room
            self._chunks[-1][at : at + take] = values[start : start + take]
            self.size += take
            start += take

    def cut(self, size: int) -> None:
        self.size = min(size, self.size)
        del self._chunks[-(-self.size // _CHUNK) :]

    def part(self, start: int, stop: int) -> Floats:
        stop = min(stop, self.size)
        if start >= stop:
            return _EMPTY
        first, last = start // _CHUNK, (stop - 1) // _CHUNK
        if first == last:
            return self._chunks[first][start - first * _CHUNK : stop - first * _CHUNK]
        pieces = [self._chunks[first][start - first * _CHUNK :], *self._chunks[first + 1 : last]]
        pieces.append(self._chunks[last][: stop - last * _CHUNK])
        return np.concatenate(pieces)

    def at(self, index: int) -> float:
        return float(self._chunks[index // _CHUNK][index % _CHUNK])

    def find(self, value: float, *, after: bool) -> int:
        """How many entries are < *value*, or <= *value* with *after*. The column must be sorted."""
        bisect = bisect_right if after else bisect_left
        chunk = bisect(self._chunks, value, key=lambda piece: float(piece[0])) - 1
        if chunk < 0:
            return 0
        filled = min(self.size - chunk * _CHUNK, _CHUNK)
        piece = self._chunks[chunk][:filled]
        inside = np.searchsorted(piece, value, side="right") if after else np.searchsorted(piece, value, side="left")
        return chunk * _CHUNK + int(inside)


class _Level:
    """x of the first point of each group, and minimum, maximum and mean of its points that are numbers."""

    def __init__(self) -> None:
        self.x, self.low, self.high, self.mean = _Column(), _Column(), _Column(), _Column()

    @property
    def size(self) -> int:
        return self.x.size

    def columns(self) -> tuple[_Column, _Column, _Column, _Column]:
        return self.x, self.low, self.high, self.mean


class Pyramid:
    def __init__(self) -> None:
        self._x, self._y = _Column(), _Column()
        self._levels: list[_Level] = []
        self._gaps: list[int] = []  # indices of NaN

    def __len__(self) -> int:
        return self._x.size

    def append(self, x: npt.ArrayLike, y: npt.ArrayLike) -> None:
        """Add points at the end.

        Raises:
            ValueError: lengths differ, x falls, or x is not a number. Nothing is added then.
        """
        xs = np.atleast_1d(np.asarray(x, dtype=np.float64))
        ys = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if len(xs) != len(ys):
            raise ValueError(f"{len(xs)} x for {len(ys)} y")
        if not len(xs):
            return
        if not np.isfinite(xs).all() or (np.diff(xs) < 0).any() or (len(self) and xs[0] < self._x.at(len(self) - 1)):
            raise ValueError("x must be numbers that never fall")
        ys = np.where(np.isinf(ys), np.nan, ys)  # an infinite loss has no height on any scale: it is shown as a gap
        missing = np.flatnonzero(np.isnan(ys))
        self._gaps.extend((missing + len(self)).tolist())
        self._x.append(xs)
        self._y.append(ys)
        self._build()

    def cut_after(self, x: float) -> None:
        """Forget all points beyond *x*: an attempt resumed from a checkpoint writes them anew."""
        size = self._x.find(x, after=True)
        self._x.cut(size)
        self._y.cut(size)
        del self._gaps[bisect_left(self._gaps, size) :]
        for power, level in enumerate(self._levels, start=1):
            for column in level.columns():
                column.cut(size // _FAN**power)

    def last(self) -> tuple[float, float] | None:
        """The newest point that is a number."""
        index, gap = len(self) - 1, len(self._gaps) - 1
        while gap >= 0 and self._gaps[gap] == index:
            index, gap = index - 1, gap - 1
        return (self._x.at(index), self._y.at(index)) if index >= 0 else None

    def first(self) -> tuple[float, float] | None:
        """The first point that is a number."""
        index = 0
        while index < len(self._gaps) and self._gaps[index] == index:
            index += 1
        return (self._x.at(index), self._y.at(index)) if index < len(self) else None

    def extent(self) -> tuple[float, float] | None:
        """Smallest and largest x."""
        return (self._x.at(0), self._x.at(len(self) - 1)) if len(self) else None

    def window(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats, Floats]:
        """x, minimum and maximum of about *buckets* groups from *x_min* to *x_max* and one point beyond each side.

        A group that holds a gap is followed by a NaN. First and last point of the range stand by themselves, so that a
        line begins and ends where it was measured. At most ``buckets + gaps seen + 20`` entries.
        """
        x, low, high, _mean = self._view(x_min, x_max, buckets)
        return x, low, high

    def trend(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats]:
        """Like `window`, with the mean of each group: what a smoothed line starts from."""
        x, _low, _high, mean = self._view(x_min, x_max, buckets)
        return x, mean

    def _build(self) -> None:
        """Sum up the groups that have become complete, level by level."""
        power = 0
        while True:
            below_size = len(self) if power == 0 else self._levels[power - 1].size
            if power == len(self._levels):
                if below_size < _FAN:
                    return
                self._levels.append(_Level())
            level = self._levels[power]
            start, stop = level.size, below_size // _FAN
            if start == stop:
                return
            a, b = start * _FAN, stop * _FAN
            if power == 0:
                y = self._y.part(a, b)
                x, low, high, mean = self._x.part(a, b), y, y, y
            else:
                below = self._levels[power - 1]
                x, low, high, mean = (column.part(a, b) for column in below.columns())
            level.x.append(x[::_FAN])
            level.low.append(_fold(low, np.fmin))
            level.high.append(_fold(high, np.fmax))
            level.mean.append(_means(mean))
            power += 1

    def _view(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats, Floats, Floats]:
        start = max(self._x.find(x_min, after=False) - 1, 0)
        stop = min(self._x.find(x_max, after=True) + 1, len(self))
        power = 0
        while (stop - start) > max(buckets, 1) * _FAN**power and power < len(self._levels):
            power += 1
        if power == 0:
            y = self._y.part(start, stop)
            return self._x.part(start, stop), y, y, y
        pieces = [self._single(start)]
        at, groups = start // _FAN**power, _FAN**power
        for step in range(power, 0, -1):  # the tail that fills no group of this size comes from the smaller ones
            level = self._levels[step - 1]
            until = min(level.size, -(-stop // groups) if step == power else stop // groups)
            pieces.append(tuple(column.part(at, until) for column in level.columns()))
            at, groups = max(until, at) * _FAN, groups // _FAN
        y = self._y.part(at, stop)
        pieces.append((self._x.part(at, stop), y, y, y))
        pieces.append(self._single(stop - 1))
        x, low, high, mean = (np.concatenate(column) for column in zip(*pieces, strict=True))
        return self._with_gaps(start, stop, x, low, high, mean)

    def _single(self, index: int) -> tuple[Floats, ...]:
        y = self._y.part(index, index + 1)
        return self._x.part(index, index + 1), y, y, y

    def _with_gaps(
        self, start: int, stop: int, x: Floats, low: Floats, high: Floats, mean: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Put a NaN behind each group in which points are missing, unless the group itself is one."""
        seen = self._gaps[bisect_left(self._gaps, start) : bisect_left(self._gaps, stop)]
        if not seen:
            return x, low, high, mean
        gap_x = np.array([self._x.at(index) for index in seen]) if len(seen) < 2_000 else self._sampled(seen)
        places = np.unique(np.searchsorted(x[:-1], gap_x, side="right"))
        places = places[(places > 0) & (places < len(x))]
        places = places[~np.isnan(low[places - 1]) & ~np.isnan(low[np.minimum(places, len(low) - 1)])]
        nothing = np.full(len(places), np.nan)
        at_x = x[places - 1]
        return (
            np.insert(x, places, at_x),
            np.insert(low, places, nothing),
            np.insert(high, places, nothing),
            np.insert(mean, places, nothing),
        )

    def _sampled(self, indices: list[int]) -> Floats:
        picked: Floats = self._x.part(indices[0], indices[-1] + 1)[np.asarray(indices) - indices[0]]
        return picked


def _fold(values: Floats, pick: np.ufunc) -> Floats:
    folded: Floats = pick(pick(values[::_FAN], values[1::_FAN]), pick(values[2::_FAN], values[3::_FAN]))
    return folded


def _means(values: Floats) -> Floats:
    rows = values.reshape(-1, _FAN)
    means: Floats = (rows[:, 0] + rows[:, 1] + rows[:, 2] + rows[:, 3]) / _FAN
    holed = np.flatnonzero(np.isnan(means))
    if len(holed):
        some = rows[holed]
        counts = (~np.isnan(some)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            means[holed] = np.where(counts > 0, np.nansum(some, axis=1) / counts, np.nan)
    return means

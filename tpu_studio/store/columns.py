"""The points of one metric on disk: rows that only grow, and the levels of their min/max pyramid.

    c003.rows     step int64, t float64, value float64: one row a point
    c003.l1 …     each complete group of 4, 16, 64 … points: lowest, highest and mean finite value, and how many are not

How many rows count stands in the index, not in the file: bytes beyond it are what a crash left, and are overwritten. A
level is there once it has 256 groups; shorter ones are read from the level below. So lengths of levels follow from the
number of rows alone. Numbers that are not finite stay in the rows; in the levels a group without a finite value is NaN.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tpu_studio.wire.homes import make_private

ROW = np.dtype([("step", "<i8"), ("t", "<f8"), ("value", "<f8")])
GROUP = np.dtype([("low", "<f8"), ("high", "<f8"), ("mean", "<f8"), ("holes", "<i8")])
FANOUT = 4
_GROUPS_AT_LEAST = 256
_PART = 1 << 20  # rows worked on at once
_FEW = 8

Rows = npt.NDArray[np.void]


def rows_file(folder: Path, number: int) -> str:
    return os.path.join(folder, f"c{number:03d}.rows")


def level_file(folder: Path, number: int, level: int) -> str:
    return os.path.join(folder, f"c{number:03d}.l{level}")


def levels_of(rows: int) -> int:
    """How many levels a column of so many rows has."""
    level = 0
    while rows // FANOUT ** (level + 1) >= _GROUPS_AT_LEAST:
        level += 1
    return level


def groups(rows: int, level: int) -> int:
    """Complete groups on *level*; 0 when that level is not kept for so few rows."""
    return rows // FANOUT**level if level <= levels_of(rows) else 0


def append(folder: Path, number: int, length: int, rows: Rows) -> int:
    """Write *rows* after the first *length* ones and bring the levels up to date; the new length."""
    try:
        _write(rows_file(folder, number), length * ROW.itemsize, rows.tobytes())
    except FileNotFoundError:  # the first of this run
        make_private(folder)
        _write(rows_file(folder, number), length * ROW.itemsize, rows.tobytes())
    new = length + len(rows)
    for level in range(1, levels_of(new) + 1):
        done, wanted = groups(length, level), groups(new, level)
        while done < wanted:
            until = min(wanted, done + _PART // FANOUT)
            below = _below(folder, number, level, done * FANOUT, until * FANOUT)
            found = summed(below, FANOUT, FANOUT ** (level - 1))
            _write(level_file(folder, number, level), done * GROUP.itemsize, found.tobytes())
            done = until
    return new


def are_whole(folder: Path, lengths: Iterable[tuple[int, int]]) -> bool:
    """Whether the files of these (number, length) columns are as long as they must be."""
    try:
        return all(
            os.stat(rows_file(folder, number)).st_size >= length * ROW.itemsize
            and all(
                os.stat(level_file(folder, number, level)).st_size >= groups(length, level) * GROUP.itemsize
                for level in range(1, levels_of(length) + 1)
            )
            for number, length in lengths
            if length
        )
    except OSError:
        return False


def sync(folder: Path) -> None:
    """Wait until all columns of a run are safe from a power cut."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def singles(values: npt.NDArray[np.float64]) -> Rows:
    """Groups of one value each; what is not finite is a hole."""
    found = np.empty(len(values), GROUP)
    hole = ~np.isfinite(values)
    found["low"] = found["high"] = found["mean"] = np.where(hole, np.nan, values)
    found["holes"] = hole
    return found


def summed(entries: Rows, per: int, points: int) -> Rows:
    """Each *per* neighbours of *entries* (of *points* points each, a multiple of *per* in all) as one group."""
    parts = [entries[start::per] for start in range(per)] if per <= _FEW else None
    found = np.empty(len(entries) // per, GROUP)
    if parts is None:  # numpy folds long rows well and short ones badly
        rows = {name: entries[name].reshape(-1, per) for name in GROUP.names or ()}
        found["low"], found["high"] = np.fmin.reduce(rows["low"], axis=1), np.fmax.reduce(rows["high"], axis=1)
        weights = points - rows["holes"]
        found["holes"] = rows["holes"].sum(axis=1)
        sums = np.where(weights > 0, rows["mean"] * weights, 0.0).sum(axis=1)
    else:
        low, high, holes = parts[0]["low"], parts[0]["high"], parts[0]["holes"]
        for part in parts[1:]:
            low, high, holes = np.fmin(low, part["low"]), np.fmax(high, part["high"]), holes + part["holes"]
        found["low"], found["high"], found["holes"] = low, high, holes
        if holes.any():
            sums = sum(
                (np.where(part["holes"] < points, part["mean"] * (points - part["holes"]), 0.0) for part in parts),
                start=np.zeros(len(found)),
            )
        else:
            with np.errstate(over="ignore"):  # of the largest numbers there are: infinite
                sums = sum((part["mean"] for part in parts), start=np.zeros(len(found))) * points
    with np.errstate(invalid="ignore", divide="ignore"):
        found["mean"] = sums / (per * points - found["holes"])
    return found


def last_step(folder: Path, number: int, length: int) -> int:
    """The step of the last of *length* rows."""
    return int(_read(rows_file(folder, number), ROW, length - 1, length)["step"][0])


def _below(folder: Path, number: int, level: int, start: int, end: int) -> Rows:
    if level == 1:
        return singles(_read(rows_file(folder, number), ROW, start, end)["value"])
    return _read(level_file(folder, number, level - 1), GROUP, start, end)


def _read(path: str, kind: np.dtype[np.void], start: int, end: int) -> Rows:
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        return np.frombuffer(os.pread(fd, (end - start) * kind.itemsize, start * kind.itemsize), kind)
    finally:
        os.close(fd)


def _write(path: str, offset: int, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        view = memoryview(data)
        while view:
            written = os.pwrite(fd, view, offset)
            view, offset = view[written:], offset + written
    finally:
        os.close(fd)

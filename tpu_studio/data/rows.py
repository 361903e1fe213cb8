"""What a table is, however its file is written: rows of text cells under named columns; what was met in it.

`data.tablefile` opens one: CSV (``csvfile``), JSON lines (``jsonlines``), Parquet. Whoever learns from a
table, or tells its texts apart, knows nothing else of its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tpu_studio.data.looked import NAMED_BROKEN, Broken
from tpu_studio.data.watching import Watch
from tpu_studio.wire.sizes import NAME_LETTERS


class RowTally:
    """What was met while reading: good rows, comments, and broken ones (all counted, the first ones named)."""

    def __init__(self) -> None:
        self.rows = self.comments = self.broken_count = 0
        self.broken: list[Broken] = []
        self.line = 0  # of the row that was given last, where a file is read from its begin
        self.origin = 0  # byte at which line 1 of what is read now stands; 0: the file's own lines

    def breaks(self, line: int, why: str, count: int = 1) -> None:
        self.broken_count += count
        if len(self.broken) < NAMED_BROKEN:
            place = f"line {line} after byte {self.origin}" if self.origin else f"line {line}"
            self.broken.append(Broken(place, why))


@dataclass(frozen=True)
class Sample:
    """Rows to judge columns by.

    Attributes:
        about: Rows of the whole file; about, where *sampled*.
        tally: What was wrong among those that were read for it.
    """

    rows: list[list[str]]
    about: int
    sampled: bool
    tally: RowTally


@dataclass(frozen=True)
class TableFile:
    """Attributes:
    names: Of the columns, made unique.
    header: Whether the file itself names them.
    read: All good rows in their order, each as long as *names*; the others go to the tally.
    sample: A set of rows that depends on the file alone, so that the same file is judged alike.
    nested: Columns that hold lists or objects, with the first line where one does (0: all of it does).
    above: Lines of the file above its first row.
    commas: Whether "1,234" is rather one and a bit: semicolons part the cells.
    """

    names: tuple[str, ...]
    header: bool
    read: Callable[[RowTally, Watch], Iterator[list[str]]]
    sample: Callable[[Watch], Sample]
    nested: Mapping[str, int] = field(default_factory=dict)
    above: int = 0
    commas: bool = False


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """*names* without needless spaces, none empty, none twice."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the next that may be free: a header of one name a million times is soon named
    unique = []
    for place, raw in enumerate(names, 1):
        name = base = " ".join(raw[: 2 * NAME_LETTERS].split())[:NAME_LETTERS] or f"column_{place}"
        while name in taken:
            numbers[base] = numbers.get(base, 1) + 1
            name = f"{base}_{numbers[base]}"
        taken.add(name)
        unique.append(name)
    return tuple(unique)

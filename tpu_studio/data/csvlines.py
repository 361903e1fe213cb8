"""A delimited text for the csv module, which bounds a cell and nothing else: neither a line, nor a row of many lines.

A line or a row that is longer than `LONGEST_ROW` is lost as one with too long a cell is: `csv.reader` raises, and goes
on with the next line. Lines are handed over by blocks, as quick as the file itself gives them. Standard library only.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, TextIO

from tpu_studio.data.watching import Watch

LONGEST_CELL = 1_000_000  # letters
LONGEST_ROW = 4_000_000  # as of JSON lines
_BLOCK = 2**18  # letters
_ENDS = ("\n", "\r")


def reader(lines: Iterable[str], delimiter: str, quote: str = '"') -> Any:
    csv.field_size_limit(LONGEST_CELL)  # a setting of the whole process
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=False)


def parsed(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Rows as they stand, up to a cell beyond `LONGEST_CELL`."""
    with suppress(csv.Error):
        yield from reader(lines, delimiter)


def lines_of(text: TextIO, rows: Callable[[], int], watch: Watch, size: int = 0) -> Iterator[str]:
    """The lines of *text*, opened with ``newline=""``; one that ends its row where that is too long.

    Args:
        rows: A number that is another one once a row has ended.
        size: Bytes of all of it, of which *watch* is told how many were read; 0: it is not.
    """
    return chain.from_iterable(_blocks(text, rows, watch, size))


def _blocks(text: TextIO, rows: Callable[[], int], watch: Watch, size: int) -> Iterator[Iterable[str]]:
    held = block = read = 0  # letters: since a row ended, at least; of the last block; of all
    before = rows()
    while True:
        watch.at(min(size, read), size) if size else watch.check()
        held = held + block if rows() == before else 0
        before = rows()
        if held > LONGEST_ROW:
            read += _passed_over(text, watch)
            yield _too_long()
        piece = text.read(_BLOCK)
        if not piece:
            return
        piece += text.readline(LONGEST_ROW)
        block = len(piece)
        begin = _begin_of_last(piece) if block > LONGEST_ROW else 0
        if block - begin <= LONGEST_ROW:
            yield io.StringIO(piece, newline="")
        else:
            yield io.StringIO(piece[:begin], newline="")
            read += 0 if piece.endswith(_ENDS) else _passed_over(text, watch)
            yield _too_long()
        read += block


def _too_long() -> Iterable[str]:
    """A line that no `reader` makes a row of."""
    return ("x" * (LONGEST_CELL + 1),)


def _begin_of_last(piece: str) -> int:
    """Where its last line begins."""
    end = len(piece.removesuffix("\n").removesuffix("\r"))
    return max(piece.rfind(one, 0, end) for one in _ENDS) + 1


def _passed_over(text: TextIO, watch: Watch) -> int:
    """Letters up to the end of the line."""
    passed = 0
    while rest := text.readline(LONGEST_ROW):
        passed += len(rest)
        if rest.endswith(_ENDS):
            break
        watch.check()
    return passed

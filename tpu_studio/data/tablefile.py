"""Opens a table by how its file is called: CSV and its kin, JSON lines, Parquet. What comes out is alike (``rows``)."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.data import columnar, csvfile, jsonlines
from tpu_studio.data.columnar import Rows
from tpu_studio.data.rows import TableFile
from tpu_studio.data.textlayout import RECORDS
from tpu_studio.data.watching import Watch


def found(path: Path, watch: Watch) -> Rows:
    """Where the rows of the table at *path* are read from: there, or what `columnar` wrote, whose errors it has."""
    return columnar.rows_of(path, watch) if columnar.is_written_out(path) else Rows(path)


def opened(path: Path, watch: Watch, first: int | None = None) -> TableFile:
    """*first*: only so many rows from the begin are judged, which is quick.

    Raises:
        DataError: as `columnar.rows_of`, `csvfile.sniff` or `jsonlines.opened`.
    """
    path = found(path, watch).file
    if path.suffix.lower() in RECORDS:
        return jsonlines.opened(path, watch, first)
    return csvfile.opened(path, first)

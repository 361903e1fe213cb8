"""Opens a table by how its file is called: CSV and its kin, JSON lines, Parquet. What comes out is alike (``rows``)."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.data import csvfile, jsonlines
from tpu_studio.data.rows import TableFile
from tpu_studio.data.textlayout import PARQUET, RECORDS
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError


def opened(path: Path, watch: Watch, first: int | None = None) -> TableFile:
    """*first*: only so many rows from the begin are judged, which is quick.

    Raises:
        DataError: data-parquet, and as `csvfile.sniff` or `jsonlines.opened`.
    """
    match path.suffix.lower():
        case suffix if suffix == PARQUET:
            raise DataError("data-parquet", path=str(path))
        case suffix if suffix in RECORDS:
            return jsonlines.opened(path, watch, first)
        case _:
            return csvfile.opened(path, first)

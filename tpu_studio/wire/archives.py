"""Zips that anybody may have made, opened without more memory than a list of files may take. Standard library only."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tpu_studio.wire.plainfiles import open_to_read

DIRECTORY_BYTES = 24 << 20
"""Of a zip's list of its files, which zipfile takes apart before anybody can look at it: about 30 times as much memory.
50,000 files with the longest names have less."""


class _Bounded(io.BufferedReader):
    """zipfile reads the list in one piece, while it opens."""

    opening = True

    def read(self, size: int | None = -1, /) -> bytes:
        if self.opening and size is not None and size > DIRECTORY_BYTES:
            raise zipfile.BadZipFile("its list of files is longer than that of any run or model")
        return super().read(size)


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """As ``zipfile.ZipFile(path)``; of one with a list above `DIRECTORY_BYTES` BadZipFile."""
    with (
        open_to_read(path) as plain,
        _Bounded(io.FileIO(os.dup(plain.fileno()))) as file,
        zipfile.ZipFile(file) as archive,
    ):
        file.opening = False
        yield archive

"""How large a file of the program's own may be, and reading one no further than that.

The same at every door: a folder or a zip that is brought in, the command line and the window. A file that says it is a
plan may be gigabytes of anything; nothing of it is read then.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

PLAN_BYTES = 16_000_000
"""``plan.json``: a table of 10,000 columns comes to about 4 MB."""
MODEL_CODE_BYTES = 1_000_000
"""A person's own ``model.py``, and a job file."""
RECORD_BYTES = 4_000_000
"""``owner.json``, a claim, a heartbeat, a receipt: a few hundred bytes each."""
NAME_LETTERS = 1_000
"""Of a column, a class or a target: each answer of a model holds some of them."""
DATASET_BYTES = 64_000_000
"""``dataset.json`` of a converted data set: its shards and its columns."""


class TooLarge(ValueError):
    """*size* and *limit* in bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"it has {size:,} bytes, or is no plain file; {limit:,} are read at most")
        self.size, self.limit = size, limit


def read_at_most(path: Path, limit: int) -> bytes:
    """The bytes of the plain file *path*.

    Raises:
        TooLarge: It has more than *limit* bytes, or is no plain file: a pipe or a device has no end, a folder no bytes.
        OSError: It cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    told = os.fstat(fd)
    if not stat.S_ISREG(told.st_mode) or told.st_size > limit:
        os.close(fd)
        raise TooLarge(told.st_size if stat.S_ISREG(told.st_mode) else limit + 1, limit)
    with open(fd, "rb") as file:
        data = file.read(limit + 1)  # it may grow meanwhile
    if len(data) > limit:
        raise TooLarge(len(data), limit)
    return data

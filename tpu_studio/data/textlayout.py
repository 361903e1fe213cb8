"""What texts at a path are for, by how they lie there: sorted ones tell kinds apart, chats are answered like, others go
on. Reads names only, of files and of a table's columns.

A folder with a folder of texts for each kind, and a table of texts, are sorted; one with columns of questions and
answers, or of chats, is of chats. A job's task, and a model that does one of them only, decide before that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tpu_studio.data import chatlayout
from tpu_studio.data.links import is_outside
from tpu_studio.wire import kinds, models, tasks
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.tasks import Task

RECORDS = (".jsonl", ".ndjson", ".json")
COLUMNAR = (".parquet", ".arrow")
TABLES = (*kinds.first(lambda kind: kind.has_rows).endings, *RECORDS)
PLAIN = kinds.first(lambda kind: kind.has_text).endings
_LOOKED_AT = 200  # names in a folder


def kind_of(name: str) -> kinds.DataKind | None:
    """The kind that a file of that name is. A file of JSON, which in a folder may be anything, is lines by itself."""
    lines = name.lower().endswith(RECORDS)
    return kinds.of_file(name) or (kinds.first(lambda kind: kind.has_rows) if lines else None)


def task_of(job: Job, path: Path) -> Task:
    """What a job of texts at *path* learns."""
    able = _able()
    if job.data.task != AUTO:
        return tasks.by_id(job.data.task)
    model = models.BY_NAME.get(job.model.id)
    done = [task for task in able if model is not None and task.id in model.tasks]
    if len(done) == 1:
        return done[0]
    found = of_path(path)
    if job.model.is_own and found.has_chats:  # it knows no chat template: what its columns are otherwise
        return next(task for task in able if task.has_classes)
    # A model that continues texts and answers makes chats of any table; which column is which is told then.
    return found if found in done or not done else next(one for one in done if one.has_chats or not found.has_classes)


def of_path(path: Path) -> Task:
    if has_chats(path):
        return next(task for task in _able() if task.has_chats)
    sorts = _has_kinds(path) or has_shards(path) if path.is_dir() else path.suffix.lower() in TABLES
    return next(task for task in _able() if task.has_classes == sorts)


def has_chats(path: Path) -> bool:
    """Whether the columns of a table are those of chats; of Parquet nobody knows that without a process of its own."""
    ending = path.suffix.lower()
    if ending not in TABLES or ending in COLUMNAR or not path.is_file():
        return False
    return chatlayout.are_in(path, lines=ending in RECORDS)


def has_shards(folder: Path) -> bool:
    """Whether it is a folder of Parquet or Arrow files, as Hugging Face data sets are: in it, or a folder deeper."""
    entries = list(_entries(folder, folder))
    if any(one.name.lower().endswith(COLUMNAR) for one in entries):
        return True
    below = (inner for one in entries if one.is_dir() for inner in _entries(folder, Path(one.path)))
    return any(one.name.lower().endswith(COLUMNAR) for one in below)


def _able() -> list[Task]:
    return [tasks.by_id(name) for name in kinds.first(lambda kind: kind.has_text).tasks]


def _has_kinds(folder: Path) -> bool:
    """Whether there are two folders with texts in it, and no text beside them."""
    found = 0
    for entry in _entries(folder, folder):
        if entry.is_dir():
            found += _has_texts(folder, Path(entry.path), deeper=True)
        elif _is_text(entry.name):
            return False
    return found > 1


def _has_texts(root: Path, folder: Path, *, deeper: bool) -> bool:
    """*deeper*: or a folder in it has, as those of training and testing texts."""
    entries = list(_entries(root, folder))
    below = (_has_texts(root, Path(one.path), deeper=False) for one in entries if deeper and one.is_dir())
    return any(_is_text(one.name) for one in entries if not one.is_dir()) or any(below)


def _is_text(name: str) -> bool:
    return name.lower().endswith(PLAIN) and not name.lower().startswith(("readme", "licen"))


def _entries(root: Path, folder: Path) -> Iterator[os.DirEntry[str]]:
    """Without links that lead out of *root*."""
    try:
        with os.scandir(folder) as entries:
            seen = islice((entry for entry in entries if not entry.name.startswith(".")), _LOOKED_AT)
            yield from (entry for entry in seen if not is_outside(root, entry))
    except OSError:
        return  # whoever opens it says why it cannot be read

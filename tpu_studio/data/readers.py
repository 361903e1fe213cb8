"""Which module reads which kind of data: a `Reader` for each id of ``wire.kinds``.

A new kind is a row there, a module that looks at its data and opens it, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.data import described, digits, images, links, shards, tablefile, tables, texts
from tpu_studio.data.listed import listing_of
from tpu_studio.data.looked import Look
from tpu_studio.data.opened import Opened
from tpu_studio.data.paths import data_path, path_error
from tpu_studio.data.watching import Watch
from tpu_studio.wire.job import Job


@dataclass(frozen=True)
class Reader:
    """How one kind of data is read.

    Attributes:
        look: The quick look at the job's data.
        open: Its sources; arguments: the job, bytes that may be kept in memory, threads that decode, progress.
        fingerprint: What a look would take of the job's data now.
        files: The files that it consists of, with their names below the data's folder.
        more: What a job of the data at that path says besides its kind and path. Raises DataError.
    """

    look: Callable[[Job, Watch], Look]
    open: Callable[[Job, int, int, Watch], Opened]
    fingerprint: Callable[[Job], str]
    files: Callable[[Job], list[tuple[Path, str]]]
    more: Callable[[Path], dict[str, object]] = lambda path: {}


def reader_of(job: Job) -> Reader:
    return of_kind(job.data.kind)


def of_kind(kind: str) -> Reader:
    return _READERS[kind]


def _picture_files(job: Job) -> list[tuple[Path, str]]:
    listing = listing_of(job, Watch())
    names = [*sorted(listing.names), *([listing.table] if listing.table else [])]
    return [(listing.root / name, Path(name).as_posix()) for name in names]


def _shard_files(job: Job) -> list[tuple[Path, str]]:
    path = data_path(job)
    tree = described.read_dataset(path)
    folder, top = (path, path / described.NAME) if path.is_dir() else (path.parent, path)
    names = sorted(shard["name"] for split in described.SPLITS for shard in tree["splits"][split]["shards"])
    return [(top, top.name)] + [(folder / name, name) for name in names]


def _text_files(job: Job) -> list[tuple[Path, str]]:
    path = data_path(job)
    if path.is_file():
        return [(path, path.name)]
    inside, _ = links.files_below(path, texts.SUFFIXES)
    return [(item, item.relative_to(path).as_posix()) for item in inside]


def _table_fingerprint(job: Job) -> str:
    path = data_path(job)
    try:
        return tables.fingerprint(tablefile.found(path, Watch()).file)
    except OSError as error:
        raise path_error(path, error) from error


_READERS = {
    "images": Reader(
        images.look,
        lambda job, budget, workers, watch: images.open_images(job, budget=budget, workers=workers, watch=watch),
        lambda job: listing_of(job, Watch()).fingerprint(),
        _picture_files,
    ),
    "table": Reader(
        tables.look,
        lambda job, budget, _, watch: tables.open_table(job, budget=budget, watch=watch),
        _table_fingerprint,
        _text_files,
        tables.guess,
    ),
    "text": Reader(
        texts.look,
        lambda job, budget, _, watch: texts.open_text(job, budget=budget, watch=watch),
        lambda job: texts.fingerprint_of_text(data_path(job)),
        _text_files,
    ),
    "digits": Reader(
        lambda job, _: digits.look(job), lambda job, *_: digits.open_digits(job), lambda _: "", lambda _: []
    ),
    "tfrecord": Reader(
        shards.look,
        lambda job, budget, workers, watch: shards.open_shards(job, budget=budget, workers=workers, watch=watch),
        lambda job: shards.fingerprint(described.read_dataset(data_path(job))),
        _shard_files,
    ),
}

"""Texts that stand under their kind: a folder of texts for each, or a table with a column for text and one for kind.

`examine` reads as much as tells what is there, `read` all of it. Tables are rows, however they are written. What stands
where: the kind's column is ``data.target``, the text's is that which ``data.columns`` calls "text", else the one with
the longest texts.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tpu_studio.data import cells, columns, encodings, links, tablefile
from tpu_studio.data.arrays import Bools, Ints32
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.folders import Listing, list_images
from tpu_studio.data.looked import Broken
from tpu_studio.data.paths import path_error
from tpu_studio.data.rows import RowTally, TableFile
from tpu_studio.data.split import keys_of_rows, validation_mask
from tpu_studio.data.textlayout import PLAIN, TABLES
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse

LEAST = 10  # texts
SAMPLE_BYTES = 16 * 2**20  # that a look reads of a folder
LONGEST_TEXT = 2**20  # bytes of one in a folder that are read: more than any model has places for
_AS_TEXT = "text"  # of `data.columns`
_PROBED = 500  # rows, of which a column's cells are looked at


@dataclass(frozen=True)
class Labelled:
    """Texts, each with the number of its kind.

    Attributes:
        kept: True where one is kept aside.
        column, target: Of a table: which holds the text, and which the kind; "" of a folder.
        whole: How many there are in all, of which these are a sample; about, in a table.
        each: Of how many of all kinds there are, in the order of *classes*.
        unlabelled: Rows without a kind, left out.
        listing: Of a folder.
    """

    texts: list[str]
    labels: Ints32
    kept: Bools
    classes: tuple[str, ...]
    each: tuple[int, ...]
    whole: int
    broken: list[Broken] = field(default_factory=list)
    broken_count: int = 0
    column: str = ""
    target: str = ""
    unlabelled: int = 0
    listing: Listing | None = None

    @property
    def sampled(self) -> bool:
        return self.whole > len(self.texts)


def examine(job: Job, path: Path, watch: Watch) -> Labelled:
    """A sample that tells what is there; all of it where that is little. Raises as `read`."""
    return _folder(job, path, watch, SAMPLE_BYTES) if path.is_dir() else _table(job, path, watch, whole=False)


def read(job: Job, path: Path, watch: Watch) -> Labelled:
    """All texts.

    Raises:
        DataError: data-not-sorted, data-one-column, data-no-text-column, data-nested, data-too-few, data-too-broken,
            and as `list_images` of a folder, `tablefile.opened` and `columns.judge` of a table.
    """
    return _folder(job, path, watch, None) if path.is_dir() else _table(job, path, watch, whole=True)


def texts_in(path: Path, column: str) -> Iterator[str]:
    """Of new ones, to be told apart: the texts of a folder, the *column* of a table, else the whole file.

    Raises:
        DataError: as `read`; data-column-missing, data-link-outside.
    """
    path = tablefile.found(path, Watch()).file
    if path.is_dir():
        yield from (_text_of(one, path) for one in links.all_below(path, PLAIN))
        return
    if path.suffix.lower() not in TABLES or not column:
        yield _text_of(path)
        return
    source = _opened(path, Watch())
    if column not in source.names:
        raise DataError("data-column-missing", column=column, columns=list(source.names)[:50])
    at = source.names.index(column)
    yield from (row[at] for row in source.read(RowTally(), Watch()))


def has_only_text(path: Path) -> bool:
    """Whether a table has a column to tell apart, and to learn from nothing but free text; by its first rows."""
    kind = kinds.first(lambda kind: kind.has_rows)
    job = parse({"model": {"name": kind.model}, "data": {"kind": kind.id, "path": str(path)}})
    try:
        table = tablefile.opened(path, Watch(), first=_PROBED)
        rows = table.sample(Watch()).rows
        columns.judge(table.names, rows, job, str(path), header=table.header, nested=table.nested, commas=table.commas)
    except DataError as error:
        left_out = error.facts.get("left_out")
        pairs = left_out if error.id == "data-no-inputs" and isinstance(left_out, list) else []
        return any(why == _AS_TEXT for _, why in pairs)
    return False


def _folder(job: Job, path: Path, watch: Watch, most_bytes: int | None) -> Labelled:
    listing = list_images(path, watch, PLAIN, "texts")
    size, count = int(listing.sizes.sum()), len(listing.names)
    step = 1 if most_bytes is None else max(1, -(-size // most_bytes))
    kept = listing.validation(job.training.seed, job.data.validation)
    texts, broken, good = [], list(listing.problems), []
    for done, index in enumerate(range(0, count, step)):
        watch.check()
        if done % 100 == 0:
            watch.at(done, -(-count // step))
        try:
            text = _text_of(Path(listing.path(index)), path).strip()
        except DataError as error:
            broken.append(Broken(listing.names[index], error.id.removeprefix("data-")))
            continue
        if not text:
            broken.append(Broken(listing.names[index], "empty-text"))
            continue
        texts.append(text)
        good.append(index)
    check_broken(len(broken), len(broken) + len(texts), job.data.max_broken_share, broken)
    _check_enough(path, count if step > 1 else len(texts))
    labels = listing.labels[good].astype(np.int32)
    each = np.bincount(labels if step == 1 else listing.labels, minlength=len(listing.classes))
    return Labelled(
        texts,
        labels,
        kept[good],
        tuple(listing.classes),
        tuple(each.tolist()),
        count if step > 1 else len(texts),
        broken,
        len(broken),
        listing=listing,
    )


def _table(job: Job, path: Path, watch: Watch, *, whole: bool) -> Labelled:
    source = _opened(path, watch)
    if len(source.names) < 2 and not source.nested:
        raise DataError("data-one-column", path=str(path), first=source.names[0][:80])
    sample = source.sample(watch)
    column, judged = _columns(job, path, source, sample.rows)
    for name in (source.names[column], judged.target.name):
        if name in source.nested:
            raise DataError("data-nested", path=str(path), column=name, line=source.nested[name])
    tally = RowTally() if whole else sample.tally
    texts, labels, count, unlabelled = [], [], 0, 0
    for row in source.read(tally, watch) if whole else sample.rows:
        text, label = row[column].strip(), _label(row[judged.target.place], judged.target)
        count += 1
        if label is None:
            unlabelled += 1
        elif not text:
            tally.breaks(tally.line if whole else count + source.above, "empty-text")
        else:
            texts.append(text)
            labels.append(label)
    check_broken(tally.broken_count, count + tally.broken_count, job.data.max_broken_share, tally.broken)
    _check_enough(path, len(texts))
    classes = [*judged.classes, *sorted(set(labels) - set(judged.classes))]  # met beyond the sample
    columns.check_classes(classes, path, judged.target.name, len(texts))
    place = {name: number for number, name in enumerate(classes)}
    y = np.array([place[label] for label in labels], np.int32)
    scale = 1.0 if whole else max(1.0, sample.about / max(1, len(sample.rows)))
    each = np.bincount(y, minlength=len(classes))
    return Labelled(
        texts,
        y,
        validation_mask(keys_of_rows(len(texts), job.training.seed), job.data.validation, y),
        tuple(classes),
        tuple(round(one * scale) for one in each.tolist()),
        round(len(texts) * scale),
        tally.broken,
        tally.broken_count,
        source.names[column],
        judged.target.name,
        unlabelled,
    )


def _columns(job: Job, path: Path, source: TableFile, sample: list[list[str]]) -> tuple[int, columns.Judged]:
    """The place of the text's column, and what is to be told apart."""
    names = source.names
    asked = {str(name): str(kind) for name, kind in job.data.columns.items()}
    given = [name for name, kind in asked.items() if kind == _AS_TEXT and name in names]
    as_table = {name: "ignore" if kind == _AS_TEXT else kind for name, kind in asked.items()}
    plain = job.with_values({"data.columns": as_table})
    judged = columns.judge_target(names, sample, plain, str(path), header=source.header, nested=source.nested)
    if given:
        return names.index(given[0]), judged
    wordy = [
        (sum(len(row[one.place]) for row in sample), one.place)
        for one in judged.columns
        if one.place != judged.target.place and one.why not in ("asked", "empty") and _has_words(one, sample)
    ]
    if not wordy:
        others = [name for name in names if name != judged.target.name]
        raise DataError("data-no-text-column", path=str(path), column=judged.target.name, columns=others[:20])
    return max(wordy)[1], judged


def _has_words(column: columns.Column, sample: list[list[str]]) -> bool:
    probe = [cell for row in sample[:_PROBED] if not cells.is_missing(cell := row[column.place])]
    return bool(probe) and cells.decimal_mark(probe) is None and cells.date_form(probe) is None


def _label(cell: str, target: columns.Column) -> str | None:
    if cells.is_missing(cell):
        return None
    if target.kind == "number" and np.isnan(cells.number(cell, target.decimal)):
        return None
    return columns.target_class(cell, target)


def _opened(path: Path, watch: Watch) -> TableFile:
    if path.suffix.lower() not in TABLES:
        raise DataError("data-not-sorted", path=str(path))
    return tablefile.opened(path, watch)


def _text_of(path: Path, root: Path | None = None) -> str:
    """What is in the file *path*, in the folder *root* if it was found there. Raises DataError."""
    encoding = encodings.detect(path)
    try:
        with links.opened(root or path, path) as file:
            raw = file.read(LONGEST_TEXT)
            whole = not file.read(1)
    except OSError as error:
        raise path_error(path, error) from error
    return codecs.getincrementaldecoder(encoding)("replace").decode(raw, whole).removeprefix("\ufeff")


def _check_enough(path: Path, count: int) -> None:
    if count < LEAST:
        raise DataError("data-too-few", path=str(path), count=count, needed=LEAST)

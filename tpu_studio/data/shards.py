"""Looking at and opening a converted data set (kind "tfrecord"); `data.described` reads its `dataset.json`.

    DST/dataset.json   DST/train-00000-of-00003.tfrecord …   DST/validation-00000-of-00001.tfrecord   DST/preview/…

Written by ``data.convert``. The split, the class order and the encoders are the source's; a job may still ask for
another picture size or sequence length. Records are tf.train.Examples:

    pictures, digits   image/encoded  image/format  image/height  image/width  image/class/label  image/class/text
                       image/filename; format raw: pixels as they are trained with, H x W x C bytes;
                       image/class has one value, or of several labels as many as a picture has
    tables             x (floats, encoded)  y (a class index, or a float: the scaled target)
    text               text (a piece of the UTF-8 text; all pieces of a split in their order are its text)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tpu_studio.data import continuing, example, texts
from tpu_studio.data.arrays import Array, Ints
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.decoding import Decoder, DecodingSource, decode_all
from tpu_studio.data.described import SPLITS, read_dataset
from tpu_studio.data.imaging import DECODED, BrokenImage, decode, stored_pixels
from tpu_studio.data.labelfile import MOST_MARKS
from tpu_studio.data.looked import NAMED_BROKEN, Broken, Finding, Look
from tpu_studio.data.opened import ArraySource, Opened, Source
from tpu_studio.data.paths import data_path, path_error
from tpu_studio.data.tfrecord import index_records, read_record, read_records
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plainfiles import plainly


def look(job: Job, watch: Watch) -> Look:
    path = data_path(job)
    tree = read_dataset(path)
    folder = path if path.is_dir() else path.parent
    check_job(job, tree)
    shards = [shard for split in SPLITS for shard in tree["splits"][split]["shards"]]
    _check_files(folder, shards, watch)
    was = Look.from_json(tree["look"])
    size = was.image_size if job.data.image_size == AUTO else job.data.image_size
    shape, train, kept = was.input_shape, was.train, was.validation
    length = was.sequence_length
    if was.image_size is not None and size is not None:
        shape = (size, size, shape[2])
    if kinds.by_id(tree["kind"]).has_text:
        tokens = [int(tree["splits"][split]["bytes_of_text"]) for split in SPLITS]
        if job.data.tokenizer == "bpe":
            first = [folder / shard["name"] for shard in tree["splits"][SPLITS[0]]["shards"]]
            was = _in_pieces(job, was, tokens, _begin(first, watch))
            tokens = [was.numbers["train_tokens"], was.numbers["validation_tokens"]]
        length = _length(job, tokens)
        shape, train = (length,), max(1, (tokens[0] - 1) // length)
        kept = -(-(tokens[1] - 1) // length)
    findings = [item for item in was.findings if item.id != "fixed-split"]
    preview = was.preview
    if was.pictures:
        preview = {"pictures": [{**item, "path": str(folder / str(item["path"]))} for item in was.pictures]}
    return replace(
        was,
        kind=job.data.kind,
        train=train,
        validation=kept,
        examples=train + kept,
        input_shape=shape,
        image_size=size if was.image_size is not None else None,
        sequence_length=length,
        sampled=False,
        findings=(*findings, Finding("fixed-split", "info", {})),
        preview=preview,
        bytes_on_disk=sum(int(shard["bytes"]) for shard in shards),
        fingerprint=fingerprint(tree),
    )


def fingerprint(tree: Mapping[str, Any]) -> str:
    sums = [shard["sha256"] for split in SPLITS for shard in tree["splits"][split]["shards"]]
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def open_shards(job: Job, *, budget: int, workers: int, watch: Watch) -> Opened:
    path = data_path(job)
    tree = read_dataset(path)
    folder = path if path.is_dir() else path.parent
    check_job(job, tree)
    files = {split: [folder / shard["name"] for shard in tree["splits"][split]["shards"]] for split in SPLITS}
    _check_files(folder, [shard for split in SPLITS for shard in tree["splits"][split]["shards"]], watch)
    description = dict(tree["description"])
    kind = kinds.by_id(tree["kind"])
    if kind.has_text:
        return _open_text(job, tree, files, watch)
    if kind.has_rows:
        sides = [ArraySource(_read_table(files[split], description, watch)) for split in SPLITS]
        return Opened(tree["task"], sides[0], sides[1], description)
    return _open_images(job, tree, files, description, budget, workers, watch)


def check_job(job: Job, tree: Mapping[str, object]) -> None:
    """A converted data set keeps its task and target: refuse a job that asks for another."""
    task, target = job.data.task, job.data.target
    if task not in ("auto", tree["task"]):
        raise DataError("data-task-unfit", task=task, kind=job.data.kind, allowed=[tree["task"]])
    if target not in (None, "auto", tree.get("target") or None):
        raise DataError(
            "data-target-missing",
            path=str(job.data.path),
            column=target,
            nearest=tree.get("target"),
            columns=[tree["target"]] if tree.get("target") else [],
        )


def _open_text(job: Job, tree: Mapping[str, Any], files: Mapping[str, list[Path]], watch: Watch) -> Opened:
    tokens = [_read_text(files[split], watch) for split in SPLITS]
    for split, text in zip(SPLITS, tokens, strict=True):
        if len(text) != int(tree["splits"][split]["bytes_of_text"]):
            path = str(next(iter(files[split]), job.data.path))
            raise DataError("data-shard-damaged", path=path, offset=len(text), why="size")
    if job.data.tokenizer == "bpe":
        return texts.windows(job, tree["task"], tokens[0], tokens[1])
    length = _length(job, [len(text) for text in tokens])
    description = dict(tree["description"]) | {"sequence_length": length, "input_shape": [length]}
    train, kept = texts.TrainingWindows(tokens[0], length), texts.ValidationWindows(tokens[1], length, len(tokens[1]))
    return Opened(tree["task"], train, kept, description)


def _length(job: Job, tokens: list[int]) -> int:
    """The sequence length that the job's own text of so many tokens on each side would get."""
    share = tokens[1] / max(1, sum(tokens))
    return texts.sequence_length(job.with_values({"data.validation": share}), sum(tokens))


def _in_pieces(job: Job, was: Look, sizes: list[int], begin: Array) -> Look:
    """As looked at by a job that learns its pieces, by the words of its *begin*; *sizes*: bytes of both sides."""
    vocabulary = texts.vocabulary_of(job, sizes[0])
    train, kept = (continuing.tokens_in(begin, size, vocabulary) for size in sizes)
    counted = {"tokens": train + kept, "train_tokens": train, "validation_tokens": kept, "vocabulary": vocabulary}
    return replace(was, numbers={**was.numbers, **counted}, outputs=vocabulary)


def _begin(files: list[Path], watch: Watch) -> Array:
    """The text up to the record in which `continuing.COUNTED` bytes are full."""
    pieces, size = [], 0
    for piece in _pieces(files, watch):
        pieces.append(piece)
        size += len(piece)
        if size >= continuing.COUNTED:
            break
    return np.frombuffer(b"".join(pieces), dtype=np.uint8)


def _read_text(files: list[Path], watch: Watch) -> Array:
    return np.frombuffer(b"".join(_pieces(files, watch)), dtype=np.uint8)


def _pieces(files: list[Path], watch: Watch) -> Iterator[bytes]:
    for file in files:
        watch.check()
        for record in read_records(file):
            yield from _bytes(_features(record, file), "text", file)


def _read_table(files: list[Path], description: Mapping[str, Any], watch: Watch) -> dict[str, Array]:
    width = int(description["input_shape"][0])
    kind = np.int32 if tasks.by_id(description["task"]).has_classes else np.float32
    x, y = [np.empty((0, width), np.float32)], [np.empty(0, kind)]
    records = (_features(record, file) for file in files for record in read_records(file))
    try:
        while some := list(islice(records, _AT_ONCE)):
            watch.check()
            x.append(np.array([one.get("x", []) for one in some], dtype=np.float32).reshape(len(some), width))
            y.append(np.array([one.get("y", []) for one in some], dtype=kind).reshape(len(some)))
        answers = np.concatenate(y)
        if kind is np.int32 and len(answers) and not 0 <= answers.min() <= answers.max() < int(description["outputs"]):
            raise ValueError(f"classes {answers.min()} to {answers.max()} of {description['outputs']}")
        return {"x": np.concatenate(x), "y": answers}
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError("data-shard-damaged", path=str(files[0]), offset=0, why="features", raw=str(error)) from error


def _open_images(
    job: Job,
    tree: Mapping[str, Any],
    files: Mapping[str, list[Path]],
    description: dict[str, Any],
    budget: int,
    workers: int,
    watch: Watch,
) -> Opened:
    outputs = int(description["outputs"])
    side = int(description["image_size"]) if job.data.image_size == AUTO else job.data.image_size
    shape = (side, side, int(description["channels"]))
    description |= {"image_size": side, "input_shape": list(shape)}
    opened = Opened(tree["task"], _EMPTY, _EMPTY, description)
    several = tasks.by_id(tree["task"]).has_labels
    parts = {split: Records.of(files[split], shape, outputs, several) for split in SPLITS}
    total = sum(map(len, parts.values()))
    in_memory = total * int(np.prod(shape)) <= budget
    allowed = job.data.max_broken_share
    sides: list[Source] = []
    items: list[Broken] = []
    for split in SPLITS:
        records = parts[split]
        count, labels = len(records), records.labels(watch)
        if in_memory:
            pixels, broken = decode_all(records, count, shape, workers, watch)
            items += [Broken(records.name(index), broken[index]) for index in sorted(broken)]
            good = np.setdiff1d(np.arange(count), np.fromiter(broken, dtype=np.int64, count=len(broken)))
            sides.append(ArraySource({"x": pixels[good], "y": labels[good]}))
        else:
            decoder = Decoder(records, np.arange(count), shape, allowed)
            sides.append(DecodingSource(decoder, labels, workers, records.name, opened))
    check_broken(len(items), total, allowed, items)
    opened.broken, opened.broken_count = items[:NAMED_BROKEN], len(items)
    opened.train, opened.validation = sides
    return opened


def some_records(path: Path, shape: tuple[int, ...]) -> Records:
    """Pictures of the first file of a converted data set.

    Raises:
        DataError: as `read_dataset`; data-shard-damaged.
    """
    tree = read_dataset(path)
    folder = path if path.is_dir() else path.parent
    names = [shard["name"] for split in SPLITS for shard in tree["splits"][split]["shards"]]
    return Records.of([folder / name for name in names[:1]], shape, int(tree["description"]["outputs"]))


@dataclass(frozen=True)
class Records:
    """Pixels by number, out of the records of one split. Goes to other processes. *several*: each has its labels."""

    files: list[Path]
    at_file: Ints
    offsets: Ints
    lengths: Ints
    shape: tuple[int, ...]
    outputs: int
    several: bool = False

    @classmethod
    def of(cls, files: list[Path], shape: tuple[int, ...], outputs: int, several: bool = False) -> Records:
        places = [index_records(file) for file in files]
        at_file = np.repeat(np.arange(len(files)), [len(each) for each in places])
        offsets, lengths = np.concatenate([np.empty((0, 2), dtype=np.int64), *places]).T.copy()
        return cls(files, at_file, offsets, lengths, shape, outputs, several)

    def __len__(self) -> int:
        return len(self.offsets)

    def __call__(self, index: int) -> Array:
        file = self.files[self.at_file[index]]
        features = _features(read_record(file, int(self.offsets[index]), int(self.lengths[index])), file)
        encoded = _bytes(features, "image/encoded", file)
        if not encoded:
            raise BrokenImage("empty-file")
        if features.get("image/format") == [DECODED]:
            height, width = (_number(features, name, file) for name in ("image/height", "image/width"))
            return stored_pixels(encoded[0], height, width, self.shape)
        return decode(encoded[0], self.shape[0], self.shape[2])

    def labels(self, watch: Watch) -> Array:
        """The class of each; or for each, of every label 1 or 0. Only the beginnings of the records are read."""
        if self.several and len(self) * self.outputs > MOST_MARKS:
            marks = len(self) * self.outputs
            raise DataError("data-labels-too-large", path=str(self.files[0]), marks=marks, allowed=MOST_MARKS)
        found = np.zeros((len(self), self.outputs), np.uint8) if self.several else np.empty(len(self), np.int32)
        for number, file in enumerate(self.files):
            watch.check()
            with open(file, "rb", opener=plainly) as opened:
                for index in np.flatnonzero(self.at_file == number).tolist():
                    labels = self._labels(opened, file, int(self.offsets[index]), int(self.lengths[index]))
                    if self.several:
                        found[index, labels] = 1
                    else:
                        found[index] = labels[0]
        return found

    def name(self, index: int) -> str:
        return f"{self.files[self.at_file[index]].name} at byte {self.offsets[index]}"

    def _labels(self, opened: BinaryIO, file: Path, offset: int, length: int) -> list[int]:
        opened.seek(offset)
        features = example.decode_start(opened.read(min(length, _HEAD)))
        if "image/class/label" not in features:  # another writer's order
            features = _features(read_record(file, offset, length), file)
        try:
            labels = [int(label) for label in features["image/class/label"]]
            if not all(0 <= label < self.outputs for label in labels) or not (labels or self.several):
                raise ValueError(f"classes {labels[:5]} of {self.outputs}")
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            raise DataError("data-shard-damaged", path=str(file), offset=offset, why="features") from error
        return labels


def _features(record: bytes, file: Path) -> dict[str, Any]:
    try:
        return dict(example.decode(record))
    except example.BrokenExample as error:
        raise DataError("data-shard-damaged", path=str(file), offset=0, why="features", raw=str(error)) from error


def _bytes(features: Mapping[str, object], name: str, file: Path) -> list[bytes]:
    value = features.get(name)
    if not isinstance(value, list):
        raise DataError("data-shard-damaged", path=str(file), offset=0, why="features", feature=name)
    return value


def _number(features: Mapping[str, object], name: str, file: Path) -> int:
    value = features.get(name)
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or not len(value):
        raise DataError("data-shard-damaged", path=str(file), offset=0, why="features", feature=name)
    return int(value[0])


def _check_files(folder: Path, shards: Sequence[Mapping[str, Any]], watch: Watch) -> None:
    """Raises DataError: one is not as it was written, or is another one by a link, and would be read as often."""
    seen = []
    for shard in shards:
        watch.check()
        seen.append(_check_size(folder, shard))
    numbered = [one for one in seen if one[1]]  # not all file systems number theirs
    if len(set(numbered)) < len(numbered):
        raise DataError("data-shard-damaged", path=str(folder), offset=0, why="twice")


def _check_size(folder: Path, shard: Mapping[str, Any]) -> tuple[int, int]:
    """Which file it is."""
    file = folder / shard["name"]
    try:
        told = file.stat()
    except OSError as error:
        raise path_error(file, error) from error
    if told.st_size != shard["bytes"]:
        raise DataError("data-shard-damaged", path=str(file), offset=min(told.st_size, int(shard["bytes"])), why="size")
    return told.st_dev, told.st_ino


_AT_ONCE = 10_000  # rows
_HEAD = 512  # bytes of a record: the class stands first in what `data.convert` writes
_EMPTY = ArraySource({"x": np.zeros((0, 1), dtype=np.uint8), "y": np.zeros(0, dtype=np.int32)})

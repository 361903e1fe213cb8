"""What a conversion will write: the shards of each split and all that `dataset.json` says besides them.

The layout depends on the data and the shard size only, never on the number of processes, so that a conversion can
be taken up by another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import images, links, texts
from tpu_studio.data.arrays import Array
from tpu_studio.data.described import FORMAT, SPLITS
from tpu_studio.data.folders import Listing
from tpu_studio.data.imaging import BrokenImage, decode, png_of
from tpu_studio.data.listed import listing_of, task_of
from tpu_studio.data.look import look as look_at
from tpu_studio.data.looked import Broken, Look
from tpu_studio.data.opened import ArraySource
from tpu_studio.data.paths import data_path
from tpu_studio.data.shardwriting import MOST_READ, ShardTask
from tpu_studio.data.sources import as_looked, open_data
from tpu_studio.data.texts import TrainingWindows, ValidationWindows
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job

_LEAST_SHARD = 4 * 2**20
_SHARDS_AT_LEAST = 4  # so that there is work for several processes and readers
_PREVIEW_SIDE = 96


@dataclass(frozen=True)
class Converting:
    """A conversion that is ready to run."""

    tasks: tuple[ShardTask, ...]
    look: Look
    description: dict[str, object]
    features: dict[str, object]
    settings: dict[str, object]
    fingerprint: str
    classes: tuple[str, ...] = ()
    problems: tuple[Broken, ...] = ()
    problem_count: int = 0
    allowed_broken: float = 0.05
    text_bytes: dict[str, int] = field(default_factory=dict)
    previews: tuple[tuple[str, bytes], ...] = ()
    preview_classes: tuple[str, ...] = ()

    @property
    def format(self) -> int:
        """Of `dataset.json`: the oldest whose readers understand the records."""
        if tasks.by_id(self.look.task).has_labels:
            return FORMAT
        return 2 if self.settings.get("decoded") else 1

    @property
    def weight(self) -> int:
        """Bytes of the source, or of pixels where those are written."""
        return sum(task.weight for task in self.tasks)


def prepare(
    job: Job, destination: Path, shard_bytes: int, watch: Watch, expect: Callable[[int], None], *, decoded: bool = False
) -> Converting:
    """Look at the job's data and lay out its shards; *expect* is told early how many bytes of pictures there are.

    Raises:
        DataError: as the look; data-already-converted for kind "tfrecord"; data-not-decodable.
    """
    if kinds.by_id(job.data.kind).is_converted:
        raise DataError("data-already-converted", path=str(data_path(job)))
    if kinds.by_id(job.data.kind).has_picture_files:
        return _images(job, destination, shard_bytes, watch, expect, decoded)
    if kinds.by_id(job.data.kind).has_text and not texts.task_of(job, data_path(job)).continues:
        raise DataError("data-not-convertible", path=str(data_path(job)))
    if decoded:
        raise DataError("data-not-decodable", path=str(job.data.path or ""), kind=job.data.kind)
    if kinds.by_id(job.data.kind).has_text:
        job = job.with_values({"data.tokenizer": "bytes"})  # pieces are learned from these when the files are opened
    look = look_at(job, cancelled=watch.cancelled)
    opened = open_data(as_looked(job, look), cancelled=watch.cancelled)
    classes = tuple(opened.description.get("classes", ()))
    tasks: list[ShardTask] = []
    text_bytes: dict[str, int] = {}
    for split, source in zip(SPLITS, (opened.train, opened.validation), strict=True):
        if isinstance(source, TrainingWindows | ValidationWindows):
            arrays = {"text": source.tokens}
            text_bytes[split] = len(source.tokens)
        else:
            assert isinstance(source, ArraySource)
            arrays = dict(source.arrays)
        tasks += _array_tasks(destination, split, look.kind, classes, arrays, shard_bytes)
    previews: list[tuple[str, bytes]] = []
    names: list[str] = []
    for number, item in enumerate(look.pictures):
        previews.append((f"preview/{number:02d}.png", Path(str(item["path"])).read_bytes()))
        names.append(str(item["class"]))
    return Converting(
        tuple(tasks),
        look,
        opened.description,
        _features(look.kind, look),
        _settings(job, look),
        look.fingerprint,
        classes,
        tuple(opened.broken),
        opened.broken_count,
        job.data.max_broken_share,
        text_bytes,
        tuple(previews),
        tuple(names),
    )


def _images(
    job: Job, destination: Path, shard_bytes: int, watch: Watch, expect: Callable[[int], None], decoded: bool
) -> Converting:
    listing = listing_of(job, watch)
    expect(int(listing.sizes.sum()))
    images.check_enough(listing, job)
    sample = images.sample_headers(listing, job, watch)
    shape = (sample.image_size, sample.image_size, sample.channels)
    mask = listing.validation(job.training.seed, job.data.validation)
    tasks: list[ShardTask] = []
    for split, part in zip(SPLITS, (~mask, mask), strict=True):
        tasks += _file_tasks(destination, split, listing, np.flatnonzero(part), shape, shard_bytes, decoded)
    look = Look(
        kind=job.data.kind,
        task=task_of(job, listing),
        train=int((~mask).sum()),
        validation=int(mask.sum()),
        examples=len(mask),
        image_sizes=images.sizes_of(sample.headers),
        fingerprint=listing.fingerprint(),
        bytes_on_disk=int(listing.sizes.sum()),
        input_shape=shape,
        outputs=len(listing.classes),
        image_size=sample.image_size,
        numbers={"pictures": len(listing.names)},
    )
    previews: list[tuple[str, bytes]] = []
    names: list[str] = []
    for item in images.pictures_of(listing, sample.broken, mask):
        try:
            pixels = decode(links.content(listing.root, Path(item["path"]), MOST_READ), _PREVIEW_SIDE, 3)
        except (BrokenImage, OSError):
            continue  # counted when its shard is written
        previews.append((f"preview/{len(previews):02d}.png", png_of(pixels)))
        names.append(item["class"])
    broken_share = job.data.max_broken_share
    return Converting(
        tuple(tasks),
        look,
        dict(images.describe(job, listing, shape)),
        _features(look.kind, look),
        _settings(job, look) | ({"decoded": True} if decoded else {}),
        look.fingerprint,
        tuple(listing.classes),
        tuple(listing.problems),
        len(listing.problems),
        broken_share,
        {},
        tuple(previews),
        tuple(names),
    )


def _file_tasks(
    destination: Path,
    split: str,
    listing: Listing,
    chosen: Array,
    shape: tuple[int, ...],
    shard_bytes: int,
    decoded: bool,
) -> list[ShardTask]:
    each = np.full(len(chosen), int(np.prod(shape))) if decoded else listing.sizes[chosen]
    sizes = each + 256  # the record's own names and framing
    runs = _runs(sizes, shard_bytes)
    classes, kind = tuple(listing.classes), kinds.first(lambda kind: kind.has_picture_files).id
    tasks = []
    for number, (start, end) in enumerate(runs):
        rows = chosen[start:end].tolist()
        files = tuple((listing.path(row), listing.names[row], listing.answer(row)) for row in rows)
        tasks.append(
            ShardTask(
                str(destination),
                split,
                number,
                len(runs),
                kind,
                classes,
                int(sizes[start:end].sum()),
                shape,
                files,
                decoded=decoded,
                root=str(listing.root),
            )
        )
    return tasks


def _array_tasks(
    destination: Path, split: str, kind: str, classes: tuple[str, ...], arrays: dict[str, Array], shard_bytes: int
) -> list[ShardTask]:
    first = next(iter(arrays.values()))
    if kinds.by_id(kind).has_text:
        step = max(65_536, shard_bytes // 65_536 * 65_536)
        runs = [(start, min(start + step, len(first))) for start in range(0, len(first), step)]
        row_bytes = 1
    else:
        row_bytes = int(np.prod(first.shape[1:])) * first.dtype.itemsize + 48
        runs = _runs(np.full(len(first), row_bytes), shard_bytes)
    return [
        ShardTask(
            str(destination),
            split,
            number,
            len(runs),
            kind,
            classes,
            (end - start) * row_bytes,
            first.shape[1:],
            (),
            {name: array[start:end] for name, array in arrays.items()},
        )
        for number, (start, end) in enumerate(runs)
    ]


def _runs(sizes: Array, shard_bytes: int) -> list[tuple[int, int]]:
    """(start, end) of each shard: in order, about equally heavy, at most about *shard_bytes*."""
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    count = max(-(-total // max(1, shard_bytes)), min(_SHARDS_AT_LEAST, total // _LEAST_SHARD), 1)
    bounds = np.searchsorted(ends, [total * part / count for part in range(1, count)]).tolist()
    cuts: Sequence[int] = sorted({0, len(sizes), *(bound + 1 for bound in bounds if bound + 1 < len(sizes))})
    return list(pairwise(cuts))


def _features(kind: str, look: Look) -> dict[str, Any]:
    known = kinds.by_id(kind)
    if known.has_rows:
        target = "int64" if tasks.by_id(look.task).has_classes else "float32"
        return {"x": {"dtype": "float32", "shape": list(look.input_shape)}, "y": {"dtype": target, "shape": [1]}}
    if known.has_text:
        return {"text": {"dtype": "bytes", "shape": [1]}}
    texts = ("image/encoded", "image/format", "image/class/text", "image/filename")
    numbers = ("image/height", "image/width", "image/class/label")
    features = {name: {"dtype": "bytes", "shape": [1]} for name in texts}
    features |= {name: {"dtype": "int64", "shape": [1]} for name in numbers}
    if tasks.by_id(look.task).has_labels:  # as many as a picture has
        for name in ("image/class/label", "image/class/text"):
            features[name] = {**features[name], "shape": [-1]}
    return features


def _settings(job: Job, look: Look) -> dict[str, object]:
    """What of the job shaped the result."""
    return {
        "seed": job.training.seed,
        "validation": job.data.validation,
        "columns": dict(job.data.columns),
        "task": look.task,
        "target": look.target,
        "image_size": look.image_size,
    }

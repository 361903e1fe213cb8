"""Pictures in class folders: the quick look, and the opened data set.

The look reads headers and decodes a bounded sample, so 100,000 pictures take a second or two; opening decodes all of
them when they fit the memory budget, and checks every header when they do not.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import links
from tpu_studio.data.arrays import Array, Bools, Ints
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.decoding import Decoder, DecodingSource, check_headers, decode_all
from tpu_studio.data.folders import Listing
from tpu_studio.data.imaging import GRAY_MODES, BrokenImage, Header, contents, decode, probe
from tpu_studio.data.listed import listing_of, task_of
from tpu_studio.data.looked import NAMED_BROKEN, Broken, Finding, ImageSizes, Look, alike_findings, broken_finding
from tpu_studio.data.opened import ArraySource, Opened, Source
from tpu_studio.data.shown import to_show
from tpu_studio.data.split import keys_of_names
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.models import image_size

HEADERS = 4_000  # headers read in a look
DECODED_PIXELS = 40_000_000  # pixels decoded in a look, about half a second
HASHED_FILES, HASHED_BYTES = 20_000, 64_000_000  # files compared for duplicates
FEW = 10  # a class with fewer pictures is told about
FORMAT_SUFFIXES = {
    "JPEG": {".jpg", ".jpeg", ".jpe", ".jfif"},
    "MPO": {".jpg", ".jpeg"},
    "PNG": {".png"},
    "GIF": {".gif"},
    "BMP": {".bmp"},
    "WEBP": {".webp"},
    "TIFF": {".tif", ".tiff"},
    "PPM": {".ppm", ".pgm"},
}


@dataclass(frozen=True)
class Sampled:
    """Headers of a sample that depends on the names alone: what "auto" sizes and channels rest on."""

    headers: dict[int, Header]
    broken: dict[int, str]
    channels: int
    image_size: int


def look(job: Job, watch: Watch) -> Look:
    listing = listing_of(job, watch)
    check_enough(listing, job)
    sample = sample_headers(listing, job, watch)
    broken = dict(sample.broken)
    _decode_sample(listing, sample, broken, watch)
    sampled = len(listing.names) > len(sample.headers) + len(sample.broken)
    check_broken(
        len(broken),
        len(sample.headers) + len(sample.broken),
        job.data.max_broken_share,
        broken_list(listing, broken),
    )
    mask = listing.validation(job.training.seed, job.data.validation)
    usable = np.ones(len(listing.names), dtype=np.bool_)
    usable[list(broken)] = False
    groups, across, conflicts, all_hashed = find_duplicates(listing, mask, watch)
    counts = listing.counts(usable).tolist()
    items = listing.problems + broken_list(listing, broken)
    told = [item for item in items if item.why != "unreadable-folder"]  # those have a finding of their own
    findings = [
        *(
            _label_findings(listing, counts, usable, mask)
            if listing.marks is not None
            else _class_findings(listing, counts)
        ),
        *_size_findings(listing, sample),
        *_duplicate_findings(groups, across, conflicts),
        *([broken_finding(len(told) + listing.unnamed, told)] if told else []),
    ]
    return Look(
        kind=job.data.kind,
        task=task_of(job, listing),
        examples=int(usable.sum()),
        train=int((usable & ~mask).sum()),
        validation=int((usable & mask).sum()),
        sampled=sampled or not all_hashed,
        classes=tuple(zip(listing.classes, counts, strict=True)),
        image_sizes=sizes_of(sample.headers),
        broken=tuple(items[:NAMED_BROKEN]),
        broken_count=len(items) + listing.unnamed,
        duplicates=sum(len(group) - 1 for group in groups),
        duplicate_examples=tuple(tuple(group[:4]) for group in groups[:10]),
        findings=tuple(findings),
        preview={"pictures": pictures_of(listing, broken, mask)},
        bytes_on_disk=int(listing.sizes.sum()),
        fingerprint=listing.fingerprint(),
        input_shape=(sample.image_size, sample.image_size, sample.channels),
        outputs=len(listing.classes),
        image_size=sample.image_size,
        numbers={"pictures": len(listing.names)},
    )


def open_images(job: Job, *, budget: int, workers: int, watch: Watch) -> Opened:
    listing = listing_of(job, watch)
    check_enough(listing, job)
    sample = sample_headers(listing, job, watch)
    mask = listing.validation(job.training.seed, job.data.validation)
    shape = (sample.image_size, sample.image_size, sample.channels)
    labels = listing.labels.astype(np.int32) if listing.marks is None else listing.marks
    count = len(listing.names)
    one = PictureFiles.of(listing, sample.image_size, sample.channels)
    opened = Opened(task_of(job, listing), _NOTHING, _NOTHING, describe(job, listing, shape))
    opened.broken += listing.problems[:NAMED_BROKEN]
    in_memory = count * int(np.prod(shape)) <= budget

    if in_memory:
        pixels, broken = decode_all(one, count, shape, workers, watch)
    else:
        broken = check_headers(lambda index: probe(one.path(index)), count, workers, watch)
    items = broken_list(listing, broken)
    check_broken(len(broken), count, job.data.max_broken_share, items)
    opened.broken += items[: NAMED_BROKEN - len(opened.broken)]
    opened.broken_count = len(listing.problems) + listing.unnamed + len(broken)
    usable = np.ones(count, dtype=np.bool_)
    usable[list(broken)] = False
    sides: list[Source] = []
    for part in (usable & ~mask, usable & mask):
        numbers = np.flatnonzero(part)
        if not len(numbers):
            raise DataError("data-too-few", path=str(listing.root), count=int(usable.sum()), needed=4)
        if in_memory:
            sides.append(ArraySource({"x": pixels[numbers], "y": labels[numbers]}))
        else:
            decoder = Decoder(one, numbers, shape, job.data.max_broken_share)
            sides.append(DecodingSource(decoder, labels[numbers], workers, listing.names.__getitem__, opened))
    opened.train, opened.validation = sides
    return opened


@dataclass(frozen=True)
class PictureFiles:
    """Pixels by number. Goes to other processes, so the names, perhaps a million, are one piece of memory."""

    root: bytes
    names: bytes
    ends: Ints
    side: int
    channels: int

    @classmethod
    def of(cls, listing: Listing, side: int, channels: int) -> PictureFiles:
        names = [os.fsencode(name) for name in listing.names]
        ends = np.cumsum([len(name) for name in names], dtype=np.int64)
        return cls(os.fsencode(listing.root), b"".join(names), ends, side, channels)

    def path(self, index: int) -> str:
        start = int(self.ends[index - 1]) if index else 0
        return os.fsdecode(os.path.join(self.root, self.names[start : int(self.ends[index])]))

    def __call__(self, index: int) -> Array:
        return decode(contents(self.path(index), os.fsdecode(self.root)), self.side, self.channels)


def describe(job: Job, listing: Listing, shape: tuple[int, ...]) -> dict[str, object]:
    return {
        "kind": "images",
        "task": task_of(job, listing),
        "image_size": shape[0],
        "channels": shape[2],
        "value_max": 255,
        "classes": list(listing.classes),
        "input_shape": list(shape),
        "outputs": len(listing.classes),
    }


def check_enough(listing: Listing, job: Job) -> None:
    needed = max(4, 2 * len(listing.classes)) if listing.marks is None else 4
    if len(listing.names) < needed:
        raise DataError(
            "data-too-few",
            path=str(listing.root),
            count=len(listing.names),
            needed=needed,
            classes=len(listing.classes),
        )


def broken_list(listing: Listing, broken: dict[int, str]) -> list[Broken]:
    return [Broken(listing.names[index], broken[index]) for index in sorted(broken)]


def sample_headers(listing: Listing, job: Job, watch: Watch) -> Sampled:
    """Headers of at most `HEADERS` pictures, chosen by their names."""
    count = len(listing.names)
    chosen = range(count)
    if count > HEADERS:
        chosen = np.sort(np.argsort(keys_of_names(listing.names, 0))[:HEADERS]).tolist()
    headers: dict[int, Header] = {}
    broken: dict[int, str] = {}
    for done, index in enumerate(chosen):
        if done % 100 == 0:
            watch.at(done, 2 * len(chosen))
        try:
            headers[index] = probe(listing.path(index))
        except BrokenImage as error:
            broken[index] = error.why
    if not headers:
        check_broken(len(broken), len(broken), job.data.max_broken_share, broken_list(listing, broken))
    channels = 1 if all(header.mode in GRAY_MODES for header in headers.values()) else 3
    size = job.data.image_size
    if size == "auto":
        sizes = sizes_of(headers)
        size = image_size("", min(sizes.median_width, sizes.median_height))
    return Sampled(headers, broken, channels, int(size))


def find_duplicates(listing: Listing, mask: Array, watch: Watch) -> tuple[list[list[str]], list[str], list[str], bool]:
    """Groups of files with the same bytes; names in groups on both sides of the split; in two classes; all compared?

    Only files of equal size are read, and at most `HASHED_FILES` of them.
    """
    size_order = np.argsort(listing.sizes, kind="stable")
    sizes = listing.sizes[size_order]
    same = np.zeros(len(sizes), dtype=np.bool_)
    same[1:] = sizes[1:] == sizes[:-1]
    same[:-1] |= same[1:]
    candidates = size_order[same]
    within = np.cumsum(listing.sizes[candidates]) <= HASHED_BYTES
    chosen = candidates[within][:HASHED_FILES]
    by_content: dict[tuple[int, bytes], list[int]] = {}
    for done, index in enumerate(chosen.tolist()):
        if done % 200 == 0:
            watch.check()
        if listing.sizes[index] == 0:
            continue
        try:
            content = links.content(listing.root, Path(listing.path(index)), int(listing.sizes[index]))
        except OSError:
            continue  # told as unreadable when it is decoded
        digest = hashlib.blake2b(content, digest_size=16).digest()
        by_content.setdefault((len(content), digest), []).append(index)
    groups = sorted(group for group in by_content.values() if len(group) > 1)
    across = [listing.names[group[0]] for group in groups if len({bool(mask[index]) for index in group}) == 2]
    conflicts = [listing.names[group[0]] for group in groups if len({listing.answer(item) for item in group}) > 1]
    named = [[listing.names[index] for index in group] for group in groups]
    return named, across, conflicts, len(chosen) == len(candidates)


def _decode_sample(listing: Listing, sample: Sampled, broken: dict[int, str], watch: Watch) -> None:
    left = DECODED_PIXELS
    order = sorted(sample.headers, key=lambda index: index * 2654435761 % 2**32)
    for done, index in enumerate(order):
        if done % 50 == 0:
            watch.at(len(order) + done, 2 * len(order))
        work = sample.headers[index].work
        if work > left:
            continue  # its turn comes when it is trained on
        left -= work
        try:
            decode(contents(listing.path(index), str(listing.root)), sample.image_size, sample.channels)
        except BrokenImage as error:
            broken[index] = error.why


def sizes_of(headers: dict[int, Header]) -> ImageSizes:
    widths = np.array([header.width for header in headers.values()])
    heights = np.array([header.height for header in headers.values()])
    modes = Counter(header.mode for header in headers.values())
    return ImageSizes(
        int(widths.min()),
        int(np.median(widths)),
        int(widths.max()),
        int(heights.min()),
        int(np.median(heights)),
        int(heights.max()),
        dict(sorted(modes.items())),
    )


def _class_findings(listing: Listing, counts: list[int]) -> list[Finding]:
    found = []
    most, least = max(counts), min(counts)
    if least and most >= 3 * least:
        found.append(
            Finding(
                "class-imbalance",
                "warning",
                {
                    "most": listing.classes[counts.index(most)],
                    "most_count": most,
                    "least": listing.classes[counts.index(least)],
                    "least_count": least,
                },
            )
        )
    few = [[name, count] for name, count in zip(listing.classes, counts, strict=True) if count < FEW]
    if few:
        found.append(Finding("near-empty-class", "warning", {"classes": few[:20], "count": len(few)}))
    found += alike_findings(listing.classes)
    if sum(counts) < 100:
        found.append(Finding("tiny-data", "warning", {"examples": sum(counts)}))
    if listing.closed:
        found.append(
            Finding("unreadable-folder", "warning", {"folders": listing.closed[:20], "count": len(listing.closed)})
        )
    if listing.empty:
        found.append(Finding("empty-class", "warning", {"classes": listing.empty[:20], "count": len(listing.empty)}))
    if listing.loose:
        found.append(Finding("loose-pictures", "warning", {"count": listing.loose}))
    if listing.others:
        found.append(Finding("other-files", "info", {"count": listing.others}))
    if listing.unused:
        found.append(Finding("unused-folder", "info", {"folders": listing.unused}))
    if listing.fixed_split:
        found.append(Finding("fixed-split", "info", {}))
    return found


def _label_findings(listing: Listing, counts: list[int], usable: Bools, kept: Bools) -> list[Finding]:
    found = list(listing.told)
    few = [[name, count] for name, count in zip(listing.classes, counts, strict=True) if count < FEW]
    if few:
        found.append(Finding("near-empty-class", "warning", {"classes": few[:20], "count": len(few)}))
    for side, name in ((usable & ~kept, "labels-not-learned"), (usable & kept, "labels-not-tested")):
        missing = [
            label for label, count in zip(listing.classes, listing.counts(side).tolist(), strict=True) if not count
        ]
        if missing:
            found.append(Finding(name, "warning", {"labels": missing[:20], "count": len(missing)}))
    found += alike_findings(listing.classes)
    if (pictures := int(usable.sum())) < 100:
        found.append(Finding("tiny-data", "warning", {"examples": pictures}))
    if listing.closed:
        found.append(
            Finding("unreadable-folder", "warning", {"folders": listing.closed[:20], "count": len(listing.closed)})
        )
    return found


def _size_findings(listing: Listing, sample: Sampled) -> list[Finding]:
    found = []
    headers = sample.headers.values()
    shapes = {(header.width, header.height) for header in headers}
    if len(shapes) > 1:
        found.append(Finding("mixed-sizes", "info", {"sizes": len(shapes), "image_size": sample.image_size}))
    long = sum(max(header.width, header.height) > 1.6 * min(header.width, header.height) for header in headers)
    if long > 0.2 * len(sample.headers):
        found.append(Finding("edges-cut", "info", {"share": round(long / len(sample.headers), 3)}))
    small = sum(min(header.width, header.height) < sample.image_size / 2 for header in headers)
    if small > 0.2 * len(sample.headers):
        found.append(Finding("enlarged", "info", {"share": round(small / len(sample.headers), 3)}))
    misnamed = [
        listing.names[index]
        for index, header in sample.headers.items()
        if Path(listing.names[index]).suffix.lower() not in FORMAT_SUFFIXES.get(header.format, set())
    ]
    if misnamed:
        found.append(Finding("misnamed-files", "info", {"count": len(misnamed), "first": misnamed[0]}))
    return found


def _duplicate_findings(groups: list[list[str]], across: list[str], conflicts: list[str]) -> list[Finding]:
    found = []
    if groups:
        found.append(
            Finding("duplicates", "info", {"count": sum(len(group) - 1 for group in groups), "first": groups[0][:4]})
        )
    if across:
        found.append(Finding("duplicates-across-split", "warning", {"count": len(across), "first": across[0]}))
    if conflicts:
        found.append(Finding("duplicates-in-two-classes", "warning", {"count": len(conflicts), "first": conflicts[0]}))
    return found


def pictures_of(listing: Listing, broken: dict[int, str], kept: Bools) -> list[dict[str, Any]]:
    """Pictures to show and to try, each with its class and whether it is kept aside."""
    return [
        {"path": listing.path(index), "class": listing.words(index), "kept": bool(kept[index])}
        for index in to_show(listing.labels, kept, broken)
    ]


_NOTHING = ArraySource({"x": np.zeros((0, 1), dtype=np.uint8), "y": np.zeros(0, dtype=np.int32)})

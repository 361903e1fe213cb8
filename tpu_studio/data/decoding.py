"""Many pictures at once: `decode_all` fills memory once; `DecodingSource` decodes each batch anew when they do not fit.

A picture that turns out broken while training is replaced by the next good one of the same side, counted and named, and
training stops with ``data-too-broken`` when their share grows beyond what the job puts up with. What decodes is a
`Decoder`, which other processes get a copy of (``trainer.reading``); here it runs in threads (Pillow decodes and scales
without holding Python's lock).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from weakref import ref

import numpy as np

from tpu_studio.data.arrays import Array, Bytes, Ints
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.imaging import BrokenImage
from tpu_studio.data.looked import NAMED_BROKEN, Broken
from tpu_studio.data.opened import Opened, Share, Source, of_share
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError

_CHUNK = 64


def decode_all(
    one: Callable[[int], Array], count: int, shape: tuple[int, ...], workers: int, watch: Watch
) -> tuple[Bytes, dict[int, str]]:
    """All pictures as [count, *shape] uint8, and index → why for those that are broken (their rows are zero)."""
    pixels = np.zeros((count, *shape), dtype=np.uint8)

    def chunk(start: int) -> dict[int, str]:
        broken = {}
        for index in range(start, min(start + _CHUNK, count)):
            try:
                pixels[index] = one(index)
            except BrokenImage as error:
                broken[index] = error.why
        return broken

    return pixels, _by_chunks(chunk, count, workers, watch)


def check_headers(one: Callable[[int], object], count: int, workers: int, watch: Watch) -> dict[int, str]:
    """Index → why for the pictures whose header already shows that they are broken."""

    def chunk(start: int) -> dict[int, str]:
        broken = {}
        for index in range(start, min(start + _CHUNK, count)):
            try:
                one(index)
            except BrokenImage as error:
                broken[index] = error.why
        return broken

    return _by_chunks(chunk, count, workers, watch)


def _by_chunks(chunk: Callable[[int], dict[int, str]], count: int, workers: int, watch: Watch) -> dict[int, str]:
    broken: dict[int, str] = {}
    with ThreadPoolExecutor(max(1, workers), thread_name_prefix="decode") as pool:
        starts = range(0, count, _CHUNK)
        tasks = [pool.submit(chunk, start) for start in starts]
        try:
            for start, task in zip(starts, tasks, strict=True):
                watch.at(start, count)
                broken.update(task.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    watch.at(count, count)
    return broken


@dataclass
class Decoder:
    """The pictures of one side, decoded by their place in it. A copy can go to another process.

    Attributes:
        one: Pixels by number in the data set; raises BrokenImage.
        numbers: Of the pictures of this side.
        allowed: Share of broken ones that the job puts up with.
        known: Places of broken ones that this copy has met.
    """

    one: Callable[[int], Array]
    numbers: Ints
    shape: tuple[int, ...]
    allowed: float
    known: set[int] = field(default_factory=set)

    def into(self, index: int, pixels: Array, broken: list[tuple[int, str]]) -> int:
        """Decode the picture *index*, or the next one that can be, into *pixels*; returns which.

        *broken* gets (place, why) of each that is met for the first time.
        """
        for _ in range(len(self.numbers)):
            if index not in self.known:
                try:
                    pixels[...] = self.one(int(self.numbers[index]))
                    return index
                except BrokenImage as error:
                    self.known.add(index)
                    broken.append((index, error.why))
            index = (index + 1) % len(self.numbers)
        raise DataError(
            "data-too-broken", count=len(self.known), of=len(self.numbers), share=1.0, allowed=self.allowed, first=[]
        )  # every one of them


class DecodingSource(Source):
    """Pictures decoded batch by batch."""

    in_memory = False

    def __init__(
        self,
        decoder: Decoder,
        targets: Array,
        workers: int,
        name: Callable[[int], str],
        opened: Opened,
    ) -> None:
        """*name*: of a picture of the data set, by number; *workers*: threads that `batch` decodes with."""
        self.spec = {"x": (decoder.shape, "uint8"), "y": (targets.shape[1:], str(targets.dtype))}
        self.decoder = decoder
        self._targets, self._name = targets, name
        self._opened = ref(opened)  # which holds this source: a circle would keep the threads alive
        self._pool = ThreadPoolExecutor(max(1, workers), thread_name_prefix="decode")
        self._lock = Lock()
        self._told: set[int] = set()

    def __len__(self) -> int:
        return len(self.decoder.numbers)

    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        used = np.array(of_share(indices, share), dtype=np.int64)
        pixels = np.empty((len(used), *self.decoder.shape), dtype=np.uint8)

        broken: list[tuple[int, str]] = []

        def fill(place: int) -> None:
            used[place] = self.decoder.into(int(used[place]), pixels[place], broken)

        list(self._pool.map(fill, range(len(used))))
        self.tell_broken(broken)
        return {"x": pixels, "y": self.targets(used)}

    def targets(self, indices: Array) -> Array:
        return self._targets[indices]

    def tell_broken(self, found: Iterable[tuple[int, str]]) -> None:
        """Count and name what turned out broken, here or in another process.

        Raises:
            DataError: data-too-broken.
        """
        with self._lock:
            new = [(index, why) for index, why in found if index not in self._told]
            self._told.update(index for index, _ in new)
        opened, total = self._opened(), len(self)
        for index, why in new:
            item = Broken(self._name(int(self.decoder.numbers[index])), why)
            if opened is not None:
                opened.broken_count += 1
                if len(opened.broken) < NAMED_BROKEN:
                    opened.broken.append(item)
            check_broken(len(self._told), total, self.decoder.allowed, [item])

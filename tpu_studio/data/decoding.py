"""Many pictures at once, by a pool of threads (Pillow decodes and scales without holding Python's lock).

`decode_all` fills memory once; `DecodingSource` decodes each batch anew when the pictures do not fit. A picture that
turns out broken while training is replaced by the next good one of the same side, counted and named, and training
stops with ``data-too-broken`` when their share grows beyond what the job puts up with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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


class DecodingSource(Source):
    """Pictures decoded batch by batch."""

    in_memory = False

    def __init__(
        self,
        one: Callable[[int], Array],
        numbers: Ints,
        targets: Array,
        shape: tuple[int, ...],
        workers: int,
        names: Sequence[str],
        opened: Opened,
        max_broken_share: float,
    ) -> None:
        self.spec = {"x": (shape, "uint8"), "y": (targets.shape[1:], str(targets.dtype))}
        self._one, self._numbers, self._targets, self._shape = one, numbers, targets, shape
        self._names, self._allowed = names, max_broken_share
        self._opened = ref(opened)  # which holds this source: a circle would keep the threads alive
        self._pool = ThreadPoolExecutor(max(1, workers), thread_name_prefix="decode")
        self._lock = Lock()
        self._broken: set[int] = set()

    def __len__(self) -> int:
        return len(self._numbers)

    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        used = np.array(of_share(indices, share), dtype=np.int64)
        pixels = np.empty((len(used), *self._shape), dtype=np.uint8)

        def fill(place: int) -> None:
            used[place] = self._decode(int(used[place]), pixels[place])

        list(self._pool.map(fill, range(len(used))))
        return {"x": pixels, "y": self._targets[used]}

    def _decode(self, index: int, into: Array) -> int:
        """Decode the picture *index*, or the next one that can be; returns which."""
        for _ in range(len(self._numbers)):
            if index not in self._broken:
                try:
                    into[...] = self._one(int(self._numbers[index]))
                    return index
                except BrokenImage as error:
                    self._note(index, error.why)
            index = (index + 1) % len(self._numbers)
        raise DataError(
            "data-too-broken",
            count=len(self._broken),
            of=len(self._numbers),
            share=1.0,
            allowed=self._allowed,
            first=[],
        )  # every one of them

    def _note(self, index: int, why: str) -> None:
        with self._lock:
            if index in self._broken:
                return
            self._broken.add(index)
            item = Broken(self._names[int(self._numbers[index])], why)
            opened = self._opened()
            if opened is not None:
                opened.broken_count += 1
                if len(opened.broken) < NAMED_BROKEN:
                    opened.broken.append(item)
            count, total = len(self._broken), len(self._numbers)
        check_broken(count, total, self._allowed, [item])

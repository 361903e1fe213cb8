"""Batches ahead of time: a thread builds stacks [k, B, …] of the next steps while the device works on the last ones.

What stands in a step depends on its number alone (`order`), never on how calls are cut or on how far the thread is
ahead. Data that lies in memory is gathered here; larger data comes through Grain's reading threads
(docs/decisions/0003-input-pipeline.md).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_studio.data.opened import ArraySource, Share, Source, of_share
from tpu_studio.trainer.order import Indices, Order, generator

Batch = dict[str, Any]
Vary = Callable[[Any, np.random.Generator, Share | None], Any]
READ_AHEAD_BATCHES = 16
READING_THREADS = 4


@dataclass(frozen=True)
class Piece:
    """The input of one call: *count* steps after step *first*, in a stack whose first axis is always k long."""

    first: int
    count: int
    stack: Batch


class Feed:
    """Pieces in order, made ahead by one thread. `start` begins at a step; `next` gives None at the end of the plan."""

    def __init__(
        self,
        source: Source,
        order: Order,
        per_call: int,
        cut: Callable[[int], int],
        *,
        vary: Vary | None = None,
        share: Share | None = None,
        ahead: int = 2,
    ) -> None:
        """Args:
        cut: Step → how many steps the call that begins there may make; 0 where training ends.
        vary: Augmentation of a batch of pictures.
        share: What this machine reads of each batch; None: all of it.
        """
        self.share = share
        self.source, self.order, self.per_call, self.vary = source, order, per_call, vary
        self._cut, self._ahead = cut, ahead
        self._ready: queue.Queue[Piece | BaseException | None] = queue.Queue(ahead)
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, step: int) -> None:
        """(Re)start at *step*; whatever was made ahead is dropped."""
        self.close()
        self._halt = threading.Event()
        self._ready = queue.Queue(self._ahead)
        self._thread = threading.Thread(
            target=self._fill, args=(step, self._ready, self._halt), name="feed", daemon=True
        )
        self._thread.start()

    def next(self) -> Piece | None:
        item = self._ready.get()
        if isinstance(item, BaseException):
            raise item
        return item

    def close(self) -> None:
        """End the thread; returns when it is gone."""
        self._halt.set()
        if self._thread is not None:
            while self._thread.is_alive():
                try:
                    self._ready.get_nowait()
                except queue.Empty:
                    self._thread.join(0.01)
            self._thread = None

    def _fill(self, step: int, ready: queue.Queue[Piece | BaseException | None], halt: threading.Event) -> None:
        try:
            batches = None if self.source.in_memory else self._read_by_grain(step)
            while not halt.is_set():
                count = self._cut(step)
                if count == 0:
                    _put(ready, None, halt)
                    return
                stack = (
                    self._stack(step, count)
                    if batches is None
                    else stacked([next(batches) for _ in range(count)], self.per_call)
                )
                _put(ready, Piece(step, count, stack), halt)
                step += count
        except BaseException as error:  # noqa: BLE001  it goes on in the thread that calls `next`
            _put(ready, error, halt)

    def _stack(self, step: int, count: int) -> Batch:
        if isinstance(self.source, ArraySource) and self.vary is None:
            indices = np.stack([of_share(self.order.indices(step + n), self.share) for n in range(count)])
            batch = self.source.batch(indices.reshape(-1))
            return {
                name: _padded(array.reshape(*indices.shape, *array.shape[1:]), self.per_call)
                for name, array in batch.items()
            }
        return stacked([self.batch(step + n) for n in range(count)], self.per_call)

    def batch(self, step: int) -> Batch:
        """The batch of one step: a pure function of the seed and *step*."""
        return self._batch(self.order.indices(step), step)

    def _batch(self, indices: Indices, step: int) -> Batch:
        batch = self.source.batch(indices, rng=generator(self.order.seed, step, 0), share=self.share)
        if self.vary is not None:
            batch = {**batch, "x": self.vary(batch["x"], generator(self.order.seed, step, 1), self.share)}
        return batch

    def _read_by_grain(self, step: int) -> Iterator[Batch]:
        import grain

        lock = threading.Lock()

        def read(number: int) -> Batch:
            with lock:  # the order keeps one permutation
                indices = self.order.indices(number)
            return self._batch(indices, number)

        steps = grain.MapDataset.range(step, 2**62).map(read)
        options = grain.ReadOptions(num_threads=READING_THREADS, prefetch_buffer_size=READ_AHEAD_BATCHES)
        return iter(steps.to_iter_dataset(options))


def stacked(batches: list[Batch], length: int) -> Batch:
    """Batches as one stack whose first axis is *length*; places beyond them hold anything."""
    stack = {}
    for name, first in batches[0].items():
        whole = np.empty((length, *first.shape), first.dtype)
        for place, batch in enumerate(batches):
            whole[place] = batch[name]
        if len(batches) < length:
            whole[len(batches) :] = 0
        stack[name] = whole
    return stack


def _padded(array: Any, length: int) -> Any:
    if len(array) == length:
        return array
    whole = np.zeros((length, *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    return whole


def _put(
    ready: queue.Queue[Piece | BaseException | None], item: Piece | BaseException | None, halt: threading.Event
) -> None:
    while not halt.is_set():
        try:
            ready.put(item, timeout=0.1)
            return
        except queue.Full:
            continue

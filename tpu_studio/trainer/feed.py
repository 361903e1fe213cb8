"""Batches ahead of time: a thread builds stacks [k, B, …] of the next steps while the device works on the last ones.

What stands in a step depends on its number alone (`order`), never on how calls are cut or on how far the thread is
ahead. Data that lies in memory is gathered here; larger data comes through Grain (`reading`).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_studio.data.decoding import DecodingSource
from tpu_studio.data.opened import ArraySource, Share, Source, of_share
from tpu_studio.trainer.order import Order, generator
from tpu_studio.trainer.reading import Processes, Threads

Batch = dict[str, Any]
Vary = Callable[[np.random.Generator, Share | None], Batch]


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
        processes: int = 1,
    ) -> None:
        """Args:
        cut: Step → how many steps the call that begins there may make; 0 where training ends.
        vary: How the pictures of a batch are varied (``data.augment``); the step does it.
        share: What this machine reads of each batch; None: all of it.
        processes: That decode pictures which do not lie in memory.
        """
        self.share = share
        self.source, self.order, self.per_call, self.vary = source, order, per_call, vary
        self._cut, self._ahead, self._processes = cut, ahead, processes
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
        read: Threads | Processes | None = None
        try:
            read = self._reading(step)
            while not halt.is_set():
                count = self._cut(step)
                if count == 0:
                    _put(ready, None, halt)
                    return
                stack = self._stack(step, count) if read is None else self._read_stack(read, step, count, halt)
                _put(ready, Piece(step, count, stack), halt)
                step += count
        except BaseException as error:  # noqa: BLE001  it goes on in the thread that calls `next`
            _put(ready, error, halt)
        finally:
            if read is not None:
                read.close()

    def _reading(self, step: int) -> Threads | Processes | None:
        if self.source.in_memory:
            return None
        if isinstance(self.source, DecodingSource):
            return Processes(self.source, self.order, self.share, step, self._processes)
        return Threads(self._drawn, step)

    def _stack(self, step: int, count: int) -> Batch:
        if isinstance(self.source, ArraySource):
            indices = np.stack([of_share(self.order.indices(step + n), self.share) for n in range(count)])
            batch = self.source.batch(indices.reshape(-1))
            stack = {
                name: _padded(array.reshape(*indices.shape, *array.shape[1:]), self.per_call)
                for name, array in batch.items()
            }
        else:
            stack = stacked([self._drawn(step + n) for n in range(count)], self.per_call)
        return stack | self._variations(step, count)

    def _read_stack(self, read: Threads | Processes, step: int, count: int, halt: threading.Event) -> Batch:
        if isinstance(read, Threads):
            return stacked([read.next() for _ in range(count)], self.per_call) | self._variations(step, count)
        whole = read.empty(self.per_call)
        for place in range(count):
            if halt.is_set():  # nobody takes it any more
                break
            read.next({name: array[place] for name, array in whole.items()})
        for array in whole.values():
            array[count:] = 0
        return whole | self._variations(step, count)

    def _variations(self, step: int, count: int) -> Batch:
        if self.vary is None:
            return {}
        drawn = [self.vary(generator(self.order.seed, step + n, 1), self.share) for n in range(count)]
        return stacked(drawn, self.per_call)

    def batch(self, step: int) -> Batch:
        """The batch of one step: a pure function of the seed and *step*."""
        batch = self._drawn(step)
        return batch if self.vary is None else batch | self.vary(generator(self.order.seed, step, 1), self.share)

    def _drawn(self, step: int) -> Batch:
        return self.source.batch(self.order.indices(step), rng=generator(self.order.seed, step, 0), share=self.share)


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


def _padded(array: Any, length: int) -> object:
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

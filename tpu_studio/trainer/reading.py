"""Data that does not lie in memory, read ahead: pictures decoded in processes of their own, others by Grain's threads.

What comes out depends on the step alone (`order`), never on how many read. Each process decodes small pieces of a batch
into memory that it shares with the trainer, in turn, so that all work on the batch that is wanted next and memory does
not grow with the batch. It hears of its next piece through a pipe and ends when the other end is gone: with the
trainer, however that ends. Why not Grain's processes: docs/decisions/0042-pictures-in.md.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import util
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.decoding import Decoder, DecodingSource
from tpu_studio.data.imagecost import AT_ONCE
from tpu_studio.data.opened import Share, of_share
from tpu_studio.trainer.order import Order
from tpu_studio.wire.errors import DataError, StudioError

Batch = dict[str, Any]
ENDLESS = 2**62
READ_AHEAD_BATCHES = 16
READING_THREADS = 4
PIECE_BYTES = 4 * 2**20  # of decoded pictures: large enough that handing it over costs nothing beside decoding it
PIECES_AHEAD = 2  # of each process: one that is decoded while the other is taken
END_S = 10.0


class Threads:
    """Batches from *step* on, made by *batch* in threads."""

    def __init__(self, batch: Callable[[int], Batch], step: int) -> None:
        import grain

        options = grain.ReadOptions(num_threads=READING_THREADS, prefetch_buffer_size=READ_AHEAD_BATCHES)
        self._steps = iter(grain.MapDataset.range(step, ENDLESS).map(batch).to_iter_dataset(options))

    def next(self) -> Batch:
        return next(self._steps)

    def close(self) -> None:
        self._steps.close()


class Processes:
    """Batches of decoded pictures from *step* on. Piece n of all is process n % N's, in its place n // N % 2."""

    def __init__(self, source: DecodingSource, order: Order, share: Share | None, step: int, processes: int) -> None:
        self._source = source
        self._places = order.batch if share is None else len(share.places)
        shape = source.decoder.shape
        parts = max(1, min(self._places, -(-self._places * int(np.prod(shape)) // PIECE_BYTES)))
        self._pieces = _Pieces(source.decoder, order, share, parts)
        self._number = step * parts
        context = multiprocessing.get_context("spawn")
        room = (PIECES_AHEAD, -(-self._places // parts), *shape)
        self._shared: list[Bytes] = []
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        # Before multiprocessing asks the processes to end at the program's end, which they would not hear.
        self._end = util.Finalize(self, _end, (self._pipes, self._processes), exitpriority=100)
        for number in range(processes):
            memory = context.RawArray("B", int(np.prod(room)))  # without a name: nothing is left of it, whoever dies
            ours, theirs = context.Pipe()
            arguments = (self._pieces, memory, room, theirs, processes)
            process = context.Process(target=_decode, args=arguments, name=f"decode-{number}", daemon=True)
            process.start()
            theirs.close()
            self._shared.append(_array(memory, room))
            self._pipes.append(ours)
            self._processes.append(process)
        for ahead in range(PIECES_AHEAD * processes):
            self._ask(self._number + ahead)

    def empty(self, steps: int) -> Batch:
        """Arrays for the batches of so many steps."""
        spec = self._source.spec
        return {name: np.empty((steps, self._places, *shape), kind) for name, (shape, kind) in spec.items()}

    def next(self, into: Batch) -> None:
        """Put the next step's batch into these arrays.

        Raises:
            DataError: data-too-broken, data-shard-damaged; data-reader-died.
        """
        for part in range(self._pieces.parts):
            pipe, memory = self._of(self._number)
            try:
                told = pipe.recv()
            except (EOFError, OSError) as error:
                raise self._died(self._number) from error
            if isinstance(told, StudioError):
                raise told
            indices, broken = told
            mine = slice(*self._pieces.bounds(part, self._places))
            into["x"][mine] = memory[: len(indices)]
            into["y"][mine] = self._source.targets(indices)
            self._source.tell_broken(broken)
            self._ask(self._number + PIECES_AHEAD * len(self._processes))
            self._number += 1

    def close(self) -> None:
        self._end()

    def _of(self, number: int) -> tuple[Connection, Bytes]:
        turn, process = divmod(number, len(self._processes))
        return self._pipes[process], self._shared[process][turn % PIECES_AHEAD]

    def _ask(self, number: int) -> None:
        try:
            self._of(number)[0].send((number, number // len(self._processes) % PIECES_AHEAD))
        except OSError as error:
            raise self._died(number) from error

    def _died(self, number: int) -> DataError:
        process = self._processes[number % len(self._processes)]
        process.join(END_S)
        return DataError("data-reader-died", code=process.exitcode)


@dataclass(frozen=True)
class _Pieces:
    """Part n % parts of the batch of step n // parts, for each n."""

    decoder: Decoder
    order: Order
    share: Share | None
    parts: int

    def bounds(self, part: int, places: int) -> tuple[int, int]:
        return part * places // self.parts, (part + 1) * places // self.parts

    def into(self, number: int, pixels: Bytes) -> tuple[Array, list[tuple[int, str]]]:
        """Decode one; returns which pictures it has become, and (place, why) of those that turned out broken."""
        step, part = divmod(number, self.parts)
        mine = of_share(self.order.indices(step), self.share)
        used = np.array(mine[slice(*self.bounds(part, len(mine)))], dtype=np.int64)
        broken: list[tuple[int, str]] = []
        for place, index in enumerate(used.tolist()):
            used[place] = self.decoder.into(index, pixels[place], broken)
        return used, broken


def _decode(pieces: _Pieces, memory: object, room: tuple[int, ...], pipe: Connection, processes: int) -> None:
    """What a process does. Who asks all to end (Ctrl-C, a machine that goes down) is the trainer's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    AT_ONCE.divide(processes)
    pixels = _array(memory, room)
    while True:
        try:
            number, place = pipe.recv()
            try:
                told: object = pieces.into(number, pixels[place])
            except StudioError as error:
                told = error
            pipe.send(told)
        except (EOFError, OSError):  # the trainer is gone, or wants no more
            return


def _array(memory: Any, room: Sequence[int]) -> Bytes:
    return np.frombuffer(memory, np.uint8).reshape(room)


def _end(pipes: list[Connection], processes: list[Any]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.join(END_S)
        if process.is_alive():
            process.kill()
            process.join()

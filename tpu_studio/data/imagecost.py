"""What decoding a picture takes, told from its header, and how much of it may go on at once.

A picture of 200 KB may unpack to a third of a gigabyte, and some decoders hold it several times. Measured with Pillow
12 on pictures of 89 million pixels: a loaded pixel takes 1 byte (L, P, 1), 2 (I;16) or 4 (all others, RGB too); WebP's
decoder holds 12 more, a progressive JPEG 2 for each stored coefficient, a TIFF one whole strip or tile beside it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from PIL import Image

MOST_BYTES = 320_000_000
"""Of memory for one picture: 80 million pixels in colour; with the program itself less than 400 MB."""
MOST_PIXELS = MOST_BYTES // 4
AT_ONCE_BYTES = MOST_BYTES
"""Of all pictures that are decoded at the same time, by however many threads: as many small ones as there are threads,
large ones one after the other."""
_WEBP = 12
_NARROW = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}


def loaded_bytes(image: Image.Image) -> int:
    """Of the pixels of the opened *image*, as it will be decoded (after ``draft``)."""
    return image.width * image.height * _NARROW.get(image.mode, 4)


def decoder_bytes(image: Image.Image) -> int:
    """What the decoder of the opened *image* holds besides, a draft or not; to be asked before the draft."""
    match image.format:
        case "WEBP":
            return image.width * image.height * _WEBP
        case "JPEG" | "MPO":
            return _coefficients(image)
        case "TIFF":
            return _strip(image)
        case _:
            return 0


def _coefficients(image: Any) -> int:
    """Of a JPEG that comes in several passes over the whole picture."""
    if not image.info.get("progressive"):
        return 0
    layers = [(across, down) for _, across, down, _ in image.layer] or [(1, 1)]
    most = max(across for across, _ in layers) * max(down for _, down in layers)
    return int(2 * image.width * image.height * sum(across * down for across, down in layers) / max(1, most))


def _strip(image: Any) -> int:
    """The largest piece of a TIFF that is unpacked as one."""
    try:
        tags = image.tag_v2
        if 322 in tags:  # tiles
            across, down = int(tags[322]), int(tags[323])
            return 4 * across * down
        width, height = image.size
        return int(width) * min(int(height), int(tags.get(278, height))) * _NARROW.get(str(image.mode), 4)
    except (TypeError, ValueError, KeyError, IndexError):
        return int(image.width * image.height) * 4


class Budget:
    """Lets through what fits beside what is being decoded; one alone always does."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0
        self._free = threading.Condition()
        self._part, self._gate = most, -1

    def divide(self, processes: int) -> None:
        """This process is one of so many that decode: what is larger than its part, one of them decodes at a time.

        On Linux, where such processes are. The gate is a lock on the interpreter's own file: it is always there, and
        whoever dies lets it go.
        """
        self._part, self._gate = self._most // processes, os.open(sys.executable, os.O_RDONLY)

    @contextmanager
    def of(self, amount: int) -> Iterator[None]:
        with self._free:
            self._free.wait_for(lambda: not self._taken or self._taken + amount <= self._part)
            self._taken += amount
        try:
            with self._alone() if amount > self._part else nullcontext():
                yield
        finally:
            with self._free:
                self._taken -= amount
                self._free.notify_all()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._gate < 0:
            yield
            return
        import fcntl

        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)


AT_ONCE = Budget(AT_ONCE_BYTES)

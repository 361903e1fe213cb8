"""Text, one token at a time, from a model that takes a fixed number of tokens and scores the next one at each place.

The text so far stands at the left; what is behind it does not matter, since no place sees a later one. When the text is
longer than the model sees, its end is what counts.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tpu_studio.data.continuing import Cutter

PIECE_EVERY_S = 0.05  # pieces are handed on about 20 times a second: text that appears, not flickers

Numbers = npt.NDArray[Any]


def generate(
    run: Callable[[Numbers], object],
    length: int,
    start: Numbers,
    tokens: int,
    temperature: float,
    seed: int,
    stopped: Callable[[], bool],
    cutter: Cutter,
    ends: frozenset[int] = frozenset(),
) -> Iterator[str]:
    """Pieces of text that follow *start*.

    Args:
        run: [1, length] tokens → [1, length, V] scores.
        temperature: Scores are divided by it; 0 takes the likeliest token each time.
        stopped: Asked before each token; True ends the text.
        ends: Tokens with which an answer ends; else as many as *tokens* are written.
        cutter: Whose tokens they are. A letter may end in a later one than it began in; bytes that make none are �.
    """
    rng = np.random.default_rng(seed)
    never = np.array(sorted(cutter.never - ends), np.int64) - cutter.first
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    seen = [int(token) for token in start[-length:]]
    piece, told = "", time.monotonic()
    for _ in range(tokens):
        if stopped():
            return
        window = np.zeros((1, length), np.int32)
        window[0, : len(seen)] = seen
        scores = np.array(run(window))[0, len(seen) - 1, cutter.first : cutter.vocabulary]
        scores[never] = -np.inf
        token = cutter.first + pick(scores, temperature, rng)
        if token in ends:
            break
        seen = [*seen, token][-length:]
        piece += decoder.decode(cutter.piece(token))
        if piece and time.monotonic() - told >= PIECE_EVERY_S:
            yield piece
            piece, told = "", time.monotonic()
    piece += decoder.decode(b"", final=True)
    if piece:
        yield piece


def pick(scores: Numbers, temperature: float, rng: np.random.Generator) -> int:
    """A token: the likeliest, or drawn by its share."""
    scores = scores.astype(np.float64)
    if temperature <= 0.0:
        return int(np.argmax(scores))
    shares = np.exp((scores - scores.max()) / temperature)
    return int(rng.choice(len(shares), p=shares / shares.sum()))

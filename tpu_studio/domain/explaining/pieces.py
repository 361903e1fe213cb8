"""Whether a piece may stand in a text of megabytes, told without looking through it once for each piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDTH = 4  # letters of a gram
_BITS = 24


class Pieces:
    """The grams of a text: ``piece in pieces`` is True for each piece that is there, and for few others."""

    def __init__(self, text: str) -> None:
        import numpy as np  # the window begins without

        self._there = np.zeros(1 << _BITS, bool)
        self._there[_grams(text)] = True

    def __contains__(self, piece: str) -> bool:
        return bool(self._there[_grams(piece)].all())


def _grams(text: str) -> NDArray[np.uint32]:
    """[letters - 3] a number of `_BITS` for each gram."""
    import numpy as np

    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    count = max(0, len(letters) - _WIDTH + 1)
    found = np.zeros(count, np.uint32)
    for at in range(_WIDTH):
        found *= np.uint32(0x9E3779B1)
        found ^= letters[at : at + count]
    found *= np.uint32(0x85EBCA6B)
    return found >> np.uint32(32 - _BITS)

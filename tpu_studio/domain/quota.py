"""Which of Google's limits a slice draws.

v5e has two for one kind of chip, by the size of the slice: Google's names say what small and large slices were once
meant for, *serving* (1, 4 and 8 chips) and *training* (more); a program that trains may use either
(cloud.google.com/tpu/docs/v5e-inference; refusals of v5litepod-8 that name the serving limit). Every other generation
has one.
"""

from __future__ import annotations

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import SERVING


def sizes(generation: str, use: str) -> str:
    """The slices that a limit is for, in words: `1, 4 or 8 chips`; "" where it is for all."""
    known = catalogue().find(generation)
    small = known.serving_chips if known else ()
    if not small or not use:
        return ""
    return f"{', '.join(map(str, small[:-1]))} or {small[-1]} chips" if use == SERVING else "16 chips and more"

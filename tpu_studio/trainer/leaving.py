"""How the engine's programs begin and end: without looking again and again at all that the frameworks have loaded.

The frameworks bring hundreds of thousands of objects that stay. Python looks through them for garbage while they are
imported and each time Keras clears its session, and takes them apart when the interpreter ends: half of the processor
time of a start with its end (2.9 s of JAX, 7 s of TensorFlow, which alone takes itself apart for a second or more, in
JAX's runs too, where Keras imports it to save).
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

_RARELY = (100_000, 50, 100)
_USUALLY = gc.get_threshold()


def run(main: Callable[[], int]) -> NoReturn:
    """Call *main* and leave with the exit code that it returns; to be called before anything else is imported.

    Threads that still write and what others registered with `atexit` are waited for as ever. An exception ends the
    program in the usual way. Garbage is rarely looked for until `loaded` is called.
    """
    gc.set_threshold(*_RARELY)
    codes: list[int] = []
    atexit.register(_leave, codes)  # what is registered first is called last
    codes.append(main())
    sys.exit(codes[0])


def loaded() -> None:
    """The frameworks are there: what they loaded is no more looked through for garbage, what comes after it as ever.

    Does nothing the second time, nor in a program that `run` has not begun.
    """
    if gc.get_threshold() == _RARELY:
        gc.freeze()
        gc.set_threshold(*_USUALLY)


def _leave(codes: list[int]) -> None:
    if codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])

"""How the engine's programs end: at once, once their work is done.

TensorFlow takes itself apart for a second or more when the interpreter ends (1.1 to 1.3 s measured, in JAX's runs too,
where Keras imports it to save), and each run would wait for it with its end.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import NoReturn


def run(main: Callable[[], int]) -> NoReturn:
    """Call *main* and leave with the exit code that it returns; to be called before anything else is imported.

    Threads that still write and what others registered with `atexit` are waited for as ever. An exception ends the
    program in the usual way.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # what is registered first is called last
    codes.append(main())
    sys.exit(codes[0])


def _leave(codes: list[int]) -> None:
    if codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])

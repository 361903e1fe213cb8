"""What `make fuzz` and the suite's small doses have in common: a target does one thing with damaged input, from a seed.

A target's `one` uses no other chance than the one it is given, so a seed repeats it. Whatever is raised but a sentence
(`StudioError` that can be said) or the disk's own trouble is a defect.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import StudioError

Result = TypeVar("Result")


class Base:
    """A target: made once with a folder of its own, then asked again and again.

    Attributes:
        given: Gets the name and the bytes of each damaged input, before it is used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.given: Callable[[str, bytes], None] = lambda name, data: None

    def write(self, name: str, data: bytes) -> Path:
        """A file in the folder with the input that is tried."""
        self.given(name, data)
        path = self.folder / name
        path.write_bytes(data)
        return path

    def one(self, chance: random.Random) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


def told(work: Callable[[], Result]) -> Result | None:
    """*work*'s result; None where it says in a sentence why not, or the disk's system does."""
    try:
        return work()
    except StudioError as error:
        assert say(error).title
    except OSError:
        pass  # the window and the command line have sentences for these
    return None


def chance_of(name: str, seed: int, number: int) -> random.Random:
    """The chance of a target's execution *number* under *seed*."""
    return random.Random(f"{name}:{seed}:{number}")


def dose(target: Base, name: str, seed: int, times: int) -> None:
    """So many executions here and now; what it raises names the one to repeat."""
    try:
        for number in range(times):
            try:
                target.one(chance_of(name, seed, number))
            except BaseException as error:
                error.add_note(f"python tools/fuzz.py --repeat {name}:{seed}:{number}")
                raise
    finally:
        target.close()

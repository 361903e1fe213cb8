"""Memory that this process may take while it reads what somebody else has written, where the system holds it to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

BASE, EACH = 4_000_000_000, 12  # bytes, and of each byte of a file: it is read, turned and copied


def hold(size: int, base: int = BASE) -> None:
    """To what a file of *size* bytes of weights can need, whatever it asks for."""
    _set(base + EACH * size)


@contextmanager
def held(size: int, base: int = BASE) -> Iterator[None]:
    """The same inside, of a process that goes on with other things."""
    before = _set(base + EACH * size)
    try:
        yield
    finally:
        if before is not None:
            _set(before)


def _set(most: int) -> int | None:
    """The limit that was before; None: the system has none (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY and hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return before

"""A value that tells its listeners when it changes. View-models hold one; widgets subscribe and draw.

No thread of its own: `set` is called on the thread that owns the value (the GUI thread in the window), and listeners
run in it, in the order in which they subscribed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Observable(Generic[T]):
    def __init__(self, value: T) -> None:
        self._value = value
        self._listeners: list[Callable[[T], None]] = []
        self._held: list[T] = []  # what the listeners last heard of, while they are held

    @property
    def value(self) -> T:
        return self._value

    def set(self, value: T) -> None:
        """Change the value; an equal value tells nobody. A listener that sets again is heard after this round."""
        if value == self._value:
            return
        self._value = value
        if not self._held:
            self._tell(value)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What changes in the block is told once, at its end. Blocks may lie in each other."""
        if self._held:
            yield
            return
        self._held.append(self._value)
        try:
            yield
        finally:
            before, value = self._held.pop(), self._value
            if value != before:
                self._tell(value)

    def _tell(self, value: T) -> None:
        for listener in tuple(self._listeners):
            if listener in self._listeners and self._value is value:
                listener(value)

    def subscribe(self, listener: Callable[[T], None], *, now: bool = True) -> Callable[[], None]:
        """Call *listener* with each new value, and with the present one at once if *now*. Returns the way to end it."""
        self._listeners.append(listener)
        if now:
            listener(self._value)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    @property
    def listeners(self) -> int:
        return len(self._listeners)

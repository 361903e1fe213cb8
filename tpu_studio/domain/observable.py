"""A value that tells its listeners when it changes. View-models hold one; widgets subscribe and draw.

No thread of its own: `set` is called on the thread that owns the value (the GUI thread in the window), and listeners
run in it, in the order in which they subscribed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Observable(Generic[T]):
    def __init__(self, value: T) -> None:
        self._value = value
        self._listeners: list[Callable[[T], None]] = []

    @property
    def value(self) -> T:
        return self._value

    def set(self, value: T) -> None:
        """Change the value; an equal value tells nobody. A listener that sets again is heard after this round."""
        if value == self._value:
            return
        self._value = value
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

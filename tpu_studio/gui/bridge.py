"""The one crossing between the background loop and the window: `QtTasks`, and the timers that drain streams.

Work runs on the background loop; its result comes back by one queued signal and is dropped when whoever asked has gone.
Streams (metric lines, progress) are never pushed: a `Drain` asks for them about ten times a second while its widget
can be seen. Nothing else in the window starts a thread or waits.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from tpu_studio.workflow.background import BackgroundLoop

T = TypeVar("T")
DRAIN_MS = 100


class _Handle:
    """Cancels a piece of work whose loop may not have been needed yet."""

    def __init__(self) -> None:
        self.inner: Any = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.inner is not None:
            self.inner.cancel()


class Handle(Protocol):
    def cancel(self) -> None: ...


class QtTasks(QObject):
    """`workflow.ports.Tasks` for the window. Made in the GUI thread; `done` and `failed` run there.

    Args:
        loop: Makes the background loop; called with the first work, so that a window that only shows starts without it.
    """

    _finished = Signal(object)  # a callable of no arguments

    def __init__(self, loop: Callable[[], BackgroundLoop], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._make_loop = loop
        self._loop: BackgroundLoop | None = None
        self._stopped = False
        self.unexpected: Callable[[BaseException], None] | None = None
        self._finished.connect(self._call, Qt.ConnectionType.QueuedConnection)

    def submit(
        self,
        work: Callable[[], T],
        *,
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        owner: QObject | None = None,
    ) -> Handle:
        """Run *work* elsewhere, then exactly one of *done* and *failed* here, unless cancelled or *owner* has gone.

        A failure that nobody asked to be told of goes to `unexpected` (the window's error notice).
        """
        handle = _Handle()
        if self._stopped:
            return handle
        owned = weakref.ref(owner) if owner is not None else None
        if owner is not None:
            owner.destroyed.connect(handle.cancel)

        def alive() -> bool:
            if handle.cancelled or self._stopped:
                return False
            if owned is None:
                return True
            target = owned()
            return target is not None and shiboken6.isValid(target)

        def tell_done(result: T) -> None:
            if done is not None and alive():
                done(result)

        def tell_failed(error: Exception) -> None:
            if not alive():
                return
            if failed is not None:
                failed(error)
            elif self.unexpected is not None:
                self.unexpected(error)

        if self._loop is None:
            self._loop = self._make_loop()
        handle.inner = self._loop.submit(work, tell_done, tell_failed, post=self.post)
        return handle

    def stop(self, patience_s: float = 5.0) -> bool:
        """End the loop; results still under way are forgotten. True when nothing was left behind."""
        self._stopped = True
        return self._loop.stop(patience_s) if self._loop is not None else True

    def post(self, call: Callable[[], None]) -> None:
        """Run *call* in the GUI thread, soon; may be called from any thread."""
        if shiboken6.isValid(self):
            self._finished.emit(call)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._stopped:
            call()


class Drain(QObject):
    """Calls *drain* every *every_ms* while *widget* can be seen; not when it is hidden or its window minimised.

    It drains once at once when the widget appears again, so a page never shows what was true when it was left.
    """

    def __init__(self, widget: QWidget, drain: Callable[[], None], every_ms: int = DRAIN_MS) -> None:
        super().__init__(widget)
        self._widget = widget
        self._drain = drain
        self._window: QWidget | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(every_ms)
        self._timer.timeout.connect(drain)
        widget.installEventFilter(self)
        self._follow_window()
        self._decide()

    @property
    def running(self) -> bool:
        return self._timer.isActive()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange, QEvent.Type.ParentChange):
            self._follow_window()
            self._decide()
        return False

    def _follow_window(self) -> None:
        window = self._widget.window()
        if window is self._window:
            return
        if self._window is not None and shiboken6.isValid(self._window) and self._window is not self._widget:
            self._window.removeEventFilter(self)
        self._window = window
        if window is not self._widget:
            window.installEventFilter(self)

    def _decide(self) -> None:
        seen = self._widget.isVisible() and not self._widget.window().isMinimized()
        if seen and not self._timer.isActive():
            self._timer.start()
            QTimer.singleShot(0, self, self._drain)
        elif not seen and self._timer.isActive():
            self._timer.stop()

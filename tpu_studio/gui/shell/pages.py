"""The pages of the window, one shown at a time; a page is made when it is first needed. The change fades in 180 ms."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QEvent, QPropertyAnimation, Qt
from PySide6.QtWidgets import QApplication, QGraphicsOpacityEffect, QStackedWidget, QWidget

from tpu_studio.gui.kit.motion import CHANGE_MS
from tpu_studio.gui.kit.theme import controller


class PageStack(QStackedWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fade: QPropertyAnimation | None = None

    def show_page(self, page: QWidget) -> None:
        """Show *page*, taking it in if it is new. Its own last scroll position and contents stay as they were."""
        if self.indexOf(page) < 0:
            self.addWidget(page)
        if page is self.currentWidget():
            return
        first = self.currentWidget() is None or self.count() == 1
        if (before := self.currentWidget()) is not None:
            _leave(before)
        self.setCurrentWidget(page)
        if not first and not controller().reduce_motion and self.isVisible():
            self._fade_in(page)

    def drop_page(self, page: QWidget) -> None:
        """Take *page* out and destroy it."""
        self.removeWidget(page)
        page.hide()
        page.deleteLater()

    def _fade_in(self, page: QWidget) -> None:
        effect = QGraphicsOpacityEffect(page)
        page.setGraphicsEffect(effect)
        fade = QPropertyAnimation(effect, b"opacity", page)
        fade.setDuration(CHANGE_MS)
        fade.setStartValue(0.0)
        fade.setEndValue(1.0)
        fade.setEasingCurve(QEasingCurve.Type.OutCubic)
        fade.finished.connect(lambda: page.setGraphicsEffect(None))  # type: ignore[arg-type]
        fade.start(QPropertyAnimation.DeletionPolicy.DeleteWhenStopped)


def _leave(page: QWidget) -> None:
    """The pointer is on none of its parts any more: Qt does not say so of what is hidden under it."""
    for part in page.findChildren(QWidget):
        if part.testAttribute(Qt.WidgetAttribute.WA_UnderMouse):
            part.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
            QApplication.sendEvent(part, QEvent(QEvent.Type.Leave))

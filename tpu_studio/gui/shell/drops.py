"""A drop anywhere on the window: a job file, a run folder, or data. While it is held there the window names it."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QPaintEvent
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.theme import ink, px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.wire.visible import one_line

NOTHING = ("unknown", "missing", "share")

_WORDS = {
    "job": "Drop to open this job",
    "run": "Drop to open this run",
    "page": "Drop to look at this page of a run",
    "data": "Drop to train on this data",
    **dict.fromkeys(NOTHING, "TPU Studio cannot open this"),
}
_ICONS = {
    "job": "file-text",
    "run": "activity",
    "page": "file-text",
    "data": "database",
    **dict.fromkeys(NOTHING, "circle-x"),
}


class _Veil(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.kind = "data"
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.fillRect(self.rect(), ink("window", 0.86))
        box = QRectF(self.rect()).adjusted(Space.xxl, Space.xxl, -Space.xxl, -Space.xxl)
        good = self.kind not in NOTHING
        paint.outlined(painter, box, Radius.card, None, ink("accent" if good else "control"), 2)
        side = px(40)
        icons.paint(
            painter,
            _ICONS[self.kind],
            QRectF(box.x(), box.center().y() - side - 8, box.width(), side),
            "accent" if good else "text_2",
            side,
        )
        paint.draw_text(
            painter,
            QRectF(box.x(), box.center().y() + 8, box.width(), px(28)),
            _WORDS[self.kind],
            fonts.font("card-title"),
            ink("text"),
            Qt.AlignmentFlag.AlignHCenter,
        )


class DropArea(QObject):
    """Takes drops for *window*; its children that take their own drops keep them."""

    def __init__(self, window: QWidget, ground: QWidget, shell: ShellViewModel) -> None:
        super().__init__(window)
        self._window, self._shell = window, shell
        self._veil = _Veil(ground)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def place(self) -> None:
        parent = self._veil.parentWidget()
        if parent is not None:
            self._veil.setGeometry(parent.rect())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DragMove and self._veil.isVisible():  # known since it came in
            cast(QDropEvent, event).acceptProposedAction()
            return True
        if isinstance(event, QDropEvent):  # a drag that enters or moves is one too
            paths = local_paths(event.mimeData())
            if not paths:
                return False
            if self._covered():
                event.ignore()  # first the question that is asked: it is of what lies below
                return True
            path = paths[0]
            if event.type() == QEvent.Type.Drop:
                self._veil.hide()
                event.acceptProposedAction()
                self._shell.open_path(path)
                if len(paths) > 1:
                    self._shell.notify(
                        "One at a time", f"Of {len(paths)} things only “{one_line(path.name)}” was taken."
                    )
            else:
                if isinstance(event, QDragEnterEvent):
                    from tpu_studio.viewmodels.opening import what_is

                    self._veil.kind = what_is(path).kind
                    self.place()
                    self._veil.raise_()
                    self._veil.show()
                event.acceptProposedAction()
            return True
        if event.type() == QEvent.Type.DragLeave:
            self._veil.hide()
        return False

    def _covered(self) -> bool:
        """A sheet or the palette lies over the page."""
        from tpu_studio.gui.shell.palette import Palette
        from tpu_studio.gui.shell.sheet import Sheet

        over = (*self._window.findChildren(Sheet), *self._window.findChildren(Palette))
        return any(one.isVisible() for one in over)

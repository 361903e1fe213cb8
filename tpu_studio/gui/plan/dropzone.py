"""A place to drop data on, with the button for those who rather choose it from a list."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.wire import kinds
from tpu_studio.wire.resources import resource_path

SAMPLE = "A sample that comes with TPU Studio"
ANY = (
    "Drop a folder or file here",
    "A folder of pictures, a table (.csv, .jsonl, .parquet) or a text (.txt).",
    "Choose a folder…",
)


def _told(path: str) -> str:
    """Where it lies, for a person: nobody looks into the program's own folder for a sample."""
    return SAMPLE if Path(path).is_relative_to(resource_path("samples")) else path


class DropZone(Themed, QWidget):
    """`chosen` carries the path of a file or folder."""

    chosen = Signal(Path)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = ""
        self._folder = Path.home()
        self._over = False
        self.setAcceptDrops(True)
        self._tile = IconTile("folder-open", "neutral", side=40, icon_size=20)
        self._title = Line("", "row-title")
        self._text = Text("", "caption", "text_2")
        self.button = Button("", size="small", icon="folder-open")
        self.button.clicked.connect(lambda: self.choose())
        self.folder = Button("A folder…", "quiet", size="small")
        self.folder.clicked.connect(lambda: self.choose(folder=True))
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(self._title)
        words.addWidget(self._text)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 13, 14, 13)
        row.setSpacing(Space.l)
        row.addWidget(self._tile)
        row.addLayout(words, 1)
        row.addWidget(self.folder)
        row.addWidget(self.button)
        self.set_kind("")
        self.follow_theme()

    def set_kind(self, kind: str, path: str = "") -> None:
        """*path* is what is chosen already; then the zone offers another."""
        self.kind = kind
        known = kinds.find(kind)
        title, text, button = known.drop if known and known.drop[0] else ANY
        if path:
            path = os.path.normpath(path)  # a sample's is written from its job's folder
            self._folder = Path(path).parent
            name = Path(path).name
            title, text, button = name or path, _told(path), button.replace("Choose a", "Choose another")
        self._title.setText(title)
        self._title.set_hover_text(path)
        self._text.setText(text)
        self.button.setText(button)
        self.folder.setVisible(known is not None and known.or_folder)
        self._tile.set_icon(known.icon if known else "folder-open")

    def choose(self, *, folder: bool = False) -> None:
        known = kinds.find(self.kind)
        files = known.files if known and not folder else ""
        dialog = QFileDialog(self.window(), "Choose the data", str(self._folder), files)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile if files else QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda name: self.chosen.emit(Path(name)))
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        paths = local_paths(event.mimeData())
        # runs, jobs, several things and those of other computers are for the window around it
        if len(paths) == 1 and what_is(paths[0]).kind not in ("run", "job", "share"):
            self._over = True
            self.update()
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._over = False
        self.update()

    def dropEvent(self, event: QDropEvent) -> None:
        self._over = False
        self.update()
        if paths := local_paths(event.mimeData()):
            event.acceptProposedAction()
            self.chosen.emit(paths[0])

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self._over:
            paint.outlined(painter, box, Radius.inner, ink("accent_tint"))
        pen = QPen(ink("accent" if self._over else "control"), 1.5)
        pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, Radius.inner, Radius.inner)

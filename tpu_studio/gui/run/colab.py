"""The card of a run that waits for its result from Colab: what to do there, the browser, the zip that comes back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain.sentences.colab import WAITING, steps
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.colab import OPEN_URL


class ColabCard(Card):
    """`brought` carries the zip that was chosen. *run*: its id, after which its notebook is named."""

    brought = Signal(Path)

    def __init__(self, run: str, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 16, 18, 16), spacing=Space.l, parent=parent)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Text(WAITING, "section"))
        words.addWidget(
            Text("It trains in your browser, free. Nothing of it is here until its zip is.", "secondary", "text_2")
        )
        head = QHBoxLayout()
        head.setSpacing(Space.l)
        head.addWidget(IconTile("notebook-pen", "accent", side=40, icon_size=18))
        head.addLayout(words, 1)
        self.body.addLayout(head)
        for number, step in enumerate(steps(f"{run}.ipynb"), 1):
            self.body.addWidget(Text(f"{number}. {step}", "body"))
        self.open = Button("Open Colab", "primary", icon="external-link")
        self.open.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(OPEN_URL)))
        self.zip = Button("Choose the zip…", icon="folder-open")
        self.zip.clicked.connect(self._choose)
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(self.open)
        row.addWidget(self.zip)
        row.addStretch(1)
        self.body.addLayout(row)

    def _choose(self) -> None:
        dialog = QFileDialog(self.window(), "The zip that Colab has saved", str(Path.home()), "Zip (*.zip)")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self.brought.emit(Path(name)))
        dialog.open()

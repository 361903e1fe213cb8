"""The card that tells a preemption: taken back, last checkpoint, steps lost, asked again, going on, what it cost."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Icon, IconTile
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.runstory import Beat, Story

IN_A_ROW_FROM = 860  # the least width in which six beats have room for their words beside each other
IN_TWO_FROM = 420


class BeatView(QWidget):
    """One beat: what it is, the figure, a word to it."""

    def __init__(self, beat: Beat, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        quiet = "text_3" if beat.ahead else "text_2"
        head = QHBoxLayout()
        head.setSpacing(Space.s)
        head.addWidget(Icon(beat.icon, quiet, size=14), 0, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(Line(beat.label, "caption-medium", "text_2"), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.hair)
        column.addLayout(head)
        column.addWidget(Text(beat.value, "label-strong", "text_2" if beat.ahead else "text", numbers=True))
        if beat.more:
            column.addWidget(Text(beat.more, "caption", "text_2", numbers=True))
        column.addStretch(1)


class StoryCard(Card):
    """Shows a `Story`; hidden by the page while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 14, 18, 14), spacing=Space.l, parent=parent)
        self.headline = Text("", "section")
        self.text = Text("", "secondary", "text_2")
        self._tile = IconTile("rotate-cw", "accent", side=40, icon_size=18)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(self.headline)
        words.addWidget(self.text)
        head = QHBoxLayout()
        head.setSpacing(Space.l)
        head.addWidget(self._tile)
        head.addLayout(words, 1)
        self.body.addLayout(head)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(Space.l)
        self._grid.setVerticalSpacing(Space.l)
        self.body.addLayout(self._grid)
        self._story: Story | None = None
        self.beats: list[BeatView] = []
        self._columns = 0

    def show_story(self, story: Story) -> None:
        if story == self._story:
            return
        self._story = story
        self.headline.setText(story.title)
        self.text.setText(story.text)
        self._tile.set_icon("circle-check" if story.tone == "ok" else "rotate-cw", story.tone)
        self.setAccessibleName(story.spoken)
        for old in self.beats:
            self._grid.removeWidget(old)
            old.deleteLater()
        self.beats = [BeatView(beat) for beat in story.beats]
        self._columns = 0
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        wide = self.width()
        columns = 6 if wide >= soft_px(IN_A_ROW_FROM) else 3 if wide >= soft_px(IN_TWO_FROM) else 1
        if columns == self._columns or not self.beats:
            return
        self._columns = columns
        for place, beat in enumerate(self.beats):
            self._grid.removeWidget(beat)
            self._grid.addWidget(beat, place // columns, place % columns)
        for column in range(6):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

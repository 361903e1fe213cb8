"""What the data looks like: small pictures and the balance of their kinds, the columns of a table, a piece of text."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainterPath, QPaintEvent, QPixmap
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.data.looked import ColumnLook, Look
from tpu_studio.domain import figures
from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.card import clear_layout
from tpu_studio.gui.kit.fields import ComboBox
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.thumbnails import Thumbnail
from tpu_studio.wire import tasks

BARS_AT_MOST = 10
COLUMNS_APART = 44  # more than a count lies from its bar, so that nobody reads across
SIDE, SMALLEST, NAME_HEIGHT = 52, 36, 18
PICTURES_APART = 6.0
COLUMN_KINDS = [("number", "Number"), ("category", "Category"), ("date", "Date"), ("ignore", "Leave out")]


class Pictures(Themed, QWidget):
    """A row of small square pictures, each with its class below, smaller where ten would not fit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pictures: list[tuple[str, QPixmap]] = []
        self._shown: tuple[Thumbnail, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedHeight(px(SIDE) + px(NAME_HEIGHT))

    def sizeHint(self) -> QSize:
        return QSize(px(300), px(SIDE) + px(NAME_HEIGHT))

    @property
    def side(self) -> float:
        """Of a picture: so that ten, or all if they are fewer, stand beside each other."""
        wanted = min(len(self._pictures), BARS_AT_MOST)
        fitting = (self.width() - (wanted - 1) * PICTURES_APART) / wanted if wanted else px(SIDE)
        return max(px(SMALLEST), min(px(SIDE), fitting))

    def set_pictures(self, thumbnails: tuple[Thumbnail, ...]) -> None:
        if thumbnails is self._shown:
            return
        self._shown = thumbnails
        self._pictures = [
            (
                one.name,
                QPixmap.fromImage(QImage(one.rgb, one.width, one.height, 3 * one.width, QImage.Format.Format_RGB888)),
            )
            for one in thumbnails
        ]
        names = ", ".join(dict.fromkeys(one.name for one in thumbnails))
        self.setAccessibleName(f"{len(thumbnails)} of the pictures: {names}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.setRenderHint(painter.RenderHint.SmoothPixmapTransform)
        side, x, font = self.side, 0.0, fonts.font("caption")
        for name, pixmap in self._pictures:
            if x + side > self.width() + 0.5:
                break
            box = QRectF(x, 0, side, side)
            path = QPainterPath()
            path.addRoundedRect(box, 6, 6)
            painter.save()
            painter.setClipPath(path)
            painter.drawPixmap(box, pixmap, QRectF(pixmap.rect()))
            painter.restore()
            paint.outlined(painter, box, 6, None, ink("border"))
            below = QRectF(x, side + 2, side, px(NAME_HEIGHT) - 2)
            paint.draw_text(painter, below, name, font, ink("text_2"), Qt.AlignmentFlag.AlignHCenter)
            x += side + PICTURES_APART


class Balance(Themed, QWidget):
    """How many of each class, or with each label: a small bar each, at most ten, the rest counted in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._classes: tuple[tuple[str, int], ...] = ()
        self._noun = "classes"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def set_classes(self, classes: tuple[tuple[str, int], ...], noun: str = "classes") -> None:
        if (classes, noun) == (self._classes, self._noun):
            return
        self._classes, self._noun = classes, noun
        self.setAccessibleName(
            f"{noun.capitalize()}: " + ", ".join(f"{name} {count:,}" for name, count in classes[:30])
        )
        self.setToolTip(plain("\n".join(f"{name}: {count:,}" for name, count in classes[:40])))
        self.restyle()
        self.update()

    def restyle(self) -> None:
        rows = (min(len(self._classes), BARS_AT_MOST) + 1) // 2
        more = 1 if len(self._classes) > BARS_AT_MOST else 0
        self.setFixedHeight(px(22) * (rows + more))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        shown = self._classes[:BARS_AT_MOST]
        most = max((count for _, count in self._classes), default=1) or 1
        font, high = fonts.font("caption", numbers=True), px(22)
        between = float(px(COLUMNS_APART))
        width = (self.width() - between) / 2
        named = max((paint.text_width(font, name) for name, _ in shown), default=0.0) + 2
        for place, (name, count) in enumerate(shown):
            x, y = (place % 2) * (width + between), (place // 2) * high
            counted = f"{count:,}"
            right = paint.text_width(font, counted) + 4
            label = QRectF(x, y, min(named, px(96), width * 0.36), high)
            paint.draw_text(painter, label, name, font, ink("text_2"))
            track = QRectF(label.right() + 10, y + high / 2 - 3, max(10, width - label.width() - right - 18), 6)
            paint.bar(painter, track, count / most, ink("accent"), ink("track"))
            room = QRectF(x + width - right, y, right, high)
            paint.draw_text(painter, room, counted, font, ink("text_2"), Qt.AlignmentFlag.AlignRight)
        if len(self._classes) > BARS_AT_MOST:
            rest = len(self._classes) - BARS_AT_MOST
            room = QRectF(0, ((len(shown) + 1) // 2) * high, self.width(), high)
            paint.draw_text(painter, room, f"and {rest:,} more {self._noun}", font, ink("text_2"))


class TablePreview(QWidget):
    """Each column with its kind, which can be changed, and a few of its values. `changed` carries column and kind."""

    changed = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: tuple[ColumnLook, ...] = ()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.l)
        self._grid.setVerticalSpacing(Space.s)
        self._grid.setColumnStretch(0, 3)
        self._grid.setColumnStretch(1, 3)
        self._grid.setColumnStretch(2, 5)

    def set_columns(self, columns: tuple[ColumnLook, ...], shown: int = 24) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        clear_layout(self._grid)
        for place, words in enumerate(("Column", "Used as", "Values")):
            self._grid.addWidget(Line(words, "caption-strong", "text_2"), 0, place)
        for row, column in enumerate(columns[:shown], 1):
            self._grid.addWidget(Line(column.name, "label"), row, 0)
            if column.target:
                self._grid.addWidget(Pill("To predict", "accent"), row, 1, Qt.AlignmentFlag.AlignLeft)
            else:
                self._grid.addWidget(self._kind_box(column), row, 1)
            self._grid.addWidget(Line(values_of(column), "secondary", "text_2", numbers=True), row, 2)
        if len(columns) > shown:
            self._grid.addWidget(
                Text(f"and {len(columns) - shown:,} more columns", "caption", "text_2"), shown + 1, 0, 1, 3
            )

    def _kind_box(self, column: ColumnLook) -> ComboBox:
        options = COLUMN_KINDS if column.kind != "text" else [*COLUMN_KINDS, ("text", "Free text (not used)")]
        box = ComboBox(options, column.kind, name=f"Use of {column.name}")
        box.chosen.connect(lambda kind, name=column.name: self.changed.emit(name, kind))
        return box


def values_of(column: ColumnLook) -> str:
    """`0.2 – 5.01 · 2 missing`, or `Ideal, Premium, Good …`."""
    if column.kind == "number" and column.minimum is not None and column.maximum is not None:
        told = f"{figures.datum(column.minimum)} – {figures.datum(column.maximum)}"
    else:
        values = [value for value, _ in column.top[:4]] or list(column.examples[:4])
        told = ", ".join(values) + (" …" if column.distinct > len(values) else "")
    missing = f" · {column.missing:,} missing" if column.missing else ""
    return told + missing


class Excerpt(Themed, QWidget):
    """The beginning of a text, as it stands there."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = Text("", "mono", "text_2")
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 14, 10)
        column.addWidget(self.words)
        self.follow_theme()

    def set_text(self, text: str) -> None:
        lines = [line[:160] for line in text.replace("\r", "").replace("\t", "    ").split("\n")][:8]
        self.words.setText("\n".join(lines).strip())
        self.setAccessibleName("Beginning of the text")

    def paintEvent(self, event: QPaintEvent) -> None:
        paint.outlined(paint.open_painter(self), QRectF(self.rect()), Radius.inner, ink("neutral_tint"))


class Preview(QWidget):
    """The right one of the three for a look. `column_changed` as in `TablePreview`."""

    column_changed = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pictures, self.balance = Pictures(), Balance()
        self.table, self.excerpt = TablePreview(), Excerpt()
        self.table.changed.connect(self.column_changed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.l)
        row = QHBoxLayout()
        row.addWidget(self.pictures)
        column.addLayout(row)
        for widget in (self.balance, self.table, self.excerpt):
            column.addWidget(widget)

    def draw(self, look: Look, thumbnails: Sequence[Thumbnail]) -> None:
        shown = tuple(thumbnails)
        self.pictures.set_pictures(shown)
        self.pictures.setVisible(bool(shown))
        learns = tasks.by_id(look.task)
        self.balance.setVisible(learns.has_names and bool(look.classes))
        self.balance.set_classes(look.classes, "labels" if learns.has_labels else "classes")
        self.table.setVisible(bool(look.columns))
        self.table.set_columns(look.columns)
        text = str(look.preview.get("text") or "")
        self.excerpt.setVisible(bool(text))
        if text:
            self.excerpt.set_text(text)

"""What the panels of “try the model” are made of: an answer, a picture to press, text to type, text that grows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QImage,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPixmap,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from tpu_studio.domain import figures
from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.fields import holds_files
from tpu_studio.gui.kit.shorttext import ShortText
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.thumbnails import Thumbnail

BEST_SHOWN = 5
SURE_FROM, PROBABLE_FROM = 0.8, 0.5
SHARP = 2  # pixels for each of the window's, on screens with twice as many


class Answers(QWidget):
    """The likeliest classes or labels with their bars, or one measured value."""

    def __init__(self, waiting_for: str) -> None:
        super().__init__()
        self._waiting_for = waiting_for
        self.head = Text(waiting_for, "section", "text_2")
        self.under = Text("", "secondary", "text_2")
        self.under.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.s)
        column.addWidget(self.head)
        column.addWidget(self.under)
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.l)
        grid.setVerticalSpacing(Space.s)
        self._rows: list[tuple[Line, ProgressBar, Line]] = []
        for index in range(BEST_SHOWN):
            name, share = (
                Line("", "label"),
                Line("", "label-strong", numbers=True, fit=True, align=Qt.AlignmentFlag.AlignRight),
            )
            bar = ProgressBar(0.0, name="likelihood", height=8)
            share.setMinimumWidth(px(52))
            for place, widget in enumerate((name, bar, share)):
                grid.addWidget(widget, index, place)
                widget.hide()
            self._rows.append((name, bar, share))
        grid.setColumnStretch(0, 2)
        grid.setColumnStretch(1, 3)
        column.addLayout(grid)
        column.addStretch(1)

    def show_answer(self, trial: Trial, words: str) -> None:
        known = bool(trial.classes) or trial.value is not None
        self.head.set_tone("text" if known else "text_2")
        if trial.asking and not known:
            self.head.setText("Thinking…")
        elif trial.value is not None:
            self.head.setText(figures.datum(trial.value, 4))
        elif trial.several:
            self.head.setText(several_words(trial.classes))
        elif trial.classes:
            best, likely = trial.classes[0]
            guess = "Probably " if likely >= PROBABLE_FROM else "Not sure, perhaps "
            self.head.setText(f"{words if likely >= SURE_FROM else guess}{best}")
        else:
            self.head.setText("No answer" if trial.problem is not None else self._waiting_for)
        loading = trial.asking and not known
        self.under.setVisible(loading or bool(trial.unread))
        self.under.setText(
            "The first answer takes a few seconds: the model is being loaded." if loading else trial.unread
        )
        for index, (name, bar, share) in enumerate(self._rows):
            shown = index < len(trial.classes)
            for widget in (name, bar, share):
                widget.setVisible(shown)
            if shown:
                told, likely = trial.classes[index]
                name.setText(told)
                bar.set_share(likely, figures.share(likely))
                strong = likely >= PROBABLE_FROM if trial.several else index == 0
                bar.set_tone("accent" if strong else "text_3")
                share.setText(figures.share(likely))


def several_words(labels: Sequence[tuple[str, float]]) -> str:
    """The labels that are said, `beach and dog`; of many the likeliest."""
    names = [name for name, likely in labels if likely >= PROBABLE_FROM]
    if len(names) < 2:
        return names[0] if names else "None of the labels"
    if len(names) > BEST_SHOWN:
        return f"{', '.join(names[:BEST_SHOWN])} and {len(names) - BEST_SHOWN} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


class Picture(Themed, QAbstractButton):
    """A small picture that can be chosen, by mouse or keys; it is decoded elsewhere, however long that takes."""

    def __init__(self, model: RunViewModel, path: str, name: str, side: int = 56) -> None:
        super().__init__()
        self.path, self._model, self._side = path, model, side
        self._forget = forget = [lambda: None]
        self.destroyed.connect(lambda: forget[0]())
        self._pixmap, self.marked = QPixmap(), False
        self.setAccessibleName(name)
        self.setToolTip(plain(name))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.load(path)
        self.follow_theme()

    def load(self, path: str) -> None:
        self.clear()
        self.path = path
        if path:
            self._forget[0] = self._model.show_picture(path, SHARP * self._side, self._show)

    def _show(self, shown: Thumbnail | None) -> None:
        if shown is not None:
            form = QImage.Format.Format_RGB888
            self._pixmap = QPixmap.fromImage(QImage(shown.rgb, shown.width, shown.height, 3 * shown.width, form))
        self.update()

    def clear(self) -> None:
        self._forget[0]()
        self.path, self._pixmap = "", QPixmap()
        self.update()

    def mark(self, on: bool) -> None:
        """Show that what is held over it lands here."""
        self.marked = on
        self.update()

    @property
    def readable(self) -> bool:
        return not self._pixmap.isNull()

    def sizeHint(self) -> QSize:
        return QSize(px(self._side), px(self._side))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        shape = QPainterPath()
        shape.addRoundedRect(box, Radius.inner, Radius.inner)
        painter.fillPath(shape, ink("neutral_tint"))
        if not self._pixmap.isNull():
            painter.save()
            painter.setClipPath(shape)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            size = self._pixmap.size().scaled(box.size().toSize(), Qt.AspectRatioMode.KeepAspectRatioByExpanding)
            target = QRectF(0, 0, size.width(), size.height())
            target.moveCenter(box.center())
            painter.drawPixmap(target, self._pixmap, QRectF(self._pixmap.rect()))
            painter.restore()
        strong = self.marked or self.hasFocus() or (self.underMouse() and self.isEnabled())
        paint.outlined(painter, box, Radius.inner, None, ink("accent" if strong else "border"))


MOST_ASKED = 50_000  # letters; the longest context here is some 8,000 tokens


class Prompt(Themed, ShortText):
    """Words may be dropped here; files are for what lies around."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text, most=MOST_ASKED)
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedHeight(px(84))

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return not holds_files(source) and super().canInsertFromMimeData(source)


class QuestionBox(Prompt):
    """A question: Enter asks it (`entered`), Shift+Enter begins a new line."""

    entered = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not enter or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():  # held down since the button that has led here: it asks nothing
            self.entered.emit()


MOST_LETTERS = 20_000  # a line of more is laid out for seconds each time that a piece comes


class Written(Themed, QPlainTextEdit):
    """What the model has written so far, the end of it where it is very long; scrolls along, can be selected and
    copied."""

    def __init__(self, which: str = "the model", role: str = "mono") -> None:
        super().__init__()
        self._role = role
        self.setReadOnly(True)
        self.setAccessibleName(f"What {which} wrote")
        self.setPlaceholderText(f"What {which} writes appears here.")
        self._text = ""
        self.follow_theme()

    def restyle(self) -> None:
        self.setMinimumHeight(px(168))
        self.setFont(fonts.font(self._role))

    def show_text(self, text: str, asking: bool) -> None:
        if text == self._text:
            return
        self._text = text
        left_out = "…" if len(text) > MOST_LETTERS else ""
        self.setPlainText(left_out + text[-MOST_LETTERS:])
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

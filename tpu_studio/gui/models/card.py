"""A model in the gallery: its drawing, what it is for, what is known of it, what it comes to on the plan's data."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Divider
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import px, soft_px
from tpu_studio.gui.kit.tokens import Height, Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.models.drawings import Drawing
from tpu_studio.viewmodels.gallery import GalleryView
from tpu_studio.viewmodels.gallerycards import Card as Model
from tpu_studio.viewmodels.galleryways import Outlook, Way

_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
WIDE = 340  # the least that a card is given
_ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}


class UseButton(Button):
    """The arrows go to that of the card beside it: `moved` carries columns and rows."""

    moved = Signal(int, int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _ARROWS.get(Qt.Key(event.key()))
        if step is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        else:
            self.moved.emit(*step)


class WayRow(QWidget):
    """A place at the left, time and price at the right, or below it where they are long."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Line("", "caption-medium", "text_2", fit=True)
        self.told = Text("", "caption-medium", "text", numbers=True, align=Qt.AlignmentFlag.AlignRight)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(self.place, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.told, 1)

    def draw(self, way: Way) -> None:
        self.place.setText(way.title)
        self.told.setText(way.words)
        self.told.set_tone("text_3" if way.why else "text")


class Ways(QWidget):
    """Time and price at each place, or why there are none yet."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = Text("", "caption", "text_3")
        self.rows: list[WayRow] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.xs)
        self._column.addWidget(Divider())
        self._column.addWidget(self.waits)
        self.basis = Text("", "caption", "text_3")

    def draw(self, outlook: Outlook | None) -> None:
        ways = outlook.ways if outlook else ()
        self.waits.setVisible(not ways)
        self.waits.setText(outlook.why if outlook else "Working out time and price…")
        self._column.removeWidget(self.basis)
        while len(self.rows) < len(ways):
            self.rows.append(WayRow())
            self._column.addWidget(self.rows[-1])
        self._column.addWidget(self.basis)
        for row, way in zip(self.rows, ways, strict=False):
            row.draw(way)
        for number, row in enumerate(self.rows):
            row.setVisible(number < len(ways))
        self.basis.setVisible(bool(ways))
        self.basis.setText(outlook.basis if outlook else "")
        self.setToolTip(plain(outlook.told if outlook else ""))


class ModelCard(Card):
    """`used`, `asked` (for more) and `fetched` carry the key; `moved` as of its button."""

    used = Signal(str)
    asked = Signal(str)
    fetched = Signal()
    _title: Text | None = None

    def __init__(self, model: Model, parent: QWidget | None = None) -> None:
        super().__init__(margins=(14, 14, 14, 14), spacing=Space.m, parent=parent)
        self.model = model
        self.setAccessibleName(model.title)
        self.pill = Pill("", "neutral")
        self.pill.hide()
        head = QHBoxLayout()
        head.setSpacing(Space.m)
        self._title = Text(model.title, "section", align=_MIDDLE)
        head.addWidget(self._title, 1)
        head.addWidget(self.pill, 0, Qt.AlignmentFlag.AlignTop)
        self.why = Text("", "label", "accent_text")
        self.facts = Text("", "caption", "text_2")
        self.weights = Text("", "caption", "text_2")
        self.expected = Text("", "caption", "text_2", numbers=True)
        self.ways = Ways()
        self.use = UseButton(model.use_words, size="small")
        self.use.clicked.connect(lambda: self.used.emit(model.key))
        self.more = Button("Details", "quiet", size="small", name=f"Details: {model.title}")
        self.more.clicked.connect(lambda: self.asked.emit(model.key))
        self.fetch = Button("Fetch its weights…", "quiet", size="small", name=f"Fetch the weights: {model.title}")
        self.fetch.clicked.connect(self.fetched)
        self.fetch.hide()
        self.body.addWidget(Drawing(model.drawing, model.rank))
        self.body.addLayout(head)
        for words in (self.why, Text(model.text, "secondary", "text_2"), self.facts, self.weights, self.expected):
            self.body.addWidget(words)
        self.body.addStretch(1)
        self.body.addWidget(self.ways)
        foot = QWidget()
        flow = FlowLayout(foot, gap=Space.xs)
        for button in (self.use, self.more, self.fetch):
            flow.addWidget(button)
        self.body.addSpacing(Space.xs)
        self.body.addWidget(foot)
        self.restyle()

    def restyle(self) -> None:
        """The title is as high without its pill."""
        if self._title is not None:
            self._title.setMinimumHeight(px(Height.pill))

    def sizeHint(self) -> QSize:
        """All alike, whatever their words: columns of a grid go by it."""
        return QSize(soft_px(WIDE), super().sizeHint().height())

    def draw(self, view: GalleryView) -> None:
        model, fits = self.model, view.fits(self.model)
        words, tone = view.mark(model)
        self.pill.setVisible(bool(words))
        self.pill.set_pill(words, tone)  # type: ignore[arg-type]
        self.why.setText(view.why(model))
        self.why.setVisible(bool(self.why.text()))
        self.facts.setText(f"{model.learns_from} · {model.learns}")
        self.weights.setText(weights_words(model, view))
        self.expected.setText(view.expected(model))
        self.ways.setVisible(view.data is not None and fits)
        self.ways.draw(view.outlooks.get(model.key))
        words = "Go to the plan" if view.is_chosen(model) else model.use_words
        self.use.setText(words)
        self.use.setAccessibleName(f"{words}: {model.title}")
        self.use.set_kind("primary" if view.is_recommended(model) else "secondary")
        self.fetch.setVisible(view.missing(model))


def weights_words(model: Model, view: GalleryView) -> str:
    """What it begins from, whose that is, and whether it is here."""
    known = model.weights
    if known is None:
        return " · ".join(part for part in (view.size(model), model.begins_words.lower()) if part).capitalize()
    here = view.problems.get(model.key)
    state = f"{known.size}, " + ("not fetched yet" if here else "installed") if here is not None else known.size
    counted = outlook.size if (outlook := view.outlooks.get(model.key)) else ""
    begins = f"Begins from {known.learned_from}" if known.learned_from else model.begins_words
    told = (counted or ("" if known.learned_from else model.size), begins, state, f"{known.licence}, {known.owner}")
    return " · ".join(part for part in told if part)

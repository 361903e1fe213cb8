"""The sidebar: brand, New run, the pages, and at the bottom money and the person. Folds to icons below 1240, with
larger text sooner."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QEnterEvent, QHideEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QHBoxLayout,
    QSizePolicy,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.brand import BrandMark
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import Card, Surface
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.pill import draw_pill, pill_size
from tpu_studio.gui.kit.text import Line
from tpu_studio.gui.kit.theme import Themed, controller, ink, px, soft_px
from tpu_studio.gui.kit.tokens import FOLD_SIDEBAR_BELOW, SIDEBAR_FOLDED, SIDEBAR_WIDTH, Radius, Space
from tpu_studio.gui.kit.tooltip import plain


@dataclass(frozen=True)
class NavItem:
    key: str
    text: str
    icon: str
    hint: str = ""  # the key on the keyboard, shown on hover


class NavRow(RingFocus, Themed, QAbstractButton):
    """A page in the sidebar. `set_live("Live")` puts the green pill beside it; folded it is a dot."""

    spoken_role = QAccessible.Role.ListItem

    def __init__(self, item: NavItem, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.item = item
        self._live = self._hint = ""
        self._folded = False
        self._breath = QTimer(self)  # the one thing that moves on its own: 2 s, 60 to 100% opacity
        self._breath.setInterval(100)
        self._breath.timeout.connect(self.update)
        self.setText(item.text.replace("&", "&&"))
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._rename()
        self.follow_theme()

    def set_live(self, word: str) -> None:
        if word != self._live:
            self._live = word
            self._rename()
            self._breathe()
            self.update()

    def set_folded(self, folded: bool) -> None:
        self._folded = folded
        self._rename()
        self.update()

    def _breathe(self) -> None:
        if self._live and self.isVisible() and not controller().reduce_motion:
            self._breath.start()
        else:
            self._breath.stop()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._breathe()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._breath.stop()

    def _rename(self) -> None:
        self.setAccessibleName(f"{self.item.text}, {self._live}" if self._live else self.item.text)
        hint = f"{self.item.text} ({self.item.hint})" if self.item.hint else self.item.text
        self._hint = hint if self._folded or self.item.hint else ""
        self.setToolTip(plain(self._hint))

    def sizeHint(self) -> QSize:
        return QSize(px(120), px(36))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, px(36))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and self._hint:  # beside the row: under it lie the next ones
            beside, words = self.mapToGlobal(QPoint(self.width() + Space.s, -Space.l)), self._hint
            QToolTip.showText(beside, plain(words), self)
            return True
        return super().event(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        chosen = self.isChecked()
        if chosen:
            paint.outlined(painter, box, Radius.control, ink("nav_selected"), ink("border"))
        elif self.underMouse():
            paint.outlined(painter, box, Radius.control, ink("hover"))
        side = px(18)
        x = (box.width() - side) / 2 if self._folded else 11.0
        icons.paint(painter, self.item.icon, QRectF(x, 0, side, box.height()), "accent" if chosen else "text_2", side)
        if self._folded:
            if self._live:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(ink("ok_bar"))
                painter.drawEllipse(QRectF(x + side - 3, box.center().y() - side / 2 - 2, 7, 7))
            return
        end = box.width() - 10
        if self._live:
            size = pill_size(self._live, dot=True)
            pill = QRectF(end - size.width(), (box.height() - size.height()) / 2, size.width(), size.height())
            breath = 1.0
            if self._breath.isActive():
                breath = 0.8 + 0.2 * math.cos(time.monotonic() * math.pi)
            draw_pill(painter, pill, self._live, "ok", dot=True, breath=breath)
            end = pill.left() - Space.s
        words = QRectF(x + side + Space.l - 1, 0, end - x - side - Space.l + 1, box.height())
        face = fonts.font("row-title" if chosen else "body-medium")
        paint.draw_text(painter, words, self.item.text, face, ink("text" if chosen else "text_2"))


class MoneyCard(Card):
    """Spent this month, a thin bar, the monthly cap. Without a cap the bar is left out and the line says so."""

    def __init__(self, *, parent: QWidget | None = None) -> None:
        super().__init__(margins=(12, 11, 12, 11), spacing=Space.m, radius=Radius.inner, parent=parent)
        self._amount = Line("$0.00", "label-strong", numbers=True, fit=True)
        row = QHBoxLayout()
        row.addWidget(Line("Spent this month", "caption-medium", "text_2"), 1)
        row.addWidget(self._amount)
        self._bar = ProgressBar(0, name="Share of the monthly cap spent")
        self._cap = Line("", "caption", "text_3", numbers=True)
        self.body.addLayout(row)
        self.body.addWidget(self._bar)
        self.body.addWidget(self._cap)

    def set_money(self, spent: str, share: float | None, cap: str) -> None:
        """*cap* is the sentence ("Your monthly cap is $25.00"); *share* None means there is no cap."""
        self._amount.setText(spent)
        self._cap.setText(cap)
        self._bar.setVisible(share is not None)
        if share is not None:
            self._bar.set_share(share, f"{spent} spent. {cap}")
            self._bar.set_tone("bad_bar" if share >= 1 else "warn_bar" if share >= 0.8 else "accent")


class _Avatar(Themed, QWidget):
    def __init__(self, initials: str) -> None:
        super().__init__()
        self.initials = initials
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedSize(px(32), px(32))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        paint.outlined(painter, box, box.height() / 2, ink("accent_tint"))
        face = fonts.font("caption-strong")
        paint.draw_text(
            painter, box, self.initials, face, ink("accent_text"), Qt.AlignmentFlag.AlignHCenter, elide=False
        )


class PersonRow(QWidget):
    """Who is signed in, and the settings button (`settings`). Without a person only the button, with its word."""

    settings = Signal()

    def __init__(self, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._avatar = _Avatar("")
        self._name = Line("", "label-strong")
        self._project = Line("", "caption", "text_2")
        self._button = IconButton("settings", "Settings", icon_size=18)
        self._button.clicked.connect(self.settings)
        self._words = QWidget()
        words = QVBoxLayout(self._words)
        words.setContentsMargins(0, 0, 0, 0)
        words.setSpacing(0)
        words.addWidget(self._name)
        words.addWidget(self._project)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 0, 0)
        row.setSpacing(Space.m + 2)
        row.addWidget(self._avatar)
        row.addWidget(self._words, 1)
        row.addWidget(self._button)
        self.set_person("", "")

    def set_person(self, name: str, project: str) -> None:
        self._name.setText(name)
        self._project.setText(project)
        self._avatar.initials = "".join(part[0] for part in name.split()[:2]).upper()
        self._avatar.setVisible(bool(name))
        self._avatar.update()

    def set_folded(self, folded: bool) -> None:
        self._words.setVisible(not folded)
        self._avatar.setVisible(not folded and bool(self._name.text()))


class _Pages(QWidget):
    """The pages, one below the other."""

    spoken_role = QAccessible.Role.List

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Pages")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(4)


class Sidebar(Surface):
    """`page_chosen` carries the key, `new_run` and `settings` are pressed. The window calls `adapt(width)`."""

    page_chosen = Signal(str)
    new_run = Signal()
    settings = Signal()

    def __init__(self, items: Sequence[NavItem], *, parent: QWidget | None = None) -> None:
        super().__init__("sidebar", line=True, parent=parent)
        self._folded = False
        self._rows: dict[str, NavRow] = {}
        self._group = QButtonGroup(self)
        self._brand = Line("TPU Studio", "section")
        self._brand_row = QHBoxLayout()
        self._brand_row.setSpacing(Space.m + 2)
        self._brand_row.addWidget(BrandMark(), 0, Qt.AlignmentFlag.AlignHCenter)
        self._brand_row.addWidget(self._brand, 1)
        self._brand_row.setContentsMargins(4, 0, 0, 0)
        self.new_button = Button("New run", icon="plus", hover="New run (Ctrl+N)")
        self.new_button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.new_button.clicked.connect(self.new_run)
        self.money = MoneyCard()
        self.money.hide()
        self.person = PersonRow()
        self.person.settings.connect(self.settings)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 16, 15, 14)
        self._column.setSpacing(0)
        self._column.addLayout(self._brand_row)
        self._column.addSpacing(18)
        self._column.addWidget(self.new_button)
        self._column.addSpacing(12)
        pages = _Pages()
        self._column.addWidget(pages)
        for item in items:
            row = NavRow(item)
            row.clicked.connect(lambda _on=False, key=item.key: self.page_chosen.emit(key))
            self._rows[item.key] = row
            self._group.addButton(row)
            pages.column.addWidget(row)
        self._column.addStretch(1)
        self._column.addWidget(self.money)
        self._column.addSpacing(10)
        self._column.addWidget(self.person)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self._fold(False)

    def row(self, key: str) -> NavRow:
        return self._rows[key]

    def select(self, key: str) -> None:
        """Show *key* as the page; "" selects none (a page that is not in the sidebar)."""
        self._group.setExclusive(bool(key))
        for name, row in self._rows.items():
            row.setAutoExclusive(bool(key))
            row.setChecked(name == key)
        self._group.setExclusive(True)

    def set_live(self, key: str, word: str = "Live") -> None:
        self._rows[key].set_live(word)

    def show_money(self, visible: bool) -> None:
        self._wants_money = visible
        self.money.setVisible(visible and not self._folded)

    _wants_money = False

    @property
    def folded(self) -> bool:
        return self._folded

    def adapt(self, window_width: int) -> None:
        """With larger text it takes more from the page, and folds as much sooner."""
        folded = window_width < FOLD_SIDEBAR_BELOW + soft_px(SIDEBAR_WIDTH) - SIDEBAR_WIDTH
        if folded != self._folded:
            self._fold(folded)

    def restyle(self) -> None:
        if hasattr(self, "_column"):
            self._fold(self._folded)

    def _fold(self, folded: bool) -> None:
        self._folded = folded
        self.setFixedWidth(SIDEBAR_FOLDED if folded else soft_px(SIDEBAR_WIDTH))
        side = 10 if folded else 14
        self._column.setContentsMargins(side, 16, side + 1, 14)
        self._brand.setVisible(not folded)
        self._brand_row.setContentsMargins(0 if folded else 4, 0, 0, 0)
        self.new_button.setText("" if folded else "New run")
        self.new_button.setAccessibleName("New run")
        for row in self._rows.values():
            row.set_folded(folded)
        self.money.setVisible(self._wants_money and not folded)
        self.person.set_folded(folded)

"""The Account page before anybody has signed in: one thing to do, what it is for, what it costs, and the rehearsal."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Divider
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px, soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.accountview import AccountView, welcome_of

SIDE_BY_SIDE_FROM = 720


class Welcome(Card):
    """`sign_in`: the filled button; `other`: the quiet one, the practice cloud or a practice run."""

    sign_in = Signal()
    other = Signal()

    def __init__(self) -> None:
        super().__init__(margins=(32, 40, 32, 32), spacing=Space.xl)
        middle = Qt.AlignmentFlag.AlignHCenter
        self.heading = Text("", "card-title", align=middle)
        self.text = Text("", "body", "text_2", align=middle)
        self.button = Button("", "primary", icon="log-in")
        self.button.clicked.connect(self.sign_in)
        self.second = Button("", "quiet", icon="flask-conical")
        self.second.clicked.connect(self.other)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.m)
        buttons.addStretch(1)
        buttons.addWidget(self.button)
        buttons.addWidget(self.second)
        buttons.addStretch(1)
        top = QVBoxLayout()
        top.setSpacing(Space.m)
        top.addWidget(IconTile("shield-check", "accent", side=56, icon_size=26), 0, middle)
        top.addWidget(self.heading)
        top.addWidget(self.text)
        top.addSpacing(Space.s)
        top.addLayout(buttons)
        self.body.addLayout(top)
        self.body.addSpacing(Space.m)
        self.body.addWidget(Divider())
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._columns.setSpacing(Space.xl)
        self._facts: list[tuple[Text, Text]] = []
        for _ in range(3):
            words = QVBoxLayout()
            words.setSpacing(Space.hair)
            head, told = Text("", "row-title"), Text("", "secondary", "text_2")
            self._facts.append((head, told))
            words.addWidget(head)
            words.addWidget(told)
            words.addStretch(1)
            self._columns.addLayout(words, 1)
        self.body.addLayout(self._columns)
        self.body.addSpacing(px(8))

    def draw(self, view: AccountView) -> None:
        said = welcome_of(view.place, view.bare)
        self.heading.setText(said.title)
        self.text.setText(said.text)
        self.button.setText(said.button)
        self.second.setText(said.second)
        self.second.setVisible(bool(said.second))
        for (head, told), (title, text) in zip(self._facts, said.facts, strict=True):
            head.setText(title)
            told.setText(text)

    def fit(self, width: int) -> None:
        """The three facts stand beside one another where there is room."""
        wide = width >= soft_px(SIDE_BY_SIDE_FROM)
        way = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if self._columns.direction() != way:
            self._columns.setDirection(way)

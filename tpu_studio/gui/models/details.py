"""All there is to know of one model of the gallery: tasks, options, weights and their licence, what was measured."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Scroll
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.gallerycards import Card


def open_details(over: QWidget, card: Card) -> Sheet:
    sheet = Sheet(over, card.title, card.text, width=620)
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.setContentsMargins(0, 0, Space.m, 0)
    column.setSpacing(Space.l)
    for title, lines in parts(card):
        part = QVBoxLayout()
        part.setSpacing(Space.hair)
        part.addWidget(Text(title, "label-strong"))
        for line in lines:
            part.addWidget(Text(line, "secondary", "text_2"))
        column.addLayout(part)
    column.addStretch(1)
    sheet.body.addWidget(Tall(Scroll(inside), lambda width: inside.heightForWidth(width) + 2), 1)
    if card.weights is not None:
        page = card.weights.page
        sheet.answer("Open its page", lambda: QDesktopServices.openUrl(QUrl(page)), kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    sheet.open()
    return sheet


def parts(card: Card) -> list[tuple[str, tuple[str, ...]]]:
    """Headings, each with its lines; none without lines."""
    known = card.weights
    weights: tuple[str, ...] = ()
    if known is not None:
        weights = (
            f"Weights that have learned from {known.learned_from}, {known.size}."
            if known.learned_from
            else f"{card.begins_words}, {known.size}. Its page says what it has learned from.",
            f"Licence: {known.licence}. By {known.owner}: {known.page}",
        )
    told: list[tuple[str, tuple[str, ...]]] = [
        ("Learns from", (card.learns_from,)),
        ("Learns (task)", (card.learns,)),
        ("Begins from", weights or (card.begins_words,)),
        ("Networks that it can be", (", ".join(card.networks),) if card.networks else ()),
        ("Measured on unseen examples", tuple(f"{one.words} ({one.page})" for one in card.measured)),
        ("Options", card.options),
        ("In a job file", tuple(f'{key} = "{value}"' for key, value in card.changes.items() if value)),
    ]
    return [(title, lines) for title, lines in told if lines]

"""A rented TPU: three good ones as cards, then generation, slice size, capacity type and zones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import clear_layout
from tpu_studio.gui.kit.choose import CheckBox, ChoiceCard, ChoiceGroup, Segmented
from tpu_studio.gui.kit.fields import ComboBox, Field
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.viewmodels.planwhere import LENDER_WORDS, LENDERS, TIERS, Option, SliceChoice, WhereView
from tpu_studio.wire import loans


class RentedBox(QWidget):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._choices: tuple[SliceChoice, ...] = ()
        self._zones: tuple[Option, ...] = ()
        self.cards: ChoiceGroup | None = None
        self._cards_box = QVBoxLayout()
        self.generation = ComboBox(name="TPU generation")
        self.generation.chosen.connect(model.set_generation)
        self.size_box = ComboBox(name="Slice size")
        self.size_box.chosen.connect(model.set_slice)
        self.tier = Segmented(TIERS, loans.usual().word, name="Capacity type")
        self.tier.changed.connect(model.set_tier)
        self.region = ComboBox(name="Region")
        self.region.chosen.connect(model.set_region)
        self.generation_field = Field("TPU generation", self.generation, "")
        self.size_field = Field("Slice size", self.size_box, "")
        self.tier_field = Field("Capacity type", self.tier, "")
        self.region_field = Field("Region", self.region, "")
        self.zones_title = Text("Zones to try, in order", "label")
        self.zones: dict[str, CheckBox] = {}
        self._zones_flow = FlowLayout()
        self.lender = Segmented(LENDERS, "tpu-api", name="Rented through")
        self.lender.changed.connect(model.set_lender)
        self.lender_field = Field("Rented through", self.lender, "")
        self.more = Button("More choices", "link", size="small", icon="chevron-right")
        self.more.clicked.connect(lambda: self.unfold(self.lender_field.isHidden()))
        self.price = Text("", "label-strong", numbers=True)
        self.price_why = Text("", "caption", "text_3", numbers=True)
        self.offers_age = Line("", "caption", "text_3", numbers=True, fit=True)
        self.renew = Button("Refresh…", "link", size="small", name="Refresh zones and sizes from your account")
        self.renew.clicked.connect(lambda: self.open_catalogue())
        self.open_catalogue: Callable[[], None] = lambda: None
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.xl)
        grid.setVerticalSpacing(Space.l)
        grid.addWidget(self.generation_field, 0, 0)
        grid.addWidget(self.size_field, 0, 1)
        grid.addWidget(self.tier_field, 1, 0, 1, 2)
        grid.addWidget(self.region_field, 2, 0)
        areas = QVBoxLayout()
        areas.setSpacing(Space.s)
        areas.addWidget(self.zones_title)
        areas.addLayout(self._zones_flow)
        areas.addStretch(1)
        grid.addLayout(areas, 2, 1)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        money = QVBoxLayout()
        money.setSpacing(Space.hair)
        money.addWidget(self.price)
        money.addWidget(self.price_why)
        offered = QHBoxLayout()
        offered.setSpacing(Space.m)
        offered.addWidget(self.offers_age)
        offered.addWidget(self.renew)
        offered.addStretch(1)
        money.addLayout(offered)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.l)
        column.addLayout(self._cards_box)
        column.addLayout(grid)
        column.addLayout(money)
        column.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.lender_field)
        self.unfold(False)

    def unfold(self, open: bool) -> None:
        """Show what hardly anybody has to choose."""
        self.lender_field.setVisible(open)
        self.more.setText("Fewer choices" if open else "More choices")
        self.more.set_icon("chevron-down" if open else "chevron-right")

    def draw(self, view: PlanView) -> None:
        where = view.where
        if view.slice_choices != self._choices:
            self._make_cards(view.slice_choices)
        if self.cards is not None:
            self.cards.set_value(where.size if any(one.accelerator == where.size for one in self._choices) else "")
        _fill(self.generation, where.generations, where.generation)
        _fill(self.size_box, where.sizes, where.size)
        self.size_field.setVisible(bool(where.sizes))
        for one in where.tiers:
            self.tier.set_segment_enabled(one.key, one.enabled or one.key == where.tier, one.why)
        self.tier.set_value(where.tier)
        self.tier_field.set_help(loans.hint(where.tier))
        _fill(self.region, where.regions, where.region)
        self.region_field.setVisible(bool(where.regions))
        self._draw_zones(where)
        self._draw_lender(where)
        self.price.setText(where.price)
        self.price.setVisible(bool(where.price))
        self.price_why.setText(where.price_why)
        self.price_why.setVisible(bool(where.price_why))
        self.offers_age.setText(where.offers_age)
        for widget in (self.offers_age, self.renew):
            widget.setVisible(bool(where.offers_age))
        reason = view.plan.reasons.get("where.accelerator", "") if view.plan else ""
        known = next((one.why for one in where.generations if one.key == where.generation), "")
        self.generation_field.set_help(known or reason)

    def _draw_lender(self, where: WhereView) -> None:
        for one in where.lenders:
            self.lender.set_segment_enabled(one.key, one.enabled, one.why)
        if where.lender:
            self.lender.set_value(where.lender)
        reasons = [one.why for one in where.lenders if one.why]
        self.lender_field.set_help(" ".join([LENDER_WORDS.get(where.lender, ""), *reasons]).strip())
        self.more.setVisible(bool(where.lenders))
        if where.lender and where.lenders and where.lender != where.lenders[0].key:
            self.unfold(True)  # what is not the usual is seen

    def _make_cards(self, choices: Sequence[SliceChoice]) -> None:
        before, self._choices = [one.accelerator for one in self._choices], tuple(choices)
        if self.cards is not None and before == [one.accelerator for one in choices]:
            for one in choices:  # the card under the mouse stays
                self.cards.card(one.accelerator).set_words(one.text, one.detail)
            return
        clear_layout(self._cards_box)
        self.cards = None
        if not choices:
            return
        cards = [ChoiceCard(one.title, one.text, one.detail, key=one.accelerator) for one in choices]
        self.cards = ChoiceGroup(cards, name="A TPU for this run")
        self.cards.changed.connect(self._model.set_slice)
        self._cards_box.addWidget(self.cards)

    def _draw_zones(self, where: WhereView) -> None:
        if where.zones != self._zones:
            self._zones = where.zones
            clear_layout(self._zones_flow)
            self.zones = {}
            for one in where.zones:
                box = CheckBox(one.words)
                box.setEnabled(one.enabled)
                box.setToolTip(plain(one.why))
                box.clicked.connect(lambda on, key=one.key: self._model.set_zone(key, on))
                self.zones[one.key] = box
                self._zones_flow.addWidget(box)
        for key, box in self.zones.items():
            box.setChecked(key in where.chosen_zones)
        self.zones_title.setVisible(bool(where.zones))


def _fill(box: ComboBox, options: Sequence[Option], value: str) -> None:
    """Only what has changed is touched: an open list must not close under the hand."""
    told = [(one.key, one.words, one.enabled) for one in options]
    if told != getattr(box, "told", None):
        box.told = told  # type: ignore[attr-defined]
        box.set_options([(one.key, one.words if one.enabled else f"{one.words} · not possible") for one in options])
        for one in options:
            box.set_option_enabled(one.key, one.enabled, one.why)
    box.set_value(value)

"""Buttons, choices and fields: by keyboard, by name, and what they tell."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import focus
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.choose import CheckBox, ChoiceCard, ChoiceGroup, Segmented, Switch, SwitchRow
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.focus import FocusRing
from tpu_studio.gui.kit.numberedit import DecimalBox, SpinBox
from tpu_studio.gui.kit.slider import MoneySlider

Key = Qt.Key


def role_of(widget):
    return QAccessible.queryAccessibleInterface(widget).role()


def said(widget):
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


def page(qtbot, *widgets):
    window = QWidget()
    column = QVBoxLayout(window)
    for widget in widgets:
        column.addWidget(widget)
    qtbot.addWidget(window)
    qtbot.kept = window  # qtbot itself holds it weakly
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def test_an_ampersand_in_a_button_is_an_ampersand(qtbot):
    button = Button("Stop & keep model", "danger")
    page(qtbot, button)
    assert button.text() == "Stop & keep model"
    assert said(button) == "Stop & keep model"
    assert button.shortcut().isEmpty()


@pytest.mark.parametrize("key", [Key.Key_Space, Key.Key_Return])
def test_a_button_is_pressed_by_space_and_by_enter_when_it_is_the_primary(qtbot, key):
    from PySide6.QtWidgets import QDialog

    dialog = QDialog()
    button = Button("Start training", "primary")
    QHBoxLayout(dialog).addWidget(button)
    qtbot.addWidget(dialog)
    dialog.show()
    button.setFocus()
    with qtbot.waitSignal(button.clicked):
        qtbot.keyClick(button, key)


def test_an_icon_button_says_its_name(qtbot):
    button = IconButton("settings", "Settings")
    page(qtbot, button)
    assert said(button) == "Settings"
    assert button.toolTip() == "Settings"


def test_the_ring_shows_for_the_keyboard_and_not_after_a_click(qtbot):
    first, second = Button("One"), Button("Two")
    window = page(qtbot, first, second)
    first.setFocus(Qt.FocusReason.TabFocusReason)  # the keyboard was used before
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    first.setFocus(Qt.FocusReason.MouseFocusReason)
    ring = window.findChild(FocusRing)
    assert ring is None or not ring.isVisible()
    qtbot.keyClick(first, Key.Key_Tab)
    ring = window.findChild(FocusRing)
    assert ring.isVisible()
    assert ring.target is second
    assert ring.geometry().contains(second.geometry())
    second.move(second.x() + 10, second.y())
    assert ring.geometry().contains(second.geometry())
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    first.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not ring.isVisible()


@pytest.mark.parametrize("key", [Key.Key_Space, Key.Key_Return, Key.Key_Enter])
def test_a_button_on_a_page_is_pressed_by_space_and_by_enter(qtbot, key):
    button = Button("Train longer")
    page(qtbot, button)
    button.setFocus()
    with qtbot.waitSignal(button.clicked, timeout=1000):
        qtbot.keyClick(button, key)


def test_no_ring_where_the_focus_falls_when_the_clicked_control_goes_away(qtbot, monkeypatch):
    first, second = Button("Train longer"), Button("Another")
    window = page(qtbot, first, second)
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    first.setFocus(Qt.FocusReason.MouseFocusReason)
    monkeypatch.setattr(focus._Keys, "pressed_at", -1e9)
    first.hide()  # Qt hands the focus on as if Tab had been pressed
    assert second.hasFocus()
    ring = window.findChild(FocusRing)
    assert ring is None or not ring.isVisible()


def test_segments_are_walked_with_arrow_keys_and_say_what_they_choose(qtbot):
    choice = Segmented([("time", "by time"), ("step", "by step"), ("cost", "by cost")], name="Across")
    page(qtbot, choice)
    choice.segment("time").setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(choice.changed, check_params_cb=lambda key: key == "step"):
        qtbot.keyClick(choice.segment("time"), Key.Key_Right)
    assert choice.value == "step"
    assert role_of(choice.segment("step")) == QAccessible.Role.RadioButton
    assert said(choice.segment("step")) == "Across: by step"


def test_setting_a_value_from_outside_is_silent(qtbot):
    choice = Segmented([("a", "A"), ("b", "B")], name="Letter")
    cards = ChoiceGroup([ChoiceCard("A", key="a"), ChoiceCard("B", key="b")], name="Letter")
    box = ComboBox([("a", "A"), ("b", "B")], name="Letter")
    slider = MoneySlider(5, 10, name="Limit")
    page(qtbot, choice, cards, box, slider)
    heard = []
    for signal in (choice.changed, cards.changed, box.chosen, slider.moved):
        signal.connect(heard.append)
    choice.set_value("b")
    cards.set_value("b")
    box.set_value("b")
    slider.set_amount(7)
    assert (choice.value, cards.value, box.value, slider.amount) == ("b", "b", "b", 7)
    assert heard == []


def test_a_switch_is_a_checkbox_to_a_screen_reader_and_turns_with_space(qtbot):
    switch = Switch("Rent it as spot")
    page(qtbot, switch)
    assert role_of(switch) == QAccessible.Role.CheckBox
    switch.setFocus()
    qtbot.keyClick(switch, Key.Key_Space)
    assert switch.isChecked()


def test_a_click_on_the_words_turns_the_switch(qtbot):
    row = SwitchRow("Stop early", "After 5 checks without a better result.")
    page(qtbot, row)
    with qtbot.waitSignal(row.toggled):
        qtbot.mouseClick(row, Qt.MouseButton.LeftButton, pos=row.title.geometry().center())
    assert row.isChecked()


def test_a_selected_choice_card_keeps_its_size(qtbot):
    card = ChoiceCard("v5e · 8 chips", "Good first choice", "34 min")
    page(qtbot, ChoiceGroup([card, ChoiceCard("v6e · 8 chips")], name="Chips"))
    before = card.size()
    card.click()
    assert card.isChecked()
    assert card.size() == before


def test_equal_siblings_have_equal_widths_whatever_their_text(qtbot):
    cards = [ChoiceCard("A"), ChoiceCard("A much longer title than the others have", "and text " * 12)]
    group = ChoiceGroup(cards, name="Place")
    window = page(qtbot, group)
    window.resize(700, 300)
    qtbot.waitUntil(lambda: group.width() > 600)
    assert abs(cards[0].width() - cards[1].width()) <= 1


def test_arrow_keys_walk_choice_cards(qtbot):
    group = ChoiceGroup([ChoiceCard("A", key="a"), ChoiceCard("B", key="b")], name="Place")
    page(qtbot, group)
    group.set_value("a")
    group.card("a").setFocus()
    with qtbot.waitSignal(group.changed, check_params_cb=lambda key: key == "b"):
        qtbot.keyClick(group.card("a"), Key.Key_Right)


def test_a_number_is_typed_as_people_write_it(qtbot):
    box = SpinBox(64, 1, 65_536, name="Batch size")
    page(qtbot, box)
    heard = []
    box.valueChanged.connect(heard.append)
    box.selectAll()
    qtbot.keyClicks(box, "1,024")
    assert box.value() == 1024
    assert heard[-1] == 1024
    box.selectAll()
    qtbot.keyClicks(box, "4096")
    qtbot.keyClick(box, Key.Key_Return)
    assert box.text() == "4,096"


@pytest.mark.parametrize(("typed", "kept"), [("999", 128), ("0", 1), ("", 64)])
def test_leaving_a_number_out_of_range_takes_the_nearest_allowed_one(qtbot, typed, kept):
    box, other = SpinBox(64, 1, 128, name="n"), Button("Next")
    page(qtbot, box, other)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, typed) if typed else qtbot.keyClick(box, Key.Key_Delete)
    other.setFocus()
    assert box.value() == kept
    assert box.text() == str(kept)


def test_up_and_down_step_or_double(qtbot):
    plain, doubling = SpinBox(30, 1, 100, name="a"), SpinBox(64, 1, 1024, name="b", doubling=True)
    page(qtbot, plain, doubling)
    qtbot.keyClick(plain, Key.Key_Up)
    qtbot.keyClick(doubling, Key.Key_Up)
    assert (plain.value(), doubling.value()) == (31, 128)
    for _ in range(12):
        qtbot.keyClick(doubling, Key.Key_Down)
    assert doubling.value() == 1


@pytest.mark.parametrize(("value", "text"), [(0.001, "0.001"), (3e-5, "0.00003"), (1.5, "1.5"), (2.0, "2")])
def test_a_decimal_shows_no_more_digits_than_it_has(qtbot, value, text):
    box = DecimalBox(value, name="Learning rate")
    page(qtbot, box)
    assert box.text() == text


def test_a_field_names_its_box_and_its_error_replaces_the_help(qtbot):
    box = LineEdit()
    field = Field("Name of the run", box, "Shown in the list", explain=True)
    page(qtbot, field)
    assert said(box) == "Name of the run"
    assert field.note.text() == "Shown in the list"
    field.set_error("A name needs at least one letter.")
    assert field.note.text() == "A name needs at least one letter."
    assert box.accessibleDescription() == "A name needs at least one letter."
    field.set_error("")
    assert field.note.text() == "Shown in the list"
    with qtbot.waitSignal(field.help_asked):
        qtbot.mouseClick(field.question, Qt.MouseButton.LeftButton)


def test_the_wheel_over_a_field_scrolls_the_page_and_changes_no_number(qtbot):
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtWidgets import QApplication

    boxes = [SpinBox(5, 0, 9, name="a"), ComboBox([("a", "A"), ("b", "B")], name="b"), MoneySlider(5, 10, name="c")]
    page(qtbot, *boxes)
    for box in boxes:
        box.setFocus()
        event = QWheelEvent(
            QPointF(5, 5),
            QPointF(5, 5),
            QPoint(0, -120),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(box, event)
        assert not event.isAccepted()
    assert (boxes[0].value(), boxes[1].value, boxes[2].amount) == (5, "a", 5)


def test_the_cost_limit_moves_by_keys_and_says_money_and_estimate(qtbot):
    slider = MoneySlider(5, 10, name="Spending limit")
    slider.set_estimate(2.1, 2.9)
    page(qtbot, slider)
    slider.setFocus()
    with qtbot.waitSignal(slider.moved, check_params_cb=lambda amount: amount == 5.25):
        qtbot.keyClick(slider, Key.Key_Right)
    assert role_of(slider) == QAccessible.Role.Slider
    assert slider.accessibleDescription() == "$5.25, your estimate $2.10 to $2.90"


def test_a_checkbox_says_its_text_and_is_clicked_on_its_words(qtbot):
    box = CheckBox("Keep Research & Development copies")
    page(qtbot, box)
    assert said(box) == "Keep Research & Development copies"
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=box.rect().center())
    assert box.isChecked()


@pytest.mark.parametrize(("typed", "meant"), [("2,50", 2.5), ("0,002", 0.002), ("1.234,5", 1234.5), ("1 234", 1234.0)])
def test_a_decimal_comma_is_one_and_never_a_hundred_times_as_much(qtbot, typed, meant):
    box, other = DecimalBox(1.0, name="Dollars"), Button("Next")
    page(qtbot, box, other)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, typed)
    other.setFocus()
    assert box.value() == meant


def test_a_number_with_two_readings_changes_nothing_stays_as_typed_and_offers_both(qtbot):
    box, other = DecimalBox(1.0, name="Times"), Button("Next")
    field = Field("Times", box, "How often")
    page(qtbot, field, other)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "2,500")
    other.setFocus()
    assert (box.text(), box.doubt) == ("2,500", field.error)
    assert "2.5 or 2\u202f500" in field.error
    assert box.value() != 2500
    offers = [button for button in field.findChildren(Button) if button.isVisible()]
    assert [button.text() for button in offers] == ["It is 2.5", "It is 2\u202f500"]
    qtbot.mouseClick(offers[0], Qt.MouseButton.LeftButton)
    assert (box.value(), box.text(), field.error, field.note.text()) == (2.5, "2.5", "", "How often")
    assert not [button for button in field.findChildren(Button) if button.isVisible()]


def test_enter_on_a_number_with_two_readings_confirms_nothing(qtbot):
    box = DecimalBox(1.0, name="Times")
    page(qtbot, Field("Times", box))
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "1.000")
    confirmed: list[None] = []
    box.returnPressed.connect(lambda: confirmed.append(None))
    qtbot.keyClick(box, Key.Key_Return)
    assert (box.text(), confirmed) == ("1.000", [])


def test_a_decimal_where_a_whole_number_is_wanted_is_told_and_not_rounded(qtbot):
    box = SpinBox(64, 1, 1000, name="n")
    field = Field("n", box)
    page(qtbot, field)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "2,50")
    qtbot.keyClick(box, Key.Key_Return)
    assert field.error == "A whole number is needed here."
    assert box.text() == "2,50"
    qtbot.keyClick(box, Key.Key_Up)
    assert (field.error, box.doubt) == ("", "")


def test_what_a_number_field_writes_itself_has_one_reading(qtbot):
    box = DecimalBox(1.125, name="Rate")
    page(qtbot, box)
    assert box.text() == "1.1250" and not box.offers

"""What a screen reader finds: on every page a walk through the tree that it is given meets no unnamed control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from tests.fakes.plans import plan
from tests.gui.studios import OpenStudio
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import IconButton
from tpu_studio.gui.shell.sheet import Sheet

Role = QAccessible.Role
CONTROLS = {
    Role.Button,
    Role.ButtonDropDown,
    Role.ButtonMenu,
    Role.CheckBox,
    Role.ComboBox,
    Role.Dial,
    Role.EditableText,
    Role.Link,
    Role.List,
    Role.ListItem,
    Role.MenuItem,
    Role.PageTab,
    Role.ProgressBar,
    Role.RadioButton,
    Role.Slider,
    Role.SpinBox,
    Role.Table,
    Role.Tree,
}
DECORATION = {
    "FocusRing",
    "Icon",
    "IconTile",
    "BrandMark",
    "Divider",
    "Surface",
    "Card",
    "_Avatar",
    "Skeleton",
    "SkeletonRows",
}
"""Painted, and said in words beside it, or nothing to say."""


def tree(widget: QWidget) -> Iterator[Any]:
    """Every interface below *widget* that can be seen; the rows of tables are Qt's to give."""
    waiting = [QAccessible.queryAccessibleInterface(widget)]
    while waiting:
        one = waiting.pop()
        if one is None or not one.isValid() or one.state().invisible:
            continue
        yield one
        if one.role() not in (Role.Table, Role.Tree):
            waiting.extend(one.child(place) for place in range(one.childCount()))


def name(one: Any) -> str:
    return str(one.text(QAccessible.Text.Name)).strip()


def unnamed(window: QWidget) -> list[str]:
    found = []
    for one in tree(window):
        widget = one.object()
        controls = one.role() in CONTROLS or one.state().focusable
        if controls and not name(one) and not _is_part(widget):
            found.append(f"{one.role()} {type(widget).__name__} in {type(widget.parent()).__name__}")
    for widget in window.findChildren(QWidget):
        if _is_painted(widget) and not name(QAccessible.queryAccessibleInterface(widget)):
            found.append(f"painted {type(widget).__name__} in {type(widget.parent()).__name__}")
    return found


def _is_part(widget: Any) -> bool:
    """Of a control that has a name: the line of a box, what a scrolled area shows."""
    parent = widget.parent() if widget is not None else None
    return isinstance(parent, (QComboBox, QAbstractSpinBox, QAbstractScrollArea)) and bool(parent.accessibleName())


def _is_painted(widget: QWidget) -> bool:
    """Drawn by us alone, so that Qt knows no word of it."""
    ours = next((one for one in type(widget).__mro__ if "paintEvent" in vars(one)), QWidget)
    return (
        ours.__module__.startswith("tpu_studio")
        and widget.isVisible()
        and not isinstance(widget, QLabel)
        and not any(one.__name__ in DECORATION for one in type(widget).__mro__)
        and not widget.findChildren(QWidget)
    )


@pytest.fixture
def runs(studio: OpenStudio) -> tuple[str, str]:
    services, speeds = studio.studio.services, [word for n in (2, 5) for word in ("--at", f"{n}:speed")]
    assert services is not None
    studio._trainer[:] = ["--steps", "6", "--step-s", "0.01", *speeds]
    made = [services.runs.launch(plan(name=name, steps=6, usd_per_hour=36.0), beside=True) for name in ("one", "two")]
    for run in made:
        studio.wait_over(run)
    services.runs.tag(made[0], ["baseline"])
    services.runs.star(made[0])
    return made[0], made[1]


def test_no_page_has_a_control_without_a_name(qtbot: Any, studio: OpenStudio, runs: tuple[str, str]) -> None:
    shell, window = studio.shell, studio.window
    found: dict[str, list[str]] = {}
    for page in ("home", "runs", "models", "account", "learn", "help", "settings"):
        shell.go(page)
        qtbot.waitUntil(lambda page=page: shell.state.value.page == page)
        qtbot.waitUntil(lambda: getattr(studio.page, "page", studio.page) is not None)
        found[page] = unnamed(window)
    studio.runs.compared(runs)
    compare = window.page("compare")
    qtbot.waitUntil(lambda: compare.page is not None and len(compare.page.model.state.value.rows) == 2)
    found["compare"] = unnamed(window)
    window.open_run(runs[0], "one")
    qtbot.waitUntil(lambda: window.run_page.page is not None and not window.run_page.page.model.state.value.loading)
    found["run"] = unnamed(window)
    shell.new_run()
    holder = window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None)
    holder.model.choose_data("digits", None)
    qtbot.waitUntil(lambda: holder.model.state.value.plan is not None)
    found["plan"] = unnamed(window)
    assert {page: names for page, names in found.items() if names} == {}


def test_the_walk_finds_an_unnamed_button_a_field_and_what_is_painted(qtbot: Any) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    bar = ProgressBar(0.5, name="Done")
    for widget in (QToolButton(), QLineEdit(), bar, IconButton("star", "Star"), QLabel("Words")):
        column.addWidget(widget)
    window.show()
    assert sorted(words.split()[1] for words in unnamed(window)) == ["QLineEdit", "QToolButton"]
    bar.setAccessibleName("")
    assert "painted ProgressBar in QWidget" in unnamed(window)


def test_the_pages_are_a_list_of_which_one_is_selected_and_each_is_pressed(qtbot: Any, studio: OpenStudio) -> None:
    studio.shell.go("runs")
    lists = [one for one in tree(studio.window) if one.role() == Role.List and name(one) == "Pages"]
    assert len(lists) == 1
    rows = [lists[0].child(place) for place in range(lists[0].childCount())]
    assert {row.role() for row in rows} == {Role.ListItem}
    assert [name(row) for row in rows if row.state().selected] == ["Runs"]
    assert [name(row) for row in rows][:3] == ["Home", "Runs", "Compare"]
    action = rows[0].actionInterface()
    action.doAction(action.pressAction())
    assert studio.shell.state.value.page == "home"
    (settings,) = [one for one in tree(studio.window) if name(one) == "Settings" and one.role() == Role.Button]
    assert not settings.state().selectable


def test_titles_are_headings_and_a_sheet_is_a_dialog(qtbot: Any, studio: OpenStudio) -> None:
    studio.shell.go("help")
    heads = [name(one) for one in tree(studio.window) if one.role() == Role.Heading]
    assert "Help" in heads and "" not in heads
    sheet = Sheet(studio.window, "A question?", "What will happen.")
    sheet.answer("Leave it", safe=True)
    sheet.open()
    one = QAccessible.queryAccessibleInterface(sheet)
    assert (one.role(), name(one)) == (Role.Dialog, "A question?")
    assert "A question?" in [name(part) for part in tree(sheet) if part.role() == Role.Heading]
    sheet.close()

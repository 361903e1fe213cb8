"""No markup from data anywhere in the window: what a stranger wrote is shown as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QHelpEvent, QImage
from PySide6.QtGui import Qt as Text
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QToolTip, QWidget
from pytestqt.qtbot import QtBot

import tpu_studio.gui
from tests.gui.studios import OpenStudio
from tpu_studio.gui.kit.text import Line
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.learn.termtext import TermText

GUI = Path(tpu_studio.gui.__file__).resolve().parent
OTHER_TAGS = re.compile(r"<(?!/?(?:a|span)\b)")
MARKUP = '<b>big</b> <img src="/nowhere/red.png">'


def test_markup_becomes_words_and_words_stay_as_they_are() -> None:
    assert plain("a < b\nand c") == "a < b\nand c"
    assert "<img" not in plain(MARKUP) and "&lt;img" in plain(MARKUP)


def test_every_tooltip_goes_through_plain() -> None:
    """So that no later one is forgotten."""
    calls = re.compile(r"setToolTip\((?!plain\(|wanted\)|\"\"\)|\"\" if)|showText\([^\n]*(?<!plain\(words\), self)\)\n")
    roles = re.compile(r"ToolTipRole:\n\s+return (?!plain\()")
    others = [
        str(path.relative_to(GUI))
        for path in sorted(GUI.rglob("*.py"))
        if path.name != "tooltip.py" and (calls.search(text := path.read_text("utf-8")) or roles.search(text))
    ]
    assert others == []


@pytest.mark.qt_log_ignore("This plugin does not support raise")
def test_a_picture_that_a_name_asks_for_is_not_drawn(qtbot: QtBot, tmp_path: Path) -> None:
    red = QImage(40, 40, QImage.Format.Format_RGB32)
    red.fill(0xFF0000)
    red.save(str(tmp_path / "red.png"))
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(120, 40)
    line = Line(f'cats and dogs and so on <img src="{tmp_path / "red.png"}"> and more', parent=host)
    line.resize(60, 20)
    host.show()
    QApplication.sendEvent(line, QHelpEvent(QEvent.Type.ToolTip, QPoint(5, 5), line.mapToGlobal(QPoint(5, 5))))
    tips = [one for one in QApplication.topLevelWidgets() if one.inherits("QTipLabel") and one.isVisible()]
    assert tips
    shown = tips[0].grab().toImage()
    colours = {shown.pixelColor(x, y).name() for x in range(shown.width()) for y in range(shown.height())}
    assert "#ff0000" not in colours
    QToolTip.hideText()


@pytest.fixture
def hostile_table(tmp_path: Path) -> Path:
    """Columns and classes with markup for names."""
    rows = "".join(
        f"{number},{number % 7},{('yes ' + MARKUP, 'no <i>not</i>')[number % 2]!r}\n" for number in range(60)
    )
    path = tmp_path / "table.csv"
    path.write_text("<h1>first</h1>,<u>second</u>,<b>label</b>\n" + rows.replace("'", ""))
    return path


def rich_texts(root: QWidget) -> Iterator[str]:
    """What Qt would read as markup that is not ours: tooltips, labels, actions, models' words."""
    for widget in [root, *root.findChildren(QWidget)]:
        for words in (widget.toolTip(), widget.statusTip(), widget.whatsThis()):
            if Text.mightBeRichText(words) and ("<img" in words or not words.startswith("<p>")):
                yield f"{type(widget).__name__}: {words}"
        if isinstance(widget, TermText) and not OTHER_TAGS.search(widget.text()):
            continue  # our own text, with links to the glossary
        shows_markup = isinstance(widget, QLabel) and widget.textFormat() != Qt.TextFormat.PlainText
        if shows_markup and Text.mightBeRichText(widget.text()):
            yield f"{type(widget).__name__}: {widget.text()}"
        if isinstance(widget, QAbstractItemView) and (model := widget.model()) is not None:
            yield from rich_words(model)
    for action in root.findChildren(QAction):
        if Text.mightBeRichText(action.toolTip()) and MARKUP in action.toolTip():
            yield f"action: {action.toolTip()}"


def rich_words(model: QAbstractItemModel) -> Iterator[str]:
    for row in range(model.rowCount()):
        for column in range(model.columnCount()):
            words = model.data(model.index(row, column), Qt.ItemDataRole.ToolTipRole)
            if isinstance(words, str) and Text.mightBeRichText(words) and not words.startswith("<p>"):
                yield f"{type(model).__name__}: {words}"


def test_no_page_reads_markup_out_of_a_persons_data(studio: OpenStudio, qtbot: QtBot, hostile_table: Path) -> None:
    run = studio.launch(f"run {MARKUP}")
    studio.wait_over(run)
    seen: list[str] = []
    for page in ("home", "runs", "settings", "account"):
        studio.shell.go(page)
        QApplication.processEvents()
        seen += rich_texts(studio.window)
    studio.window.open_run(run)
    qtbot.waitUntil(lambda: bool(studio.page.findChildren(QLabel)))
    seen += rich_texts(studio.window)
    studio.shell.open_path(str(hostile_table))
    qtbot.waitUntil(lambda: any("first" in one.text() for one in studio.window.findChildren(QLabel)))
    qtbot.waitUntil(lambda: any("&lt;" in one.toolTip() for one in studio.window.findChildren(QWidget)))
    seen += rich_texts(studio.window)
    assert seen == []

"""No reference to None gets lost.

PySide6 6.12.0 loses one at each call that returns nothing; Python 3.11 then aborts after some hundred frames. A short
test run does not show it: these loops do.
"""

import sys

from PySide6.QtCore import QTimer

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.text import Text


def lost(work, times: int = 1000) -> int:
    """References to None that *times* calls of *work* cost. Ours may keep a few, so small numbers mean nothing."""
    work(0)
    before = sys.getrefcount(None)
    for index in range(times):
        work(index)
    return abs(sys.getrefcount(None) - before)


def test_a_thousand_texts_and_paintings_lose_no_none(qtbot):
    words, button, row = Text("a"), Button("b"), BigNumberRow("Loss")
    for widget in (words, button, row):
        qtbot.addWidget(widget)
        widget.resize(200, 60)
        widget.show()

    def work(index: int) -> None:
        words.setText(str(index))
        button.setText(str(index))
        row.tile("Loss").set_number(str(index), "", "now")
        words.repaint()
        button.repaint()

    assert lost(work) < 50


def test_a_thousand_timers_lose_no_none(qtbot):
    timer = QTimer()

    def work(_index: int) -> None:
        timer.start(1000)
        timer.stop()

    assert lost(work) < 50

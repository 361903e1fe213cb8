"""A page ends where its words end."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.studios import OpenStudio
from tpu_studio.gui.learn.page import LearnPage


@pytest.mark.parametrize("width", [1440, 900])
def test_no_chapter_scrolls_beyond_its_end(studio: OpenStudio, qtbot: QtBot, width: int) -> None:
    studio.window.resize(width, 600)
    studio.shell.go("learn")
    page = studio.window.page("learn")
    assert isinstance(page, LearnPage)
    for one in page.model.state.value.chapters:
        page.model.show(one.chapter.id)
        inside, box = page.column.parentWidget(), page.box
        assert box is not None

        def ends(inside=inside, box=box) -> bool:
            foot = box.anew if box.anew.isVisible() else box.steps[-1]
            below = inside.height() - foot.mapTo(inside, foot.rect().bottomLeft()).y()
            return below < 120 and page.scroller.verticalScrollBar().maximum() > 0

        qtbot.waitUntil(ends, timeout=5000)

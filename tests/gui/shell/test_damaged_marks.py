"""A damaged file of names, tags, notes and stars is told once, at the start."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from tests.gui.studios import OpenStudio, open_studio


def _told(studio: OpenStudio) -> list[str]:
    return [one.text for one in studio.shell.state.value.notices if "notes and stars" in one.title]


def test_it_is_told_with_the_place_where_it_is_kept(qtbot: QtBot, home: Path) -> None:
    """The Runs page showed the names of the jobs, and no word of it."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "marks.json").write_text('{"runs": {"a-aaaa": {"name": "mine"}')
    with open_studio(qtbot, home) as studio:
        qtbot.waitUntil(lambda: len(_told(studio)) == 1)
        assert str(home) in _told(studio)[0] and "marks.damaged-1.json" in _told(studio)[0]
    assert (home / "marks.json").read_text().startswith('{"runs"')

"""Where nothing can be written or the journal is damaged the window opens, shows what is there, and begins nothing."""

import pytest

from tests.fakes.plans import plan
from tests.gui.studios import open_studio
from tpu_studio.gui.run.page import RunPage
from tpu_studio.wire.errors import NotReady, RunError


@pytest.fixture
def finished(qtbot, home):
    """A run in *home*, whose window is closed again."""
    with open_studio(qtbot, home) as studio:
        run = studio.launch("digits", steps=5)
        studio.wait_over(run)
    return run


def damage(home, *names):
    """No database where one should be; as root may write anywhere, a folder stands for a file that cannot be opened."""
    for name in names:
        for path in home.glob(f"{name}*"):
            path.unlink()
        (home / name).mkdir()


@pytest.mark.parametrize("damaged", [["journal.db"], ["journal.db", "index.db"]])
def test_runs_are_shown_nothing_is_begun_and_the_top_says_why(finished, home, qtbot, tmp_path, damaged):
    damage(home, *damaged)
    with open_studio(qtbot, home) as studio:
        banner = studio.shell.state.value.banner
        assert banner is not None and banner.title == "Only looking: The notebook of TPU Studio cannot be read"
        assert "move it away" in banner.text
        assert studio.window.banner.isVisible() and studio.window.banner.y() == 0
        qtbot.waitUntil(lambda: studio.runs.state.value.row(finished).status == "Finished")  # read anew
        studio.window.open_run(finished)
        qtbot.waitUntil(lambda: (page := studio.window.findChild(RunPage)) is not None and page.isVisible())
        assert studio.window.banner.isVisible()  # over every page
        assert not studio.window.banner.geometry().intersects(studio.window.stack.geometry())

        runs = studio.studio.services.runs
        for begin in (lambda: runs.launch(plan(name="new", steps=5)), lambda: runs.extend(finished, 1)):
            with pytest.raises(NotReady, match="journal-unreadable"):
                begin()
        studio.runs.delete([finished])
        told = studio.shell.state
        refused = "The notebook of TPU Studio cannot be read"  # other news may come beside it
        qtbot.waitUntil(lambda: any(one.title == refused for one in told.value.notices))
        assert [path.name for path in (home / "runs").iterdir()] == [finished]
        studio.runs.export(finished, tmp_path / "out")
        qtbot.waitUntil(lambda: any("A copy of" in one.title for one in told.value.notices))
        assert (tmp_path / "out").is_dir()


def test_a_full_disk_is_where_runs_can_be_deleted_to_make_room(finished, home, qtbot, monkeypatch):
    def full(home, **_):
        raise RunError("disk-full", folder=str(home), raw="disk I/O error")

    monkeypatch.setattr("tpu_studio.app.compose.Index", full)  # as SQLite's file in a home without a free byte
    with open_studio(qtbot, home) as studio:
        banner = studio.shell.state.value.banner
        assert banner.title == "Only looking: The disk is full" and "deleted to make room" in banner.text
        with pytest.raises(RunError, match="disk-full"):
            studio.studio.services.runs.extend(finished, 1)
        studio.runs.delete([finished])
        qtbot.waitUntil(lambda: [one.run for one in studio.runs.state.value.deleted] == [finished])
        studio.runs.bring_back(studio.runs.state.value.deleted[0])
        qtbot.waitUntil(lambda: studio.runs.state.value.row(finished) is not None)
        studio.runs.delete([finished])
        qtbot.waitUntil(lambda: bool(studio.runs.state.value.deleted))
        studio.runs.empty_trash()
        qtbot.waitUntil(lambda: studio.runs.state.value.deleted == ())
        assert list((home / "runs").iterdir()) == list((home / "trash").iterdir()) == []

"""One run's folder that cannot be read is told of, and the others are as they were."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tpu_studio.wire import plan
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.runfolder import PLAN, has_plan, is_torn
from tpu_studio.workflow.folders import RunFolders


def test_a_run_that_cannot_be_read_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, limit: int) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (tmp_path / "shut-k3f7").mkdir()
    (tmp_path / "shut-k3f7" / PLAN).write_text("{}")
    monkeypatch.setattr(plan, "read_at_most", refused)  # root may read everything
    with pytest.raises(RunError) as caught:
        RunFolders(tmp_path, lambda folder: False).find("shut")
    assert caught.value.id == "run-unreadable" and caught.value.facts["raw"]


def test_a_run_is_found_by_id_before_name_and_by_name_before_the_beginning_of_an_id(tmp_path: Path) -> None:
    for run in ("digits-aaaa", "digits-2-bbbb", "cats-cccc", "cats-dddd"):
        (tmp_path / run).mkdir()
        (tmp_path / run / PLAN).write_text("{}")
    names = {
        "digits": {"digits-aaaa"},
        "digits-aaaa": {"cats-cccc"},
        "cats": {"cats-cccc", "cats-dddd"},
        "twins": {"cats-cccc", "cats-dddd"},
        "digits-2": {"cats-dddd", "gone-eeee"},
    }
    folders = RunFolders(tmp_path, lambda folder: False, lambda name: names.get(name, ()))
    asked = ("digits-aaaa", "digits", "digits-2-b", "digits-2")
    assert [folders.find(one).name for one in asked] == ["digits-aaaa", "digits-aaaa", "digits-2-bbbb", "cats-dddd"]
    for one in ("cats", "twins"):
        with pytest.raises(RunError) as caught:
            folders.find(one)
        assert (caught.value.id, caught.value.facts["found"]) == ("run-ambiguous", ["cats-cccc", "cats-dddd"])


def test_a_folder_that_nobody_lets_us_look_into_counts_as_a_run(tmp_path: Path) -> None:
    closed = tmp_path / ("x" * 300)  # the system refuses to look at it
    assert has_plan(closed) and not is_torn(closed)
    assert not has_plan(tmp_path)

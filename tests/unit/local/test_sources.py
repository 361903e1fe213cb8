"""A packaged program gives each run a copy of the training sources that no upgrade changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tpu_studio.local import sources
from tpu_studio.local.sources import kept_copy


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    (tmp_path / "app" / "resources").mkdir(parents=True)
    (tmp_path / "app" / "resources" / "words.txt").write_text("hello")
    source = tmp_path / "app" / "engine-source"
    (source / "tpu_studio").mkdir(parents=True)
    (source / "tpu_studio" / "one.py").write_text("x = 1")
    (source / "ID").write_text("1.0-abc\n")
    (source / "resources").symlink_to("../resources")
    return source


def test_the_copy_has_the_sources_and_finds_the_resources(packaged: Path, tmp_path: Path):
    copy = kept_copy(packaged, tmp_path / "programs")
    assert copy == tmp_path / "programs" / "1.0-abc"
    assert (copy / "tpu_studio" / "one.py").read_text() == "x = 1"
    assert (copy / "resources" / "words.txt").read_text() == "hello"
    assert [path.name for path in copy.parent.iterdir()] == ["1.0-abc"]


def test_an_upgrade_leaves_the_copy_of_the_version_before(packaged: Path, tmp_path: Path):
    before = kept_copy(packaged, tmp_path / "programs")
    (packaged / "tpu_studio" / "one.py").write_text("x = 2")
    (packaged / "ID").write_text("1.1-def\n")
    after = kept_copy(packaged, tmp_path / "programs")
    assert (before / "tpu_studio" / "one.py").read_text() == "x = 1"
    assert (after / "tpu_studio" / "one.py").read_text() == "x = 2"


def test_the_second_time_nothing_is_copied(packaged: Path, tmp_path: Path):
    first = kept_copy(packaged, tmp_path / "programs")
    shutil.rmtree(packaged / "tpu_studio")
    assert kept_copy(packaged, tmp_path / "programs") == first


def test_where_nothing_can_be_written_the_installed_sources_serve(packaged: Path, tmp_path: Path):
    (tmp_path / "programs").write_text("a file where the folder should be")
    assert kept_copy(packaged, tmp_path / "programs") == packaged


def test_a_copy_that_no_run_can_need_any_more_goes(packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old = kept_copy(packaged, tmp_path / "programs")
    os.utime(old, (0, 0))
    (packaged / "ID").write_text("1.1-def\n")
    monkeypatch.setattr(sources, "KEPT_S", 1000.0)
    kept_copy(packaged, tmp_path / "programs")
    assert not old.exists()

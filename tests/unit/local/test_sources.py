"""A packaged program gives each run a copy of the training sources that no upgrade changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tpu_studio.local import sources
from tpu_studio.local.sources import installed_copy, kept_copy


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


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """The app from its wheel, beside its own numpy."""
    packages = tmp_path / "site-packages"
    for name in ("numpy/__init__.py", "tpu_studio/__init__.py", "tpu_studio/gui/window.py", *ENGINE_FILES):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(f"# {name}\n")
    (packages / "tpu_studio" / "resources").mkdir()
    (packages / "tpu_studio" / "resources" / "words.txt").write_text("hello")
    return packages


ENGINE_FILES = ("tpu_studio/wire/plan.py", "tpu_studio/data/look.py", "tpu_studio/trainer/guardian/keeper.py")


def test_from_a_wheel_the_engine_gets_its_part_and_none_of_the_apps_libraries(site_packages: Path, tmp_path: Path):
    copy = installed_copy(site_packages / "tpu_studio", "1.0", tmp_path / "programs")
    found = {path.relative_to(copy).as_posix() for path in copy.rglob("*.py")}
    assert found == {"tpu_studio/__init__.py", *ENGINE_FILES}
    assert (copy / "resources" / "words.txt").read_text() == "hello"


def test_another_wheel_of_the_same_version_makes_another_copy(site_packages: Path, tmp_path: Path):
    first = installed_copy(site_packages / "tpu_studio", "1.0", tmp_path / "programs")
    (site_packages / ENGINE_FILES[0]).write_text("# mended\n")
    second = installed_copy(site_packages / "tpu_studio", "1.0", tmp_path / "programs")
    assert first != second
    assert (first / ENGINE_FILES[0]).read_text() == f"# {ENGINE_FILES[0]}\n"
    assert (second / ENGINE_FILES[0]).read_text() == "# mended\n"

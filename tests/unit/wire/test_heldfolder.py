"""A folder that somebody else may change while it is filled: nothing is written, renamed or removed outside of it."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

from tpu_studio.wire import heldfolder
from tpu_studio.wire.heldfolder import HeldFolder
from tpu_studio.wire.newfile import create_new
from tpu_studio.wire.runfolder import beside, write_atomically

links = pytest.mark.skipif(os.name == "nt", reason="folders are not held there")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the person's own, elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"mine")
    return elsewhere / "precious"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.mark.parametrize("can_hold", [heldfolder.CAN_HOLD, False], ids=["held", "by its path"])
def test_files_are_made_named_and_removed(shared: Path, monkeypatch: pytest.MonkeyPatch, can_hold: bool) -> None:
    monkeypatch.setattr(heldfolder, "CAN_HOLD", can_hold)
    with HeldFolder(shared) as held:
        with held.create(PurePath("a/b/new")) as file:
            file.write(b"whole")
        held.replace(PurePath("a/b/new"), "name")
        assert (shared / "a" / "b" / "name").read_bytes() == b"whole" and held.names() == ["a"]
        with pytest.raises(FileExistsError):
            held.create(PurePath("a/b/name"))
        held.remove(PurePath("a/b/name"))
        held.remove(PurePath("a/b/name"))  # it is gone
        held.remove_folder(PurePath("a"))
        assert held.names() == ["a"]  # it holds a folder
        held.remove_folder(PurePath("a/b"))
        held.remove_folder(PurePath("a"))
        assert held.names() == []


@links
def test_no_link_is_written_through(shared: Path, precious: Path) -> None:
    (shared / "file").symlink_to(precious)
    (shared / "folder").symlink_to(precious.parent)
    with HeldFolder(shared) as held:
        for name in ("file", "folder/precious", "folder/other"):
            with pytest.raises(OSError):
                held.create(PurePath(name))
        with pytest.raises(OSError):
            held.remove(PurePath("folder/precious"))
        held.remove_folder(PurePath("folder"))
    assert precious.read_bytes() == b"mine" and os.listdir(precious.parent) == ["precious"]


@links
def test_a_link_in_its_own_place_leads_nowhere_either(shared: Path, precious: Path) -> None:
    with HeldFolder(shared) as held:
        identity = held.identity
        shared.rename(shared.with_name("moved"))
        shared.symlink_to(precious.parent)
        held.create(PurePath("precious")).close()
        held.remove(PurePath("precious"))
        held.remove_folder(PurePath())
    assert os.listdir(precious.parent) == ["precious"]
    with pytest.raises(OSError, match="replaced"):
        HeldFolder(shared, identity)
    with pytest.raises(OSError):
        HeldFolder(shared, own=True)


@links
def test_a_name_beside_a_file_is_seen_once_and_nothing_laid_there_is_written_through(
    shared: Path, precious: Path
) -> None:
    """Somebody who saw the name of the first writing laid a link there for the second."""
    assert beside(shared / "job", "tmp") != beside(shared / "job", "tmp")
    laid = beside(shared / "job", "tmp")
    laid.symlink_to(precious)
    with pytest.raises(FileExistsError):
        create_new(laid)
    (shared / "job").symlink_to(precious)
    write_atomically(shared / "job", b"new")  # the link gives way, and not what it leads to
    assert precious.read_bytes() == b"mine" and (shared / "job").read_bytes() == b"new"


def test_a_file_with_the_longest_name_there_can_be_is_saved(shared: Path) -> None:
    write_atomically(shared / ("é" * 127), b"new")
    assert os.listdir(shared) == ["é" * 127]

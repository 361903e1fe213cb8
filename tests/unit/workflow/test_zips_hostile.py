"""Zips of runs that are hostile or damaged: each is refused by name, and nothing of it is written."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.studio import Studio
from tests.unit.workflow.test_zips import COLAB, _lines, _of, _zip, studio
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import PLAN

__all__ = ["studio"]


def _entry(name: str, data: bytes = b"x", mode: int = 0o100644, **about: int) -> Callable[[zipfile.ZipFile], None]:
    def write(archive: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        entry.compress_type = about.get("pack", zipfile.ZIP_DEFLATED)
        archive.writestr(entry, data)

    return write


def _folders(archive: zipfile.ZipFile) -> None:
    """A megabyte of names that would become ninety thousand folders."""
    for number in range(2_000):
        archive.writestr(f"R/result/{number}/" + "a/" * 45 + "f", b"")


@pytest.mark.parametrize(
    ("hostile", "id"),
    [
        (_entry("../outside"), "zip-unsafe"),
        (_entry("R/../../outside"), "zip-unsafe"),
        (_entry("/etc/outside"), "zip-unsafe"),
        (_entry("R\\..\\outside"), "zip-unsafe"),
        (_entry("C:/outside"), "zip-unsafe"),
        (_entry("beside/file"), "zip-unsafe"),
        (_entry("R/events/link", b"/etc/passwd", stat.S_IFLNK | 0o777), "zip-unsafe"),
        (_entry("R/pipe", b"", stat.S_IFIFO | 0o600), "zip-unsafe"),
        (_entry("R/events/A0001-w000.jsonl"), "zip-unsafe"),
        (_entry("R/events"), "zip-unsafe"),
        (_entry("R/./events/a0001-w000.jsonl"), "zip-unsafe"),
        (_entry("R//events/a0001-w000.jsonl"), "zip-unsafe"),
        (_entry("R/" + "a/" * 60 + "x"), "zip-unsafe"),
        (_folders, "zip-unsafe"),
        (_entry("R/odd", pack=zipfile.ZIP_LZMA), "zip-unsafe"),
        (_entry("R/bomb", bytes(65_000_000)), "zip-unsafe"),
        (_entry("x/plan.json"), "zip-not-a-run"),
    ],
)
def test_a_hostile_zip_is_refused_and_nothing_is_written(
    studio: Studio, tmp_path: Path, hostile: Callable[[zipfile.ZipFile], None], id: str
) -> None:
    path = tmp_path / "it.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("R/plan.json", dumps(COLAB.launched("digits-abcd", 1e9, "0")))
        archive.writestr("R/events/a0001-w000.jsonl", _lines(1, 5))
        hostile(archive)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id == id
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] in ([], [studio.runs.runs_folder])


def test_a_claim_of_a_hundred_gigabytes_is_refused_before_a_byte_is_unpacked(studio: Studio, tmp_path: Path) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("R/plan.json", dumps(COLAB.launched("digits-abcd", 1e9, "0")))
        for number in range(50):
            archive.writestr(f"R/{number}", b"abc")
    data = bytearray(held.getvalue())
    at = data.find(b"PK\x01\x02")
    while at >= 0:  # each entry of the directory says 2 GB
        data[at + 24 : at + 28] = (2_000_000_000).to_bytes(4, "little")
        at = data.find(b"PK\x01\x02", at + 4)
    path = tmp_path / "it.zip"
    path.write_bytes(data)
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert (caught.value.id, caught.value.facts["claims_bytes"]) == ("zip-too-large", 102_000_000_000)


def test_a_plan_in_other_letters_is_none(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "it.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("R/pLan.json", dumps(COLAB.launched("digits-abcd", 1e9, "0")))
        archive.writestr("R/events/a0001-w000.jsonl", _lines(1, 5))
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id == "zip-not-a-run"


@pytest.mark.parametrize("damage", [b"", b"no zip at all", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_zip_of_a_run_is_said_so(studio: Studio, tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "it.zip"
    path.write_bytes(damage)
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id in ("zip-unreadable", "zip-not-a-run")


def test_a_zip_cut_short_or_damaged_inside_is_said_so(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    path = _of(studio, run, tmp_path / "it.zip", events=_lines(1, 2000, end="completed"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id == "zip-unreadable"
    at = whole.find(b"a0001-w000.jsonl") + 400
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id == "zip-unreadable"
    assert studio.runs.summary(run).status == "queued"


@pytest.mark.parametrize("run", ["..", ".", "../other", "n" * 300])
def test_a_run_named_as_a_way_out_of_its_folder_is_brought_under_a_name_of_ours(
    studio: Studio, tmp_path: Path, run: str
) -> None:
    """One named ".." was unpacked into `runs/` itself: any file of any run, and an owner of its own choice."""
    path = tmp_path / "it.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("R/plan.json", dumps(replace(COLAB, place="computer").launched(run, 1e9, "0")))
        archive.writestr("R/victim/owner.json", b"{}")
    made = studio.runs.import_folder(path)
    assert sorted(one.name for one in studio.runs.runs_folder.iterdir()) == [made.run] == ["imported-run"]


def test_every_byte_of_the_directory_may_be_another_and_it_is_the_zip_that_cannot_be_read(
    studio: Studio, tmp_path: Path
) -> None:
    """An offset that points before the file raises OSError within zipfile, which was told as trouble with the disk."""
    path = _zip(tmp_path / "it.zip", "R", {PLAN: dumps(COLAB.launched("digits-abcd", 1e9, "0"))})
    whole = path.read_bytes()
    start = whole.find(b"PK\x01\x02")
    for at in range(start, len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            made = studio.runs.import_folder(path)
        except RunError as error:
            assert error.id.startswith("zip-"), (at - start, error)
        else:
            studio.runs.delete(made.run)
    assert [one.name for one in studio.runs.runs_folder.iterdir() if one.name.startswith(".unz")] == []


@pytest.mark.parametrize("part", ["checkpoints", "result", "claims", "events"])
def test_a_zip_removes_and_writes_nothing_where_a_link_in_its_run_leads(
    studio: Studio, tmp_path: Path, part: str
) -> None:
    """All files of the linked folder were deleted, and the zip's put there."""
    mine = tmp_path / "person"
    mine.mkdir()
    for name in ("thesis.txt", "a0002-w000.jsonl"):
        (mine / name).write_text("mine")
    frozen = dumps(COLAB.launched("friendly-b2b2", 1.0, "1"))
    folder = studio.runs.runs_folder / "friendly-b2b2"
    folder.mkdir(parents=True)
    (folder / PLAN).write_bytes(frozen)
    (folder / part).symlink_to(mine)
    files = {PLAN: frozen, "events/a0001-w000.jsonl": _lines(1, 20, end="completed"), "result/model.json": b"{}"}
    path = _zip(tmp_path / "run.zip", folder.name, {**files, "checkpoints/authorized_keys": b"x"})
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert (caught.value.id, caught.value.facts["file"]) == ("run-has-links", part)
    assert {one.name: one.read_text() for one in mine.iterdir()} == {"thesis.txt": "mine", "a0002-w000.jsonl": "mine"}

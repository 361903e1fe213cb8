"""A zip of a run goes into the folder that was named, and over no file of one's own in another that takes its name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.studio import Studio
from tpu_studio.wire.errors import RunError
from tpu_studio.workflow import packing


def test_whoever_puts_a_link_in_the_folders_place_leads_no_zip_elsewhere(
    studio: Studio, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = studio.runs.import_folder(trained).run
    shared, private = tmp_path / "shared", tmp_path / "private"
    for folder in (shared, private):
        folder.mkdir()
    (private / "run.zip").write_text("all my work")
    wanted = packing._wanted

    def swapped(folder: Path):  # type: ignore[no-untyped-def]
        shared.rename(tmp_path / "aside")
        shared.symlink_to(private)
        return wanted(folder)

    monkeypatch.setattr(packing, "_wanted", swapped)
    with suppress(RunError):
        packing.pack(studio.runs.folder(run), shared / "run.zip")
    assert (private / "run.zip").read_text() == "all my work" and list(private.iterdir()) == [private / "run.zip"]
    assert (tmp_path / "aside" / "run.zip").is_file()

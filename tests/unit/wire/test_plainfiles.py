"""What a file may be written to, where a person names the place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tpu_studio.domain import jobfile
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import BadInput, JobError
from tpu_studio.wire.job import Job
from tpu_studio.wire.plainfiles import check_place, what_stands


def test_a_free_place_a_file_and_a_link_to_either_can_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "nowhere").symlink_to("free")
    for name in ("free", "file", "link", "nowhere", "file/inner", "\0"):
        check_place(tmp_path / name)


def test_a_folder_gives_way_to_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="place-no-file") as refused:
        check_place(tmp_path)
    assert say(refused.value).title == f"“{tmp_path.name}” is a folder"
    with pytest.raises(JobError) as unwritable:
        jobfile.save(Job(), tmp_path)
    assert unwritable.value.facts["raw"] == "it is a folder"


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="Linux alone has them")
def test_a_name_for_what_a_program_has_open_gives_way_to_no_file(tmp_path: Path) -> None:
    """`/dev/stdout`, whose answer goes into a file."""
    with open(tmp_path / "answer", "w") as answer:
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{answer.fileno()}")
        assert what_stands(tmp_path / "stdout") == "a device or a pipe"
    assert what_stands(Path("/dev/null")) == "a device or a pipe"

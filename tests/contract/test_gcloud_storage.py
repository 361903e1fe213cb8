"""The real `gcloud storage`, a few quick commands; all of them: tools/gcloud_storage_check.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import gcloud_storage_check as tool
from tpu_studio.practice.main import Practice

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]


def test_gcloud_puts_lists_reads_and_removes(practice: Practice, tmp_path: Path) -> None:
    gcloud, bucket = tool.Gcloud(tmp_path, practice), f"gs://{practice.cloud.settings.bucket}"
    for name in ("a.txt", "deep/b.txt"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_bytes(b"the last byte is a carriage return\r")
    gcloud("rsync", "--recursive", str(tmp_path / "tree"), f"{bucket}/tree")
    assert gcloud("ls", f"{bucket}/tree/**").stdout.split() == [f"{bucket}/tree/a.txt", f"{bucket}/tree/deep/b.txt"]
    gcloud("cp", f"{bucket}/tree/deep/b.txt", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"the last byte is a carriage return\r"
    gcloud("rm", "--recursive", f"{bucket}/tree")
    gone = gcloud("cat", f"{bucket}/tree/a.txt", check=False)
    assert gone.returncode == 1
    assert "matched no objects" in gone.stderr

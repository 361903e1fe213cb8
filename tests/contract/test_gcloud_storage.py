"""The real `gcloud storage`, a few quick commands; all of them: tools/gcloud_storage_check.py."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.practice.main import Practice

TOOL = Path(__file__).resolve().parents[2] / "tools" / "gcloud_storage_check.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("gcloud_storage_check", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gcloud_storage_check"] = module
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


def test_gcloud_puts_lists_reads_and_removes(tool: Any, practice: Practice, tmp_path: Path) -> None:
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

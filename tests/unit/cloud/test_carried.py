"""The installer that a machine is brought: fetched once with pip, checked, and kept."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from tpu_studio.cloud import carried, startup
from tpu_studio.wire.errors import RunError

WHEEL = b"the installer" * 100
WANTED = {
    "name": "uv",
    "version": "0.13.9",
    "platform": "manylinux_2_17_x86_64",
    "sha256": hashlib.sha256(WHEEL).hexdigest(),
}
PYTHON = """#!/bin/sh
echo "$@" >>"{log}"
while [ $# -gt 0 ]; do [ "$1" = --dest ] && folder="$2"; shift; done
{then}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "engine"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def python(path: Path, then: str) -> Path:
    """A Python whose pip does *then*; the file that tells how it was called."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = path.parent / f"{path.name}.log"
    path.write_text(PYTHON.replace("{log}", str(log)).replace("{then}", then))
    path.chmod(0o755)
    return log


def brings(folder: Path, data: bytes = WHEEL) -> str:
    (folder / "served.whl").write_bytes(data)
    return f'cp "{folder / "served.whl"}" "$folder/uv-0.13.9-py3-none-manylinux_2_17_x86_64.whl"'


def test_it_is_fetched_once_by_its_hash_and_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = python(home / "own" / "python", brings(home))
    monkeypatch.setattr(sys, "executable", str(home / "own" / "python"))
    found = carried.installer(WANTED)
    assert found.read_bytes() == WHEEL
    assert carried.installer(WANTED) == found
    (asked,) = log.read_text().splitlines()
    assert "pip download" in asked and "--require-hashes" in asked and "--platform manylinux_2_17_x86_64" in asked


def test_a_python_without_pip_leaves_it_to_the_engines(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python(home / "own" / "python", 'echo "No module named pip" >&2; exit 1')
    python(home / "engine" / "main" / "bin" / "python", brings(home))
    monkeypatch.setattr(sys, "executable", str(home / "own" / "python"))
    assert carried.installer(WANTED).read_bytes() == WHEEL


def test_what_cannot_be_fetched_is_told_before_anything_is_rented(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (home / "own" / "python", home / "python3"):
        python(place, 'echo "ERROR: no route to https://me:planted-word@index.example/simple" >&2; exit 1')
    monkeypatch.setattr(sys, "executable", str(home / "own" / "python"))
    with pytest.raises(RunError) as caught:
        carried.installer(WANTED)
    assert caught.value.id == "installer-unfetched"
    assert "no route" in caught.value.facts["raw"]
    assert "planted-word" not in str(caught.value.facts)


def test_another_file_is_not_taken_nor_one_that_was_damaged_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python(home / "python3", "exit 1")
    log = python(home / "own" / "python", brings(home, b"something else"))
    monkeypatch.setattr(sys, "executable", str(home / "own" / "python"))
    with pytest.raises(RunError):
        carried.installer(WANTED)
    python(home / "own" / "python", brings(home))
    carried.installer(WANTED).write_bytes(b"damaged")
    assert carried.installer(WANTED).read_bytes() == WHEEL
    assert len(log.read_text().splitlines()) == 3


def test_the_catalogue_names_one_file_for_the_machines_that_are_lent() -> None:
    wanted = startup.installer()
    assert set(wanted) >= {"name", "version", "platform", "sha256"}
    assert len(bytes.fromhex(wanted["sha256"])) == 32
    assert wanted["platform"].endswith("x86_64")

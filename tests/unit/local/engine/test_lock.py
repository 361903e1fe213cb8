"""The lock names every file of the engine, and the shipped one is complete."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from pathlib import Path

import pytest

from tpu_studio.local.engine.lock import read_lock
from tpu_studio.local.engine.spec import shipped_spec
from tpu_studio.local.engine.wheels import ALONE_BYTES, download_groups, open_wheel
from tpu_studio.wire.resources import resource_path


def test_every_package_of_the_shipped_lock_has_a_hash_and_a_size_for_each_python():
    lock = read_lock(shipped_spec().lock)

    assert lock.pythons == ["3.13", "3.12", "3.11"]
    for package in lock.packages.values():
        assert 1 <= len(package.hashes) <= 3
        assert set(package.sizes) == set(lock.pythons)


def test_the_shipped_lock_holds_what_is_wanted_in_the_wanted_version():
    lock = read_lock(shipped_spec().lock)
    wanted = re.findall(r"^([a-z0-9-]+)==(\S+)", resource_path("engine", "wanted.txt").read_text(), re.MULTILINE)

    assert len(wanted) == 12
    assert {name: lock.packages[name].version for name, _ in wanted} == dict(wanted)


def test_the_pins_and_the_lock_agree():
    pins = Path(__file__).resolve().parents[4] / "constraints" / "engine.txt"
    pinned = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", pins.read_text(), re.MULTILINE)
    }

    assert {package.name: package.version for package in read_lock(shipped_spec().lock).packages.values()} == pinned


def test_a_requirement_without_sizes_is_refused(tmp_path: Path):
    (tmp_path / "lock.txt").write_text("alpha==1.0 --hash=sha256:00\n", encoding="utf-8")

    with pytest.raises(ValueError, match="no sizes before alpha"):
        read_lock(tmp_path / "lock.txt")


def test_big_files_are_fetched_alone_and_last_so_that_a_broken_download_loses_little():
    lock = read_lock(shipped_spec().lock)

    groups = download_groups(sorted(lock.packages), lock, "3.11")

    assert groups[-1] == ["tensorflow-cpu"]
    assert all(lock.packages[name].sizes["3.11"] < ALONE_BYTES for name in groups[0])
    assert sorted(name for group in groups for name in group) == sorted(lock.packages)


def test_a_package_half_unpacked_counts_with_the_bytes_of_its_files_so_far(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "alpha-1.0-py3-none-any.whl", "w") as archive:  # stored: packed size = size
        sizes = {"alpha/a.py": 10, "alpha/b.py": 20, "alpha-1.0.data/scripts/a": 99, "alpha/c.py": 40}
        for name, size in sizes.items():
            archive.writestr(name, "x" * size)
    wheel = open_wheel(tmp_path, "alpha")
    assert wheel is not None

    assert wheel.bytes_through(tmp_path) == 0
    (tmp_path / "alpha").mkdir()
    (tmp_path / "alpha" / "a.py").touch()
    (tmp_path / "alpha" / "b.py").touch()
    assert wheel.bytes_through(tmp_path) == 30
    (tmp_path / "alpha" / "c.py").touch()
    assert wheel.bytes_through(tmp_path) == 70


def test_what_is_marked_alone_comes_without_what_it_names_itself(tmp_path: Path) -> None:
    path = Path(__file__).resolve().parents[4] / "tools" / "lock_engine.py"
    spec = importlib.util.spec_from_file_location("lock_engine", path)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    wanted = tmp_path / "some.wanted.txt"
    wanted.write_text("# why\nkeras==3.15.1\ntokenizers==0.23.3  # alone\n")

    usual, alone = tool.split(wanted, tmp_path)

    assert Path(usual[0]).read_text() == "# why\nkeras==3.15.1\n" and usual[1:] == []
    assert Path(alone[0]).read_text() == "tokenizers==0.23.3  # alone\n" and alone[1:] == ["--no-deps"]
    wanted.write_text("keras==3.15.1\n")
    assert len(tool.split(wanted, tmp_path)) == 1
    names = set(read_lock(shipped_spec().lock).packages)
    assert "tokenizers" in names and not names & {"huggingface-hub", "hf-xet", "httpx"}

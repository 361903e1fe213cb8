"""The same limits at every door: plans and model files of gigabytes are not read, shares are not opened."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tpu_studio.data.paths import data_path
from tpu_studio.domain.sentences import say
from tpu_studio.wire import owncode
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import DataError, ModelError, RunError, StudioError
from tpu_studio.wire.job import parse
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.wire.sizes import MODEL_CODE_BYTES, PLAN_BYTES, TooLarge, read_at_most
from tpu_studio.workflow import ownfile

SHARES = (
    r"\\host\share\model.py",
    "//host/share/model.py",
    r"\\?\UNC\host\share\model.py",
    r"/\host\share\model.py",
    "smb://host/share/model.py",
    "file://host/share/model.py",
    r"\??\UNC\host\share\model.py",
    "/??/UNC/host/share/model.py",
    "webdav://host/share/model.py",
    "nfs4://host/share/model.py",
    "/net/host/share/model.py",
    "../../net/host/share/model.py",
    "/afs/example.org/model.py",
    "/x/../afs/.example.org/model.py",
    "/Network/Servers/host/model.py",
)


def huge(path: Path) -> Path:
    with open(path, "wb") as file:
        file.truncate(6 << 30)  # sparse
    return path


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_at_most(path, 5) == b"12345"
    with pytest.raises(TooLarge, match="5 bytes"):
        read_at_most(path, 4)
    os.mkfifo(tmp_path / "pipe")
    for endless in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(TooLarge):
            read_at_most(endless, 100)


def test_a_plan_of_gigabytes_is_no_plan(tmp_path: Path) -> None:
    huge(tmp_path / PLAN)
    for door in (plans.read, plans.frozen):
        with pytest.raises(RunError) as caught:
            door(tmp_path)
        assert caught.value.id == "plan-unreadable"


def test_a_plan_that_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(RunError) as caught:
        plans.dumps(replace(plan(), data={"columns": ["x" * 1000] * (PLAN_BYTES // 1000)}))
    assert caught.value.id == "plan-too-large"
    assert "fewer columns" in say(caught.value).action


DOORS = {
    "window": lambda path: ownfile.read(path, None),
    "all others": owncode.read,
}


@pytest.mark.parametrize("door", DOORS)
def test_a_model_file_of_gigabytes_is_told_by_its_size(tmp_path: Path, door: str) -> None:
    with pytest.raises(ModelError) as caught:
        DOORS[door](huge(tmp_path / "model.py"))
    assert caught.value.id == "model-file-too-large"
    assert caught.value.facts["limit"] == MODEL_CODE_BYTES
    assert "too large" in say(caught.value).title


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("share", SHARES)
def test_a_model_file_in_a_share_is_not_even_looked_for(monkeypatch: pytest.MonkeyPatch, door: str, share: str) -> None:
    monkeypatch.setattr(owncode, "os", None)  # nothing is asked of any system
    with pytest.raises(ModelError) as caught:
        DOORS[door](Path("/base", share))
    assert caught.value.id == "model-file-in-a-share"


@pytest.mark.parametrize("share", SHARES)
def test_data_in_a_share_is_not_even_looked_for(share: str) -> None:
    job = parse({"format": 1, "model": {"name": "mlp"}, "data": {"kind": "images", "path": share}}, base="/base")
    with pytest.raises(DataError) as caught:
        data_path(job)
    assert caught.value.id == "data-in-a-share"


@pytest.mark.parametrize("share", ["//host/share", "smb://host/share"])
def test_data_below_a_base_in_a_share_is_not_even_looked_for(share: str) -> None:
    """The base of a run that came as a folder is a stranger's, as its path is."""
    job = parse({"format": 1, "model": {"name": "mlp"}, "data": {"kind": "images", "path": "photos"}}, base=share)
    with pytest.raises(DataError) as caught:
        data_path(job)
    assert caught.value.id == "data-in-a-share"


def test_ordinary_paths_are_no_shares() -> None:
    for path in (
        "/home/a/m.py",
        "m.py",
        "../x/m.py",
        r"a\b.py",
        "C:/x/m.py",
        "/x/y:z/a",
        "~/m.py",
        "/a//b",
        "gs://b/x",
        "/net",
        "/afs",
        "/afs/",
        "/Network/Servers",
        "/Network/x/y",
        "/a/afs/b",
        "/a/net/b",
        "/networks/a",
        "x:y//z",
    ):
        assert not owncode.in_a_share(path), path


def test_an_address_of_any_other_kind_is_another_computers() -> None:
    assert owncode.in_a_share("rsync+new://host/share") and owncode.in_a_share("/base/x/rsync://host/share")


def test_a_home_folder_that_is_mounted_when_looked_for_is_the_persons_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for school in ("/net/school", "/afs/school", "/Network/Servers/school"):
        monkeypatch.setenv("HOME", f"{school}/home/anna")
        monkeypatch.setenv("USERPROFILE", f"{school}/home/anna")
        assert not owncode.in_a_share(f"{school}/data/x") and owncode.in_a_share(f"{school}s/data/x")


def test_the_sentences_say_what_to_do() -> None:
    for error in (ModelError("model-file-in-a-share", file="//h/s/m.py"), DataError("data-in-a-share", path="//h/s")):
        assert isinstance(error, StudioError) and "copy" in say(error).action


def test_a_model_file_that_is_a_link_to_another_computer_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "model.py").symlink_to("/net/somewhere/model.py")
    with pytest.raises(ModelError) as refused:
        ownfile.read(tmp_path / "model.py", None)
    assert refused.value.id == "model-file-in-a-share"


@pytest.mark.parametrize("name", ["data", "data/inside"])
def test_data_behind_a_link_to_another_computer_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "data").symlink_to("/net/somewhere/data")
    seen: list[str] = []
    look = os.lstat
    for path in (name, str(tmp_path / name)):
        job = parse({"model": {"name": "cnn"}, "data": {"kind": "images", "path": path}}, base=str(tmp_path))
        with monkeypatch.context() as patch, pytest.raises(DataError) as refused:
            patch.setattr(os, "lstat", lambda path, **more: seen.append(str(path)) or look(path, **more))
            data_path(job)
        assert refused.value.id == "data-in-a-share"
    assert not [path for path in seen if path.startswith("/net")]


@pytest.mark.parametrize("root", ["/proc/self/root", "/proc/self/./root", "/dev/fd/../root", "/proc/self/fd/../root"])
def test_the_disks_other_names_hide_no_other_computer(root: str) -> None:
    for whole in (root, f"{root}/proc/self/root", f"/dev/..{root}", f"{root}/../../..{root}"):
        assert owncode.in_a_share(f"{whole}/net/host/m.py") and not owncode.in_a_share(f"{whole}/home/me/m.py"), whole


def test_a_path_without_end_is_judged_at_once() -> None:
    """Each of its folders was put together anew: of a path of 80,000 letters that took seconds."""
    assert not owncode.in_a_share("/a" * 500_000) and owncode.in_a_share("/net/host" + "/a" * 500_000)


def test_more_folders_than_anybody_has_are_not_followed(tmp_path: Path) -> None:
    """Each was judged with all those before it: a link of four kilobytes took twenty seconds."""
    deep = Path("/", *("a" for _ in range(2_000)))
    (tmp_path / "link").symlink_to(deep)
    for path in (deep, tmp_path / "link"):
        with pytest.raises(OSError) as caught:
            owncode.located(path)
        assert caught.value.errno == errno.ENAMETOOLONG

"""Where a person's things lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tpu_studio.domain.sentences import say
from tpu_studio.wire import homes
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.homes import check_own, home_folder


def test_one_variable_moves_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))

    assert home_folder() == tmp_path


@pytest.mark.parametrize(
    ("platform", "variable", "told", "expected"),
    [
        ("linux", "XDG_DATA_HOME", "/data", "/data/tpu-studio"),
        ("linux", "XDG_DATA_HOME", "relative", "/home/ada/.local/share/tpu-studio"),
        ("linux", "XDG_DATA_HOME", None, "/home/ada/.local/share/tpu-studio"),
        ("darwin", "XDG_DATA_HOME", "/data", "/home/ada/Library/Application Support/tpu-studio"),
        ("win32", "LOCALAPPDATA", "/local", "/local/tpu-studio"),
    ],
)
def test_the_platforms_own_place_is_the_default(
    platform: str, variable: str, told: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TPU_STUDIO_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setattr(sys, "platform", platform)
    if told is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, told)

    assert home_folder() == Path(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="no owners there")
def test_a_home_that_is_not_ones_own_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    home, engine = tmp_path / "home", tmp_path / "engine"
    monkeypatch.setenv("TPU_STUDIO_HOME", str(home))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(engine))
    check_own()  # neither is there yet
    home.mkdir(mode=0o700)
    engine.mkdir(mode=0o755)
    check_own()
    engine.chmod(0o777)
    with pytest.raises(NotReady) as caught:
        check_own()
    assert caught.value.facts == {"folder": str(engine), "variable": "TPU_STUDIO_ENGINE", "open": True}
    assert "may be written into by others" in say(caught.value).title
    monkeypatch.delenv("TPU_STUDIO_ENGINE")
    check_own()
    others = os.stat_result((0o40770, *home.stat()[1:5], 999_999, *home.stat()[6:]))  # a group that nobody knows
    assert homes._is_for_others(others)
    home.chmod(0o777)
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "link"))
    with pytest.raises(NotReady):
        check_own()
    home.chmod(0o700)
    check_own()  # a link of one's own to a folder of one's own
    if os.getuid() == 0:
        os.lchown(tmp_path / "link", 65534, 65534)
        with pytest.raises(NotReady):
            check_own()
    monkeypatch.setenv("TPU_STUDIO_HOME", str(home))
    monkeypatch.setattr(os, "getuid", lambda: home.stat().st_uid + 1)
    if home.stat().st_uid == 0:  # the administrator's is believed
        os.chown(home, 65534, 65534)
        monkeypatch.setattr(os, "getuid", lambda: 0)
    with pytest.raises(NotReady) as caught:
        check_own()
    assert "belongs to somebody else" in say(caught.value).title


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_nobody_else_can_put_a_home_where_ones_own_is_or_is_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """In a place for everybody the other's was there, or in its place, a moment after the look."""
    everybodys, among_others = tmp_path / "open", tmp_path / "sticky"
    for folder in (everybodys, among_others):
        folder.mkdir()
    everybodys.chmod(0o777)
    among_others.chmod(0o1777)
    monkeypatch.delenv("TPU_STUDIO_ENGINE")
    for home in (everybodys / "mine", everybodys / "some" / "mine"):
        monkeypatch.setenv("TPU_STUDIO_HOME", str(home))
        with pytest.raises(NotReady) as caught:
            check_own()
        assert caught.value.facts == {"folder": str(everybodys), "variable": "TPU_STUDIO_HOME", "open": True}
        assert not home.exists()
    home, engine = among_others / "some" / "mine", among_others / "engine"
    monkeypatch.setenv("TPU_STUDIO_HOME", str(home))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(engine))
    check_own()
    assert (home.stat().st_mode & 0o777, home.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    assert engine.is_dir()
    monkeypatch.delenv("TPU_STUDIO_ENGINE")
    quiet = tmp_path / "own" / "mine"
    monkeypatch.setenv("TPU_STUDIO_HOME", str(quiet))
    check_own()
    assert not quiet.parent.exists()  # nobody else could make it: a look makes none

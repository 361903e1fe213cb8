"""Where a person's things lie."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tpu_studio.wire.homes import home_folder


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

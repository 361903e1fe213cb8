"""A folder of pretrained weights, or any folder, named where it does not belong: a terminal says where it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import presets
from tests.fakes.terminal import JOB, Terminal

FOLDER, HUB = "kerashub-backbone", "hf://keras/resnet_18_imagenet"


@pytest.fixture
def said(tmp_path: Path) -> Callable[..., str]:
    terminal = Terminal(tmp_path / "home")

    def plan(*settings: str) -> str:
        done = terminal.run("plan", JOB, *(part for setting in settings for part in ("--set", setting)))
        assert "Traceback" not in done.stderr
        return " ".join((done.stdout + done.stderr).split())

    return plan


def test_a_folder_as_model_file_is_told_as_a_folder_and_weights_as_what_they_are(
    tmp_path: Path, said: Callable[..., str]
) -> None:
    weights = presets.unpacked("resnet", tmp_path)
    told = said(f"model.file={weights}")
    assert "“resnet” is a folder, and a model file is Python code" in told and "not there" not in told
    assert "It holds pretrained weights of KerasHub" in told and "(model.preset)" in told
    told = said(f"model.file={tmp_path}")
    assert "is a folder, and a model file is Python code" in told and "Choose the Python file in it." in told
    assert "“gone.py” is not there" in said(f"model.file={tmp_path / 'gone.py'}")


def test_a_folder_of_weights_without_its_slash_gets_the_setting_to_write_and_no_list_that_is_refused(
    said: Callable[..., str],
) -> None:
    for settings in (("model.preset=khb",), (f"model.name={FOLDER}", "model.preset=khb")):
        told = said(*settings)
        assert "cannot be “khb”" in told and f"({FOLDER})" in told and "model.preset=./khb" in told
        assert "one of: none" not in told
    assert "Names on the web are not fetched. Download the folder" in said(f"model.preset={HUB}")

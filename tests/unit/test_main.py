"""`tpu-studio` chooses between the window and the command line by its first argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpu_studio.__main__ import leave_environment_to_others, main, opens_the_window


@pytest.mark.parametrize("arguments", [[], ["digits.tpujob"], ["runs/digits-k3f7"], ["file:///digits.tpujob"], ["."]])
def test_nothing_or_a_thing_to_open_opens_the_window(arguments: list[str]):
    assert opens_the_window(arguments)


@pytest.mark.parametrize("arguments", [["run", "digits.tpujob"], ["--help"], ["--version"], ["plam", "x.tpujob"]])
def test_verbs_options_and_slips_go_to_the_command_line(arguments: list[str]):
    assert not opens_the_window(arguments)


def test_a_folder_called_like_a_verb_does_not_hide_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "my-run").mkdir()
    monkeypatch.chdir(tmp_path)
    assert not opens_the_window(["run", "digits.tpujob"])
    assert opens_the_window(["my-run"])


def test_a_packaged_program_gives_others_the_libraries_they_had():
    ours = {"LD_LIBRARY_PATH": "/ours", "LD_LIBRARY_PATH_ORIG": "/theirs", "QT_PLUGIN_PATH": "/ours", "HOME": "/h"}
    leave_environment_to_others(ours)
    assert ours == {"LD_LIBRARY_PATH": "/theirs", "HOME": "/h"}
    without = {"LD_LIBRARY_PATH": "/ours", "_PYI_ARCHIVE_FILE": "/ours/tpu-studio"}
    leave_environment_to_others(without)
    assert without == {}


def test_a_packaged_program_has_a_door_for_the_supervisors_of_practice_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["--practice-machine", str(tmp_path)]) == 2
    assert f"no machine in {tmp_path}" in capsys.readouterr().err

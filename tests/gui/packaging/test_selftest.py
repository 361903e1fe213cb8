"""`tpu-studio --self-test` passes for this checkout, and says which part is broken when one is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from tpu_studio.app import selftest, selftest_parts, selftest_reach
from tpu_studio.wire.errors import NotReady

QUICK = [part for part in selftest_parts.PARTS if part[0] not in ("small job", "window")]


@pytest.mark.parametrize("part", QUICK, ids=[name for name, _ in QUICK])
def test_every_part_of_this_checkout_is_whole(qapp: QApplication, part: selftest.Part):
    assert part[1]()


@pytest.mark.engine
@pytest.mark.slow
def test_the_small_job_trains_and_writes_a_model(engine_python: Path):
    assert "accuracy" in selftest_parts.small_job()


def test_without_an_engine_the_small_job_is_left_out_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "none"))
    with pytest.raises(selftest.Skipped, match="missing"):
        selftest_parts.small_job()


def test_each_part_gets_a_line_and_a_broken_one_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]):
    def broken() -> str:
        raise FileNotFoundError("fonts/Inter.ttf")

    def not_here() -> str:
        raise selftest.Skipped("no engine")

    code = selftest.run([("fonts", broken), ("job", not_here), ("icons", lambda: "89 drawings")])
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[0].startswith("failed") and "fonts/Inter.ttf" in lines[0]
    assert lines[1].startswith("skipped") and "no engine" in lines[1]
    assert lines[2].startswith("ok") and "89 drawings" in lines[2]
    assert lines[3].endswith("failed: fonts")


def test_an_error_of_ours_is_told_in_its_sentence(capsys: pytest.CaptureFixture[str]):
    def broken() -> str:
        raise NotReady("engine-no-python")

    assert selftest.run([("engine", broken)]) == 1
    assert "No suitable Python was found" in capsys.readouterr().out


def test_it_works_in_a_home_of_its_own_and_leaves_nothing(home: Path):
    before = dict(os.environ)
    with selftest.own_home() as own:
        assert os.environ["TPU_STUDIO_HOME"] == str(own) != str(home)
        (own / "runs").mkdir()
    assert not own.exists()
    assert os.environ == before


LAZY = """
import json
from os import path


def later():
    import tpu_studio_lacks_this

    return [__import__, lambda: tpu_studio_lacks_this.x]


class Some:
    def method(self):
        from concurrent import futures
"""


def test_what_is_imported_only_when_it_is_needed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "imports_later.py").write_text(LAZY)
    monkeypatch.syspath_prepend(tmp_path)
    found = selftest_reach.imported_by("imports_later")
    assert found == {("json", ""), ("os", "path"), ("tpu_studio_lacks_this", ""), ("concurrent", "futures")}


def test_a_module_that_did_not_travel_is_named():
    with pytest.raises(ModuleNotFoundError, match="tpu_studio_lacks_this"):
        selftest_reach.bring("tpu_studio_lacks_this", "")
    with pytest.raises(ModuleNotFoundError, match=r"concurrent\.nothing"):
        selftest_reach.bring("concurrent", "nothing")
    assert selftest_reach.bring("concurrent", "futures")


def test_modules_of_other_systems_are_left_out():
    assert not selftest_reach.bring("fcntl" if os.name == "nt" else "winreg", "")

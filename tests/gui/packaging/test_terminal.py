"""Started from a terminal, the window shows no traceback there; its log file has all."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tpu_studio.app import trouble

KEY = "hf_" + "a1B2" * 9


def test_an_error_is_one_line_in_the_terminal_and_a_traceback_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers = []
    try:
        trouble.start_log(tmp_path)
        try:
            raise OSError(f"the disk is full {KEY}")
        except OSError as error:
            logging.getLogger("x").error("the services could not be built", exc_info=error)
        for handler in root.handlers:
            handler.close()
    finally:
        root.handlers = before
        root.setLevel(level)
    assert capsys.readouterr().err == "ERROR the services could not be built: the disk is full …\n"
    kept = trouble.log_file(tmp_path).read_text()
    assert "Traceback" in kept and KEY not in kept

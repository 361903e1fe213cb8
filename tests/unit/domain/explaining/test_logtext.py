"""Any bytes become lines that may be shown: encodings, sizes, keys, and what a terminal obeys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.domain.explaining import LARGEST, log_text
from tpu_studio.domain.explaining.logtext import discreet_line
from tpu_studio.wire.errors import BadInput

LINE = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm — größer\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_log_is_read_in_every_encoding_that_a_shell_writes(encoding: str) -> None:
    assert log_text((LINE * 40).encode(encoding)).text == LINE * 40


def test_colours_and_redrawn_bars_are_lines_without_either() -> None:
    raw = b"\x1b[31mError\x1b[0m: x\r\n 10%\r 20%\r\n\x1b]0;title\x07end\n"
    assert log_text(raw).text == "Error: x\n 10%\n 20%\nend\n"


def test_of_a_larger_log_the_middle_is_left_out_and_that_is_told() -> None:
    raw = b"first\n" + b"x" * LARGEST + b"\nlast\n"
    log = log_text(raw)
    assert (log.is_cut, log.size) == (True, len(raw))
    assert log.text.startswith("first\n") and log.text.endswith("\nlast\n") and len(log.text) == LARGEST + 1


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        log_text(bytes(range(256)) * 100)
    assert caught.value.id == "log-binary"


def test_no_key_and_no_endless_line_is_shown() -> None:
    shown = discreet_line(
        "x" * 100_000 + " token=hf_abcdefghijklmnopqrstuv0123 quota exceeded " + "y" * 9, around=100_030
    )
    assert "hf_abc" not in shown and "quota exceeded" in shown and len(shown) < 320


@given(st.binary(max_size=400))
def test_no_bytes_do_anything_but_become_text_or_are_refused(raw: bytes) -> None:
    try:
        text = log_text(raw).text
    except BadInput:
        return
    assert "\x1b[" not in text

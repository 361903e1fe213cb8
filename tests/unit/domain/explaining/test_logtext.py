"""Any bytes become lines that may be shown: encodings, sizes, keys, and what a terminal obeys."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.domain.explaining import LARGEST, log_text, logtext
from tpu_studio.domain.explaining.causes import _without_middle
from tpu_studio.domain.explaining.logtext import discreet_line
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.secrets import WIDEST, short, without_secrets

LINE = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm — größer\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_log_is_read_in_every_encoding_that_a_shell_writes(encoding: str) -> None:
    assert log_text((LINE * 40).encode(encoding)).text == LINE * 40


@pytest.mark.parametrize("extra", [b"", b"\n", b"\0", b"ab\n"])
def test_a_wide_log_that_is_cut_is_read_from_where_a_letter_begins(extra: bytes) -> None:
    """Of one that is written while it is read, or has one byte too many, the end was letters that nobody wrote."""
    raw = ("x" * 99 + "\n").encode("utf-16-le") * 60_000 + ("RESOURCE_EXHAUSTED: the end\n" * 40).encode("utf-16-le")
    assert "RESOURCE_EXHAUSTED: the end" in log_text(raw + extra).text


def test_logs_of_two_encodings_are_read() -> None:
    """PowerShell's `>>` adds two bytes a letter to a log of one; a loss of power leaves a block of nothing."""
    mixed = (LINE * 20).encode() + ("RuntimeError: größer\n" * 20).encode("utf-16-le")
    assert log_text(mixed).text.count("RuntimeError: größer") == 20 and LINE in log_text(mixed).text
    marked = (LINE * 20).encode() + "RuntimeError: größer\n".encode("utf-16-le") * 9
    assert "größer" in log_text(marked).text
    assert log_text((LINE * 20).encode() + bytes(4096)).text.startswith(LINE * 20)
    with pytest.raises(BadInput) as refused:
        log_text(bytes(range(256)) * 100, size=500_000_000)
    assert refused.value.facts["bytes"] == 500_000_000


def test_colours_and_redrawn_bars_are_lines_without_either() -> None:
    raw = b"\x1b[31mError\x1b[0m: x\r\n 10%\r 20%\r\n\x1b]0;title\x07end\n"
    assert log_text(raw).text == "Error: x\n 10%\n 20%\nend\n"


def test_of_a_larger_log_the_middle_is_left_out_and_that_is_told() -> None:
    raw = b"first\n" + b"x" * LARGEST + b"\nlast\n"
    log = log_text(raw)
    assert (log.is_cut, log.size) == (True, len(raw))
    assert log.text.startswith("first\n") and log.text.endswith("\nlast\n") and log.text.isascii()
    assert LARGEST - 2 * WIDEST < len(log.text) <= LARGEST + 1


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        log_text(bytes(range(256)) * 100)
    assert caught.value.id == "log-binary"


def test_no_key_and_no_endless_line_is_shown() -> None:
    shown = discreet_line(
        "x" * 100_000 + " token=hf_abcdefghijklmnopqrstuv0123 quota exceeded " + "y" * 9, around=100_030
    )
    assert "hf_abc" not in shown and "quota exceeded" in shown and len(shown) < 320


KEYS = (
    "hf_aZ3bQ9cX7dW1eV5fU2gT8hS4",
    "GOCSPX-q1W2e3R4t5Y6u7I8o9P0",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" * 40 + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV",
    "Authorization: Bearer q9W8e7R6t5Y4u3I2o1P0",
    "password=correcthorsebatterystaple99",
)


def pieces_of(key: str) -> set[str]:
    """Six letters of it that no name before it has."""
    value = key.split()[-1].split("=")[-1]
    return {value[at : at + 6] for at in range(8, len(value) - 5)}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_across_an_edge_of_what_is_shown_is_cut_whole(key: str) -> None:
    """Of one that began in the last of 300 letters there stood as much as was in them."""
    for before in range(60, 330, 7):
        line = "quota exceeded " + "w" * (before - 15) + f" {key} " + "y " * 400
        for around in (0, len(line) - 1, before + len(key) + 150):
            shown = discreet_line(line, around)
            assert not any(piece in shown for piece in pieces_of(key)), (before, around)
            assert len(shown) < 310
    assert not any(piece in short("x" * 90 + f" {key} ", 100) for piece in pieces_of(key))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shift", range(1, 62, 3))
def test_a_key_where_a_larger_log_is_cut_is_cut_whole(monkeypatch: pytest.MonkeyPatch, key: str, shift: int) -> None:
    half, key = 12_000, key[:60]
    monkeypatch.setattr(logtext, "LARGEST", 2 * half)
    raw = b"first " + b"x " * half
    raw = raw[: half - shift] + f" {key} ".encode() + b"y " * half
    shown = without_secrets(log_text(raw).text)
    assert not any(piece in shown for piece in pieces_of(key))
    raw = b"z " * half + f" {key} ".encode()
    raw += b"y" * (half - shift)
    shown = without_secrets(log_text(raw).text)
    assert not any(piece in shown for piece in pieces_of(key))


@pytest.mark.parametrize("key", KEYS)
def test_a_key_where_an_endless_line_loses_its_middle_is_cut_whole(key: str) -> None:
    pieces = sorted(pieces_of(key))[::8]
    for before in range(9_930, 10_010, 9):
        line = "x" * before + f" {key} resource_exhausted " + "y " * 20_000
        for text in (line, line[::-1].replace(key[::-1], key)):
            shown = _without_middle(text)
            assert len(shown) < 20_100
            assert not any(piece in without_secrets(shown) for piece in pieces)


def test_a_wide_log_that_is_cut_keeps_its_letters() -> None:
    raw = codecs.BOM_UTF16_BE + ("größer\n" * (LARGEST // 12)).encode("utf-16-be")
    assert set(log_text(raw).text) == set("größer\n")


@given(st.binary(max_size=400))
def test_no_bytes_do_anything_but_become_text_or_are_refused(raw: bytes) -> None:
    try:
        text = log_text(raw).text
    except BadInput:
        return
    assert "\x1b[" not in text

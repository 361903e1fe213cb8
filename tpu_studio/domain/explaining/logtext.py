"""A person's log as text: whatever its encoding and size, without keys and without what a terminal obeys."""

from __future__ import annotations

import codecs
import functools
import re
from dataclasses import dataclass

from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.secrets import WIDEST, without_secrets
from tpu_studio.wire.visible import visible

LARGEST = 10_000_000  # bytes; of more, the first and the last half are read
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDTHS = {"utf-32-le": 4, "utf-32-be": 4, "utf-16-le": 2, "utf-16-be": 2}
_BINARY_SHARE = 0.05
_MARK = 12  # letters by which a place is known again when keys before it are gone
_KEPT = 200  # lines
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?)")


@dataclass(frozen=True)
class LogText:
    """Attributes:
    text: Lines that end with ``\\n``.
    size: Bytes that were given.
    is_cut: The middle was left out.
    """

    text: str
    size: int
    is_cut: bool = False


def log_text(raw: bytes, *, size: int | None = None) -> LogText:
    """The text in *raw*.

    Args:
        size: Bytes of the whole where *raw* is only its first and last `LARGEST` / 2.

    Raises:
        BadInput: ``log-binary``: no text in any usual encoding.
    """
    whole = len(raw) if size is None else size
    if is_cut := whole > LARGEST:
        first, last = raw[: LARGEST // 2], raw[-(LARGEST // 2) :]
        encoding = _encoding(first, whole)
        last = last[-(whole - len(last)) % _WIDTHS.get(encoding, 1) :]  # a letter begins where the file has one
        head, tail = first.decode(encoding, "replace"), _decoded(last, encoding)
        text = f"{_without_last_line(head)}\n{_without_last_line(tail[::-1])[::-1]}"
    else:
        text = _decoded(raw, _encoding(raw, whole))
    text = _ESCAPES.sub("", text.removeprefix("\ufeff"))
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # a bar that is drawn again is a line
    return LogText(visible(text), whole, is_cut)


def discreet_line(line: str, around: int = 0, longest: int = 300) -> str:
    """*line* as it may be shown and kept: without keys; of a very long one, what is around the place *around*. What is
    cut are whole keys, so they go before the line is shortened."""
    line = line.rstrip()
    whole = _discreet(line)
    if len(whole.strip()) <= longest:
        return whole.strip()
    least = max(0, around - (len(line) - len(whole)))  # so far left the place is, if all that was cut stood before it
    found = whole.find(line[around : around + _MARK], least)
    around = found if found >= 0 else least
    begin = max(0, min(around - longest // 3, len(whole) - longest))
    end = begin + longest
    return ("… " if begin else "") + whole[begin:end].strip() + (" …" if end < len(whole) else "")


@functools.lru_cache(maxsize=_KEPT)
def _discreet(line: str) -> str:
    """Many rules see something in the same line."""
    return without_secrets(line)


def _without_last_line(text: str) -> str:
    """Or without the last letters of an endless one: half a key does not look like one."""
    return text[: max(text.rfind("\n"), len(text) - WIDEST)]


def _decoded(raw: bytes, encoding: str) -> str:
    """Also of a log in plain letters to which PowerShell has added what comes in two bytes each."""
    begin, wide = _wide_end(raw) if encoding == "utf-8" else (0, "")
    if not wide:
        return raw.decode(encoding, "replace")
    return raw[:begin].decode(encoding, "replace") + raw[begin:].decode(wide, "replace").replace("\ufeff", "")


def _wide_end(raw: bytes) -> tuple[int, str]:
    """From which line on two bytes are a letter, and how; "": from none."""
    zero = raw.find(b"\0")
    begin = raw.rfind(b"\n", 0, max(zero, 0)) + 1
    return begin, _without_bom(raw[begin : begin + 2000]) if zero >= 0 else ""


def _encoding(raw: bytes, whole: int) -> str:
    """Of the *whole* bytes of a log, of which *raw* is the begin. Raises BadInput."""
    for bom, name in _BOMS:
        if raw.startswith(bom):
            return name
    if wide := _without_bom(raw[:2000]):
        return wide
    sample = raw[:100_000]
    begin, wide = _wide_end(sample)
    sample = sample[:begin] if wide and begin else sample.rstrip(b"\0")  # a loss of power leaves a block of nothing
    odd = sum(sample.count(bytes([one])) for one in (*range(7), *range(14, 27), *range(28, 32)))
    if sample and odd / len(sample) > _BINARY_SHARE:
        raise BadInput("log-binary", bytes=whole)
    return "utf-8"


def _without_bom(sample: bytes) -> str:
    """UTF-16 as PowerShell writes it, where every other byte of plain letters is zero; "" for anything else."""
    if len(sample) < 8:
        return ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    pairs = len(sample) // 2
    if odd > 0.7 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * pairs and odd < 0.1 * pairs else ""

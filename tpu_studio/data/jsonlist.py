"""A JSON file that is one list of objects, as `json.dump` writes one: written once as JSON lines, then read as those.

Alpaca and many chats are published so. It is read in pieces, so that a file larger than memory is no trouble; each
object goes on as it is written, in one line. The lines lie where `columnar` has its rows, under the same rules.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tpu_studio.data import encodings
from tpu_studio.data.paths import path_error
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

LONGEST = 4_000_000  # letters of an object, as of a line of JSON lines (`jsonlines.LONGEST_LINE`)
_PIECE = 1 << 20
_HEAD = 4_096
_BLANK = " \t\r\n"
_SPARE = 1_000_000_000  # bytes of the disk that are left
_ODD = 1000  # values that are no objects: who reads the lines counts them as broken
_READER = json.JSONDecoder()


def is_one(path: Path) -> bool:
    """Whether the file begins as one: "[", and then "{". Quick."""
    try:
        with open(path, encoding=encodings.detect(path), errors="replace", opener=plainly) as file:
            head = file.read(_HEAD).lstrip(_BLANK)
    except (OSError, DataError):
        return False  # whoever opens it says why it cannot be read
    return head.startswith("[") and head[1:].lstrip(_BLANK).startswith("{")


def first(path: Path) -> str:
    """Its first object as it is written, in one line; "" where that cannot be told."""
    try:
        with open(path, encoding=encodings.detect(path), errors="replace", opener=plainly) as file:
            return next(_objects(path, file, Watch()), "")
    except (OSError, DataError):
        return ""


def write(path: Path, file: Path, watch: Watch) -> None:
    """The objects of *path* as lines of *file*, which is there as a whole or not at all.

    Raises:
        DataError: data-json-list-broken (facts ``line``, ``rows``: those before it), data-disk-full, data-missing,
            data-unreadable, data-not-text.
        Cancelled
    """
    if shutil.disk_usage(file.parent).free < os.stat(path).st_size + _SPARE:
        raise DataError("data-disk-full", path=str(file.parent), needed=os.stat(path).st_size)
    with (
        open(path, encoding=encodings.detect(path), errors="replace", opener=plainly) as source,
        open(file, "w", encoding="utf-8", newline="\n") as to,
    ):
        for line in _objects(path, source, watch):
            try:
                to.write(line + "\n")
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise DataError("data-disk-full", path=str(file.parent), raw=str(error)) from error
                raise path_error(path, error) from error


def _objects(path: Path, file: TextIO, watch: Watch) -> Iterator[str]:
    """Each value of the list, without line ends: none stands within a text of JSON."""
    text, lines, rows, odd = file.read(_PIECE), 0, 0, 0
    at = len(text) - len(text.lstrip(_BLANK)) + 1  # behind its "["
    more = True
    while True:
        watch.check()
        at, sign = _next(text, at)
        if sign == "]":
            return
        odd += sign != "{"
        value = _value(text, at) if sign and odd <= _ODD else None
        if value is None or (more and value == len(text)):  # a number may go on in the next piece
            if not more or len(text) - at > LONGEST or odd > _ODD:
                raise DataError(
                    "data-json-list-broken", path=str(path), line=1 + lines + text.count("\n", 0, at), rows=rows
                )
            lines, text, at = lines + text.count("\n", 0, at), text[at:], 0
            piece = file.read(_PIECE)
            more = bool(piece)
            text += piece
            continue
        rows += 1
        yield text[at:value].replace("\r", " ").replace("\n", " ")
        at = value
        if at > _PIECE:
            lines, text, at = lines + text.count("\n", 0, at), text[at:], 0


def _next(text: str, at: int) -> tuple[int, str]:
    """Where the next value begins, behind a comma, and its first letter; "" where the *text* ends before."""
    while at < len(text) and text[at] in _BLANK + ",":
        at += 1
    return at, text[at : at + 1]


def _value(text: str, at: int) -> int | None:
    """Where the value that begins there ends; None: not in this *text*."""
    try:
        _, end = _READER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return end

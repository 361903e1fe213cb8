"""The block of JSON in a page: all that the page tells, for its script and for whoever opens the file in TPU Studio.

`block` makes it of texts that are cut already, `read` takes it back out of a file. Nothing else of a file is looked at:
no HTML of it is parsed or shown, and what does not stand where it should refuses the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from tpu_studio.viewmodels.onepage.points import STRETCHES, TONES, Line, Plot, Series
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.jsonfile import NotJson, parse_json
from tpu_studio.wire.sizes import TooLarge, read_at_most
from tpu_studio.wire.visible import one_line, visible

FORMAT = 1
LARGEST_BYTES = 8_000_000  # of a file; a page is written with less than 3 MB
MOST_ROWS = 200  # of a table: a stranger's receipt may have a million
LONGEST = 20_000  # letters of one text; of a job file
_SHORT = 2_000
_LARGEST = 1e300
_MARK = 10  # letters besides, which say that a text was cut
_MOST_SECTIONS = 20
_MOST_PLOTS = 20
_MOST_LINES = 20
_MOST_CELLS = 40
COMMAND = "tpu-studio run job.tpujob"  # what repeats a run, with the lines of a section's `code` saved as that file
_BEGIN, _END = b'<script type="application/json" id="data">', b"</script>"
TONE_WORDS = ("neutral", "accent", "ok", "warn", "bad")


@dataclass(frozen=True)
class Section:
    """A table under a title. *text* stands over its rows; *head*: what the columns are called; *code*: a job file."""

    title: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    head: tuple[str, ...] = ()
    code: str = ""


@dataclass(frozen=True)
class Told:
    """What a page tells. *numbers*: (label, value, more); *pill*: its word and tone."""

    title: str
    pill: tuple[str, str]
    lead: str
    numbers: tuple[tuple[str, ...], ...]
    plots: tuple[Plot, ...]
    sections: tuple[Section, ...]


def block(told: Told) -> str:
    """The element of the page, of which no letter ends it early: no browser runs it."""
    tree: dict[str, object] = {
        "format": FORMAT,
        "title": told.title,
        "pill": told.pill,
        "lead": told.lead,
        "numbers": told.numbers,
        "sections": [
            {"title": one.title, "text": one.text, "head": one.head, "rows": one.rows, "code": one.code}
            for one in told.sections
        ],
        "plots": [
            {
                "title": plot.title,
                "percent": plot.percent,
                "lines": [
                    {
                        "name": line.name,
                        "tone": line.tone,
                        "count": line.count,
                        "points": line.points,
                        "smooth": line.smooth,
                    }
                    for line in plot.lines
                ],
            }
            for plot in told.plots
        ],
    }
    text = _json({**tree, "sum": _sum(tree)})
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f"{_BEGIN.decode()}{text}{_END.decode()}"


def read(file: Path) -> Told:
    """What the page *file* tells. Blocks.

    Raises:
        RunError: ``page-unreadable``, ``page-not-ours``, ``page-newer`` (saved by a newer version), ``page-changed``
            (not as it was saved: cut short, or edited since).
    """
    name = file.name
    try:
        data = read_at_most(file, LARGEST_BYTES)
    except TooLarge as error:
        raise RunError("page-not-ours", file=name) from error
    except OSError as error:
        raise RunError("page-unreadable", file=name, raw=error.strerror or str(error)) from error
    begin = data.find(_BEGIN)
    if begin < 0:
        raise RunError("page-not-ours", file=name)
    begin += len(_BEGIN)
    end = data.find(_END, begin)
    try:
        tree = _entries(parse_json(data[begin:end], name) if end >= 0 else None)
        if isinstance(known := tree.get("format"), int) and known > FORMAT:
            raise RunError("page-newer", file=name)
        kept = {key: value for key, value in tree.items() if key != "sum"}
        if known != FORMAT or tree.get("sum") != _sum(kept):
            raise _Odd
        return _told(tree)
    except (NotJson, _Odd) as error:
        raise RunError("page-changed", file=name) from error


class _Odd(Exception):
    """Something does not stand where a page has it."""


def _json(tree: object) -> str:
    return json.dumps(tree, allow_nan=False, separators=(",", ":"))


def _sum(tree: Mapping[str, object]) -> str:
    try:
        return hashlib.sha256(_json(tree).encode()).hexdigest()
    except ValueError as error:  # a number that JSON has not
        raise _Odd from error


def _told(tree: Mapping[str, object]) -> Told:
    word, tone = _texts(tree.get("pill"), 2, 2)
    if tone not in TONE_WORDS:
        raise _Odd
    return Told(
        _text(tree.get("title")),
        (word, tone),
        _text(tree.get("lead")),
        tuple(_texts(one, 3, 3) for one in _list(tree.get("numbers"), _MOST_CELLS)),
        tuple(_plot(_entries(one)) for one in _list(tree.get("plots"), _MOST_PLOTS)),
        tuple(_section(_entries(one)) for one in _list(tree.get("sections"), _MOST_SECTIONS)),
    )


def _section(tree: Mapping[str, object]) -> Section:
    return Section(
        _text(tree.get("title")),
        _text(tree.get("text")),
        tuple(_texts(one, 1, _MOST_CELLS) for one in _list(tree.get("rows"), MOST_ROWS)),
        _texts(tree.get("head"), 0, _MOST_CELLS),
        visible(_letters(tree.get("code"), LONGEST)),
    )


def _plot(tree: Mapping[str, object]) -> Plot:
    percent = tree.get("percent")
    if not isinstance(percent, bool):
        raise _Odd
    lines = tuple(_line(_entries(one)) for one in _list(tree.get("lines"), _MOST_LINES))
    return Plot(_text(tree.get("title")), lines, percent)


def _line(tree: Mapping[str, object]) -> Line:
    tone, count = tree.get("tone"), tree.get("count")
    if not _is_count(tone, TONES) or not _is_count(count, 10**15):
        raise _Odd
    points, smooth = _series(tree.get("points")), _series(tree.get("smooth"))
    if not points:
        raise _Odd
    return Line(_text(tree.get("name")), tone, count, points, smooth)


def _series(told: object) -> Series:
    made: list[tuple[float, float | None]] = []
    for one in _list(told, 2 * STRETCHES + 10):
        pair = _list(one, 2)
        if len(pair) != 2:
            raise _Odd
        step, value = pair
        if not _is_figure(step) or (made and step < made[-1][0]) or not (value is None or _is_figure(value)):
            raise _Odd
        made.append((step, value))
    return tuple(made)


def _is_count(value: object, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_figure(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST


def _entries(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _Odd
    return value


def _list(value: object, most: int) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        raise _Odd
    return value


def _texts(value: object, least: int, most: int) -> tuple[str, ...]:
    told = _list(value, most)
    if len(told) < least:
        raise _Odd
    return tuple(map(_text, told))


def _text(value: object) -> str:
    return one_line(_letters(value, _SHORT))


def _letters(value: object, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest + _MARK:
        raise _Odd
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a letter
        raise _Odd from error
    return value

"""What the command line says: JSON on stdout, words and a progress bar on stderr."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.wire.errors import BadInput, StudioError
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.plainfiles import check_place
from tpu_studio.wire.secrets import without_secrets
from tpu_studio.wire.visible import one_line, visible

if TYPE_CHECKING:
    from tpu_studio.domain.sentences import Sentence

_BAR = 24
_LINE_S, _AGAIN_S = 10.0, 600.0
_OURS = "unexpected"  # a mistake of ours, whose details are in a file
_DETAIL_LINES, _DETAIL_LETTERS = 8, 300


def check_absent(file: Path | None, *, force: bool) -> None:
    """Nothing of a person's is written over unasked. Raises BadInput ``file-exists``, ``place-no-file``."""
    if file is not None:
        check_place(file)
    if file is not None and os.path.lexists(file) and not force:
        raise BadInput("file-exists", file=str(file))


class AnswerLost(Exception):
    """The answer could not be written to stdout: its disk is full, or the like."""


class Output:
    """Args:
    as_json: stdout gets JSON objects, one a line; without it stdout gets what was asked for as text.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._bar_at = -math.inf
        self._bar_shown = False
        self._told = ""
        self._told_share: float | None = None
        self._told_last = False  # without a terminal: a line of progress is the last thing that was said

    @property
    def is_terminal(self) -> bool:
        return sys.stderr.isatty()

    def say(self, text: str) -> None:
        """A line of words for a person."""
        self._clear()
        self._told_last = False
        print(visible(text), file=sys.stderr, flush=True)

    def answer(self, record: Mapping[str, object], text: str = "") -> None:
        """The answer: *record* as one line of JSON, or *text*."""
        self._clear()
        if self._told_last:
            self.say("Done.")
        try:
            if self.as_json:
                print(json.dumps(words_for_numbers(record), default=str), flush=True)
            elif text:
                print(visible(text), flush=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise AnswerLost(str(error)) from error

    def progress(self, share: float | None, words: str, *, now: bool = False, same: str = "") -> None:
        """Redraw the bar, at most ten times a second. Without a terminal: a whole line for each tenth that is done and
        every ten seconds, and "Done." before the answer; none of it in JSON.

        Args:
            same: What stays equal while only time passes: without a terminal such a line comes once, and again after
                ten minutes; "" is *words*, which never come twice.
        """
        if not self.is_terminal:
            if not self.as_json:
                self._tell_progress(share, words, now, same)
            return
        moment = time.monotonic()
        if not now and moment - self._bar_at < 0.1:
            return
        self._bar_at = moment
        done = None if share is None else max(0, min(_BAR, round(share * _BAR)))
        bar = "" if done is None else f"[{'█' * done}{'░' * (_BAR - done)}] {share or 0:>4.0%}  "
        line = one_line(f"{bar}{words}")[: max(20, shutil.get_terminal_size((100, 24)).columns - 1)]
        print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
        self._bar_shown = True

    def _tell_progress(self, share: float | None, words: str, now: bool, same: str) -> None:
        since = time.monotonic() - self._bar_at
        known = (same or words) == self._told and not (same and since >= _AGAIN_S)
        if not _is_a_tenth_more(share, self._told_share) and (known or (since < _LINE_S and not now)):
            return
        self._told, self._bar_at, self._told_last = same or words, time.monotonic(), True
        self._told_share = self._told_share if share is None else share
        print(one_line(f"{f'{share:.0%}  ' if share is not None else ''}{words}"), file=sys.stderr, flush=True)

    def error(self, error: StudioError) -> None:
        """What happened, what it means, what to do next; with --json as an object too."""
        from tpu_studio.domain.sentences import say

        said = say(error)
        if self.as_json:
            self.answer(
                {
                    "error": {
                        "id": error.id,
                        "title": said.title,
                        "meaning": said.meaning,
                        "action": said.action,
                        "facts": error.facts,
                    }
                }
            )
        self.say(f"{said.title}.")
        for line in (said.meaning, said.action, *_details(said, error)):
            if line:
                self.say(f"  {line}")

    def unexpected(self, error: Exception) -> None:
        """A mistake of ours: a sentence for the person, the traceback in a file that can be sent along."""
        from tpu_studio.wire.homes import home_folder

        log = home_folder() / "errors.log"
        try:
            make_private(log.parent)
            with open(log, "a", encoding="utf-8") as file:
                told = without_secrets("".join(traceback.format_exception(error)))
                file.write(time.strftime("\n%Y-%m-%d %H:%M:%S\n") + told)
            where = str(log)
        except OSError:
            where = ""
        told_as = StudioError(_OURS, raw=f"{type(error).__name__}: {error}", log=where)
        self.error(told_as)
        self.say(f"  Details: {where or told_as.facts['raw']}")

    def ask(self, question: str) -> bool:
        """Yes or no, from a person at a terminal; no without one."""
        if self.as_json or not (sys.stdin.isatty() and self.is_terminal):
            return False
        self._clear()
        print(visible(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)
        try:
            return input().strip().lower() in ("y", "yes")
        except EOFError:
            return False

    def _clear(self) -> None:
        if self._bar_shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
            self._bar_shown = False


def _details(said: Sentence, error: StudioError) -> list[str]:
    """What a window folds away, where the sentence points to it: the last lines of what was said."""
    if error.id == _OURS or "details" not in f"{said.meaning} {said.action}":
        return []
    told = str(error.facts.get("raw") or "").strip().splitlines()
    if not told:
        return []
    cut = [f"… ({len(told) - _DETAIL_LINES:,} lines before)"] if len(told) > _DETAIL_LINES else []
    return ["Details:", *cut, *(f"  {line[:_DETAIL_LETTERS]}" for line in told[-_DETAIL_LINES:])]


def _is_a_tenth_more(share: float | None, told: float | None) -> bool:
    """Or less than *told*: it was begun anew."""
    if share is None or told is None:
        return share is not None
    return share < told or math.floor(share * 10 + 1e-9) > math.floor(told * 10 + 1e-9)


def never_fail_on_letters() -> None:
    """What a terminal or pipe does not know, and half a letter, it shows as a code instead of ending the verb. In JSON
    such a code is the letter."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def words_for_numbers(value: object) -> object:
    """Numbers that JSON has no sign for as "nan", "inf" and "-inf", as in events."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(key): words_for_numbers(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [words_for_numbers(inner) for inner in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def table(rows: list[list[str]], right: tuple[int, ...] = ()) -> str:
    """Columns that stand under each other; those in *right* are set to the right. A cell is a line, whatever is in it:
    names come from others, too."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)

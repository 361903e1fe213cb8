"""Which columns of a table are questions with their answers, or whole chats, by their names. `chats` reads them.

The window asks this of a file that it was given, so nothing here needs numpy, and one line is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.data import csvlines, encodings, jsonlist, stretches
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

_WHOLE = ("messages", "conversations", "conversation")
_PAIRS = (
    ("prompt", "completion"),
    ("prompt", "response"),
    ("prompt", "answer"),
    ("question", "answer"),
    ("question", "response"),
    ("instruction", "output"),
    ("instruction", "response"),
    ("instruction", "answer"),
    ("query", "response"),
    ("input", "output"),
    ("problem", "solution"),
)
_MORE = ("input", "context")  # what a question is about, beside it
_SYSTEM = ("system", "system_prompt")
_HEAD = 2**20  # letters of a file's first line that its columns are looked for in


QUESTIONS = "text"
"""What ``data.columns`` calls the column of questions."""


@dataclass(frozen=True)
class Layout:
    """Names of columns: of whole chats, or of a question, its answer, what else belongs to it; "": there is none."""

    chat: str = ""
    question: str = ""
    answer: str = ""
    more: str = ""
    system: str = ""

    @property
    def target(self) -> str:
        return self.chat or self.answer


def are_in(path: Path, *, lines: bool) -> bool:
    """Whether the table at *path* has columns of them, by its first line alone. *lines*: of JSON."""
    try:
        if lines and jsonlist.is_one(path):
            head = jsonlist.first(path)
        else:
            with open(path, encoding=encodings.detect(path), errors="replace", opener=plainly) as file:
                head = stretches.first_line(file, _HEAD)
    except (OSError, DataError):
        return False  # whoever opens it says why it cannot be read
    return bool(layout_of(_names(head, lines=lines)).target)


def _names(head: str, *, lines: bool) -> list[str]:
    if not lines:
        mark = max(",;\t|", key=head.count)
        return [cell.strip() for cell in next(csvlines.parsed([head.lstrip("\ufeff")], mark), [])]
    try:
        value = json.loads(head)
    except (ValueError, RecursionError):
        return []
    return [str(name) for name in value] if isinstance(value, list | dict) else []


def layout_of(names: Sequence[str]) -> Layout:
    """What columns of these *names* are; without a target where none are of chats."""
    known = {name.strip().lower(): name for name in reversed(names)}
    system = next((known[one] for one in _SYSTEM if one in known), "")
    for one in _WHOLE:
        if one in known:
            return Layout(chat=known[one], system=system)
    for question, answer in _PAIRS:
        if question in known and answer in known:
            more = next((known[one] for one in _MORE if one in known and one != question), "")
            return Layout(question=known[question], answer=known[answer], more=more, system=system)
    return Layout()


def fields_of(message: Mapping[str, object]) -> tuple[str, str]:
    """What a *message* of a chat calls who says it, and what is said; whatever else it has is nobody's words."""
    return ("role", "content") if "role" in message or "content" in message else ("from", "value")

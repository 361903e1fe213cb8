"""One sentence: what happened, what it means for money and data, what to do next; and how facts are filled in."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tpu_studio.domain import figures
from tpu_studio.wire.brief import cut
from tpu_studio.wire.visible import one_line, visible

_log = logging.getLogger(__name__)
_LETTERS, _LIST_LETTERS = 200, 2_000
_ITEMS = 1_000  # of a list: more do not fit into so many letters
_LONGEST_NAME = 255  # bytes, of a file in any file system


@dataclass(frozen=True)
class Sentence:
    """Attributes:
    title: What happened, without a full stop: it stands as a heading.
    meaning: What that means for the person's money and data; one or two sentences.
    action: What to do next; one sentence.
    """

    title: str
    meaning: str = ""
    action: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (self.title + ".", self.meaning, self.action) if part)


class Facts:
    """The facts of an error, by name, in words fit for a sentence; an absent fact never breaks one."""

    def __init__(self, facts: Mapping[str, object]) -> None:
        self._facts = facts

    def __contains__(self, name: str) -> bool:
        return self._facts.get(name) not in (None, "", [], {})

    def none(self, name: str) -> bool:
        """Whether it was looked for and there is none (told as None), unlike a fact that nobody told."""
        return name in self._facts and self._facts[name] is None

    def raw(self, name: str, default: object = None) -> Any:
        value = self._facts.get(name)
        return default if value is None else value

    def text(self, name: str, default: str = "") -> str:
        """The value in words: whole numbers with thousands separated, lists with commas."""
        value = self._facts.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return f"{value:,}"
        if isinstance(value, float):
            return f"{value:,.4g}"
        if isinstance(value, (list, tuple)):
            return cut(", ".join(_words(item) for item in value[:_ITEMS]), _LIST_LETTERS)
        return re.sub(r"^\[Errno -?\d+\] ", "", _words(value))

    def said(self) -> str:
        """` It says: ….`, in the words of whoever refused; "" where nothing was told."""
        return f" It says: {self.text('raw').rstrip('.')}." if "raw" in self else ""

    def file(self, name: str = "file", default: str = "the file", *, plain: bool = False) -> str:
        """The name of a file or folder without the way to it, in quotation marks unless *plain*."""
        value = one_line(str(self._facts.get(name) or ""))
        found = os.path.basename(value.rstrip("/\\")) or value
        found = found if len(found) <= _LONGEST_NAME else f"{found[:_LONGEST_NAME]}…"
        return default if not found else found if plain else f"“{found}”"

    def share(self, name: str, default: str = "some") -> str:
        value = self._facts.get(name)
        return f"{value:.0%}" if isinstance(value, (int, float)) and not isinstance(value, bool) else default

    def count(self, name: str, one: str, many: str) -> str:
        """`1 picture`, `1,204 pictures`; `some pictures` when not told."""
        value = self._facts.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"some {many}"
        return f"{int(value):,} {one if value == 1 else many}"

    def bytes(self, name: str, default: str = "more") -> str:
        value = self._facts.get(name)
        return (
            figures.size(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else default
        )


def _words(value: object) -> str:
    return " ".join(visible(str(value)).split())[:_LETTERS]


def _filled(entry: Callable[[Facts], Sentence], facts: Mapping[str, object]) -> Sentence:
    try:
        return entry(Facts(facts))
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        _log.warning("facts that do not fit their sentence are left out: %.500r", dict(facts), exc_info=True)
        return entry(Facts({}))


Entry = Sentence | Callable[[Facts], Sentence]

NOTHING_CHARGED = "Nothing was charged."
HUB_FOLDER = (
    "It holds pretrained weights of KerasHub: choose the model “Pretrained network of yours”, and name the folder under "
    "Pretrained weights (model.preset)."
)
DATA_UNTOUCHED = "Nothing was charged, and your data is untouched."


def tell(entry: Entry, facts: Mapping[str, object]) -> Sentence:
    """The sentence with its facts; a title begins with a capital unless it begins with the name of a file.

    Facts come out of files, too, and a damaged one may hold a list where a number belongs: then they are left out.
    """
    said = entry if isinstance(entry, Sentence) else _filled(entry, facts)
    first = said.title.partition(" ")[0]
    if said.title[:1].islower() and "." not in first:
        return replace(said, title=said.title[0].upper() + said.title[1:])
    return said

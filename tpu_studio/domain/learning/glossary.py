"""The project's glossary, `resources/glossary.toml`: the field's terms, each with a plain hint and a longer text.

A text marks a term as ``[[loss]]`` or, in other words, ``[[loss|the error]]``; `pieces` takes it apart. Settings
(`keys`, paths of ``wire.schema``) and metrics (ids of ``wire.metrics``) lead to their term.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tpu_studio.wire.resources import resource_path

FORMAT = 1
_MARK = re.compile(r"\[\[([a-z0-9-]+)(?:\|([^\]]+))?\]\]")
_KEYS = {"id", "title", "hint", "text", "also", "keys", "metrics"}


@dataclass(frozen=True)
class Term:
    """One entry.

    Attributes:
        title: The field's term, as one searches the web for it.
        hint: What it is in one plain sentence; *text*: more of it, a few sentences, which may mark other terms.
        also: Other words for it, by which it is searched.
    """

    id: str
    title: str
    hint: str
    text: str
    also: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """Words of a text; *term*: the id of the entry that they name, "" for none."""

    words: str
    term: str = ""


def read_terms(raw: Mapping[str, Any]) -> dict[str, Term]:
    """The entries of a glossary by id, in the file's order. Raises ValueError with the entry's id."""
    if raw.get("format") != FORMAT:
        raise ValueError(f"glossary: format {raw.get('format')!r} is not known")
    entries: dict[str, Term] = {}
    for entry in raw.get("term", ()):
        name = entry.get("id", "?")
        if not {"id", "title", "hint", "text"} <= set(entry) <= _KEYS or name in entries:
            raise ValueError(f"glossary: {name} is there twice, or has keys too many or too few: {sorted(entry)}")
        lists = {key: tuple(entry.get(key, ())) for key in ("also", "keys", "metrics")}
        entries[name] = Term(**{**entry, **lists})
    return entries


@cache
def glossary() -> Mapping[str, Term]:
    """All entries that ship, by id, in the alphabet of their titles. Raises ValueError for a damaged file."""
    entries = read_terms(tomllib.loads(resource_path("glossary.toml").read_text("utf-8")))
    return dict(sorted(entries.items(), key=lambda one: one[1].title.casefold()))


@cache
def _by_key() -> Mapping[str, Term]:
    return {key: term for term in glossary().values() for key in term.keys}


def of_key(path: str) -> Term | None:
    """The term of the setting `table.key`."""
    return _by_key().get(path)


def of_metric(metric: str) -> Term | None:
    """The term of the metric with that id."""
    return next((term for term in glossary().values() if metric in term.metrics), None)


def search(typed: str) -> tuple[Term, ...]:
    """The entries with every word of *typed* in title, other words or hint; the one of that title first."""
    words = typed.casefold().split()
    whole = " ".join(words)
    hits = []
    for term in glossary().values():
        named = f"{term.title} {' '.join(term.also)}".casefold()
        if all(word in named or word in term.hint.casefold() for word in words):
            hits.append((term.title.casefold() != whole, not all(word in named for word in words), term))
    return tuple(term for *_, term in sorted(hits, key=lambda one: one[:2]))


def pieces(text: str) -> tuple[Piece, ...]:
    """*text* taken apart at its marks; a mark without words of its own shows the term's title, small, no brackets."""
    parts: list[Piece] = []
    end = 0
    for mark in _MARK.finditer(text):
        if mark.start() > end:
            parts.append(Piece(text[end : mark.start()]))
        parts.append(Piece(mark[2] or _inline(mark[1]), mark[1]))
        end = mark.end()
    if end < len(text):
        parts.append(Piece(text[end:]))
    return tuple(parts)


def plain(text: str) -> str:
    """*text* without marks, as it is read aloud."""
    return "".join(piece.words for piece in pieces(text))


def marks(text: str) -> tuple[str, ...]:
    """The ids of the terms that *text* marks."""
    return tuple(mark[1] for mark in _MARK.finditer(text))


def _inline(term: str) -> str:
    title = glossary()[term].title.partition(" (")[0] if term in glossary() else term
    return title if any(letter.isupper() for letter in title[1:]) else title.lower()

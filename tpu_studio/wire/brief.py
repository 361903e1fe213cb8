"""Texts that somebody else wrote, cut to what can be shown: one of millions of letters is laid out for minutes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

TEXT_LETTERS = 8_000
"""Of one text. Ours are shorter: a log's line has 2,000 letters, the words of a package manager 4,000."""
SAMPLE_LETTERS = 300
"""Of a text of the data that a plan holds the begin of."""
NAME_LETTERS = 200
"""Of a class, a column, a field."""


def cut(text: str, letters: int) -> str:
    """*text*, of more than so many *letters* the first of them with "…" at the end."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


def brief(value: object, letters: int = TEXT_LETTERS, items: int | None = None) -> object:
    """A JSON value with each text in it, and the name of each field, cut to so many *letters*, each list and object to
    so many *items*; None keeps them all."""
    if isinstance(value, str):
        return cut(value, letters)
    if isinstance(value, dict):
        return brief_fields(value, letters, items)
    if isinstance(value, list):
        return [brief(one, letters, items) if isinstance(one, (str, dict, list)) else one for one in value[:items]]
    return value


def brief_fields(
    fields: Mapping[str, object], letters: int = TEXT_LETTERS, items: int | None = None
) -> dict[str, object]:
    """As `brief`, of an object."""
    return {cut(name, letters): brief(value, letters, items) for name, value in islice(fields.items(), items)}

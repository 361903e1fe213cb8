"""Partial responses: ``fields=items(name,size),nextPageToken`` keeps only what was asked for. Pure."""

from __future__ import annotations

import re
from typing import Any

Mask = dict[str, "Mask"]  # an empty mask keeps everything below

_TOKEN = re.compile(r"[^(),/\s]+|[(),/]")


class BadFields(ValueError):
    pass


def parse(text: str) -> Mask:
    """Raises: BadFields."""
    tokens = _TOKEN.findall(text)
    mask, rest = _list(tokens)
    if rest or not mask:
        raise BadFields(text)
    return mask


def apply(mask: Mask, value: object) -> Any:
    """*value* without what *mask* does not name; a list is masked item by item."""
    if not mask or ("*" in mask and not mask["*"]):
        return value
    if isinstance(value, list):
        return [apply(mask, item) for item in value]
    if not isinstance(value, dict):
        return value
    below = {key: mask.get(key, mask.get("*")) for key in value}
    return {key: apply(mask_of_key, value[key]) for key, mask_of_key in below.items() if mask_of_key is not None}


def _list(tokens: list[str]) -> tuple[Mask, list[str]]:
    mask: Mask = {}
    while True:
        name, tokens = _name(tokens)
        below: Mask = {}
        here = mask.setdefault(name, {})
        while tokens and tokens[0] == "/":
            name, tokens = _name(tokens[1:])
            here = here.setdefault(name, {})
        if tokens and tokens[0] == "(":
            below, tokens = _list(tokens[1:])
            if not tokens or tokens[0] != ")":
                raise BadFields("a bracket is not closed")
            here.update(below)
            tokens = tokens[1:]
        if not tokens or tokens[0] != ",":
            return mask, tokens
        tokens = tokens[1:]


def _name(tokens: list[str]) -> tuple[str, list[str]]:
    if not tokens or tokens[0] in "(),/":
        raise BadFields("a field's name is missing")
    return tokens[0], tokens[1:]

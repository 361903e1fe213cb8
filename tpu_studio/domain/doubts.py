"""What the program assumes of Google without a source: each a doubt, with what else may be true.

One table, `resources/doubts.json`; `docs/live-checks.md` is made from it (``tools/make_doubts.py``). The practice cloud
answers each the other way on request (``practice/doubts.py``), ``make doubts`` plays them, and a live check settles
those that are automatic. Add an entry wherever code rests on a fact that nobody outside of this project has shown.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.resources import resource_path

FORMAT = 1
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEYS = {"id", "assumed", "others", "ways", "used_in", "settled_by", "source", "playable", "automatic"}


@dataclass(frozen=True)
class Doubt:
    """Attributes:
    assumed: What the program takes for true, a sentence.
    others: What else may be true, a slug each; the first is what is played unless another is named.
    ways: Each slug's sentence.
    used_in: Where the program rests on it.
    settled_by: What a person with a live account does to know.
    source: Public evidence for it; "": none.
    playable: ``practice`` (the practice cloud answers otherwise), ``fake`` (a test's fake does), or ``no: <why>``.
    automatic: ``tpu-studio live-check`` settles it by itself.
    """

    id: str
    assumed: str
    others: tuple[str, ...]
    ways: Mapping[str, str]
    used_in: str
    settled_by: str
    source: str
    playable: str
    automatic: bool

    @property
    def by_practice(self) -> bool:
        return self.playable == "practice"

    def record(self) -> dict[str, Any]:
        """As `tpu-studio practice --doubts --json` tells it."""
        return {
            "id": self.id,
            "assumed": self.assumed,
            "others": list(self.others),
            "used_in": self.used_in,
            "settled_by": self.settled_by,
            "source": self.source,
            "playable": self.playable,
            "automatic": self.automatic,
        }


def read_table(raw: Mapping[str, Any]) -> dict[str, Doubt]:
    """Doubts by id, in the table's order.

    Raises ValueError: another format, a key too many or too few, an id twice, a word that is no slug, or one that is
    played without another way.
    """
    if raw.get("format") != FORMAT:
        raise ValueError(f"doubts: format {raw.get('format')!r} is not known")
    table: dict[str, Doubt] = {}
    for entry in raw["doubts"]:
        if set(entry) != _KEYS:
            raise ValueError(f"doubt {entry.get('id')}: keys {sorted(set(entry) ^ _KEYS)}")
        doubt = Doubt(**{**entry, "others": tuple(entry["others"])})
        if doubt.id in table:
            raise ValueError(f"doubt {doubt.id} is there twice")
        _check(doubt)
        table[doubt.id] = doubt
    return table


def _check(doubt: Doubt) -> None:
    for slug in (doubt.id, *doubt.others):
        if not _SLUG.fullmatch(slug):
            raise ValueError(f"doubt {doubt.id}: {slug!r} is not a slug")
    if set(doubt.ways) != set(doubt.others) or len(set(doubt.others)) != len(doubt.others):
        raise ValueError(f"doubt {doubt.id}: each other way needs one sentence")
    if doubt.playable not in ("practice", "fake") and not re.match(r"no: \S", doubt.playable):
        raise ValueError(f"doubt {doubt.id}: playable is practice, fake, or no: and why")
    if not doubt.playable.startswith("no: ") and not doubt.others:
        raise ValueError(f"doubt {doubt.id} is played and has no other way")
    if not (doubt.assumed and doubt.used_in and doubt.settled_by):
        raise ValueError(f"doubt {doubt.id}: assumed, used_in and settled_by are sentences")


@cache
def doubts(path: Path | None = None) -> Mapping[str, Doubt]:
    """The table. Raises ValueError, OSError."""
    return read_table(json.loads((path or resource_path("doubts.json")).read_text("utf-8")))


def read_doubt(text: str) -> tuple[Doubt, str]:
    """The doubt and the slug of ``ID[=other]``; without a slug the first other way.

    Raises:
        BadInput: ``doubt-unknown`` (the nearest id), ``doubt-way-unknown`` (its ways), ``doubt-unplayable`` (why).
    """
    name, equals, way = (part.strip() for part in text.partition("="))
    table = doubts()
    doubt = table.get(name)
    if doubt is None:
        nearest = difflib.get_close_matches(name, table, 3, 0.4) or [one for one in table if table[one].by_practice][:3]
        raise BadInput("doubt-unknown", doubt=name, nearest=nearest)
    if not doubt.by_practice:
        raise BadInput("doubt-unplayable", doubt=name, why=doubt.playable.removeprefix("no: "))
    if not equals:
        return doubt, doubt.others[0]
    if way not in doubt.ways:
        raise BadInput("doubt-way-unknown", doubt=name, way=way, known=list(doubt.others))
    return doubt, way

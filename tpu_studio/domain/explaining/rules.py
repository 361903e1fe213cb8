"""The rules of the error helper, as they stand in `resources/explain/`: data with sources, each with a test text.

A rule names *signs*: literal pieces of a line, in small letters. A line that holds one (and what `pattern` says, where
there is one) is decisive. No clock, no network, no guess: a text that holds no sign has no cause.
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
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CLASSES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.S)
_ENDLESS = re.compile(r"[*+]|\{[0-9]+,\}")


@dataclass(frozen=True)
class Rule:
    """Attributes:
    signs: Pieces of text, in small letters; a line with one of them is decisive.
    pattern: What such a line (with the two after it) must also hold.
    reads: Where in it the figures stand, as named groups; in `pattern` where this is not given.
    besides: Pieces of which one must stand somewhere in the text; () for none.
    unless: Pieces that must stand nowhere in it.
    sure: How sure the cause is when a sign is there, 0 to 1; 0 for a line that is no error.
    explains: Ids of causes that are only what this one leads to: they are told after it.
    figures: A sentence with the ``{groups}`` of `reads`, told where a line has them all.
    means: What happened.
    money: What it means for money and data: one of `MONEY`.
    do: What to do next, commands in backquotes.
    verb: What of ours does it: a command line, "" for none.
    source: Where it is written: an address, or a repository's thread.
    test: A text that it must recognise, and name first.
    """

    id: str
    title: str
    signs: tuple[str, ...]
    source: str
    test: str
    pattern: re.Pattern[str] | None = None
    reads: re.Pattern[str] | None = None
    besides: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    sure: float = 0.0
    explains: tuple[str, ...] = ()
    figures: str = ""
    means: str = ""
    money: str = ""
    do: tuple[str, ...] = ()
    verb: str = ""

    @property
    def is_harmless(self) -> bool:
        return not self.sure


MONEY = {
    "ended": "The program has ended; what it learned after its last checkpoint is lost. A rented TPU is charged for "
    "until it is deleted.",
    "goes-on": "The program goes on, and a rented TPU is charged for meanwhile.",
    "look": "Look before you believe that nothing runs: a TPU that is READY is charged for.",
    "made": "Nothing was made, so nothing is charged.",
    "taken": "Google charges up to the moment that it was taken; what was learned after the last checkpoint is lost.",
    "notebook": "It costs nothing; what was not saved elsewhere is lost with the session.",
    "closed": "Google may stop what runs, and delete data after a time.",
    "none": "It costs nothing by itself; a TPU that is rented meanwhile is charged for.",
}
_NOT_CHARGED = "Nothing is charged: it ran on this computer."
HERE = dict.fromkeys(MONEY, _NOT_CHARGED) | {
    "ended": f"The program has ended; what it learned after its last checkpoint is lost. {_NOT_CHARGED}",
    "goes-on": "The program goes on. Nothing is charged: it runs on this computer.",
}
"""The same of a run on this computer."""
_CAUSE = {"id", "title", "signs", "source", "test", "sure", "means", "money", "do"}
_HARMLESS = {"id", "signs", "source", "test", "why"}
_MAY = {"pattern", "reads", "besides", "unless", "explains", "figures", "verb"}


def read_rules(raw: Mapping[str, Any]) -> list[Rule]:
    """Rules in the file's order.

    Raises ValueError with the rule's id: another format, a key too many or too few, a sign with capital letters, a
    figure that no group of the pattern gives.
    """
    if raw.get("format") != FORMAT:
        raise ValueError(f"rules: format {raw.get('format')!r} is not known")
    found = [_rule(entry, _CAUSE) for entry in raw.get("cause", ())]
    return found + [_rule(entry, _HARMLESS) for entry in raw.get("harmless", ())]


def _rule(entry: Mapping[str, Any], needs: set[str]) -> Rule:
    name = entry.get("id", "?")
    if not needs <= set(entry) or not set(entry) <= needs | _MAY:
        raise ValueError(f"rule {name}: keys {sorted(set(entry) ^ needs)}")
    if not _SLUG.fullmatch(name):
        raise ValueError(f"rule {name}: not a slug")
    signs = (*entry["signs"], *entry.get("besides", ()), *entry.get("unless", ()))
    if not entry["signs"] or any(sign != sign.lower() or len(sign) < 3 for sign in signs):
        raise ValueError(f"rule {name}: signs are in small letters, three at least")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    if "money" in values and values["money"] not in MONEY:
        raise ValueError(f"rule {name}: money {values['money']!r} is not known")
    if "why" in values:
        values |= {"title": values.pop("why")}
    for key in {"pattern", "reads"} & set(values):
        if _ENDLESS.search(_CLASSES.sub("", values[key])):
            raise ValueError(f"rule {name}: a repetition without end, which takes minutes where somebody wants it to")
        values[key] = re.compile(values[key], re.I | re.S)
    if "figures" in values and "reads" not in values:
        values["reads"] = values.get("pattern")
    rule = Rule(**values)
    groups = set(rule.reads.groupindex) if rule.reads else set()
    if not set(re.findall(r"{(\w+)}", rule.figures)) <= groups:
        raise ValueError(f"rule {name}: its figures are not all in what it reads")
    return rule


@cache
def rules() -> tuple[Rule, ...]:
    """All that ship.

    Raises ValueError: an id twice, or one that `explains` names and nobody has.
    """
    found: list[Rule] = []
    for path in sorted(resource_path("explain").glob("*.toml")):
        found += read_rules(tomllib.loads(path.read_text(encoding="utf-8")))
    ids = [rule.id for rule in found]
    if twice := {one for one in ids if ids.count(one) > 1}:
        raise ValueError(f"rules: {sorted(twice)} are there twice")
    if strange := {one for rule in found for one in rule.explains} - set(ids):
        raise ValueError(f"rules: {sorted(strange)} are explained and not there")
    return tuple(found)

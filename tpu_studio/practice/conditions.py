"""Conditions of grants, in the part of CEL that is used here, as IAM's documentation says they are evaluated.

    resource.type == 'compute.googleapis.com/Instance' && resource.name.extract('/instances/{name}').startsWith('ts-')

Comparisons of ``resource.type``, ``resource.service`` and ``resource.name`` with a text, ``startsWith``, ``endsWith``
and ``extract`` of a name, also turned round by ``!``, ``request.time`` against a time, ``&&``, ``||`` and parentheses;
anything else grants nothing here. "extract" gives what stands in the place of the one ``{identifier}`` of its template,
"" where the template is not found (https://cloud.google.com/iam/docs/conditions-attribute-reference). An attribute that
a service does not give never grants anything either (the same page): TPUs and Cloud Tasks have none
(https://cloud.google.com/iam/docs/conditions-resource-attributes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tpu_studio.practice.clock import parse_rfc3339


@dataclass(frozen=True)
class Target:
    """What a request is about, as conditions see it; "" for an attribute that its service does not give."""

    service: str = ""
    type: str = ""
    name: str = ""


NOTHING = Target()
_TEXT = r"\"[^\"\\]*\"|'[^'\\]*'"
_NAME = rf"(?P<not>!?)\s*resource\.name(?:\s*\.\s*extract\(\s*(?P<template>{_TEXT})\s*\))?"
_HOW = rf"(?:\s*\.\s*(?P<how>startsWith|endsWith)\(\s*(?P<part>{_TEXT})\s*\)|\s*==\s*(?P<same>{_TEXT}))"
_TERM = re.compile(
    rf"\s*(?:(?P<open>\()|{_NAME}{_HOW}"
    rf"|resource\.(?P<attribute>type|service)\s*==\s*(?P<value>{_TEXT})"
    rf"|request\.time\s*(?P<order><|>)=?\s*timestamp\(\s*(?P<time>{_TEXT})\s*\))"
)
_BETWEEN = re.compile(r"\s*(?P<what>&&|\|\||\))")
_PLACE = re.compile(r"\{[A-Za-z_]\w*\}")


class NotUnderstood(ValueError):
    """An expression beyond what is evaluated here."""


def target(match: Mapping[str, str]) -> Target:
    """What a request with these parts of its path is about: an instance of Compute Engine, or something without
    attributes."""
    if match.get("instance"):
        name = f"projects/{match['project']}/zones/{match['zone']}/instances/{match['instance']}"
        return Target("compute.googleapis.com", "compute.googleapis.com/Instance", name)
    return NOTHING


def of_object(bucket: str, name: str) -> Target:
    """An object of Cloud Storage; the bucket itself where *name* is ""."""
    kind, path = ("Object", f"/objects/{name}") if name else ("Bucket", "")
    return Target("storage.googleapis.com", f"storage.googleapis.com/{kind}", f"projects/_/buckets/{bucket}{path}")


def holds(expression: str, about: Target, now: float) -> bool:
    """*now*: practice time. Raises NotUnderstood."""
    found, end = _either(expression, 0, about, now)
    if expression[end:].strip():
        raise NotUnderstood(expression)
    return found


def extracted(template: str, name: str) -> str:
    """Raises NotUnderstood: there is not exactly one place in *template*."""
    places = list(_PLACE.finditer(template))
    if len(places) != 1:
        raise NotUnderstood(template)
    before, after = template[: places[0].start()], template[places[0].end() :]
    start = name.find(before)
    if start < 0:
        return ""
    start += len(before)
    end = name.find(after, start) if after else len(name)
    return name[start:end] if end >= 0 else ""


def _either(text: str, at: int, about: Target, now: float) -> tuple[bool, int]:
    found, at = _all(text, at, about, now)
    while (between := _BETWEEN.match(text, at)) and between["what"] == "||":
        other, at = _all(text, between.end(), about, now)
        found = found or other
    return found, at


def _all(text: str, at: int, about: Target, now: float) -> tuple[bool, int]:
    found, at = _term(text, at, about, now)
    while (between := _BETWEEN.match(text, at)) and between["what"] == "&&":
        other, at = _term(text, between.end(), about, now)
        found = found and other
    return found, at


def _term(text: str, at: int, about: Target, now: float) -> tuple[bool, int]:
    term = _TERM.match(text, at)
    if term is None:
        raise NotUnderstood(text[at:])
    if term["open"]:
        found, at = _either(text, term.end(), about, now)
        closing = _BETWEEN.match(text, at)
        if closing is None or closing["what"] != ")":
            raise NotUnderstood(text[at:])
        return found, closing.end()
    return any(_told(term, about, now)), term.end()


def _told(term: re.Match[str], about: Target, now: float) -> Iterator[bool]:
    if term["time"]:
        try:
            at = parse_rfc3339(term["time"][1:-1])
        except ValueError as error:
            raise NotUnderstood(term["time"]) from error
        yield now < at if term["order"] == "<" else now > at
    elif term["attribute"]:
        given = getattr(about, term["attribute"])
        yield bool(given) and given == term["value"][1:-1]
    elif about.name:
        name = extracted(term["template"][1:-1], about.name) if term["template"] else about.name
        compare: Mapping[str | None, Callable[[str], bool]] = {
            "startsWith": name.startswith,
            "endsWith": name.endswith,
            None: name.__eq__,
        }
        yield compare[term["how"]]((term["part"] or term["same"])[1:-1]) != bool(term["not"])

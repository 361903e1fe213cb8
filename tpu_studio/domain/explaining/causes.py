"""Which causes a text shows, best first, with the lines that show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpu_studio.domain.explaining.logtext import discreet_line
from tpu_studio.domain.explaining.pieces import Pieces
from tpu_studio.domain.explaining.rules import HERE, MONEY, Rule, rules
from tpu_studio.wire.secrets import WIDEST

LINES = 3  # of each cause
_WITH_LINES = 10  # causes; of more, each has one line
_LOOKED_AT = 40  # places of a sign; a log may say the same a million times
_CONTEXT = 2  # lines after a sign that a pattern may reach into
_WIDEST = 1000  # letters of such a stretch, before the sign and from there on
_SHORT = 10_000  # letters; a longer log is searched without its repetitions
_ALIKE = 5
_WORDS_OF_A_KEY = 6  # "login me password …" has four
_NEAR = 300  # letters on both sides of a sign: lines alike so far are shown once
_LONG = 12_000  # letters of a line
_LARGE = 1_000_000  # letters; of a text with more, signs are left out that cannot be in it
_WORK = 300_000_000  # letters times signs: a third of a second
_FIGURES = dict.fromkeys(map(ord, "123456789abcdef"), "0")  # decimal, and the hexadecimal of addresses and ids


@dataclass(frozen=True)
class Cause:
    """Attributes:
    sure: 0 to 1.
    lines: Decisive ones, without keys, at most `LINES`.
    means: What happened, what it means for money and data, with the figures that the lines give.
    do: What to do next, in order.
    verb: The command of ours that does it; "".
    """

    id: str
    title: str
    sure: float
    lines: tuple[str, ...]
    means: str
    do: tuple[str, ...]
    verb: str
    source: str

    def to_json(self) -> dict[str, Any]:
        """As `tpu-studio explain --json` tells it."""
        return {
            "id": self.id,
            "title": self.title,
            "sure": self.sure,
            "lines": list(self.lines),
            "means": self.means,
            "do": list(self.do),
            "source": self.source,
            **({"verb": self.verb} if self.verb else {}),
        }


@dataclass(frozen=True)
class Harmless:
    lines: tuple[str, ...]
    why: str

    def to_json(self) -> dict[str, Any]:
        return {"lines": list(self.lines), "why": self.why}


@dataclass(frozen=True)
class Explanation:
    causes: tuple[Cause, ...]
    harmless: tuple[Harmless, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "causes": [cause.to_json() for cause in self.causes],
            "harmless": [one.to_json() for one in self.harmless],
        }


@dataclass(frozen=True)
class _Sight:
    rule: Rule
    lines: tuple[str, ...]
    figures: dict[str, str]
    at: int  # where in the text the first is


def explain(text: str, known: Sequence[Rule] | None = None, *, rented: bool = True) -> Explanation:
    """What *text* shows.

    Args:
        text: As `log_text` gives it.
        known: Rules to go by; those that ship by default.
        rented: It may come from a rented TPU, which is charged for; else from a run on this computer.
    """
    text = _without_repeats(text) + "\n"
    small = text.replace("\u0130", "i").lower()  # the one letter that would become two, and shift every place
    known = rules() if known is None else known
    if len(small) > _LARGE:
        text, small, known = _bounded(text, small, known)
    seen: list[_Sight] = []
    for rule in known:
        seen += _sights(rule, text, small, LINES if len(seen) < _WITH_LINES else 1)
    causes = [sight for sight in seen if not sight.rule.is_harmless]
    led_to = {one for sight in causes for one in sight.rule.explains}
    causes.sort(key=lambda sight: (sight.rule.id in led_to, -sight.rule.sure, sight.at))
    return Explanation(
        tuple(_cause(sight, sight.rule.id in led_to, MONEY if rented else HERE) for sight in causes),
        tuple(Harmless(sight.lines, sight.rule.title) for sight in seen if sight.rule.is_harmless),
    )


def _without_repeats(text: str) -> str:
    """Of a long log the lines that say something new: of those that differ in figures alone, `_ALIKE`, with what
    follows them. Lines without end lose their middle."""
    if len(text) < _SHORT:
        return text
    alike: dict[str, int] = {}
    left, follows = [], 0
    for line, key in zip(text.split("\n"), text.translate(_FIGURES).split("\n"), strict=True):
        times = alike.get(key, 0)
        if times < _ALIKE:
            alike[key], follows = times + 1, _CONTEXT + 1
        if follows > 0:
            follows -= 1
            left.append(line if len(line) <= _LONG else _without_middle(line))
    return "\n".join(left)


def _bounded(text: str, small: str, known: Sequence[Rule]) -> tuple[str, str, Sequence[Rule]]:
    """The same with the signs that may be there: each is looked for from begin to end. Where these are many still,
    which no log of a program has, the first and the last part of the text."""
    there = Pieces(small)
    left = [replace(rule, signs=signs) for rule in known if (signs := tuple(one for one in rule.signs if one in there))]
    pieces = [one for rule in left for one in (*rule.signs, *rule.unless, *rule.besides)]
    half = _WORK // max(1, len(pieces)) // 2
    if 2 * half >= len(small):
        return text, small, left
    parts = (f"{one[: one.rfind(chr(10), 0, half) + 1 or half]}{one[-half:]}" for one in (text, small))
    return next(parts), next(parts), left


def _without_middle(line: str) -> str:
    """And without the words on both sides of what goes: half a key does not look like one."""
    left, right = line[: _LONG // 2], line[-_LONG // 2 :]
    kept = left.rfind(" ", len(left) - WIDEST)
    begin = 0
    for _ in range(_WORDS_OF_A_KEY):
        begin = right.find(" ", begin, WIDEST) + 1 or WIDEST
    return f"{left[: kept if kept >= 0 else len(left) - WIDEST]} … {right[begin:]}"


def _cause(sight: _Sight, is_led_to: bool, money: Mapping[str, str]) -> Cause:
    rule = sight.rule
    has_all = rule.reads is not None and set(sight.figures) == set(rule.reads.groupindex)
    told = rule.figures.format(**sight.figures) if has_all else ""
    return Cause(
        id=rule.id,
        title=rule.title,
        sure=round(rule.sure / 2 if is_led_to else rule.sure, 2),
        lines=sight.lines,
        means=f"{told} {rule.means} {money[rule.money]}".strip(),
        do=rule.do,
        verb=rule.verb,
        source=rule.source,
    )


def _sights(rule: Rule, text: str, small: str, most: int) -> Iterator[_Sight]:
    """One at most, with *most* lines."""
    first = -1
    lines: list[str] = []
    near: set[str] = set()
    figures: dict[str, str] = {}
    for begin in _places(rule, small):
        start = small.rfind("\n", 0, begin) + 1
        end = _end_of(small, begin)
        stretch = text[max(start, begin - _WIDEST) : _stretch(small, end)][: 2 * _WIDEST]
        if rule.pattern is not None and rule.pattern.search(stretch) is None:
            continue
        if rule.reads is not None and not figures and (read := rule.reads.search(stretch)):
            figures = {name: discreet_line(value, longest=80) for name, value in read.groupdict().items() if value}
        first = begin if first < 0 else first
        around = text[max(start, begin - _NEAR) : min(end, begin + _NEAR)]
        if around in near:
            continue
        near.add(around)
        line = discreet_line(text[start:end], begin - start)
        if line not in lines:
            lines.append(line)
        if len(lines) == most or len(near) == 2 * most:
            break
    if not lines:
        return
    if any(piece in small for piece in rule.unless):
        return
    if rule.besides and not any(piece in small for piece in rule.besides):
        return
    yield _Sight(rule, tuple(lines), figures, first)


def _places(rule: Rule, small: str) -> Iterator[int]:
    looked = 0
    for sign in rule.signs:
        at = small.find(sign)
        while at >= 0 and looked < _LOOKED_AT:
            yield at
            looked += 1
            at = small.find(sign, _end_of(small, at))


def _end_of(small: str, at: int) -> int:
    end = small.find("\n", at)
    return len(small) if end < 0 else end


def _stretch(small: str, end: int) -> int:
    for _ in range(_CONTEXT):
        if end >= len(small):
            break
        end = _end_of(small, end + 1)
    return end

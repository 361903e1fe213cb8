"""Numbers as people type them: "2.50", "2,50", "1,234.5", "1.234,5", "1 234,5", "1'234". Which numbers a text can mean.

The only place that decides it: the fields of the window, the settings of a job and the command line all ask here, so
that a comma never changes the size of a limit in one of them. Half of the world writes 2,50 for what the other half
writes 2.50, and a mark before three digits ("2,500", "1.000") is a decimal mark for the one and a thousands mark for
the other: such a text has two readings, and whoever asks must let the person choose. Used by ``wire.job``,
``viewmodels`` and ``gui.kit.fields``. Cells of data files are read by ``data.cells``, which knows the whole column.
"""

from __future__ import annotations

import re

_GROUPS = " \u00a0\u2009\u202f'\u2019_"  # marks that only ever stand between thousands
_BODY = re.compile(rf"([+-]?)([0-9.,{re.escape(_GROUPS)}]*)([eE][+-]?[0-9]{{1,3}})?")
_MOST = 308  # digits: what is longer is no number of anybody's


def readings(text: str, *, whole: bool = False) -> tuple[float, ...]:
    """The finite numbers that *text* can mean: none, one, or two where a mark before three digits may be either.

    A mark at the end ("2,") is a number still being typed. *whole*: a whole number is wanted; it has no decimals, so
    three digits behind a mark are its thousands ("1,000" is 1000), and only a mark before others is a decimal one.
    """
    match = _BODY.fullmatch(text.strip())
    if match is None:
        return ()
    sign, body, exponent = match.groups()
    plain = _plain(body, whole)
    if exponent and len(plain) == 2:
        plain = plain[:1]  # nobody groups thousands in front of an exponent
    numbers = [float(f"{sign}{digits}{exponent or ''}") for digits in plain if len(digits) <= _MOST]
    return tuple(sorted({number for number in numbers if abs(number) != float("inf")}))


def spelled(number: float) -> str:
    """*number* for a field that can be edited: thousands apart, and never a text that has two readings.

    `readings(spelled(x))` is `(x,)` to ten significant digits: 1 000 with a narrow space, and 1.1250 for 1.125.
    """
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}".replace(",", "\u202f")
    text = f"{number:.10g}"
    return f"{text}0" if len(readings(text)) == 2 else text


def _plain(body: str, whole: bool) -> tuple[str, ...]:
    """The readings of an unsigned number without exponent, each as Python writes it."""
    if not any(mark.isdigit() for mark in body):
        return ()
    neutral = {mark for mark in body if mark in _GROUPS}
    marks = [mark for mark in body if mark in ",."]
    if len(neutral) > 1 or (len(set(marks)) == 2 and marks[-1] in marks[:-1]):
        return ()
    if neutral:
        if len(marks) > 1:
            return ()
        return _grouped(body, neutral.pop(), marks[0] if marks else "")
    if len(set(marks)) == 2:
        return _grouped(body, marks[0], marks[-1])
    if len(marks) > 1:
        return _grouped(body, marks[0], "")
    if not marks:
        return (body,)
    before, _, after = body.partition(marks[0])
    decimal = f"{before or '0'}.{after or '0'}"
    if len(after) != 3 or not 1 <= len(before) <= 3 or before[0] == "0":
        return (decimal,)
    return (before + after,) if whole else (decimal, before + after)


def _grouped(body: str, group: str, decimal: str) -> tuple[str, ...]:
    """*body* with thousands set apart by *group*: one to three digits, then threes. Else it is no number."""
    head, _, tail = body.partition(decimal) if decimal else (body, "", "")
    first, *others = head.split(group)
    if not (1 <= len(first) <= 3 and first.isdigit() and all(len(one) == 3 and one.isdigit() for one in others)):
        return ()
    if tail and not tail.isdigit():
        return ()
    return (f"{head.replace(group, '')}.{tail or '0'}",)

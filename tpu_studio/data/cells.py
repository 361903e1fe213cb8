"""What the text of one cell means: missing, a number, a date.

Numbers with a decimal point or comma, thousands marks, a currency or percent sign; dates in ISO and the common
written forms. A whole column agrees on one decimal mark and one date form, so that 1,234 never changes its meaning
from row to row; `data.columns` finds out which.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

LARGEST = 1e100  # its square and cube are still numbers: means and spreads are made of these
WIDEST = float(np.finfo(np.float32).max)  # 3.4e38: what training counts with ends there
MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", "—", "missing", "<na>", "nat"}
)

_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?(([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d+)?|\.\d+)([eE][+-]?\d+)?")  # "e4": a square, no number
_COMMA = re.compile(r"[+-]?(([1-9]\d{0,2}([. ']\d{3})+|\d+)(,\d+)?|,\d+)([eE][+-]?\d+)?")
_SIGNS = "$€£¥% \u00a0\u202f"
_TIME = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
FORMS: dict[str, re.Pattern[str]] = {
    "year-month-day": re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})" + _TIME),
    "day.month.year": re.compile(r"(?P<d>\d{1,2})[.](?P<m>\d{1,2})[.](?P<y>\d{4}|\d{2})" + _TIME),
    "month/day/year": re.compile(r"(?P<m>\d{1,2})[-/](?P<d>\d{1,2})[-/](?P<y>\d{4}|\d{2})" + _TIME),
    "day/month/year": re.compile(r"(?P<d>\d{1,2})[-/](?P<m>\d{1,2})[-/](?P<y>\d{4}|\d{2})" + _TIME),
    "day month year": re.compile(r"(?P<d>\d{1,2})[- ./]?(?P<n>[A-Za-z]{3,9})\.?,?[- ./]?(?P<y>\d{4}|\d{2})" + _TIME),
    "month day, year": re.compile(r"(?P<n>[A-Za-z]{3,9})\.? (?P<d>\d{1,2}),? (?P<y>\d{4})" + _TIME),
}
_EPOCH = datetime(1970, 1, 1)


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def number(cell: str, decimal: str = ".") -> float:
    """The number in a cell, NaN when there is none; infinite ones, those beyond `LARGEST` and unreadable ones count as
    none."""
    value = _value(cell, decimal)
    return value if -LARGEST <= value <= LARGEST else math.nan


def beyond(cell: str, decimal: str = ".") -> bool:
    """Whether a cell holds a number whose size passes `WIDEST`, written out in digits ("inf" is a word)."""
    return abs(_value(cell, decimal)) > WIDEST


def _value(cell: str, decimal: str) -> float:
    text = cell.strip().strip(_SIGNS)
    if decimal == "." and _PLAIN.fullmatch(text):
        return float(text)
    pattern = _POINT if decimal == "." else _COMMA
    if not pattern.fullmatch(text):
        return math.nan
    if decimal == ".":
        return float(text.replace(",", ""))
    return float(text.translate(_WITHOUT_THOUSANDS).replace(",", "."))


def numbers(cells: Sequence[str], decimal: str = ".") -> list[float]:
    """`number` of each cell, fast where all are plain."""
    if decimal == ".":
        try:
            values = list(map(float, cells))
        except ValueError:
            pass
        else:
            if not bool((np.abs(np.array(values)) > LARGEST).any()):
                return values
    return [number(cell, decimal) for cell in cells]


def days(cell: str, form: str) -> float:
    """Days since 1970-01-01 with the time of day as a fraction; NaN when the cell is no date of that form."""
    match = FORMS[form].fullmatch(cell.strip())
    if match is None:
        return math.nan
    parts = match.groupdict()
    month = int(parts["m"]) if parts.get("m") else _MONTHS.get((parts.get("n") or "")[:3].lower(), 0)
    year = int(parts["y"])
    if year < 100:
        year += 2000 if year < 70 else 1900
    groups = match.groups()
    hour, minute, second = (int(text) if text else 0 for text in groups[3:6])
    try:
        moment = datetime(year, month, int(parts["d"]), hour, minute, min(second, 59))
    except ValueError:
        return math.nan
    return (moment - _EPOCH).total_seconds() / 86_400


def date_form(cells: Sequence[str]) -> str | None:
    """The form in which nearly all of these cells (none missing) are dates, or None."""
    best, most = None, 0
    for form in FORMS:
        if not any(FORMS[form].fullmatch(cell.strip()) for cell in cells[:20]):
            continue
        good = sum(not math.isnan(days(cell, form)) for cell in cells)
        if good > most:
            best, most = form, good
    return best if most >= 0.95 * len(cells) and most else None


def decimal_mark(cells: Sequence[str]) -> str | None:
    """ "." or ",": the mark with which nearly all of these cells (none missing) are numbers; None when neither."""
    scores = {mark: sum(not math.isnan(_value(cell, mark)) for cell in cells) for mark in (".", ",")}
    best = max(scores.values())
    if not cells or best < 0.95 * len(cells):
        return None
    return "," if scores[","] > scores["."] or (scores[","] == best and _more_commas(cells)) else "."


def may_be_decimals(cells: Sequence[str]) -> bool:
    """Whether numbers whose commas mark thousands might be decimals ("1,234"): each has one. Of thousands those below
    1,000 have none."""
    return all("," in cell and not math.isnan(_value(cell, ",")) for cell in cells)


def may_be_thousands(cells: Sequence[str]) -> bool:
    """Whether numbers whose points mark decimals might be thousands ("1.234"): those below 1,000 have none."""
    numbers = [cell.strip().strip(_SIGNS) for cell in cells]
    return any("." in one for one in numbers) and all(
        not math.isnan(_value(one, ",")) and ("." in one or len(one.lstrip("+-")) <= 3) for one in numbers
    )


def has_points(cells: Sequence[str]) -> bool:
    """Whether points mark decimals for certain in some of these numbers: they are no thousands."""
    return any("." in cell and math.isnan(_value(cell, ",")) and not math.isnan(_value(cell, ".")) for cell in cells)


def _more_commas(cells: Sequence[str]) -> bool:
    """Whether cells like 1,5 or 12,75 (never thousands) outweigh those with a point."""
    commas = sum("," in cell and not re.search(r",\d{3}(\D|$)", cell) for cell in cells)
    return commas > sum("." in cell for cell in cells)


_WITHOUT_THOUSANDS = str.maketrans("", "", ". '")

"""``matchGlob``: ``*`` and ``?`` stop at a slash, ``**`` does not; ``[a-z]``, ``[!a]``, ``{one,two}``. Pure.

All ways through a glob are followed at once, a letter at a time (Thompson 1968), so that no glob takes longer than its
length times the name's: as a regular expression ``**a**a**a…`` would try them one after the other, for hours.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 1024
"""Letters of a glob: as an object's name. What Google allows is written nowhere."""

_Fits = Callable[[str], bool]


class BadGlob(ValueError):
    pass


class Glob:
    """A machine of numbered places: a step over one letter to the next place, or free ways to several."""

    def __init__(self, glob: str) -> None:
        """Raises: BadGlob."""
        if len(glob) > LONGEST:
            raise BadGlob(f"it is longer than {LONGEST} letters")
        self._steps: dict[int, tuple[_Fits, int]] = {}
        self._ways: dict[int, list[int]] = {}
        self._last = self._made = 0
        self._read(glob)

    def fits(self, name: str) -> bool:
        places = self._reached({0})
        for letter in name:
            steps = [self._steps[at] for at in places if at in self._steps]
            places = self._reached({to for fits, to in steps if fits(letter)})
            if not places:
                return False
        return self._last in places

    def _reached(self, places: set[int]) -> set[int]:
        """*places*, and those that they lead to without a letter."""
        left = list(places)
        while left:
            for to in self._ways.get(left.pop(), ()):
                if to not in places:
                    places.add(to)
                    left.append(to)
        return places

    # ------------------------------------------------------------------------------------------------------- making

    def _read(self, glob: str) -> None:
        at = 0
        open_braces: list[tuple[int, list[int]]] = []  # where each begins, and the ends of its alternatives so far
        while at < len(glob):
            sign = glob[at]
            at += 1
            if sign == "*":
                end = at
                while glob[end : end + 1] == "*":
                    end += 1
                self._any_number(_anything if end > at else _not_slash)
                at = end
            elif sign == "?":
                self._letter(_not_slash)
            elif sign == "[":
                close = glob.find("]", at + 1)
                if close < 0:
                    raise BadGlob("[ is not closed")
                self._letter(_one_of(glob[at:close]))
                at = close + 1
            elif sign == "{":
                open_braces.append((self._last, []))
                self._way(self._last, self._new())
            elif sign == "}" and open_braces:
                _, ends = open_braces.pop()
                ends.append(self._last)
                self._join(ends)
            elif sign == "," and open_braces:
                begin, ends = open_braces[-1]
                ends.append(self._last)
                self._way(begin, self._new())
            else:
                if sign == "\\" and at < len(glob):
                    sign = glob[at]
                    at += 1
                self._letter(_only(sign))
        if open_braces:
            raise BadGlob("{ is not closed")

    def _new(self) -> int:
        """A place that nothing leads to yet; what comes next begins there."""
        self._made += 1
        self._last = self._made
        return self._last

    def _way(self, at: int, to: int) -> None:
        self._ways.setdefault(at, []).append(to)

    def _letter(self, fits: _Fits) -> None:
        at = self._last
        self._steps[at] = (fits, self._new())

    def _any_number(self, fits: _Fits) -> None:
        before = self._last
        at = self._new()
        self._way(before, at)
        self._steps[at] = (fits, at)
        self._way(at, self._new())

    def _join(self, ends: list[int]) -> None:
        to = self._new()
        for end in ends:
            self._way(end, to)


def _anything(letter: str) -> bool:
    return True


def _only(wanted: str) -> _Fits:
    return lambda letter: letter == wanted


def _not_slash(letter: str) -> bool:
    return letter != "/"


def _one_of(inside: str) -> _Fits:
    """The letters between brackets. Raises: BadGlob."""
    negated = inside[0] in "!^"
    rest = inside[1:] if negated else inside
    ranges = []
    while rest:
        if len(rest) > 2 and rest[1] == "-":
            if rest[2] < rest[0]:
                raise BadGlob(f"bad character range {rest[:3]}")
            ranges.append((rest[0], rest[2]))
            rest = rest[3:]
        else:
            ranges.append((rest[0], rest[0]))
            rest = rest[1:]
    return lambda letter: any(first <= letter <= last for first, last in ranges) != negated

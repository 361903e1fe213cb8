"""Names out of somebody's data, without what a terminal obeys or a reader cannot see.

A column, a class or a file may be called anything: ``\\x1b[2J`` clears a screen, U+202E turns what follows around.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # what a terminal takes as a command: colours, moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # its title, a link
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # other control characters; tabs and ends of lines stay
    r"|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # from right to left, against what the letters say
    r"|[\ud800-\udfff]"  # half a letter, which no screen and no file takes
)


_FORMATS = (  # they format, or show as nothing, or are blank; Unicode's category Cf and some more
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e01ef"
)
_FORMAT = re.compile(f"[{_FORMATS}]")
_SMUGGLED = re.compile(
    "\r(?!\n)|"  # a line's end to Python, none on a screen
    f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_FORMATS}]"
)
_LINES = re.compile("[\t\n\u2028\u2029]")
_NO_ROOM = re.compile("[\u200b\u2060\ufeff]")


def numbered(text: str) -> str:
    """A program as it is shown to whoever is asked to trust it: what cannot be seen stands there as its number."""
    return _SMUGGLED.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text.removeprefix("\ufeff"))


def bare(text: str) -> str:
    """*text* without letters that show as nothing. Some writing needs them: for searching, not for showing."""
    return text if text.isascii() else _FORMAT.sub("", text)


def visible(text: str) -> str:
    return _UNSEEN.sub("", text)


def one_line(text: str) -> str:
    """`visible`, and without what ends a line or takes no room: it stands in a line of its own, and forges no other."""
    return _LINES.sub(" ", _NO_ROOM.sub("", visible(text)))

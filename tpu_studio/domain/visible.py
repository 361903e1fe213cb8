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
)


def visible(text: str) -> str:
    return _UNSEEN.sub("", text)

"""The parts of a script: constants that hold whatever comes out of a plan, and code that is the same in every script.

Nothing out of a plan stands in the code itself: names, paths and classes are anybody's words, and reach a script by
`literal` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pprint import pformat
from typing import NamedTuple

WIDE = 110  # letters of a line


class Constant(NamedTuple):
    """*about*: a comment of ours behind it."""

    name: str
    value: object
    about: str = ""


@dataclass(frozen=True)
class Part:
    """Attributes:
    code: Functions, with two empty lines between them.
    imports: Modules, or ``from PIL import Image``.
    differs: Sentences on what may come out otherwise than in the run.
    """

    constants: tuple[Constant, ...] = ()
    code: str = ""
    imports: frozenset[str] = frozenset()
    differs: tuple[str, ...] = ()


def literal(value: object) -> str:
    """*value*, of plain numbers, texts, lists, tuples and dicts, as Python reads it back.

    Raises:
        ValueError: It is something else, or a number without end.
    """
    text = repr(value)
    if len(text) > WIDE:
        text = pformat(value, width=WIDE, sort_dicts=False)
    if ast.literal_eval(text) != value:
        raise ValueError(f"no literal: {text[:200]}")
    return text


def assigned(constants: Iterable[Constant]) -> str:
    """The constants, one a line, a comment behind each where there is room, else before it."""
    lines = []
    for name, value, about in constants:
        line = f"{name} = {literal(value)}"
        if about and "\n" not in line and len(line) + len(about) + 4 <= WIDE:
            line += f"  # {about}"
        elif about:
            line = f"# {about}\n{line}"
        lines.append(line)
    return "\n".join(lines)

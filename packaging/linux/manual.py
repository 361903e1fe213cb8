"""The manual page's list of verbs with their options, from the program's own command line: it cannot fall behind."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COMMON = ("--help", "--json")  # of every verb: told once, in the page's text


def verbs() -> str:
    """In the language of man(7)."""
    sys.path.insert(0, str(TOP))
    try:
        from tpu_studio.cli.parser import parser  # standard library only
    finally:
        sys.path.remove(str(TOP))
    choices = next(one for one in parser()._actions if isinstance(one, argparse._SubParsersAction)).choices
    return "\n".join(line for name, verb in choices.items() for line in _verb(name, verb))


def _verb(name: str, verb: argparse.ArgumentParser) -> Iterator[str]:
    told = [one for one in verb._actions if one.help != argparse.SUPPRESS and not {*one.option_strings} & {*COMMON}]
    places = [one.metavar or one.dest for one in told if not one.option_strings]
    yield f".SS {_text(' '.join([name, *map(str, places)]))}"
    yield _text(verb.description or "")
    for one in told:
        if one.option_strings:
            value = "" if one.nargs == 0 else f" {one.metavar or '|'.join(map(str, one.choices or [one.dest]))}"
            yield ".TP"
            yield f".B {_text(one.option_strings[0] + value)}"
            yield _text(one.help or "")
        elif one.help:
            yield ".TP"
            yield f".I {_text(str(one.metavar or one.dest))}"
            yield _text(one.help)


def _text(plain: str) -> str:
    """Letters that man(7) would take for its own, made plain."""
    made = plain.replace("\\", "\\e").replace("-", "\\-").replace("“", "\\(lq").replace("”", "\\(rq")
    return f"\\&{made}" if made.startswith((".", "'")) else made

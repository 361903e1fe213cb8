"""The one door for JSON files that may come from others: a run's folder, converted data, a bucket's copy.

What comes out was no larger than its limit and nests no deeper than `DEEPEST`, so whoever walks it, writes it again or
compares it needs no guard of its own. A refusal is a ValueError of one sentence that names the file.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tpu_studio.wire.sizes import RECORD_BYTES, TooLarge, read_at_most

DEEPEST = 100
"""Levels: a plan has twelve, Keras' description of a model with models in it some forty."""

BRACKETS = 2_000_000
"""Lists and objects: each column of a table has some five, and a plan of the widest a quarter of these."""

VALUES = 5_000_000
"""Commas, those in texts too: a gigabyte is made of six million keys, or of ten million short texts."""

_VALUES_ONCE = 2_500_000  # the same where pairs are kept, too; the largest tokenizer has 1.4 million


class NotJson(ValueError):
    """One sentence that begins with the file's name."""


@contextmanager
def without_collecting() -> Iterator[None]:
    """Python's cycle collector switched off for a moment: millions of short-lived lists hold no cycles, and looking for
    some takes as long as all the reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_json(path: Path, limit: int = RECORD_BYTES) -> Any:
    """What the plain file *path* holds.

    Raises:
        NotJson: It has more than *limit* bytes, is no plain file, is no JSON, or nests deeper than `DEEPEST`.
        OSError: It cannot be read.
    """
    try:
        data = read_at_most(path, limit)
    except TooLarge as error:
        raise NotJson(f"{path.name} is not read: {error}.") from error
    return parse_json(data, path.name)


def parse_json(data: bytes | str, name: str) -> object:
    """What *data* holds, which came as *name*. Raises NotJson."""
    with without_collecting():
        try:
            _check_counts(data, VALUES)
            tree = json.loads(data)
        except RecursionError as error:
            raise NotJson(f"{name} nests deeper than {DEEPEST} levels.") from error
        except ValueError as error:
            raise NotJson(f"{name} is no JSON: {error}.") from error
        if _is_deep(tree):
            raise NotJson(f"{name} nests deeper than {DEEPEST} levels.")
        return tree


def parse_once(data: bytes) -> Any:
    """The same of a file in which no key may be there twice: of two, another library may believe the other.

    Raises:
        ValueError: One is, or it is no JSON, or larger than any such file; without the file's name.
        RecursionError: It nests too deep.
    """
    _check_counts(data, _VALUES_ONCE)
    return json.loads(data, object_pairs_hook=_each_once)


def _each_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        raise ValueError("a key is there twice")
    return tree


def counts(data: bytes | str) -> tuple[int, int]:
    """How many lists and objects there are, and how many commas, those in texts too."""
    if isinstance(data, str):
        return data.count("[") + data.count("{"), data.count(",")
    return data.count(b"[") + data.count(b"{"), data.count(b",")


def _check_counts(data: bytes | str, values: int) -> None:
    """Those in texts too: it is asked before anything is made of them."""
    brackets, commas = counts(data)
    if brackets > BRACKETS:
        raise ValueError(f"it has more than {BRACKETS:,} lists and objects")
    if commas > values:
        raise ValueError(f"it has more than {values:,} values")


def _is_deep(tree: object) -> bool:
    level = [tree]
    for _ in range(DEEPEST):
        level = [inner for node in level for inner in _inside(node)]
        if not level:
            return False
    return True


def _inside(node: object) -> Any:
    if isinstance(node, dict):
        return [inner for inner in node.values() if isinstance(inner, (dict, list))]
    return [inner for inner in node if isinstance(inner, (dict, list))] if isinstance(node, list) else ()

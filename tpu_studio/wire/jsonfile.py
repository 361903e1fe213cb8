"""The one door for JSON files that may come from others: a run's folder, converted data, a bucket's copy.

What comes out was no larger than its limit and nests no deeper than `DEEPEST`, so whoever walks it, writes it again or
compares it needs no guard of its own. A refusal is a ValueError of one sentence that names the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tpu_studio.wire.sizes import RECORD_BYTES, TooLarge, read_at_most

DEEPEST = 100
"""Levels: a plan has twelve, Keras' description of a model with models in it some forty."""


class NotJson(ValueError):
    """One sentence that begins with the file's name."""


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
    try:
        tree = json.loads(data)
    except RecursionError as error:
        raise NotJson(f"{name} nests deeper than {DEEPEST} levels.") from error
    except ValueError as error:
        raise NotJson(f"{name} is no JSON: {error}.") from error
    level = [tree]
    for _ in range(DEEPEST):
        level = [inner for node in level for inner in _inside(node)]
        if not level:
            return tree
    raise NotJson(f"{name} nests deeper than {DEEPEST} levels.")


def _inside(node: object) -> Any:
    if isinstance(node, dict):
        return [inner for inner in node.values() if isinstance(inner, (dict, list))]
    return [inner for inner in node if isinstance(inner, (dict, list))] if isinstance(node, list) else ()

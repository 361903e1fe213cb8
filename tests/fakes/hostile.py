"""Damage as a disk, a bug or a person may do it, from a seed: a JSON value changed in one place, bytes anywhere."""

from __future__ import annotations

import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    1e308,
    -1e308,
    10**30,
    -(10**30),
    "",
    "x",
    "nan",
    "inf",
    "-inf",
    [],
    {},
    [1],
    [[1]],
    [[]],
    {"a": 1},
    [None],
    ["nan"],
    "\ud800",
    "\x1b[31m",
    "<b>",
    float("nan"),
    float("inf"),
    2**63,
    "9" * 300,
    1795388000.5,
    9999999999,
    [1, "x"],
    {"": {}},
)
PIECES = (b"9" * 40, b"{", b"}", b"[", b"]", b'"', b"\\u0000", b"\xff", b"null", b"1e999", b"-", b"\n", b"[" * 900)


class Damage:
    def __init__(self, seed: int | random.Random) -> None:
        self.random = seed if isinstance(seed, random.Random) else random.Random(seed)

    def mutated_value(self, tree: Any) -> Any:
        """*tree* with one random place of it something else, or gone."""
        chance = self.random
        if isinstance(tree, dict) and tree and chance.random() < 0.85:
            key = chance.choice(list(tree))
            if chance.random() < 0.12:
                return {name: inner for name, inner in tree.items() if name != key}
            return {**tree, key: self.mutated_value(tree[key])}
        if isinstance(tree, list) and tree and chance.random() < 0.7:
            index = chance.randrange(len(tree))
            return [*tree[:index], self.mutated_value(tree[index]), *tree[index + 1 :]]
        if chance.random() < 0.02:
            return self.nested(chance.choice((20, 700)))
        return chance.choice(VALUES)

    def nested(self, levels: int) -> Any:
        found: Any = 1
        for _ in range(levels):
            found = {"a": found}
        return found

    def mutated_bytes(self, data: bytes) -> bytes:
        """*data* with one to five bits, bytes or pieces changed."""
        chance, changed = self.random, bytearray(data)
        for _ in range(chance.randint(1, 5)):
            index = chance.randrange(len(changed) + 1)
            match chance.randrange(5):
                case 0 if changed:
                    changed[min(index, len(changed) - 1)] ^= 1 << chance.randrange(8)
                case 1:
                    del changed[index : index + chance.randint(1, 60)]
                case 2:
                    changed[index:index] = chance.randbytes(chance.randint(1, 8))
                case 3 if changed:
                    changed[min(index, len(changed) - 1)] = chance.randrange(256)
                case _:
                    changed[index:index] = chance.choice(PIECES)
        return bytes(changed)

    def mutated_record(self, line: bytes) -> bytes:
        """A line of JSON with one value changed, or with other bytes."""
        try:
            changed = json.dumps(self.mutated_value(json.loads(line))).encode()
        except (ValueError, RecursionError):
            changed = line
        return self.mutated_bytes(changed) if self.random.random() < 0.4 else changed

    def mutated_file(self, data: bytes, *, lines: bool) -> bytes:
        """A file of JSON, or of *lines* of it, one of which changes."""
        if self.random.random() < 0.03:
            return b""
        if not lines:
            return self.mutated_record(data)
        parts = data.splitlines(keepends=True) or [b"\n"]
        index = self.random.randrange(len(parts))
        parts[index] = self.mutated_record(parts[index].rstrip(b"\n")) + b"\n"
        return b"".join(parts)

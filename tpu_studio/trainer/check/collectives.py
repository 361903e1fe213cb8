"""Bytes that one chip exchanges with the others in a compiled program, read from the compiler's own text (HLO).

What collective operations give is summed up: of a program that trains, of one optimizer step. The inside of a loop
counts by its trips where its condition names them; the loop over the steps of a call, whose length is a value, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_COLLECTIVE = re.compile(
    r" = (.+?) (?:all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute|"
    r"collective-broadcast)(?:-done)?\("
)
_ARRAY = re.compile(r"\b(pred|[a-z]+(\d+)\w*)\[([\d,]*)\]")
_CALLED = re.compile(r"\b(?:calls|body|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_CONDITION = re.compile(r"\bcondition=%?([\w.\-]+)")
_CONSTANT = re.compile(r"%([\w.\-]+) = s32\[\]\S* constant\((\d+)\)")
_COMPARED = re.compile(r" compare\(([^)]*)\).*direction=LT")


def collective_bytes(text: str) -> int:
    """Of the program whose HLO *text* is; 0 where nothing is exchanged."""
    lines: dict[str, list[str]] = {}
    entry = name = ""
    for line in text.splitlines():
        if found := _COMPUTATION.match(line):
            name = found[2]
            entry = name if found[1] else entry
            lines[name] = []
        elif name:
            lines[name].append(line)
    return _of_computation(entry, lines, {})


def _of_computation(name: str, lines: dict[str, list[str]], known: dict[str, int]) -> int:
    if name not in known:
        known[name] = 0  # no computation calls itself
        known[name] = sum(_of_line(line, lines, known) for line in lines.get(name, ()))
    return known[name]


def _of_line(line: str, lines: dict[str, list[str]], known: dict[str, int]) -> int:
    if found := _COLLECTIVE.search(line):
        return sum(_sizes(found[1]))
    if " async-done(" in line or " async-update(" in line:
        return 0  # its start called the same
    condition = _CONDITION.search(line)
    times = _trips(lines.get(condition[1], [])) if condition else 1
    inside = times * sum(_of_computation(one, lines, known) for one in _CALLED.findall(line))
    if branches := _BRANCHES.search(line):  # one of them runs
        names = [one.strip().lstrip("%") for one in branches[1].split(",")]
        inside += max((_of_computation(one, lines, known) for one in names), default=0)
    return inside


def _trips(condition: list[str]) -> int:
    """How often a loop runs whose *condition* compares a counter with a constant; else 1."""
    constants = {found[1]: int(found[2]) for line in condition if (found := _CONSTANT.search(line))}
    for line in condition:
        if found := _COMPARED.search(line):
            operands = [one.strip().split(" ")[-1].lstrip("%") for one in found[1].split(",")]
            return constants.get(operands[-1], 1)
    return 1


def _sizes(type_of: str) -> Iterator[int]:
    for dtype, bits, shape in _ARRAY.findall(type_of):
        numbers = 1
        for side in filter(None, shape.split(",")):
            numbers *= int(side)
        yield numbers * (1 if dtype == "pred" else -(-int(bits) // 8))

"""Bytes that a compiled program moves between one chip and its memory, read from the compiler's own text (HLO).

An operation reads what it is given and writes what it gives; what lies on the chip itself (another memory space in the
layout, "S(1)") is left out, and of what a fusion only cuts a piece of, or writes a piece into, the piece counts. The
inside of a loop counts by its trips where its condition names them, the loop over the steps of a call once. Kernels are
left out: `kernels` has formulas for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")
_ARRAY = re.compile(r"\b(pred|[a-z]+(\d+)\w*)\[([\d,]*)\](\{[^}]*\})?")
_NAME = re.compile(r"%([\w.\-]+)")
_CALLS = re.compile(r"\b(?:calls|to_apply|body|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_BODY = re.compile(r"\bbody=%?([\w.\-]+)")
_CONDITION = re.compile(r"\bcondition=%?([\w.\-]+)")
_CONSTANT = re.compile(r"= s32\[\]\S* constant\((\d+)\)")
_FREE = (  # an operation that is begun and ended apart counts at its end
    *("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "iota", "after-all", "opt-barrier"),
    *("partition-id", "replica-id", "copy-start", "slice-start", "async-start", "async-update", "all-reduce-start"),
    *("all-gather-start", "collective-permute-start", "send", "recv", "send-done", "recv-done", "custom-call"),
)
_PIECES = ("dynamic-slice", "slice", "gather")


@dataclass
class _Instruction:
    name: str
    type: str
    operation: str
    operands: list[str]
    line: str
    root: bool


@dataclass
class _Computation:
    instructions: dict[str, _Instruction] = field(default_factory=dict)

    @property
    def root(self) -> _Instruction | None:
        return next((one for one in self.instructions.values() if one.root), None)

    def parameters(self) -> list[_Instruction]:
        """In their order."""
        found = [one for one in self.instructions.values() if one.operation == "parameter"]
        return sorted(found, key=lambda one: int(one.line.partition("parameter(")[2].partition(")")[0]))

    def users(self, name: str) -> list[_Instruction]:
        """Of the value *name*, also under the name of another shape."""
        found = []
        for one in self.instructions.values():
            if name in one.operands:
                found += self.users(one.name) if one.operation == "bitcast" and not one.root else [one]
        return found


def memory_bytes(text: str) -> int:
    """Of the program whose HLO *text* is."""
    computations, entry = _read(text)
    return _of_computation(entry, computations, {})


def _read(text: str) -> tuple[dict[str, _Computation], str]:
    computations: dict[str, _Computation] = {}
    entry, now = "", _Computation()
    for line in text.splitlines():
        if found := _COMPUTATION.match(line):
            now = computations[found[2]] = _Computation()
            entry = found[2] if found[1] else entry
        elif found := _INSTRUCTION.match(line):
            operands = _NAME.findall(found[5].partition(")")[0])
            now.instructions[found[2]] = _Instruction(found[2], found[3], found[4], operands, line, bool(found[1]))
    return computations, entry


def _of_computation(name: str, computations: dict[str, _Computation], known: dict[str, int]) -> int:
    if name not in known:
        known[name] = 0  # no computation calls itself
        here = computations.get(name, _Computation())
        known[name] = sum(_of_instruction(one, here, computations, known) for one in here.instructions.values())
    return known[name]


def _of_instruction(
    one: _Instruction, here: _Computation, computations: dict[str, _Computation], known: dict[str, int]
) -> int:
    if one.operation == "while":
        condition, body = _CONDITION.search(one.line), _BODY.search(one.line)
        times = _trips(computations.get(condition[1], _Computation())) if condition else 1
        return times * _of_computation(body[1], computations, known) if body else 0
    if one.operation == "conditional":
        branches = _BRANCHES.search(one.line)
        names = _NAME.findall(branches[1]) if branches else _CALLS.findall(one.line)
        return max((_of_computation(each, computations, known) for each in names), default=0)
    if one.operation == "call":
        return sum(_of_computation(each, computations, known) for each in _CALLS.findall(one.line))
    if one.operation in _FREE:
        return 0
    if one.operation in ("copy-done", "slice-done"):  # between memory and chip, as a rule: its start names the source
        begun = here.instructions.get(one.operands[0])
        source = here.instructions.get(begun.operands[0]) if begun and begun.operands else None
        on_chip = source is not None and _is_on_chip(source.type)
        return _bytes(one.type) + (0 if on_chip else _bytes(one.type, anywhere=True))
    inside = computations.get(_CALLS.findall(one.line)[0]) if one.operation == "fusion" else None
    if inside is not None:
        return _of_fusion(one, here, inside)
    if one.operation in _PIECES:
        return 2 * _bytes(one.type)
    if one.operation == "dynamic-update-slice":
        return 2 * _bytes_of(one.operands[1], here)
    return _bytes(one.type) + sum(_bytes_of(name, here) for name in one.operands)


def _of_fusion(one: _Instruction, here: _Computation, inside: _Computation) -> int:
    total = 0
    for given, parameter in zip(one.operands, inside.parameters(), strict=False):
        users, whole = inside.users(parameter.name), _bytes_of(given, here)
        if users and whole and all(each.operation in _PIECES for each in users):
            total += min(whole, sum(_bytes(each.type, anywhere=True) for each in users))
        elif not _is_written_into(parameter, users, inside):
            total += whole
    root = inside.root
    if root is not None and root.operation == "dynamic-update-slice" and _bytes(one.type):
        return total + sum(_bytes(inside.instructions[name].type, anywhere=True) for name in root.operands[1:2])
    return total + _bytes(one.type)


def _is_written_into(parameter: _Instruction, users: list[_Instruction], inside: _Computation) -> bool:
    """Whether it is the array that the fusion puts a piece into, in its place."""
    root = inside.root
    return bool(users) and all(
        each.operation == "dynamic-update-slice" and each is root and _first_of(each, inside) == parameter.name
        for each in users
    )


def _first_of(update: _Instruction, inside: _Computation) -> str:
    name = update.operands[0]
    while (made := inside.instructions.get(name)) is not None and made.operation == "bitcast":
        name = made.operands[0]
    return name


def _trips(condition: _Computation) -> int:
    """How often a loop runs whose *condition* compares a counter with a constant; else 1."""
    for one in condition.instructions.values():
        if one.operation == "compare" and "direction=LT" in one.line and len(one.operands) > 1:
            limit = condition.instructions.get(one.operands[1])
            found = _CONSTANT.search(limit.line) if limit else None
            return int(found[1]) if found else 1
    return 1


def _bytes_of(name: str, here: _Computation) -> int:
    made = here.instructions.get(name)
    return _bytes(made.type) if made else 0


def _bytes(type_of: str, *, anywhere: bool = False) -> int:
    """Of what lies in memory; *anywhere*: on the chip too."""
    return sum(size for size, on_chip in _arrays(type_of) if anywhere or not on_chip)


def _is_on_chip(type_of: str) -> bool:
    return all(on_chip for _, on_chip in _arrays(type_of))


def _arrays(type_of: str) -> Iterator[tuple[int, bool]]:
    for dtype, bits, shape, layout in _ARRAY.findall(type_of):
        numbers = 1
        for side in filter(None, shape.split(",")):
            numbers *= int(side)
        yield numbers * (1 if dtype == "pred" else -(-int(bits) // 8)), "S(" in layout

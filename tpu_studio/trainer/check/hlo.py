"""The compiler's own text of a program (HLO), read: its computations, their instructions, and what each works on.

Used by `traffic` and `collectives`, which add something up over all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")
_ARRAY = re.compile(r"\b(pred|[a-z]+(\d+)\w*)\[([\d,]*)\](\{[^}]*\})?")
_NAME = re.compile(r"%([\w.\-]+)")
_CALLS = re.compile(r"\b(?:calls|to_apply|body|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_CONDITION = re.compile(r"\bcondition=%?([\w.\-]+)")
_CONSTANT = re.compile(r"= s32\[\]\S* constant\((\d+)\)")


@dataclass
class Instruction:
    name: str
    type: str
    operation: str
    operands: list[str]
    line: str
    root: bool

    @property
    def calls(self) -> list[str]:
        """Computations that run with it, but for `branches`: of a loop its body."""
        return _CALLS.findall(self.line)

    @property
    def branches(self) -> list[str]:
        """Computations of which one runs."""
        if found := _BRANCHES.search(self.line):
            return [one.strip().lstrip("%") for one in found[1].split(",")]
        return self.calls if self.operation == "conditional" else []


@dataclass
class Computation:
    instructions: dict[str, Instruction] = field(default_factory=dict)

    @property
    def root(self) -> Instruction | None:
        return next((one for one in self.instructions.values() if one.root), None)

    def parameters(self) -> list[Instruction]:
        """In their order."""
        found = [one for one in self.instructions.values() if one.operation == "parameter"]
        return sorted(found, key=lambda one: int(one.line.partition("parameter(")[2].partition(")")[0]))

    def users(self, name: str) -> list[Instruction]:
        """Of the value *name*, also under the name of another shape."""
        found = []
        for one in self.instructions.values():
            if name in one.operands:
                found += self.users(one.name) if one.operation == "bitcast" and not one.root else [one]
        return found


@dataclass(frozen=True)
class Program:
    entry: str
    computations: dict[str, Computation]

    def total(self, of: Callable[[Instruction, Computation], int], enters: Callable[[Instruction], bool]) -> int:
        """The sum over all that runs of what *of* tells of an instruction in its computation. What it calls counts too
        where *enters* says so: the inside of a loop by its trips where its condition names them, else once; of branches
        the largest."""
        known: dict[str, int] = {}

        def inside(name: str) -> int:
            if name not in known:
                known[name] = 0  # no computation calls itself
                here = self.computations.get(name, Computation())
                known[name] = sum(of(one, here) + called(one) for one in here.instructions.values())
            return known[name]

        def called(one: Instruction) -> int:
            if one.branches:
                return max(inside(each) for each in one.branches)
            return self._trips(one) * sum(inside(each) for each in one.calls) if enters(one) else 0

        return inside(self.entry)

    def _trips(self, loop: Instruction) -> int:
        """How often *loop* runs, whose condition compares a counter with a constant; else 1."""
        found = _CONDITION.search(loop.line)
        condition = self.computations.get(found[1], Computation()) if found else Computation()
        for one in condition.instructions.values():
            if one.operation == "compare" and "direction=LT" in one.line and len(one.operands) > 1:
                limit = condition.instructions.get(one.operands[1])
                constant = _CONSTANT.search(limit.line) if limit else None
                return int(constant[1]) if constant else 1
        return 1


def read(text: str) -> Program:
    computations: dict[str, Computation] = {}
    entry, now = "", Computation()
    for line in text.splitlines():
        if found := _COMPUTATION.match(line):
            now = computations[found[2]] = Computation()
            entry = found[2] if found[1] else entry
        elif found := _INSTRUCTION.match(line):
            operands = _NAME.findall(found[5].partition(")")[0])
            now.instructions[found[2]] = Instruction(found[2], found[3], found[4], operands, line, bool(found[1]))
    return Program(entry, computations)


def arrays(type_of: str) -> Iterator[tuple[int, bool]]:
    """Of each array of a type: its bytes, and whether it lies on the chip itself (the memory space "S(1)")."""
    for dtype, bits, shape, layout in _ARRAY.findall(type_of):
        numbers = 1
        for side in filter(None, shape.split(",")):
            numbers *= int(side)
        yield numbers * (1 if dtype == "pred" else -(-int(bits) // 8)), "S(" in layout

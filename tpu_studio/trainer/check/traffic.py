"""Bytes that a compiled program moves between one chip and its memory, read from the compiler's own text (HLO).

An operation reads what it is given and writes what it gives; what lies on the chip itself (another memory space in the
layout, "S(1)") is left out, and of what a fusion only cuts a piece of, or writes a piece into, the piece counts. The
inside of a loop counts by its trips where its condition names them, the loop over the steps of a call once. Kernels are
left out: `kernels` has formulas for them.
"""

from __future__ import annotations

from tpu_studio.trainer.check.hlo import Computation, Instruction, Program, arrays, read

_FREE = (  # what is inside of the first counts by itself; an operation that is begun and ended apart counts at its end
    *("while", "conditional", "call"),
    *("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "iota", "after-all", "opt-barrier"),
    *("partition-id", "replica-id", "copy-start", "slice-start", "async-start", "async-update", "all-reduce-start"),
    *("all-gather-start", "collective-permute-start", "send", "recv", "send-done", "recv-done", "custom-call"),
)
_PIECES = ("dynamic-slice", "slice", "gather")


def memory_bytes(text: str) -> int:
    """Of the program whose HLO *text* is."""
    program = read(text)
    return program.total(
        lambda one, here: _of_instruction(one, here, program), lambda one: one.operation in ("while", "call")
    )


def _of_instruction(one: Instruction, here: Computation, program: Program) -> int:
    if one.operation in _FREE:
        return 0
    if one.operation in ("copy-done", "slice-done"):  # between memory and chip, as a rule: its start names the source
        begun = here.instructions.get(one.operands[0])
        source = here.instructions.get(begun.operands[0]) if begun and begun.operands else None
        on_chip = source is not None and _is_on_chip(source.type)
        return _bytes(one.type) + (0 if on_chip else _bytes(one.type, anywhere=True))
    inside = program.computations.get(one.calls[0]) if one.operation == "fusion" else None
    if inside is not None:
        return _of_fusion(one, here, inside)
    if one.operation in _PIECES:
        return 2 * _bytes(one.type)
    if one.operation == "dynamic-update-slice":
        return 2 * _bytes_of(one.operands[1], here)
    return _bytes(one.type) + sum(_bytes_of(name, here) for name in one.operands)


def _of_fusion(one: Instruction, here: Computation, inside: Computation) -> int:
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


def _is_written_into(parameter: Instruction, users: list[Instruction], inside: Computation) -> bool:
    """Whether it is the array that the fusion puts a piece into, in its place."""
    root = inside.root
    return bool(users) and all(
        each.operation == "dynamic-update-slice" and each is root and _first_of(each, inside) == parameter.name
        for each in users
    )


def _first_of(update: Instruction, inside: Computation) -> str:
    name = update.operands[0]
    while (made := inside.instructions.get(name)) is not None and made.operation == "bitcast":
        name = made.operands[0]
    return name


def _bytes_of(name: str, here: Computation) -> int:
    made = here.instructions.get(name)
    return _bytes(made.type) if made else 0


def _bytes(type_of: str, *, anywhere: bool = False) -> int:
    """Of what lies in memory; *anywhere*: on the chip too."""
    return sum(size for size, on_chip in arrays(type_of) if anywhere or not on_chip)


def _is_on_chip(type_of: str) -> bool:
    return all(on_chip for _, on_chip in arrays(type_of))

"""Bytes that one chip exchanges with the others in a compiled program, read from the compiler's own text (HLO).

What collective operations give is summed up: of a program that trains, of one optimizer step. The inside of a loop
counts by its trips where its condition names them; the loop over the steps of a call, whose length is a value, once.
"""

from __future__ import annotations

from tpu_studio.trainer.check.hlo import Computation, Instruction, arrays, read

_COLLECTIVES = frozenset(
    [
        *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute"),
        "collective-broadcast",
    ]
)
_BEGUN = ("async-done", "async-update")  # their start called the same


def collective_bytes(text: str) -> int:
    """Of the program whose HLO *text* is; 0 where nothing is exchanged."""
    return read(text).total(_of_instruction, lambda one: one.operation not in _BEGUN)


def _of_instruction(one: Instruction, here: Computation) -> int:
    if one.operation.removesuffix("-done") not in _COLLECTIVES:
        return 0
    return sum(size for size, _ in arrays(one.type))

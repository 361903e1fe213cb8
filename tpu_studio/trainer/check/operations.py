"""What a traced step would do badly on a TPU, read from JAX's own list of its operations (the jaxpr).

Each finding has an id whose words name the replacement (``domain.sentences.check``), the operation, how often it is
used, and the line of the person's own file where it can be told.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tpu_studio.wire.padding import product_work

CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "python_callback", "outside_call", "debug_print"}
# Only processors have these (jax.lax.linalg, 0.10: "only implemented on the CPU backend").
NOT_ON_TPU = {"eig", "schur", "hessenberg", "geqp3", "sytrd"}
WIDE = {"float64", "complex128"}
WASTE = 1.3  # padded over real work from which it is told


def findings(jaxpr: Any, file: Path | None = None, *, matrix_unit: int = 128) -> list[dict[str, Any]]:
    """``{"id", "level", "facts"}``, worst first; one an operation, with how often it is used."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    real = padded = 0.0
    worst: tuple[float, tuple[int, int, int], int | None] | None = None

    def add(id: str, level: str, equation: Any, **facts: Any) -> None:
        name = equation.primitive.name
        one = found.setdefault((id, name), {"id": id, "level": level, "facts": {"operation": name, "count": 0} | facts})
        one["facts"]["count"] += 1
        line = _line(equation, file)
        if line is not None:
            one["facts"].setdefault("line", line)
            one["facts"].setdefault("file", str(file))

    for equation in equations(jaxpr):
        name = equation.primitive.name
        if name in CALLBACKS:
            add("op-host-callback", "error", equation)
        elif name in NOT_ON_TPU:
            add("op-not-on-tpu", "error", equation)
        wide = next((str(out.aval.dtype) for out in equation.outvars if _dtype(out) in WIDE), None)
        if wide is not None:
            add("op-float64", "warning", equation, dtype=wide)
        if name == "dot_general" and (sizes := product_sizes(equation)) is not None:
            work, waste = product_work(sizes, matrix_unit)
            real, padded = real + work, padded + work * waste
            if worst is None or work * (waste - 1) > worst[0]:
                worst = (work * (waste - 1), sizes, _line(equation, file))
    answer = sorted(found.values(), key=lambda one: one["level"] != "error")
    if worst is not None and real and padded / real > WASTE:
        facts: dict[str, Any] = {"waste": round(padded / real, 2), "sizes": list(worst[1]), "unit": matrix_unit}
        if worst[2] is not None:
            facts |= {"line": worst[2], "file": str(file)}
        answer.append({"id": "op-padding", "level": "info", "facts": facts})
    return answer


def equations(jaxpr: Any) -> Iterator[Any]:
    """Every equation of *jaxpr* and of those inside its loops, branches and functions."""
    todo = [getattr(jaxpr, "jaxpr", jaxpr)]
    while todo:
        for equation in todo.pop().eqns:
            yield equation
            for value in equation.params.values():
                for inner in value if isinstance(value, (list, tuple)) else (value,):
                    inner = getattr(inner, "jaxpr", inner)
                    if hasattr(inner, "eqns"):
                        todo.append(inner)


def product_sizes(equation: Any) -> tuple[int, int, int] | None:
    """Rows, contracted size and columns of a matrix product; batch dimensions only repeat it."""
    (contract_a, contract_b), (batch_a, batch_b) = equation.params["dimension_numbers"]
    a, b = equation.invars[0].aval.shape, equation.invars[1].aval.shape
    if not all(isinstance(size, int) for size in (*a, *b)):
        return None
    rows = contracted = columns = 1
    for axis, size in enumerate(a):
        if axis in contract_a:
            contracted *= size
        elif axis not in batch_a:
            rows *= size
    for axis, size in enumerate(b):
        if axis not in contract_b and axis not in batch_b:
            columns *= size
    return rows, contracted, columns


def _dtype(out: Any) -> str:
    return str(getattr(out.aval, "dtype", ""))


def _line(equation: Any, file: Path | None) -> int | None:
    if file is None:
        return None
    trace = getattr(equation.source_info, "traceback", None)
    for frame in getattr(trace, "frames", ()) or ():
        if os.path.realpath(frame.file_name) == os.path.realpath(file):
            return int(frame.line_num)
    return None

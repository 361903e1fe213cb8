"""Where the time of the profiled steps went, in shares that sum up to 1. Pure.

    matrix       multiplying matrices, convolutions, and kernels of their own (attention): what a TPU is made for
    memory       the rest of a program: operations that move and change numbers, and what lies between operations
    collectives  chips that wait for one another's numbers
    data         the device has nothing to do, and the training waits for the next examples
    compile      the device has nothing to do while a program is compiled
    host         the device has nothing to do otherwise: Python, handing over, fetching

Counted is what lies within the marks ``STEPS`` of the loop: from the first call that is handed over to where all its
values are there. Operations that run at once, on the threads of a processor, share the time that they take together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.trainer.profile.xspace import STEPS, WAIT, Mark, Operation, Plane

MATRIX, MEMORY, COLLECTIVES = "matrix", "memory", "collectives"
DATA, HOST, COMPILE = "data", "host", "compile"
KINDS = (MATRIX, MEMORY, COLLECTIVES, DATA, HOST, COMPILE)
MOST_TOP = 5
_DEVICE, _HOST, _OPERATIONS, _PROGRAMS = "/device:TPU:", "/host:CPU", "XLA Ops", "XLA Modules"
_COLLECTIVES = re.compile(r"all-?reduce|all-?gather|reduce-?scatter|all-?to-?all|collective|^(send|recv)\b", re.I)
# Of XLA's categories "convolution" has the matrix products of a TPU too; of names on a processor ynn and onednn are
# the libraries that multiply there.
_MATRIX = re.compile(r"conv(?!ert)|\bdot|_dot|dot_|matmul|gemm|einsum|custom-call|ynn|onednn", re.I)
_CONTAINERS = re.compile(r"^(while|call|conditional|async)\b", re.I)  # what is within them is told by itself
_OF_TENSORFLOW = re.compile(r"^[^:]+:(_?[A-Z][A-Za-z0-9]*)$")  # not compiled: "while/body/matmul:MatMul"
_COMPILES = re.compile(r"compil", re.I)

Spans = list[tuple[int, int]]


@dataclass
class Device:
    """*marks*: What it did. *around*: Loops and whole programs, whose parts stand in *marks* by themselves."""

    marks: list[Mark] = field(default_factory=list)
    around: list[Mark] = field(default_factory=list)

    def add(self, mark: Mark) -> None:
        (self.around if _is_container(mark.operation) else self.marks).append(mark)


@dataclass(frozen=True)
class Shares:
    """Attributes:
    shares: Of each of `KINDS`.
    seconds: That were looked at.
    on: ``tpu`` or ``cpu``.
    top: The operations that took most: name, kind, share.
    """

    shares: dict[str, float]
    seconds: float
    on: str
    top: tuple[tuple[str, str, float], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "shares": self.shares,
            "seconds": round(self.seconds, 6),
            "on": self.on,
            "top": [list(one) for one in self.top],
        }


def shares_of(planes: Iterable[Plane]) -> Shares:
    """Raises ValueError: nothing in it can be told, for it holds no step or no operation."""
    planes = list(planes)
    host = [mark for plane in planes if plane.name == _HOST for line in plane.lines for mark in line.marks]
    steps = _spans(mark for mark in host if mark.operation.name == STEPS)
    if not steps:
        raise ValueError("no step is in it")
    devices = _chips(planes) or _processors(host)
    if not devices:
        raise ValueError("no operation is in it")
    on = "tpu" if any(plane.name.startswith(_DEVICE) for plane in planes) else "cpu"
    waiting = _spans(mark for mark in host if mark.operation.name == WAIT)
    compiling = _spans(mark for mark in host if _COMPILES.search(mark.operation.name))
    total, spent, names = 0, Counter[str](), Counter[tuple[str, str]]()
    for device in devices:
        window, marks = steps, device.marks
        if on == "tpu" and not _within(_spans(marks), steps):  # its clock is another one
            window = [(min(mark.begin for mark in marks), max(mark.end for mark in marks))]
        total += _length(window)
        _count(device, window, waiting, compiling, spent, names)
    shares = {kind: round(spent[kind] / total, 4) for kind in KINDS}
    top = tuple((name, kind, round(took / total, 4)) for (name, kind), took in names.most_common(MOST_TOP))
    return Shares(shares, _length(steps) / 1e12, on, top)


def kind_of(operation: Operation) -> str:
    """MATRIX, MEMORY or COLLECTIVES."""
    told = operation.category or operation.name
    if _COLLECTIVES.search(told):
        return COLLECTIVES
    return MATRIX if _MATRIX.search(told) else MEMORY


def _count(
    device: Device,
    window: Spans,
    waiting: Spans,
    compiling: Spans,
    spent: Counter[str],
    names: Counter[tuple[str, str]],
) -> None:
    """Add what one device did in *window* to *spent* and *names*, in picoseconds."""
    own: Counter[tuple[str, str]] = Counter()
    for mark in device.marks:
        if lasted := _length(_within([(mark.begin, mark.end)], window)):
            own[mark.operation.shown, kind_of(mark.operation)] += lasted
    busy = _within(_spans(device.marks), window)
    running = _within(_spans([*device.marks, *device.around]), window)
    spent[MEMORY] += _length(running) - _length(busy)
    at_once = sum(own.values()) / max(1, _length(busy))
    for (name, kind), lasted in own.items():
        spent[kind] += int(lasted / at_once)
        names[name, kind] += int(lasted / at_once)
    idle = _without(window, running)
    compiles = _within(compiling, idle)
    waits = _within(waiting, _without(idle, compiles))
    spent[COMPILE] += _length(compiles)
    spent[DATA] += _length(waits)
    spent[HOST] += _length(idle) - _length(compiles) - _length(waits)


def _chips(planes: list[Plane]) -> list[Device]:
    """What each TPU did."""
    found = []
    for plane in planes:
        if plane.name.startswith(_DEVICE) and plane.name.removeprefix(_DEVICE).isdigit():
            device = Device()
            for line in plane.lines:
                if line.name == _OPERATIONS:
                    for mark in line.marks:
                        device.add(mark)
                elif line.name == _PROGRAMS:
                    device.around += line.marks
            found.append(device)
    return [device for device in found if device.marks]


def _processors(host: list[Mark]) -> list[Device]:
    """What each device did that is a processor's threads: compiled operations, or TensorFlow's where none is."""
    compiled: dict[int, Device] = {}
    plain = Device()
    for mark in host:
        if mark.operation.compiled:
            compiled.setdefault(mark.device, Device()).add(mark)
        elif _OF_TENSORFLOW.match(mark.operation.name):
            plain.marks.append(mark)
    return [device for device in compiled.values() if device.marks] or ([plain] if plain.marks else [])


def _is_container(operation: Operation) -> bool:
    return bool(_CONTAINERS.match(operation.category or operation.name))


# --------------------------------------------------------------------------------------------------- spans of time


def _spans(marks: Iterable[Mark]) -> Spans:
    return _merged((mark.begin, mark.end) for mark in marks)


def _merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """In order, none touching the next."""
    found: list[list[int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        elif end > begin:
            found.append([begin, end])
    return [(begin, end) for begin, end in found]


def _within(spans: Spans, window: Spans) -> Spans:
    """What of *spans* lies in *window*; both merged."""
    found, at = [], 0
    for begin, end in spans:
        while at and window[at - 1][1] > begin:
            at -= 1
        while at < len(window) and window[at][1] <= begin:
            at += 1
        there = at
        while there < len(window) and window[there][0] < end:
            found.append((max(begin, window[there][0]), min(end, window[there][1])))
            there += 1
    return found


def _without(spans: Spans, taken: Spans) -> Spans:
    """What of *spans* lies outside *taken*; both merged."""
    found = []
    for begin, end in spans:
        for left, right in _within(taken, [(begin, end)]):
            if left > begin:
                found.append((begin, left))
            begin = right
        if end > begin:
            found.append((begin, end))
    return found


def _length(spans: Spans) -> int:
    return sum(end - begin for begin, end in spans)

"""How a run that comes again stands to the one of its plan that is here: the same, behind, further, another course.

Files are compared byte by byte, and what each of the two holds is told in numbers: a damaged or shorter copy is no
reason to have no better one. Of desktops' events nothing is compared: each computer has its own.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from tpu_studio.wire.events import decode
from tpu_studio.wire.plainfiles import open_below
from tpu_studio.wire.runfolder import belongs, is_of_desk, model_from_before, newest_copy, result_folder
from tpu_studio.wire.sums import damaged_file
from tpu_studio.workflow import zips

_COMPARED = ("events", "checkpoints", "result")
_CHUNK, _LINE_BYTES = 1 << 20, 1 << 22
_TELL_A_STEP = ("metric", "checkpoint", "end")
Model = Literal["whole", "damaged", "missing"]


@dataclass(frozen=True)
class Held:
    """What a run's folder holds: the last step that its events tell of, the step of its newest whole checkpoint, and
    its model with the step that it is of; None: unknown, or there is none."""

    step: int | None
    checkpoint: int | None
    model: Model
    model_step: int | None

    def facts(self, prefix: str) -> dict[str, object]:
        return {f"{prefix}_{name}": value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Difference:
    """*fewer*: whether all of the copy is here, too, and more. *files*: some that differ."""

    here: Held
    there: Held
    fewer: bool
    files: tuple[str, ...]

    def facts(self) -> dict[str, object]:
        return {**self.here.facts("here"), **self.there.facts("there"), "files": list(self.files)}


def difference(here: Path, there: Path) -> Difference | None:
    """Between the run in the folder *here* and the same run that comes in *there*; None: nothing of *there* is missing
    or other here, and nothing more is here. Raises OSError where *there* cannot be read."""
    ours, theirs = _sizes(here), _sizes(there)
    names = sorted(ours.keys() | theirs.keys())
    differ = [
        name for name in names if ours.get(name) != theirs.get(name) or not _same(here, there, PurePosixPath(name))
    ]
    if not differ:
        return None
    one, other = held(here), held(there)
    behind = zips.relation(here, there) == "nothing-new" and one.model != "damaged"
    fewer = behind and _reaches(one.checkpoint, other.checkpoint) and (one.model == "whole" or other.model != "whole")
    return Difference(one, other, fewer, tuple(differ[:5]))


def held(folder: Path) -> Held:
    result = result_folder(folder)
    model: Model = "whole" if (result / "model.keras").is_file() else "missing"
    if damaged_file(result) is not None:
        model = "damaged"
    step = model_from_before(folder).get("kept_step")
    return Held(_last_step(folder), newest_copy(folder), model, step if isinstance(step, int) else None)


def _reaches(one: int | None, other: int | None) -> bool:
    return other is None or (one is not None and one >= other)


def _sizes(folder: Path) -> dict[str, int]:
    """The plain files of *folder* that are compared, with their sizes. Links and hidden files are none."""
    found: dict[str, int] = {}
    todo = [folder / part for part in _COMPARED]
    while todo:
        at = todo.pop()
        if at.is_symlink() or not at.is_dir():
            continue
        for path in at.iterdir():
            name, looked = PurePosixPath(path.relative_to(folder).as_posix()), path.lstat()
            if path.name.startswith("."):
                continue
            if stat.S_ISDIR(looked.st_mode):
                todo.append(path)
            elif stat.S_ISREG(looked.st_mode) and belongs(name) and not is_of_desk(path.name):
                found[name.as_posix()] = looked.st_size
    return found


def _same(here: Path, there: Path, name: PurePosixPath) -> bool:
    """Of two files of one size."""
    with open_below(here, name) as one, open_below(there, name) as other:
        while part := one.read(_CHUNK):
            if other.read(len(part)) != part:
                return False
    return True


def _last_step(folder: Path) -> int | None:
    steps: list[int] = []
    for name in _sizes(folder):
        if name.startswith("events/"):
            with open_below(folder, PurePosixPath(name)) as file:
                while line := file.readline(_LINE_BYTES):
                    steps += _steps(line)
    return max(steps, default=None)


def _steps(line: bytes) -> list[int]:
    """The last step that an event of a measurement, a copy or an end tells; [] of others."""
    event = decode(line) if b'"step' in line else None
    if event is None or event.kind not in _TELL_A_STEP:
        return []
    told = event.get("steps") if event.kind == "end" else event.get("step")
    last = told[-1] if isinstance(told, list) and told else told
    return [last] if isinstance(last, int) and not isinstance(last, bool) else []

"""A result of ours that a model begins from (transfer learning): how `model.preset` spells it, and what its card says.

    run:sign-digits-ab12      the result of that run of this home
    ./kept/model.keras        one that lies elsewhere, with its card (`model.json`) beside it

``wire.pretrained.ours`` reads it; it is a `wire.presets.Preset` like any folder that a model begins from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire import homes, kinds, tasks
from tpu_studio.wire.runfolder import is_run_id, result_folder

PREFIX, ENDING = "run:", ".keras"
CARD, MODEL = "model.json", "model.keras"

# That choosing another result mends.
PROBLEMS = tuple(
    f"base-{what}"
    for what in (
        *("missing", "in-trash", "still-trains", "without-result", "damaged", "of-your-code", "not-begun-from"),
        *("of-another-model", "reads-other", "one-size", "too-small-pictures", "other-columns", "unfit", "changed"),
    )
)


@dataclass(frozen=True)
class Learned:
    """What a run has learned from, and what it kept aside of it, as its plan says.

    Attributes:
        path: Of its data, whole; "" of what comes with the program.
        fixed: Folders of the data say what is kept aside.
    """

    run: str
    kind: str
    task: str
    target: str
    path: str
    fingerprint: str
    seed: int
    validation: float
    fixed: bool = False


@dataclass(frozen=True)
class Base:
    """As a card says it, which anybody may have written.

    Attributes:
        run: Its id; "" where the card says none.
        model, options: Of ``wire.models``, all options.
        classes: In the order of its answers.
        data: What its data was, as ``dataset.json``: kind, columns, tokenizer.
        shape: Of one example.
        tokenizer: As `data.tokenizer` of what begins from it: "bytes", or "preset", its own pieces; "" of no text.
        only: Pixels of a side of the only pictures that it sees; 0: of others too, from *least* on.
        lineage: What it has learned from, and then what that has that it began from itself, as far as this home knows.
    """

    run: str
    name: str
    model: str
    title: str
    options: Mapping[str, object]
    task: str
    classes: tuple[str, ...]
    data: Mapping[str, object]
    shape: tuple[int, ...]
    reads: str
    tokenizer: str = ""
    only: int = 0
    least: int = 1
    lineage: tuple[Learned, ...] = ()

    def takes(self, side: int) -> bool:
        """Whether it can see pictures of that many pixels a side."""
        return side == self.only if self.only else side >= self.least

    def answers(self, task: str, target: str, classes: tuple[str, ...]) -> bool:
        """Whether what its last layer has learned means the same there: the classes, in their order, or the number."""
        if tasks.by_id(self.task).has_tokens:
            return tasks.by_id(task).has_tokens
        same = self.task == task and self.classes == classes
        return same and (bool(classes) or str(self.data.get("target") or "") == target)

    @property
    def called(self) -> str:
        return self.run or self.name


def reads(shape: Sequence[int], kind: str, task: str) -> str:
    """What one example is, of that *shape*; converted data says it by its shape and its task. Raises KeyError."""
    if len(shape) == 3:
        return "picture"
    return "text" if kinds.by_id(kind).has_text or tasks.by_id(task).has_tokens else "row"


def is_one(value: str) -> bool:
    """Whether *value* of `model.preset` is a result of ours, by its spelling."""
    return is_run(value) or (value.lower().endswith(ENDING) and any(mark in value for mark in "/\\"))


def is_run(value: str) -> bool:
    return value.startswith(PREFIX)


def run_of(value: str) -> str:
    """The run's id; "" where *value* names no run, or something that cannot be one."""
    name = value.removeprefix(PREFIX)
    return name if is_run(value) and is_run_id(name) else ""


def folder_of_run(value: str) -> Path:
    """Where the result of that run lies. Of what is no run's id nothing ever lies there."""
    return result_folder(homes.home_folder() / homes.RUNS / (run_of(value) or "-"))

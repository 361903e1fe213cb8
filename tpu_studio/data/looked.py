"""What a quick look at a data set found: plain frozen records that travel in a plan as JSON.

Made by ``data.look``; shown by the window, obeyed by the planner. Nothing here reads data.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.records import Json, rows
from tpu_studio.wire.shapes import fits

if TYPE_CHECKING:
    from tpu_studio.wire.plan import Plan

NAMED_BROKEN = 100
"""At most this many broken items are named; all are counted."""


@dataclass(frozen=True)
class Finding:
    """Something worth telling before a run. ``level``: info, warning or error; facts are JSON values."""

    id: str
    level: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Broken:
    """An item that is left out: a file's path relative to the data, or `line 17`; *why* is an id."""

    item: str
    why: str


def broken_finding(count: int, broken: Sequence[Broken]) -> Finding:
    """That *count* items are left out, with the first of them."""
    return Finding("broken-items", "warning", {"count": count, "items": [[item.item, item.why] for item in broken[:3]]})


_COMPARED = 250  # letters of a name: marks without end on one letter would take minutes


def alike_findings(names: Sequence[str]) -> list[Finding]:
    """That classes differ by nothing that a reader would count: capitals, spaces, how an accent is written."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(unicodedata.normalize("NFKC", name[:_COMPARED]).casefold().split()), []).append(name)
    alike = [group for group in groups.values() if len(group) > 1]
    if not alike:
        return []
    return [Finding("alike-classes", "info", {"classes": alike[0][:4], "count": len(alike)})]


@dataclass(frozen=True)
class ColumnLook:
    """One column of a table.

    Attributes:
        kind: number, category, date, text or ignore: how it is used. Text is free text, which is not used.
        missing, distinct: Counts in the rows looked at.
        examples: A few different values as they stand in the file.
        minimum, maximum, mean: Of a number column.
        top: (value, count) of the most frequent values, of a category.
        proposed: True when we chose *kind*, False when the job did.
        leak: Why the column would give the answer away or means nothing: "id", "copy", "row-number", or None.
        target: True for the column to predict.
    """

    name: str
    kind: str
    missing: int = 0
    distinct: int = 0
    examples: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    top: tuple[tuple[str, int], ...] = ()
    proposed: bool = True
    leak: str | None = None
    target: bool = False


@dataclass(frozen=True)
class ImageSizes:
    """Width and height in pixels over the pictures looked at; *modes* counts Pillow's modes (RGB, L, CMYK …)."""

    min_width: int
    median_width: int
    max_width: int
    min_height: int
    median_height: int
    max_height: int
    modes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """A data set at a glance.

    Attributes:
        kind: As in the job.
        task: An id of `wire.tasks`: the job's, or our proposal for "auto".
        target: Resolved target column of a table, else "".
        examples: Usable examples (windows for text); train and validation after the split.
        sampled: True when counts beyond *examples* rest on a sample, because all would take too long.
        classes: (name, count) in the order of the class index; of labels, how many examples have each.
        numbers: For text: ``characters``, ``bytes``, ``tokens``, ``lines``; for tables ``rows``, ``comments``.
        broken: At most `NAMED_BROKEN`; *broken_count* counts all that were met.
        duplicates: Files (or rows) whose content was seen before, with groups of names as examples.
        preview: {"pictures": […]}, {"columns": […], "rows": [[…]]} or {"text": "…"}.
        fingerprint: sha256 over names and sizes: another one means other data.
        input_shape: Of one example as the model gets it.
        outputs: Numbers the model gives: classes, labels, 1 for regression, or the vocabulary.
        image_size, sequence_length: The job's, or what "auto" becomes; None where they mean nothing.
        rows_file: Where the rows of a Parquet or Arrow file were written to: what is trained on instead of it; else "".
    """

    kind: str
    task: str
    target: str = ""
    examples: int = 0
    train: int = 0
    validation: int = 0
    sampled: bool = False
    classes: tuple[tuple[str, int], ...] = ()
    image_sizes: ImageSizes | None = None
    columns: tuple[ColumnLook, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    broken_count: int = 0
    duplicates: int = 0
    duplicate_examples: tuple[tuple[str, ...], ...] = ()
    findings: tuple[Finding, ...] = ()
    preview: Json = field(default_factory=dict)
    bytes_on_disk: int = 0
    fingerprint: str = ""
    input_shape: tuple[int, ...] = ()
    outputs: int = 0
    image_size: int | None = None
    sequence_length: int | None = None
    rows_file: str = ""

    @property
    def pictures(self) -> list[Json]:
        """Of the preview: {"path", "class", "kept"?} of each."""
        return rows(self.preview.get("pictures"))

    def to_json(self) -> dict[str, object]:
        return _plain(self)  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, tree: Mapping[str, object]) -> Look:
        """The look in parsed JSON; fields that this version does not know are left out.

        Raises:
            ValueError: A field is missing, or not what it is declared to be; somebody's editor was here.
        """
        try:
            found = _look(tree)
        except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"no look at data: {error}") from error
        wrong = [item.name for item in fields(cls) if not fits(getattr(found, item.name), _DECLARED[item.name])]
        if wrong:
            raise ValueError(f"{wrong[0]} of the look at the data is not what it should be")
        if kinds.find(found.kind) is None or found.task not in tasks.IDS:
            raise ValueError(f"a look at {found.kind!r} for {found.task!r}, which this version does not know"[:200])
        return found


def look_of_plan(plan: Plan) -> Look:
    """The look that *plan* was made by. Raises RunError ``plan-unreadable``."""
    try:
        return Look.from_json(plan.data)
    except ValueError as error:
        raise RunError("plan-unreadable", raw=str(error)) from error


def _look(tree: Mapping[str, Any]) -> Look:
    known = {item.name for item in fields(Look)}
    values = {name: value for name, value in tree.items() if name in known}
    values["classes"] = tuple((name, count) for name, count in values.get("classes", ()))
    sizes = values.get("image_sizes")
    values["image_sizes"] = ImageSizes(**sizes) if sizes else None
    values["columns"] = tuple(_column(column) for column in values.get("columns", ()))
    values["broken"] = tuple(Broken(**item) for item in values.get("broken", ()))
    values["findings"] = tuple(Finding(**item) for item in values.get("findings", ()))
    groups = values.get("duplicate_examples", ())
    values["duplicate_examples"] = tuple(tuple(group) for group in groups)
    values["input_shape"] = tuple(values.get("input_shape", ()))
    return Look(**values)


_DECLARED = get_type_hints(Look)


def _column(tree: Mapping[str, Any]) -> ColumnLook:
    top = tuple((value, count) for value, count in tree.get("top", ()))
    return ColumnLook(**{**tree, "examples": tuple(tree.get("examples", ())), "top": top})


def _plain(value: object) -> Any:
    """As JSON has it; not by `asdict`, which copies every word: a plan takes its look along with every key typed."""
    if isinstance(value, (str, int, float)) or value is None:
        return value
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value

"""What is known of each key of a job file, beside the name and type of its field in ``wire.schema``.

A table of the schema is a frozen dataclass whose fields are made by `key`; `keys_of` reads them back as `Key` records,
from which come the parser, the form on screen, the reference page and the tests.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tpu_studio.wire.kinds import Example

Auto = Literal["auto"]
AUTO: Final = "auto"
A = TypeVar("A", bound=Auto, covariant=True)
Affects = Literal["work", "step", "machine", "result"]
Kind = Literal["text", "integer", "number", "boolean", "choice", "table", "list", "path"]

_KINDS: dict[object, Kind] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    Mapping: "table",
    Sequence: "list",
    Literal: "choice",
}


@dataclass(frozen=True)
class Key:
    """One key of a job file.

    Attributes:
        table: Table it stands in; "" for the top of the file.
        kind: What its value is. A ``choice`` is one of *choices*; ``list`` is a list of texts.
        default: Value when absent; None or "" where it has none (absent and required, or absent means "not set").
        auto: Whether "auto" is a value (the plan resolves it and says why).
        minimum, maximum: Inclusive bounds of a number; *above* makes the lower bound exclusive.
        group: Of the form's further settings in which it stands (``schema.GROUPS``); "" for none.
        affects: What it changes: the model's ``work`` for one example, and with that a step's program; the program of a
            ``step`` otherwise (its time, its memory); the ``machine`` that the step runs on; or the ``result`` only:
            which run it is, how long, how well it learns.
        examples: The kinds of example it is about, and *tasks* what is learned of them; none: any.
        before: What it was before there was such a key, of one that is younger than others: with that value all is as
            it was, and what was timed then still counts.
        words: What its choices are called.
        title: The field's own term for it, the label on every screen; *help*: plain words below; *unit* stands inside.
    """

    table: str
    name: str
    kind: Kind
    default: object = None
    auto: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: bool = False
    title: str = ""
    unit: str = ""
    help: str = ""
    group: str = ""
    affects: Affects = "step"
    examples: tuple[Example, ...] = ()
    tasks: tuple[str, ...] = ()
    before: object = None
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name


def key(
    default: object,
    title: str,
    *,
    path: bool = False,
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    above: bool = False,
    unit: str = "",
    help: str = "",
    group: str = "",
    affects: Affects = "step",
    examples: tuple[Example, ...] = (),
    tasks: tuple[str, ...] = (),
    before: object = None,
    words: Mapping[str, str] | None = None,
) -> Any:
    """The field of a key, as `Key` describes it; *path*: its text names a file or folder."""
    facts = {
        "title": title,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "above": above,
        "unit": unit,
        "help": help,
        "group": group,
        "affects": affects,
        "examples": examples,
        "tasks": tasks,
        "before": before,
        "words": words or {},
    }
    metadata = {"path": path, "facts": facts}
    if isinstance(default, (dict, list)):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def keys_of(table: str, schema: type) -> Iterator[Key]:
    """The keys of one *table*, in the order of the *schema*'s fields."""
    hints = get_type_hints(schema)
    for one in fields(schema):
        hint = hints[one.name]
        parts = [hint] if get_origin(hint) not in (Union, types.UnionType) else list(get_args(hint))
        auto = any(part is A or get_args(part) == (AUTO,) for part in parts)
        (value,) = (part for part in parts if part not in (A, Auto, type(None)))
        facts = dict(one.metadata["facts"])
        if get_origin(value) is Literal:
            facts["choices"] = get_args(value)
        kind = _KINDS[get_origin(value) or value]
        if facts["choices"]:
            kind = "choice"
        elif one.metadata["path"]:
            kind = "path"
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        yield Key(table, one.name, kind, default, auto, **facts)

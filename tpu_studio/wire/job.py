"""A job: model, data, hyperparameters, limits and place, as a person wrote it ("auto" and all).

`parse` turns nested plain values (from TOML or JSON) into a `Job` or raises a `JobError` that names the key, what is
wrong with it and the nearest known key. ``domain.jobfile`` adds file and line; ``planner`` resolves what is "auto".
A value has its type: ``job.training.global_batch``; `--set`, the form and the schema name it by its path, `table.key`.
"""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Generic, NoReturn, TypeVar

from tpu_studio.wire import kinds
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.keys import AUTO, A, Auto, Key
from tpu_studio.wire.numerals import readings
from tpu_studio.wire.schema import BY_PATH, KEYS, SCHEMAS, TABLES, Data, Limits, Model, Top, Training, Where
from tpu_studio.wire.stops import MOST_HOURS
from tpu_studio.wire.visible import bare, one_line


@dataclass(frozen=True)
class JobOf(Top, Generic[A]):
    """What to train: `Job` as a person writes it, `ResolvedJob` without "auto".

    Attributes:
        base: Folder that relative paths are relative to; "" when unknown.
        given: The keys that the person wrote, as opposed to defaults.
    """

    model: Model = field(default_factory=Model)
    data: Data[A] = field(default_factory=Data)
    training: Training[A] = field(default_factory=Training)
    limits: Limits[A] = field(default_factory=Limits)
    where: Where[A] = field(default_factory=Where)
    base: str = ""
    given: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def values(self) -> Mapping[str, object]:
        """`table.key` → value; every key of the schema is present, None where unset. Treat as read-only."""
        tables = {table: vars(getattr(self, table)) for table in TABLES} | {"": vars(self)}
        return {path: tables[key.table][key.name] for path, key in BY_PATH.items()}

    def __getitem__(self, path: str) -> object:
        return self.values[path]

    def with_values(self, changes: Mapping[str, object], *, base: str | None = None) -> JobOf[A]:
        """A copy with `table.key` → value changed, unchecked; what the person wrote stays what it was."""
        return _job_of({**self.values, **changes}, self.base if base is None else base, self.given)

    def to_json(self) -> dict[str, object]:
        """Nested tables, keys that are unset left out: what `parse` reads back to an equal job."""
        tree: dict[str, object] = {}
        tables: dict[str, dict[str, object]] = {"": tree}
        for (path, value), key in zip(self.values.items(), KEYS, strict=True):
            if value is None or (path not in self.given and value in ({}, [], "")):
                continue
            if key.table not in tables:
                tree[key.table] = tables[key.table] = {}
            tables[key.table][key.name] = value
        return tree


Job = JobOf[Auto]
ResolvedJob = JobOf[NoReturn]


def job_of(values: Mapping[str, object], base: str = "", given: frozenset[str] = frozenset()) -> Job:
    """The job of *values*, `table.key` → value, one for each key of the schema, checked before."""
    return _job_of(values, base, given)


def resolved_of(values: Mapping[str, object], base: str = "", given: frozenset[str] = frozenset()) -> ResolvedJob:
    """As `job_of`, where no value is "auto" any more but a limit of money on a place that charges none."""
    return _job_of(values, base, given)


def _job_of(values: Mapping[str, object], base: str, given: frozenset[str]) -> JobOf[Any]:
    parts: dict[str, object] = {table: _filled(SCHEMAS[table], values, paths) for table, paths in _PATHS.items()}
    top = {name: values[name] for name in _TOP}
    return _filled(JobOf, {**top, **parts, "base": base, "given": given}, _FIELDS)


_PATHS = {table: tuple((key.name, key.path) for key in KEYS if key.table == table) for table in TABLES}
_TOP = tuple(key.name for key in KEYS if not key.table)
_FIELDS = tuple((one.name, one.name) for one in fields(JobOf))
T = TypeVar("T")


def _filled(schema: type[T], values: Mapping[str, object], names: tuple[tuple[str, str], ...]) -> T:
    """As ``schema(**values)``, in a third of the time: a plan is made of dozens of jobs, with each edit anew."""
    record = object.__new__(schema)
    vars(record).update({name: values[path] for name, path in names})
    return record


def parse(tree: Mapping[str, object], *, base: str = "") -> Job:
    """The job in nested plain values.

    Raises:
        JobError: ids ``job-format``, ``job-unknown-table``, ``job-unknown-key``, ``job-wrong-type``,
            ``job-out-of-range``, ``job-not-a-choice``, ``job-missing``, ``job-contradiction``; facts ``key``,
            ``value``, ``nearest``, ``allowed``.
    """
    if not isinstance(tree, Mapping):
        raise JobError("job-wrong-type", key="", value=type(tree).__name__, wanted="tables")
    version = tree.get("format", 1)
    if isinstance(version, bool) or not isinstance(version, int):
        raise JobError("job-wrong-type", key="format", value=_shown(version), wanted="a whole number")
    if version != 1:
        raise JobError("job-format", key="format", value=_shown(version), known=1)
    flat: dict[str, object] = {}
    for name, value in tree.items():
        if name in TABLES:
            if not isinstance(value, Mapping):
                raise JobError("job-wrong-type", key=name, value=_shown(value), wanted="a table")
            for inner, inner_value in value.items():
                if (path := f"{name}.{inner}") not in BY_PATH:
                    raise JobError("job-unknown-key", key=path, nearest=_nearest(path, tuple(BY_PATH)))
                flat[path] = inner_value
        elif isinstance(value, Mapping):
            raise JobError("job-unknown-table", key=name, nearest=_nearest(name, TABLES))
        elif name not in BY_PATH:
            raise JobError("job-unknown-key", key=name, nearest=_nearest(name, tuple(BY_PATH)))
        else:
            flat[name] = value
    values = {path: check(key, flat[path]) if path in flat else key.default for path, key in BY_PATH.items()}
    job = job_of(values, base, frozenset(flat))
    _check_together(job)
    return job


def parse_resolved(tree: Mapping[str, object], *, base: str = "") -> ResolvedJob:
    """The job of a plan. Raises as `parse`. A key that is younger than the plan has its default, be it "auto"."""
    job = parse(tree, base=base)
    return resolved_of(job.values, job.base, job.given)


def set_values(job: Job, changes: Mapping[str, object]) -> Job:
    """*job* with `table.key` → value changed; None takes a key back to its default.

    Setting ``training.epochs`` removes ``training.steps`` and the reverse; ``model.name`` and ``model.file`` likewise.
    Another model begins from what it knows itself.

    Raises:
        JobError: As `parse`.
    """
    values, given = dict(job.values), set(job.given)
    for path, value in changes.items():
        key = BY_PATH.get(path)
        if key is None:
            raise JobError("job-unknown-key", key=path, nearest=_nearest(path, tuple(BY_PATH)))
        if value is None:
            values[path] = key.default
            given.discard(path)
            continue
        values[path] = check(key, value)
        given.add(path)
        if path == "model.name" and "model.preset" not in changes:  # it was another model's
            values["model.preset"] = BY_PATH["model.preset"].default
            given.discard("model.preset")
        for one, other in _EITHER:
            for mine, rival in ((one, other), (other, one)):
                if path == mine and rival not in changes:
                    values[rival] = None
                    given.discard(rival)
    changed = job_of(values, job.base, frozenset(given))
    _check_together(changed)
    return changed


def parse_setting(text: str) -> tuple[str, object]:
    """`table.key=value` of a command line → path and value: TOML-like scalars, else the text itself.

    Raises:
        JobError: id ``job-setting`` when there is no "=", else as `parse`.
    """
    path, sign, raw = text.partition("=")
    path = path.strip()
    if not sign:
        raise JobError("job-setting", key=text)
    key = BY_PATH.get(path)
    if key is None:
        raise JobError("job-unknown-key", key=path, nearest=_nearest(path, tuple(BY_PATH)))
    return path, check(key, _scalar(key, raw.strip()))


def check(key: Key, value: object) -> object:
    """*value* as *key* wants it (whole floats become integers where integers are wanted), or a JobError."""
    if value == AUTO and isinstance(value, str):
        if key.auto or key.kind in ("text", "path"):
            return value
        raise JobError("job-not-auto", key=key.path)
    match key.kind:
        case "integer" | "number":
            return _number(key, value)
        case "boolean":
            if not isinstance(value, bool):
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted="true or false")
            return value
        case "choice":
            if not isinstance(value, str):
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted="text")
            if value not in key.choices:
                raise JobError(
                    "job-not-a-choice",
                    key=key.path,
                    value=value,
                    allowed=list(key.choices),
                    nearest=_nearest(value, key.choices),
                )
            return value
        case "table":
            if not isinstance(value, Mapping):
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted="a table")
            return {str(name): inner for name, inner in value.items()}
        case "list":
            items = value if isinstance(value, (list, tuple)) else (None,)
            if len(items) > LONGEST_LIST:  # each is looked up, priced and asked for
                raise JobError("job-wrong-type", key=key.path, value="a longer one", wanted=_LIST)
            if not all(isinstance(item, str) and len(item) <= LONGEST_TEXT and item.isprintable() for item in items):
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted=_LIST)
            return list(items)
        case _:
            if not isinstance(value, str):
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted="text")
            if not value.strip():
                raise JobError("job-empty-text", key=key.path)
            if (
                len(value) > LONGEST_TEXT and key.path != "name"
            ):  # no path is longer, and whoever shows it would break it into lines for ever
                wanted = f"text of {LONGEST_TEXT:,} letters at most"
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted=wanted)
            if "\0" in value:
                raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted="text without zeros")
            return _title(value) or key.default if key.path == "name" else value


LONGEST_NAME = 100
LONGEST_TEXT = 4_096
LONGEST_LIST = 300
"""Items; Google has 130 zones."""
_LIST = f"a list of at most {LONGEST_LIST} texts of one line"

_EITHER = (("training.epochs", "training.steps"), ("model.name", "model.file"))


def _check_together(job: Job) -> None:
    for one, other in _EITHER:
        if job[one] is not None and job[other] is not None:
            raise JobError("job-contradiction", key=one, other=other)
    if job.model.name is None and job.model.file is None:
        raise JobError("job-missing", key="model.name")
    if not job.data.kind:
        raise JobError("job-missing", key="data.kind")
    if job.data.path is None and not kinds.by_id(job.data.kind).is_built_in:
        raise JobError("job-missing", key="data.path")
    wait, hours = job.limits.wait_hours, job.limits.hours
    if hours != AUTO and wait + hours > MOST_HOURS:
        raise JobError("job-out-of-range", key="limits.hours", value=hours, minimum=0, maximum=MOST_HOURS - wait)


def number_of(key: Key, text: str) -> int | float:
    """The number that a person typed for *key*, in a field or behind ``--set``: "2,50" is 2.5 (``wire.numerals``).

    Raises:
        JobError: ``job-two-readings`` (facts ``value``, ``small``, ``large``) for "2,500" where decimals are allowed;
            ``job-wrong-type`` for what is no number; else as `check`.
    """
    return _number(key, one_number(key.path, text, whole=key.kind == "integer"))


def one_number(path: str, text: str, *, whole: bool) -> float:
    """The one number that *text* means for the setting *path*; raises as `number_of`, bounds apart."""
    found = readings(text, whole=whole)
    if len(found) == 2:
        small, large = sorted(found, key=abs)
        raise JobError("job-two-readings", key=path, value=text.strip(), small=small, large=large)
    if not found:
        wanted = "a whole number" if whole else "a number"
        raise JobError("job-wrong-type", key=path, value=f"“{text.strip()[:40]}”", wanted=wanted)
    return found[0]


def _number(key: Key, value: object) -> int | float:
    wanted = "a whole number" if key.kind == "integer" else "a number"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted=wanted)
    if isinstance(value, int) and value.bit_length() > 63:  # no step, no size and no float is as large
        raise JobError("job-wrong-type", key=key.path, value="a number of very many digits", wanted=wanted)
    if not math.isfinite(value) or (key.kind == "integer" and value != int(value)):
        raise JobError("job-wrong-type", key=key.path, value=_shown(value), wanted=wanted)
    low, high = key.minimum, key.maximum
    if (low is not None and (value <= low if key.above else value < low)) or (high is not None and value > high):
        raise JobError("job-out-of-range", key=key.path, value=value, minimum=low, maximum=high, above=key.above)
    return int(value) if key.kind == "integer" else value


def _scalar(key: Key, raw: str) -> object:
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in "\"'":
        return raw[1:-1]
    if key.kind == "list":
        return [item.strip().strip("\"'") for item in raw.strip("[]").split(",") if item.strip()]
    if key.kind == "table":
        pairs = [item.partition("=") for item in raw.strip("{}").split(",") if item.strip()]
        return {name.strip(): _plain(value.strip()) for name, _, value in pairs}
    if key.kind in ("integer", "number") and raw != AUTO:
        return number_of(key, raw)
    return raw if key.kind in ("text", "path", "choice") else _plain(raw)


def _plain(raw: str) -> object:
    if raw in ("true", "false"):
        return raw == "true"
    for kind in (int, float):
        try:
            return kind(raw.replace("_", ""))
        except ValueError:
            continue
    return raw.strip("\"'")


def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    """The known name a slip of the pen away from *word*; for `table.key` the key counts, in whatever table."""
    last = word.rpartition(".")[2]
    ends = {path.rpartition(".")[2]: path for path in known}
    if last in ends:
        return ends[last]
    for name, names in ((word, {path: path for path in known}), (last, ends)):
        if close := difflib.get_close_matches(name, list(names), n=1, cutoff=0.6):
            return names[close[0]]
    return None


def _title(name: str) -> str:
    """*name* as one line for titles and lists: a folder, after which a run is called, may have any name."""
    words = " ".join(one_line(name[:LONGEST_TEXT]).split())
    plain = "".join(mark for mark in words if unicodedata.category(mark) not in ("Cc", "Cs"))
    title = " ".join(plain.split())[:LONGEST_NAME].strip()
    return title if bare(title).strip() else ""  # letters that show as nothing are no name


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"

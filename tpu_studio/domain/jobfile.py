"""The job file: `name.tpujob`, TOML that a person can read, write and comment.

`load` gives a `Job` or a JobError with file, line and key; `save` writes one, keeping the comments of a file that is
already there. What the keys mean stands in ``wire.schema``.
"""

from __future__ import annotations

import os
import re
import tomllib
from datetime import date, time
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.plainfiles import open_plain, plainly, what_stands
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.schema import KEYS
from tpu_studio.wire.sizes import MODEL_CODE_BYTES

LARGEST_BYTES = MODEL_CODE_BYTES
MOST_DOTS = 4000  # a key a.a.a… of ten thousand parts takes the parser seconds, of a hundred thousand all memory
COMMENTED_BYTES, COMMENTED_DOTS = 50_000, 400
_DATA = {
    ".csv",
    ".tsv",
    ".tab",
    ".jsonl",
    ".ndjson",
    ".txt",
    ".md",
    ".text",
    ".jpg",
    ".jpeg",
    ".png",
}  # no job file is called so


def load(path: Path) -> Job:
    """The job in *path*; its relative paths are relative to the file's folder.

    Raises:
        JobError: ``job-file-missing``, ``job-file-is-data``, ``job-file-unreadable``, ``job-file-empty``,
            ``job-file-not-text``, ``job-file-too-large``, ``job-file-syntax`` (with line and column),
            ``job-file-twice``, and those of `wire.job.parse` with file and line added.
    """
    file = str(path)
    try:
        with open(path, "rb", opener=plainly) as stream:  # a pipe that nobody fills never ends
            data = stream.read(LARGEST_BYTES + 1)
    except FileNotFoundError as error:
        raise JobError("job-file-missing", file=file) from error
    except IsADirectoryError as error:
        raise JobError("job-file-is-data", file=file) from error
    except OSError as error:
        raise JobError("job-file-unreadable", file=file, raw=error.strerror or str(error)) from error
    try:
        return _decoded(data, path)
    except JobError as error:
        if path.suffix.lower() in _DATA and error.id in ("job-file-too-large", "job-file-not-text", "job-file-syntax"):
            raise JobError("job-file-is-data", file=file) from error
        raise


def _decoded(data: bytes, path: Path) -> Job:
    file = str(path)
    if len(data) > LARGEST_BYTES:
        raise JobError("job-file-too-large", file=file, limit=LARGEST_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JobError("job-file-not-text", file=file) from error
    if "\0" in text:
        raise JobError("job-file-not-text", file=file)
    return loads(text, file=file, base=str(path.resolve().parent))


def loads(text: str, *, file: str = "", base: str = "") -> Job:
    """The job in *text*; *file* and *base* as in `load`."""
    if not text.strip():
        raise JobError("job-file-empty", file=file)
    if text.count(".") > MOST_DOTS:
        raise JobError("job-file-syntax", file=file, raw=f"It has more than {MOST_DOTS:,} dots, which no job needs")
    try:
        tree = tomllib.loads(text)
        _check(tree)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(error, text, file) from error
    except JobError as error:
        raise JobError(error.id, file=file, **error.facts) from error
    except (ValueError, RecursionError) as error:  # of thousands of digits, or of brackets
        raise JobError("job-file-syntax", file=file, raw="A number or a list in it is beyond all measure") from error
    try:
        return parse(tree, base=base)
    except JobError as error:
        facts = {"file": file, **error.facts}
        line = line_of(text, str(error.facts.get("key", "")))
        if line:
            facts["line"] = line
        raise JobError(error.id, **facts) from error


def _check(value: object) -> None:
    """Of TOML's values a job has those of JSON, which a plan is written in.

    Raises:
        JobError: ``job-file-syntax``: there is a date.
        ValueError: There is a number of more than 64 bits; written in hexadecimal it may have any number of digits.
    """
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check(inner)
    elif isinstance(value, date | time):
        raise JobError("job-file-syntax", raw="A date or a time in it is no setting: write it in quotation marks")
    elif isinstance(value, int) and value.bit_length() > 64:
        raise ValueError("a number beyond all measure")


def dumps(job: Job, *, over: str = "") -> str:
    """The job as TOML: only what the person gave, plus format and name; changed in place in *over* if given."""
    document = tomlkit.parse(over) if over.strip() else tomlkit.document()
    wanted = {key.path for key in KEYS if key.path in job.given or key.path in ("format", "name")}
    for key in KEYS:
        holder: Any = document
        if key.table:
            if key.table not in document:
                if key.path not in wanted:
                    continue
                document.add(key.table, tomlkit.table())
            holder = document[key.table]
        value = job[key.path]
        if key.path in wanted and value is not None:
            if key.name not in holder or _plain(holder[key.name]) != value:
                holder[key.name] = _inline(value)
        elif key.name in holder:
            del holder[key.name]
    return tomlkit.dumps(document)


def save(job: Job, path: Path) -> None:
    """Write *job* to *path* atomically; comments and order of a readable file already there survive, unless it has more
    than `COMMENTED_BYTES` or `COMMENTED_DOTS`: with those tomlkit, which keeps them, may take minutes.

    Raises:
        JobError: ``job-file-unwritable``.
    """
    if what := what_stands(path):
        raise JobError("job-file-unwritable", file=str(path), raw=f"it is {what}")
    over = ""
    try:
        with os.fdopen(open_plain(path, os.O_RDONLY), encoding="utf-8") as file:  # what a link leads to is not this job
            over = file.read(COMMENTED_BYTES + 1)
        over = over if len(over) <= COMMENTED_BYTES and over.count(".") <= COMMENTED_DOTS else ""
        tomlkit.parse(over)
    except (OSError, UnicodeDecodeError, TOMLKitError):
        over = ""
    try:
        write_atomically(path, dumps(_relative_to(job, path.resolve().parent), over=over).encode())
    except OSError as error:
        raise JobError("job-file-unwritable", file=str(path), raw=error.strerror or str(error)) from error
    except UnicodeEncodeError as error:  # a name of a file that is no text, or half a letter in somebody's plan
        odd = error.object[max(0, error.start - 20) : error.end + 20].encode(errors="replace").decode()
        raw = f"“{odd.strip()}” has a letter that no text file can hold"
        raise JobError("job-file-unwritable", file=str(path), raw=raw) from error


def _wrong(error: tomllib.TOMLDecodeError, text: str, file: str) -> JobError:
    told = _TOLD.fullmatch(str(error))
    said, line, column = told.groups() if told else (str(error), None, None)
    if line and column:
        place = {"line": int(line), "column": int(column)}
    else:
        place = {"line": len(text.rstrip().splitlines())}
    if not said.startswith(_TWICE):
        return JobError("job-file-syntax", file=file, raw=said, **place)
    key, second = _twice(text)
    return JobError("job-file-twice", file=file, **(place | ({"key": key, "line": second} if key else {})))


def line_of(text: str, key: str) -> int | None:
    """The 1-based line of `table.key` (or of a table, or of a key at the top) in TOML *text*; None when not found."""
    table, _, name = key.rpartition(".")
    if key.startswith("model.options."):
        table, name = "model", "options"
    current, table_line = "", None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if header := _HEADER.match(stripped):
            current = header[1].strip().strip("\"'")
            if current == key:
                return number
            if current == table:
                table_line = number
            continue
        word = _WORD.match(stripped)
        if current == table and word and word[1] == name:
            return number
        if not current and key.startswith(f"{word[1]}." if word else "\0"):
            return number
    return table_line


def _twice(text: str) -> tuple[str, int]:
    """The first key or table that stands there for the second time in one table, and its 1-based line; "" for none."""
    table, seen = "", set()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line.strip()):
            name = table = header[1].strip()
            word = f"[{name}]"
        elif found := _WORD.match(line.strip()):
            name, word = found[1], f"{table}.{found[1]}"
        else:
            continue
        if word in seen:
            return name, number
        seen.add(word)
    return "", 0


def _relative_to(job: Job, folder: Path) -> Job:
    """*job* with its relative paths meant from *folder* (kept as they are when it is the job's own folder)."""
    if not job.base or Path(job.base) == folder:
        return job
    paths = {
        path: str(Path(job.base) / value)
        for path in ("data.path", "model.file")
        if isinstance(value := job[path], str) and not os.path.isabs(value)
    }
    return job.with_values(paths, base=str(folder))


def _plain(item: object) -> object:
    return item.unwrap() if hasattr(item, "unwrap") else item


def _inline(value: object) -> Any:
    """A table is read from its text: adding its names one by one takes tomlkit the square of their number."""
    return tomlkit.value(_text_of(value)) if isinstance(value, dict) else value


def _text_of(value: object) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{tomlkit.key(name).as_string()} = {_text_of(one)}" for name, one in value.items())
        return f"{{{inside}}}"
    return tomlkit.item(value).as_string()


_TOLD = re.compile(r"(.*?)(?: \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\))?", re.DOTALL)
_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Duplicate")
_HEADER = re.compile(r"\[([^\[\]]+)\]")
_WORD = re.compile(r"""["']?([^"'=\s.]+)["']?\s*[.=]""")

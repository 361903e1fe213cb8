"""The job file: `name.tpujob`, TOML that a person can read, write and comment.

`load` gives a `Job` or a JobError with file, line and key; `save` writes one, keeping the comments of a file that is
already there. What the keys mean stands in ``wire.schema``.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError

from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.schema import KEYS
from tpu_studio.wire.sizes import MODEL_CODE_BYTES

LARGEST_BYTES = MODEL_CODE_BYTES
_DATA = {".csv", ".tsv", ".tab", ".txt", ".md", ".text", ".jpg", ".jpeg", ".png"}  # no job file is called so


def load(path: Path) -> Job:
    """The job in *path*; its relative paths are relative to the file's folder.

    Raises:
        JobError: ``job-file-missing``, ``job-file-is-data``, ``job-file-unreadable``, ``job-file-empty``,
            ``job-file-not-text``, ``job-file-too-large``, ``job-file-syntax`` (with line and column),
            ``job-file-twice``, and those of `wire.job.parse` with file and line added.
    """
    file = str(path)
    try:
        kind = os.stat(path).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a pipe that nobody fills never ends
            raise JobError("job-file-unreadable", file=file, raw="it is a pipe or a device, not a file")
        with open(path, "rb") as stream:
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
    try:
        tree = tomlkit.parse(text).unwrap()
    except (TOMLKitError, RecursionError) as error:
        place = {"line": error.line, "column": error.col} if isinstance(error, ParseError) else {}
        if twice := re.match(r'Key "(.*)" already exists', str(error)):
            if line := _second_line_of(text, twice[1]):
                place["line"] = line
            raise JobError("job-file-twice", file=file, key=twice[1], **place) from error
        raise JobError("job-file-syntax", file=file, raw=_first_line(error).rstrip("."), **place) from error
    try:
        return parse(tree, base=base)
    except JobError as error:
        facts = {"file": file, **error.facts}
        line = line_of(text, str(error.facts.get("key", "")))
        if line:
            facts["line"] = line
        raise JobError(error.id, **facts) from error


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
    """Write *job* to *path* atomically; comments and order of a readable file already there survive.

    Raises:
        JobError: ``job-file-unwritable``.
    """
    over = ""
    try:
        over = path.read_text("utf-8") if path.exists() else ""
        tomlkit.parse(over)
    except (OSError, UnicodeDecodeError, TOMLKitError):
        over = ""
    try:
        write_atomically(path, dumps(_relative_to(job, path.resolve().parent), over=over).encode())
    except OSError as error:
        raise JobError("job-file-unwritable", file=str(path), raw=error.strerror or str(error)) from error


def line_of(text: str, key: str) -> int | None:
    """The 1-based line of `table.key` (or of a table, or of a key at the top) in TOML *text*; None when not found."""
    table, _, name = key.rpartition(".")
    if key.startswith("model.options."):
        table, name = "model", "options"
    current, table_line = "", None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if header := re.match(r"\[\s*([^\[\]]+?)\s*\]", stripped):
            current = header[1].strip("\"'")
            if current == key:
                return number
            if current == table:
                table_line = number
            continue
        word = re.match(r"""["']?([^"'=\s.]+)["']?\s*[.=]""", stripped)
        if current == table and word and word[1] == name:
            return number
        if not current and key.startswith(f"{word[1]}." if word else "\0"):
            return number
    return table_line


def _second_line_of(text: str, name: str) -> int | None:
    """The 1-based line on which the key or table *name* stands for the second time in one table."""
    table, seen = "", set()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            word, table = f"[{header[1]}]", header[1]
        elif found := re.match(r"""\s*["']?([^"'=\s.]+)["']?\s*=""", line):
            word = f"{table}.{found[1]}"
        else:
            continue
        if word in seen and word.rpartition(".")[2].strip("[]") == name:
            return number
        seen.add(word)
    return None


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
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    return value


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]

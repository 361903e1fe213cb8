"""Where an engine stands, read from its folder in milliseconds: nothing is started, nothing imported.

`engine.json` is written last, after the self-test; an environment without it does not count.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tpu_studio.local.engine.lock import Lock, canonical
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import write_atomically

Status = Literal["missing", "installing", "broken", "outdated", "ready"]
FORMAT = 1
_HEAVY = ("libtpu", "jaxlib")  # of TensorFlow 25,000 files are listed: too many for a glance


@dataclass(frozen=True)
class EngineState:
    """
    Attributes:
        problem: When broken, what: `unfinished`, `record-unreadable`, `python-gone`, `package-gone`, `package-other`
            (another version than the one that was tested) or `library-changed` (a large library is not the file that
            its package brought). When outdated, `python-other` where the training engine has another Python.
        detail: The path or package the problem is about.
        versions: Package to version, of the whole environment.
        size_bytes: On disk, after the self-test.
        python: Version of its interpreter, `3.11.7`.
        tested: What the self-test measured: seconds to import each framework and more; empty before.
    """

    status: Status
    problem: str = ""
    detail: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 0
    python: str = ""
    tested: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        return self.status == "ready"

    def to_json(self) -> dict[str, Any]:
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Paths:
    """The names in an engine's folder; other environments (a TPU compiler) will stand beside `main`."""

    root: Path

    @property
    def record(self) -> Path:
        return self.root / "engine.json"

    @property
    def minor(self) -> str:
        """`3.11`, from the environment's own folder names; "" where there is none."""
        found = sorted(self.main.glob("lib/python3.*"))
        return found[-1].name.removeprefix("python") if found else ""

    @property
    def main(self) -> Path:
        return self.root / "main"

    @property
    def previous(self) -> Path:
        """The engine that is being replaced: put back when its successor fails."""
        return self.root / "main.previous"

    @property
    def python(self) -> Path:
        return self.main / "bin" / "python"

    @property
    def lock(self) -> Path:
        return self.root / ".lock"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def wheels(self) -> Path:
        """Files fetched so far; deleted once the engine counts."""
        return self.root / "wheels"

    @property
    def log(self) -> Path:
        return self.root / "install.log"


def read_state(paths: Paths, lock: Lock, minor: str = "") -> EngineState:
    """The state, leaving out whether somebody is installing right now; *minor*: as in `EngineSpec`."""
    if not paths.main.is_dir():
        return EngineState("missing")
    if not paths.record.exists():
        return EngineState("broken", "unfinished", str(paths.main))
    try:
        record = read_json(paths.record)
        told = EngineState(
            "ready",
            versions=dict(record["versions"]),
            size_bytes=int(record["size_bytes"]),
            python=str(record["python"]),
            tested=dict(record["self_test"]),
        )
        lock_sha256, known = record["lock_sha256"], record["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        return EngineState("broken", "record-unreadable", str(error))
    if not paths.python.exists():
        gone = paths.python.readlink() if paths.python.is_symlink() else paths.python
        return _but(told, "broken", "python-gone", str(gone))
    installed = installed_versions(paths.main)
    for name, version in told.versions.items():
        if name not in installed:
            return _but(told, "broken", "package-gone", name)
        if installed[name] != version:
            return _but(told, "broken", "package-other", f"{name} {installed[name]} instead of {version}")
    if changed := changed_library(paths.main):
        return _but(told, "broken", "library-changed", changed)
    if not known or lock_sha256 != lock.sha256:
        return _but(told, "outdated")
    if minor and not told.python.startswith(f"{minor}."):
        return _but(told, "outdated", "python-other", told.python)
    return told


def write_record(paths: Paths, lock: Lock, python: str, tested: Mapping[str, object]) -> None:
    """Make the environment count; called after the self-test only."""
    record = {
        "format": FORMAT,
        "lock_sha256": lock.sha256,
        "python": python,
        "versions": installed_versions(paths.main),
        "size_bytes": size_on_disk(paths.main),
        "self_test": dict(tested),
        "created": time.time(),
    }
    write_atomically(paths.record, json.dumps(record, indent=1).encode())


def installed_versions(environment: Path) -> dict[str, str]:
    """Package to version, from the names of the `.dist-info` folders that pip has finished."""
    found: dict[str, set[str]] = {}
    for info in environment.glob("lib/python3.*/site-packages/*.dist-info"):
        if (info / "INSTALLER").exists():  # written by pip after the package's files
            name, _, version = info.name.removesuffix(".dist-info").partition("-")
            found.setdefault(canonical(name), set()).add(version)
    # Two of one package: which of them Python takes is chance, so neither counts.
    return {name: " and ".join(sorted(versions)) for name, versions in sorted(found.items())}


def changed_library(environment: Path) -> str:
    """The first compiled library of a package in `_HEAVY` that is absent or of another size than its package's list
    (RECORD) says; "" when all are as they came. Whoever replaces one by hand leaves the package's version as it was."""
    for site in environment.glob("lib/python3.*/site-packages"):
        for name in _HEAVY:
            for record in site.glob(f"{name}-*.dist-info/RECORD"):
                try:
                    rows = [line for line in record.read_bytes().split(b"\n") if b".so" in line]
                except OSError:
                    return record.name
                for row in rows:
                    name_of, _, size = row.strip().rsplit(b",", 2)
                    path = site / os.fsdecode(name_of)
                    if size and (not path.exists() or path.stat().st_size != int(size)):
                        return path.name
    return ""


def size_on_disk(folder: Path) -> int:
    """Bytes that the folder takes on disk, symbolic links not followed."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def _but(state: EngineState, status: Status, problem: str = "", detail: str = "") -> EngineState:
    return EngineState(status, problem, detail, state.versions, state.size_bytes, state.python, state.tested)

"""Read the engine's lock: each package's version, the sizes of its files, and the identity of the whole.

The file is pip's own `--require-hashes` format, so pip itself checks every byte; a comment before each requirement
carries the sizes (`# sizes 3.11=137673 3.12=…`). Written by tools/lock_engine.py.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

_SIZES = re.compile(r"# sizes (.+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)==([^\s\\;]+)")


@dataclass(frozen=True)
class LockedPackage:
    """One requirement; *sizes* maps a Python (`3.11`) to the bytes of its wheel, *text* is pip's lines for it."""

    name: str
    version: str
    sizes: dict[str, int]
    text: str

    @property
    def hashes(self) -> set[str]:
        """sha256 of each file that may be installed: one for each Python, or one for all."""
        return set(_HASH.findall(self.text))


@dataclass(frozen=True)
class Lock:
    path: Path
    sha256: str
    packages: dict[str, LockedPackage]

    @property
    def pythons(self) -> list[str]:
        """The Python versions (`3.11`) that every package has a file for, newest first."""
        common = set.intersection(*(set(package.sizes) for package in self.packages.values()))
        return sorted(common, key=lambda version: [int(part) for part in version.split(".")], reverse=True)

    def download_bytes(self, python: str) -> int:
        return sum(package.sizes[python] for package in self.packages.values())


def read_lock(path: Path) -> Lock:
    """Raises ValueError when the file is not a lock: it ships with us, so that is a broken installation."""
    raw = path.read_bytes()
    packages: dict[str, LockedPackage] = {}
    sizes: dict[str, int] | None = None
    lines = raw.decode("utf-8").splitlines()
    for number, line in enumerate(lines):
        if told := _SIZES.match(line):
            sizes = {python: int(size) for python, size in (item.split("=") for item in told[1].split())}
        elif found := _REQUIREMENT.match(line):
            if sizes is None:
                raise ValueError(f"{path}, line {number + 1}: no sizes before {found[1]}")
            end = number + 1
            while lines[end - 1].endswith("\\") and end < len(lines):
                end += 1
            package = LockedPackage(canonical(found[1]), found[2], sizes, "\n".join(lines[number:end]) + "\n")
            packages[package.name] = package
            sizes = None
    if not packages:
        raise ValueError(f"{path}: no packages")
    return Lock(path, hashlib.sha256(raw).hexdigest(), packages)


def canonical(name: str) -> str:
    """A project name as the packaging rules compare it (PEP 503): `Ml_Dtypes` is `ml-dtypes`."""
    return re.sub(r"[-_.]+", "-", name).lower()

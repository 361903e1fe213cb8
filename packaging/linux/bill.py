"""What the built program holds, for its bill of materials, and the checksums of what was built. Standard library only.

Parts are the Python packages of constraints/app.txt that this system takes, each with the sha256 of the wheel that pip
installed; Python itself; libraries that came from the build machine, each with its own sha256; fonts and icons.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from libraries import BROUGHT

TOP = Path(__file__).resolve().parents[2]
SUMS = "SHA256SUMS"
SHIPPED = (
    ("Inter", "OFL-1.1"),
    ("JetBrains Mono", "OFL-1.1"),
    ("Lucide", "ISC AND MIT"),  # some drawings are Feather's
)


@dataclass(frozen=True)
class Part:
    """*kind*: package, library, runtime or asset. *sha256*: of the wheel, or of the file; "" for none. *needs*: other
    packages, by name."""

    kind: str
    name: str
    version: str
    licence: str
    sha256: str = ""
    needs: tuple[str, ...] = ()


def parts(report: Mapping[str, Any], app: Path) -> list[Part]:
    """*report*: what ``pip install --report`` wrote. Raises SystemExit: pip installed what no lock or licence names."""
    licences = {name: licence for name, _, licence in _read("resources/licences.json")["sets"]["app"]}
    locked = dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)==([^ ;]+)", (TOP / "constraints" / "app.txt").read_text(), re.M))
    found = []
    for one in report["install"]:
        told = one["metadata"]
        name = canonical(told["name"])
        if name not in locked:
            continue  # built with, not shipped
        sha256 = one["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if locked[name] != told["version"] or not sha256 or name not in licences:
            raise SystemExit(f"{name} {told['version']} is not what constraints/app.txt and licences.json name")
        needs = (canonical(re.split(r"[^A-Za-z0-9._-]", asked)[0]) for asked in told.get("requires_dist") or ())
        wanted = tuple(sorted({one for one in needs if one in locked}))
        found.append(Part("package", name, told["version"], licences[name], sha256, wanted))
    found.append(Part("runtime", "python", platform.python_version(), "PSF-2.0"))
    found += libraries(app / "_internal")
    found += [Part("asset", name, "", licence) for name, licence in SHIPPED]
    return found


def libraries(internal: Path) -> list[Part]:
    """Shared libraries beside the packages: they came from the machine that built, under Debian's copyright files. With
    the version of the Debian package that has the very same file. Those that are a package's own module are not among
    them."""
    found = (path for path in internal.glob("*.so*") if path.is_file() and not path.is_symlink())
    files = sorted(path for path in found if not re.search(r"\.(cpython-|abi3)", path.name))
    found_parts = []
    for path in files:
        sha256 = _sha256(path)
        licence = next((licence for name, licence in BROUGHT.items() if path.name.startswith(name)), "")
        version = debian_version(path.name, sha256)
        if not version and path.name.startswith("libpython"):  # of a Python that was built here
            version = platform.python_version()
        found_parts.append(Part("library", path.name, version, licence, sha256))
    return found_parts


def debian_version(name: str, sha256: str) -> str:
    """Of the installed Debian package whose file of that *name* has that *sha256*; "" without one, or without dpkg."""
    for line in _dpkg("-S", f"*/{name}").splitlines():
        package, _, path = line.rpartition(": ")
        if package and Path(path).is_file() and _sha256(Path(path)) == sha256:
            return _dpkg("-W", "-f", "${Version}", package)
    return ""


def _dpkg(*asked: str) -> str:
    try:
        return subprocess.run(["dpkg-query", *asked], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def checksums(files: Iterable[Path], out: Path) -> None:
    """In the format of sha256sum, so that ``sha256sum -c`` reads it."""
    lines = [f"{_sha256(path)}  {path.name}\n" for path in sorted(files)]
    out.write_text("".join(lines), encoding="utf-8")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(path: str) -> Any:
    return json.loads((TOP / path).read_text("utf-8"))


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

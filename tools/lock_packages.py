"""Write the locks of packages: every file that may be installed, by its sha256, as the package index tells it.

    python tools/lock_packages.py machines python3.11 python3.12 python3.13

`machines`: `resources/vm/*.lock.txt`, what rented machines and Colab runtimes install, with everything that comes
along, for Linux on x86-64. pip of each given Python resolves the list beside it (`*.wanted.txt`, with the versions of
constraints/engine.txt) without downloading it. Whatever this computer's pip is set up with (other indexes, folders of
wheels) is left out, so that the hashes are the public index's. A package that the index offers as source only is
refused here: nothing is ever built on a rented machine.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ROOT / "resources" / "vm"
OLDEST_GLIBC = 35
"""Ubuntu 22.04's, the oldest image of a TPU VM: 2.35."""
_FILE = re.compile(r"[A-Za-z0-9._+-]+\.whl")
_GLIBC = re.compile(r"manylinux_2_([0-9]+)_x86_64")
_ANY = ("any", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("machines",))
    options.add_argument("pythons", nargs="+", help="one interpreter for each Python version")
    pythons = options.parse_args().pythons
    for wanted in sorted(MACHINES.glob("*.wanted.txt")):
        lock = wanted.with_name(wanted.name.replace(".wanted.", ".lock."))
        resolved = {_version(python): resolve(python, wanted) for python in pythons}
        lock.write_text(machine_lock(wanted.name, resolved), encoding="utf-8")
        print(f"{lock.relative_to(ROOT)}: {len(next(iter(resolved.values())))} packages for {', '.join(resolved)}")
    return 0


def resolve(python: str, wanted: Path) -> dict[str, tuple[str, str]]:
    """What pip of *python* would install: file name and sha256 by requirement (``numpy==2.4.6``)."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [python, "-m", "pip", "--isolated", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--only-binary=:all:", "-r", str(wanted), "-c", str(ROOT / "constraints" / "engine.txt")]
        subprocess.run([*command, "--report", str(report)], check=True)
        return files_of(json.loads(report.read_text("utf-8")))


def files_of(report: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Raises SystemExit: a file is no wheel for the oldest image, or has no sha256."""
    found: dict[str, tuple[str, str]] = {}
    for one in report["install"]:
        told, file = one["metadata"], str(one["download_info"]["url"]).rsplit("/", 1)[-1].replace("%2B", "+")
        sha256 = str(one["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", ""))
        if not _FILE.fullmatch(file) or not runs_on_oldest(file) or not re.fullmatch("[0-9a-f]{64}", sha256):
            raise SystemExit(f"{told['name']} {told['version']}: {file} is no wheel that every image can install")
        found[f"{canonical(told['name'])}=={told['version']}"] = (file, sha256)
    return found


def runs_on_oldest(wheel: str) -> bool:
    """Whether one of its platforms is Linux on x86-64 with the oldest image's C library, or any."""
    for platform in wheel.removesuffix(".whl").rsplit("-", 1)[-1].split("."):
        if platform in _ANY or ((named := _GLIBC.fullmatch(platform)) and int(named[1]) <= OLDEST_GLIBC):
            return True
    return False


def machine_lock(wanted: str, resolved: Mapping[str, Mapping[str, tuple[str, str]]]) -> str:
    """The lock in pip's format, the same versions for each Python. Raises SystemExit where they differ."""
    versions = {tuple(sorted(files)) for files in resolved.values()}
    if len(versions) != 1:
        common = [one for one in resolved[next(iter(resolved))] if all(one in files for files in versions)]
        apart = {one for files in versions for one in files} - set(common)
        raise SystemExit(f"{wanted}: not the same for each Python, pin it in constraints/engine.txt: {sorted(apart)}")
    lines = [
        f"# All that {wanted} brings along, file by file. Written by tools/lock_packages.py; do not edit.\n",
        f"# Linux x86-64, CPython {', '.join(resolved)}.\n",
    ]
    for requirement in sorted(versions.pop()):
        lines.append(entry(requirement, [files[requirement][1] for files in resolved.values()]))
    return "".join(lines)


def entry(requirement: str, digests: Sequence[str]) -> str:
    return f"{requirement} \\\n" + " \\\n".join(f"    --hash=sha256:{one}" for one in sorted(set(digests))) + "\n"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version(python: str) -> str:
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

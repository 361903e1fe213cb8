"""Write resources/engine/lock.txt: every file the training engine may install, with its sha256 and size.

Run by hand when a version changes; `--of` and one of `NAMES` writes that lock:

    python tools/lock_engine.py python3.11 python3.12 python3.13

Downloads the wheels for each given Python of this system (about 450 MB each) into a folder that is kept between
runs, and writes them in pip's `--require-hashes` format. The comment before each requirement carries what pip's
format cannot: the size of the file for each Python, from which the installer plans its progress.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / "resources" / "engine"
PINS = ROOT / "constraints" / "engine.txt"
NAMES = {
    "engine": "The training engine",
    "tpu-compiler": "The environment of the TPU compiler",
    "tf-tpu-compiler": "The environment that lowers TensorFlow for a TPU",
    "starter-weights": "Weights that models can begin from",
    "onnx-exporter": "What writes a model as ONNX",
}
HEADER = """\
# {what}, file by file. Written by tools/lock_engine.py; do not edit.
# Linux x86-64, CPython {pythons}. "sizes": bytes of the file to download, for each Python.
"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pythons", nargs="+", help="one interpreter for each Python version")
    options.add_argument("--wheels", type=Path, default=ROOT / "build" / "engine-wheels")
    options.add_argument("--of", choices=tuple(NAMES), default="engine")
    given = options.parse_args()
    before = "" if given.of == "engine" else f"{given.of}."
    wanted, lock = LISTS / f"{before}wanted.txt", LISTS / f"{before}lock.txt"
    locked: dict[str, dict[str, Path]] = {}
    for python in given.pythons:
        version = _version(python)
        folder = given.wheels / version
        folder.mkdir(parents=True, exist_ok=True)
        for listed, *more in split(wanted, folder):
            command = [python, "-m", "pip", "download", "--only-binary=:all:", "-r", listed, "-c", str(PINS), *more]
            subprocess.run([*command, "-d", str(folder)], check=True)
        locked[version] = {name_and_version(wheel): wheel for wheel in sorted(folder.glob("*.whl"))}
    requirements = {tuple(sorted(files)) for files in locked.values()}
    if len(requirements) != 1:
        for version, files in locked.items():
            others = set.union(*(set(other) for other in locked.values()))
            print(f"{version} lacks {sorted(others - set(files))}", file=sys.stderr)
        print("The versions differ between the Pythons: pin them in constraints/engine.txt.", file=sys.stderr)
        return 1
    lock.write_text(lock_text(locked, NAMES[given.of]), encoding="utf-8")
    print(f"{lock}: {len(requirements.pop())} packages for {', '.join(sorted(locked))}")
    return 0


def split(wanted: Path, folder: Path) -> list[list[str]]:
    """Files of requirements with pip's options for each, made in *folder*: what *wanted* lists, and what it marks
    `# alone`, which comes without the packages that it names itself."""
    lines = wanted.read_text("utf-8").splitlines(keepends=True)
    found = []
    for name, alone in (("wanted", False), ("alone", True)):
        kept = [line for line in lines if line.rstrip().endswith("# alone") is alone]
        if any(line[0].isalpha() for line in kept):
            (folder / f"{name}.txt").write_text("".join(kept), encoding="utf-8")
            found.append([str(folder / f"{name}.txt"), *["--no-deps"] * alone])
    return found


def lock_text(locked: dict[str, dict[str, Path]], what: str = "The training engine") -> str:
    """Args: for each Python (`3.11`) the wheel of each requirement (`numpy==2.4.6`)."""
    versions = sorted(locked, key=lambda version: int(version.split(".")[1]))
    lines = [HEADER.format(what=what, pythons=", ".join(versions))]
    for requirement in sorted(locked[versions[0]]):
        files = [locked[version][requirement] for version in versions]
        hashes = sorted({hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
        sizes = " ".join(f"{version}={file.stat().st_size}" for version, file in zip(versions, files, strict=True))
        options = " \\\n".join(f"    --hash=sha256:{digest}" for digest in hashes)
        lines.append(f"# sizes {sizes}\n{requirement} \\\n{options}\n")
    return "".join(lines)


def name_and_version(wheel: Path) -> str:
    name, version = wheel.name.split("-")[:2]
    return f"{re.sub(r'[-_.]+', '-', name).lower()}=={version}"


def _version(python: str) -> str:
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

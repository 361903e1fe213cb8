"""A system Python whose venv takes a moment and whose pip installs nothing but names: run as a program by tests.

It prints what pip 26 prints (lines recorded from real installations) and leaves the folders that pip leaves. The
variable FAKE_FAULT names what goes wrong: `offline`, `damaged-once`, `full-disk`, `missing`, `self-test`, `no-venv`,
`old`, `hang-in-download`, `hang-in-install`. FAKE_LOG collects the commands.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from pathlib import Path

VERSION = "3.11.9"
FAULT = os.environ.get("FAKE_FAULT", "")


def make_python(path: Path) -> Path:
    """An executable at *path* that is this fake."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{__file__}" "$0" "$@"\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def wheel_bytes(name: str) -> bytes:
    """The content of the only file of *name*."""
    return f"the wheel of {name}".encode() * 100


def lock_text(names: dict[str, str], python: str = "3.11") -> str:
    return "".join(
        f"# sizes {python}={len(wheel_bytes(name))}\n{name}=={version} \\\n"
        f"    --hash=sha256:{hashlib.sha256(wheel_bytes(name)).hexdigest()}\n"
        for name, version in names.items()
    )


def main(me: Path, arguments: list[str]) -> int:
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
            log.write(" ".join(arguments) + "\n")
    if "-c" in arguments:
        version = "3.9.1" if FAULT == "old" else VERSION
        told = {"python": str(me), "version": version, "implementation": "cpython", "threads": False}
        print(json.dumps({**told, "venv": FAULT != "no-venv"}))
        return 0
    if "venv" in arguments:
        folder = Path(arguments[-1])
        make_python(folder / "bin" / "python")
        (folder / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        return 0
    if "pip" in arguments:
        return pip(me.parent.parent / "lib" / "python3.11" / "site-packages", arguments)
    return self_test()


def pip(packages: Path, arguments: list[str]) -> int:
    lines = Path(arguments[arguments.index("-r") + 1]).read_text(encoding="utf-8").splitlines()
    wanted = dict(line.split(" ")[0].split("==") for line in lines if "==" in line)
    if "download" in arguments:
        return download(Path(arguments[arguments.index("--dest") + 1]), wanted, "--no-cache-dir" in arguments)
    print(f"Installing collected packages: {', '.join(wanted)}", flush=True)
    for name, version in wanted.items():
        if FAULT == "hang-in-install" and name == "beta":
            time.sleep(60)
        if FAULT == "full-disk" and name == "beta":
            print("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
            return 1
        install(packages, name, version)
    print(f"Successfully installed {' '.join(wanted)}")
    return 0


def download(folder: Path, wanted: dict[str, str], past_the_cache: bool) -> int:
    for name, version in wanted.items():
        if FAULT == "offline" and name != "pip":
            print("WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(…)'", flush=True)
            print(f"ERROR: No matching distribution found for {name}=={version}")
            return 1
        if FAULT == "missing" and name == "beta":
            print(f"ERROR: No matching distribution found for {name}=={version}")
            return 1
        if FAULT == "damaged-once" and name == "beta" and not past_the_cache:
            print("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")
            return 1
        size = len(wheel_bytes(name))
        print(f"Collecting {name}=={version} (from -r wanted.txt (line 1))")
        print(f"  Downloading {name}-{version}-py3-none-any.whl (1.2 kB)\nProgress 0 of {size}", flush=True)
        if FAULT == "hang-in-download" and name == "beta":
            time.sleep(60)
        (folder / f"{name}-{version}-py3-none-any.whl").write_bytes(wheel_bytes(name))
        print(f"Progress {size} of {size}", flush=True)
    return 0


def install(packages: Path, name: str, version: str) -> None:
    for folder in (packages / name, packages / f"{name}-{version}.dist-info"):
        folder.mkdir(exist_ok=True)
    (packages / name / "__init__.py").write_text("whole = True\n", encoding="utf-8")
    digest = "ZcBuBV1etMXQX7T7X0KpPva92-FLNJfyzW5nG3qqIbM"
    record = f"{name}/__init__.py,sha256={digest},13\n{name}-{version}.dist-info/INSTALLER,,\n"
    (packages / f"{name}-{version}.dist-info" / "RECORD").write_text(record, encoding="utf-8")
    (packages / f"{name}-{version}.dist-info" / "INSTALLER").write_text("pip\n", encoding="utf-8")


def self_test() -> int:
    print("testing 1 of 2: alpha", flush=True)
    print("testing 2 of 2: beta", flush=True)
    if FAULT == "self-test":
        print("ImportError: beta was built for another machine")
        return 1
    print(json.dumps({"python": VERSION, "seconds": {"alpha": 0.1, "beta": 0.2}}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

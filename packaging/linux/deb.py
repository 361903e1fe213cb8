"""The Debian package, made from the built program and the files beside this script. `build.py` calls `build`."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import bill
import libraries
import manual

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WORK = TOP / "build" / "package"
APP = TOP / "dist" / "tpu-studio"
ICON_SIDES = (16, 24, 32, 48, 64, 128, 256, 512)
RECOMMENDS = (
    "python3 (>= 3.11)",
    "python3-venv",
    "curl",
    "xdg-utils",
    "libwayland-client0",
    "libwayland-cursor0",
    "libwayland-egl1",
)
"""Python and venv make the training engine on first need; machines of the practice cloud need Python and curl. Without
them the window works, and says what is missing."""
SUGGESTS = ("gnome-keyring | kwalletmanager",)
"""Where a sign-in at Google is kept; without one it is a file that only its owner can read, and the window says so."""

CONTROL = """\
Package: tpu-studio
Version: {version}
Architecture: amd64
Maintainer: The TPU Studio developers <maintainers@tpu-studio.invalid>
Installed-Size: {size_kb}
Depends: {depends}
Recommends: {recommends}
Suggests: {suggests}
Section: science
Priority: optional
Description: train models on this computer or a rented TPU, in a window
 Pick pictures, a table or a text, see how long training takes and what it
 costs, press one button and watch the model learn: on this computer, in a
 free practice cloud on this computer, or on a Cloud TPU with the bill capped.
 At the end the model is yours, in open formats.
 .
 The training engine (TensorFlow, JAX, Keras) is created in your home folder
 when it is first needed; it takes about 470 MB of download and 2.1 GB of disk.
"""


def build() -> Path:
    """`dist/tpu-studio_<version>_amd64.deb`."""
    root = WORK / "deb"
    shutil.rmtree(root, ignore_errors=True)
    share = root / "usr" / "share"
    shutil.copytree(APP, root / "usr" / "lib" / "tpu-studio", symlinks=True)
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "tpu-studio").symlink_to("../lib/tpu-studio/tpu-studio")
    for target, source in {
        "applications/tpu-studio.desktop": "tpu-studio.desktop",
        "mime/packages/tpu-studio.xml": "tpu-studio.mime.xml",
        "metainfo/io.github.tpu_studio.TpuStudio.metainfo.xml": "io.github.tpu_studio.TpuStudio.metainfo.xml",
        "doc/tpu-studio/copyright": "copyright",
    }.items():
        _write(share / target, _filled(source).encode())
    _write(share / "man" / "man1" / "tpu-studio.1.gz", gzip.compress(_filled("tpu-studio.1").encode(), mtime=0))
    changes = (TOP / "CHANGELOG.md").read_bytes()
    _write(share / "doc" / "tpu-studio" / "changelog.gz", gzip.compress(changes, mtime=0))
    _licences(share / "doc" / "tpu-studio" / "licences")
    _write(share / "doc" / "tpu-studio" / "sbom.cdx.json.gz", gzip.compress(sbom().read_bytes(), mtime=0))
    icons = share / "icons" / "hicolor"
    for side in ICON_SIDES:
        picture = (WORK / "icons" / f"{side}.png").read_bytes()
        _write(icons / f"{side}x{side}" / "apps" / "tpu-studio.png", picture)
    _write(icons / "scalable" / "apps" / "tpu-studio.svg", (TOP / "resources" / "icons" / "app.svg").read_bytes())
    _control(root)
    package = TOP / "dist" / f"tpu-studio_{version()}_amd64.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(package)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return package


def sbom() -> Path:
    """The bill of materials, made by `build.py`."""
    return TOP / "dist" / f"tpu-studio_{version()}.cdx.json"


def version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (TOP / "tpu_studio" / "__init__.py").read_text())
    assert found is not None
    return found[1]


def megabytes(folder: Path) -> float:
    """Bytes on disk, by whole blocks as dpkg counts them."""
    return sum(-(-path.lstat().st_size // 4096) * 4096 for path in folder.rglob("*") if not path.is_dir()) / 1e6


def _control(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
        elif not path.is_symlink():
            library = re.search(r"\.so(\.|$)", path.name)
            path.chmod(0o755 if os.access(path, os.X_OK) and not library else 0o644)
    size = int(megabytes(root) * 1000 / 1.024)
    control = root / "DEBIAN"
    _write(
        control / "control",
        CONTROL.format(
            version=version(),
            size_kb=size,
            depends=", ".join(libraries.depends(APP)),
            recommends=", ".join(RECOMMENDS),
            suggests=", ".join(SUGGESTS),
        ).encode(),
    )
    _write(control / "postrm", (HERE / "postrm").read_bytes())
    (control / "postrm").chmod(0o755)


def _licences(folder: Path) -> None:
    """The licence files of every Python package that travels, as they came."""
    shipped = set(re.findall(r"^([a-z0-9][a-z0-9.-]*)==", (TOP / "constraints" / "app.txt").read_text(), re.M))
    for record in sorted(WORK.glob("venv/lib/python3.*/site-packages/*.dist-info")):
        name = record.name.split("-")[0]
        if bill.canonical(name) not in {*shipped, "pyinstaller"} - {"colorama"}:
            continue  # built with, not shipped; PyInstaller's own start of the program is
        for file in sorted(record.rglob("*")):
            if file.is_file() and re.match(r"(LICEN[CS]E|COPYING|NOTICE|AUTHORS)", file.name, re.IGNORECASE):
                place = "-".join(file.relative_to(record).parts).removeprefix("licenses-")
                _write(folder / name / place, file.read_bytes())


def _filled(source: str) -> str:
    when = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    text = (HERE / source).read_text()
    if "@VERBS@" in text:
        text = text.replace("@VERBS@", manual.verbs())
    return text.replace("@VERSION@", version()).replace("@DATE@", time.strftime("%Y-%m-%d", time.gmtime(when)))


def _write(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)

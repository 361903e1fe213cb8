"""Which shared libraries the Linux program brings, and which Debian packages bring the others.

The display, the fonts and the C library must be the system's own: a copy from the machine that built the package breaks
on the next distribution. So only what Python's own modules need travels (`BROUGHT`), everything else stands in `SYSTEM`
with the package that has it, and `depends` makes the package's Depends line from what the program really asks for.
A library in neither table fails the build. Names are those of Debian 12; " | " where later distributions differ.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

BROUGHT = {  # and the SPDX licence of each, by Debian's copyright files
    "libssl": "Apache-2.0",
    "libcrypto": "Apache-2.0",
    "libsqlite3": "blessing",
    "libffi": "MIT",
    "libbz2": "bzip2-1.0.6",
    "liblzma": "public domain",
    "libuuid": "BSD-3-Clause",
    "libexpat": "MIT",
    "libmpdec": "BSD-2-Clause",
    "libpython": "PSF-2.0",
}
SYSTEM = {
    "ld-linux-x86-64.so.2": "libc6 (>= 2.34)",
    "libc.so.6": "libc6 (>= 2.34)",
    "libm.so.6": "libc6 (>= 2.34)",
    "libdl.so.2": "libc6 (>= 2.34)",
    "libpthread.so.0": "libc6 (>= 2.34)",
    "librt.so.1": "libc6 (>= 2.34)",
    "libutil.so.1": "libc6 (>= 2.34)",
    "libresolv.so.2": "libc6 (>= 2.34)",
    "libcrypt.so.1": "libcrypt1",
    "libgcc_s.so.1": "libgcc-s1",
    "libstdc++.so.6": "libstdc++6",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
    "libbrotlidec.so.1": "libbrotli1",
    "libbrotlicommon.so.1": "libbrotli1",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0t64 | libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0t64 | libglib2.0-0",
    "libgobject-2.0.so.0": "libglib2.0-0t64 | libglib2.0-0",
    "libgio-2.0.so.0": "libglib2.0-0t64 | libglib2.0-0",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
OPTIONAL_PLUGINS = ("platformthemes/libqgtk3", "wayland-", "platforms/libqwayland", "libQt6Wayland", "libQt6WlShell")
"""Files that Qt leaves aside where their libraries are missing: the look of GTK's dialogs, and Wayland."""

_NEEDED = re.compile(r"^\s+NEEDED\s+(\S+)$", re.MULTILINE)


def travels(source: str) -> bool:
    """Whether a library that PyInstaller found at *source* goes into the program."""
    if source.startswith(("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")):
        name = Path(source).name
        return not re.search(r"\.so\.\d", name) or name.startswith(tuple(BROUGHT))
    return True


def depends(program: Path) -> list[str]:
    """The Depends line of *program*, a folder of PyInstaller's.

    Raises:
        RuntimeError: a file asks for a library that neither travels nor stands in `SYSTEM`.
    """
    there = {path.name for path in program.rglob("*") if ".so" in path.name}
    packages, unknown = set(), []
    for path in sorted(program.rglob("*")):
        if path.is_symlink() or not _is_elf(path):
            continue
        optional = any(part in str(path) for part in OPTIONAL_PLUGINS)
        for name in needed(path):
            if name in there or optional:
                continue
            if name in SYSTEM:
                packages.add(SYSTEM[name])
            else:
                unknown.append(f"{path.relative_to(program)} needs {name}")
    if unknown:
        raise RuntimeError("packaging/linux/libraries.py does not know: " + "; ".join(unknown))
    return sorted(packages)


def needed(path: Path) -> Iterable[str]:
    told = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True).stdout
    return _NEEDED.findall(told)


def _is_elf(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"

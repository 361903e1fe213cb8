"""Name the system libraries that the window needs and this machine lacks, with the exact line that installs them.

    python tools/system_libraries.py             exit 1 when something is missing
    python tools/system_libraries.py --install   as root on Debian or Ubuntu: install it

Used by `make env`. The standard library is enough to run it. Libraries are asked for by name as Qt will ask for
them, so a system that has them in another package is content too.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys

# What Qt 6 opens at start (offscreen and xcb) -> the Debian 12 package that brings it; these bring the others.
LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--install", action="store_true", help="install them with apt-get when root")
    given = options.parse_args()
    if not sys.platform.startswith("linux"):
        return 0
    lacking = missing_libraries()
    if not lacking:
        return 0
    names = ", ".join(lacking)
    print(f"This machine lacks system libraries that the window needs: {names}.", file=sys.stderr)
    if not shutil.which("apt-get"):
        print("Install them with this system's package manager.", file=sys.stderr)
        return 1
    install = ["apt-get", "install", "-y", "--no-install-recommends", *sorted({LIBRARIES[name] for name in lacking})]
    if not given.install or os.geteuid() != 0:
        print(f"As root:  {' '.join(install)}", file=sys.stderr)
        return 1
    print(f"Installing them: {' '.join(install)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = all(
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode == 0
        for command in (["apt-get", "update", "-q"], install)
    )
    return 0 if done and not missing_libraries() else 1


def missing_libraries() -> list[str]:
    return [name for name in LIBRARIES if not _loads(name)]


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())

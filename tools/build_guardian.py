"""Builds guardian.pyz: wire and guardian in one file that any Python 3.10 or newer runs with nothing installed.

    python tools/build_guardian.py [DESTINATION]       prints path, bytes and sha256

The same input gives the same bytes: times are fixed and names sorted, so that its sha256 can be told beforehand.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_BYTES = 150 * 1024  # it travels in the metadata of a machine
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = b"import sys\n\nfrom tpu_studio.trainer.guardian.main import main\n\nsys.exit(main())\n"


def build(destination: Path) -> Path:
    """Write the archive. Raises ValueError when it has grown beyond its limit."""
    package = ROOT / "tpu_studio"
    files = [
        package / "__init__.py",
        package / "trainer" / "__init__.py",
        *sorted((package / "wire").glob("*.py")),
        *sorted((package / "trainer" / "guardian").glob("*.py")),
    ]
    destination.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(_entry("__main__.py"), _MAIN)
        for path in files:
            archive.writestr(_entry(path.relative_to(ROOT).as_posix()), path.read_bytes())
    size = destination.stat().st_size
    if size > LIMIT_BYTES:
        raise ValueError(f"{destination} has {size} bytes, more than {LIMIT_BYTES}")
    return destination


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def main() -> int:
    made = build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "guardian.pyz")
    data = made.read_bytes()
    print(f"{made}  {len(data):,} bytes  sha256 {hashlib.sha256(data).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

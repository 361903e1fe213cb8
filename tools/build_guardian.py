"""Builds guardian.pyz as a file: what `tpu_studio.workflow.cloudruns.pyz` puts into the metadata of a machine.

python tools/build_guardian.py [DESTINATION]       prints path, bytes and sha256
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tpu_studio.workflow.cloudruns.pyz import LIMIT_BYTES, guardian_pyz  # noqa: E402

__all__ = ["LIMIT_BYTES", "build", "main"]


def build(destination: Path) -> Path:
    """Write the archive. Raises ValueError when it has grown beyond its limit."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(guardian_pyz())
    return destination


def main() -> int:
    made = build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "guardian.pyz")
    data = made.read_bytes()
    print(f"{made}  {len(data):,} bytes  sha256 {hashlib.sha256(data).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Write tests/unit/trainer/golden_profile.json: what the library xprof says of a trace of a TPU, to hold our reader to.

    python -m venv xprof && xprof/bin/pip install xprof==2.24.2 && xprof/bin/python tools/make_golden_profile.py

Needs nothing of ours installed. xprof is no part of the engine: docs/decisions/0040-profiles-are-read-here.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "unit" / "trainer" / "golden_profile.json"


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from xprof.convert import raw_to_tool_data

    from tests.fakes.traces import example

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "host.xplane.pb"
        file.write_bytes(example())
        told, _ = raw_to_tool_data.xspace_to_tool_data([str(file)], "op_profile", {})
    picoseconds: dict[str, int] = {}
    _add(json.loads(told)["byProgram"], picoseconds)
    record = {"xprof": version("xprof"), "trace": example().hex(), "picoseconds": picoseconds}
    GOLDEN.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    print(picoseconds)
    return 0


def _add(node: dict[str, Any], into: dict[str, int]) -> None:
    """Of the leaves, by category: XLA's, or IDLE."""
    children = node.get("children") or []
    for child in children:
        _add(child, into)
    if not children:
        category = str(node.get("xla", {}).get("category") or node["name"])
        into[category] = into.get(category, 0) + int(node["metrics"]["rawTime"])


if __name__ == "__main__":
    sys.exit(main())

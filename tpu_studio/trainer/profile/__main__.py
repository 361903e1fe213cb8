"""`python -m tpu_studio.trainer.profile FILE`: the shares of a trace, one JSON object; {"raw": …} when it has none."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tpu_studio.trainer.profile.shares import shares_of
from tpu_studio.trainer.profile.xspace import read
from tpu_studio.wire.secrets import short


def main(path: Path) -> int:
    os.nice(10)
    try:
        told = shares_of(read(path.read_bytes())).to_json()
    except (OSError, ValueError) as error:
        told = {"raw": short(str(error), 300)}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

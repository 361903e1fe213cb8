"""`python -m tpu_studio.practice.machines FOLDER`: the supervisor of the machine in FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines.supervisor import Supervisor


def main(folder: Path) -> int:
    machine = machines.read(folder)
    if machine is None:
        print(f"no machine in {folder}", file=sys.stderr)  # noqa: T201  (the fleet's log file)
        return 2
    return Supervisor(folder, machine).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

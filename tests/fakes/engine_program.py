"""A program of the tests, begun and ended as the engine's own are: ``engine_program.py PROGRAM ARGUMENT…``."""

import runpy
import sys
from pathlib import Path

from tpu_studio.trainer import leaving


def main() -> int:
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    leaving.run(main)

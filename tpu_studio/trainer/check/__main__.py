"""`python -m tpu_studio.trainer.check --question FILE` (see `program`)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tpu_studio.trainer.check.program import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tpu_studio.trainer.check")
    parser.add_argument("--question", type=Path, required=True)
    sys.exit(main(parser.parse_args().question))

"""`python -m tpu_studio.trainer.check --question FILE` (see `program`)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tpu_studio.trainer import leaving


def main() -> int:
    parser = argparse.ArgumentParser(prog="tpu_studio.trainer.check")
    parser.add_argument("--question", type=Path, required=True)
    from tpu_studio.trainer.check import program

    return program.main(parser.parse_args().question)


if __name__ == "__main__":
    leaving.run(main)

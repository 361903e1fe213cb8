"""The command line with the trainer that counts instead of training: ``python driver.py OPTIONS -- ARGUMENTS``."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from tests.fakes.studio import TRAINER, ThisPython
from tpu_studio.cli import studio
from tpu_studio.local import computer


def use_fake(*options: str) -> None:
    """From now on, in this process, runs are guarded as always but count instead of training."""

    def argv(folder: Path, attempt: int) -> list[str]:
        return [sys.executable, str(TRAINER), "train", "--run", str(folder), "--attempt", str(attempt), *options]

    studio.Studio.engine = property(lambda self: ThisPython())  # type: ignore[assignment,method-assign]
    made = functools.partial(computer.Computer, trainer=argv, guardian=("--grace", "2"))
    computer.Computer = made  # type: ignore[misc,assignment]


if __name__ == "__main__":
    from tpu_studio.cli.main import main

    split = sys.argv.index("--")
    use_fake(*sys.argv[1:split])
    sys.exit(main(sys.argv[split + 1 :]))

"""The whole computer place with a trainer that counts instead of training: real guardian, real folders, no engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.waiting import PATIENCE_S
from tpu_studio.domain.run import RunView
from tpu_studio.local.computer import Computer
from tpu_studio.local.consents import Consents
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.workflow.ports import RunSummary
from tpu_studio.workflow.runs import Runs

TRAINER = Path(__file__).with_name("trainer.py")


class ThisPython:
    """An engine that is always ready: the interpreter that runs the tests."""

    def python(self) -> Path:
        return Path(sys.executable)


class Studio:
    """Runs in *home*, with its parts at hand. Close it."""

    def __init__(self, home: Path, *trainer: str, guardian: tuple[str, ...] = ("--grace", "2")) -> None:
        self.home = home
        self.trainer = list(trainer)
        self.computer = Computer(home, ThisPython(), trainer=self._argv, guardian=guardian)
        self.journal = JournalFile(home / "journal.db")
        self.index = Index(home)
        self.consents = Consents(home)
        self.runs = Runs(
            home,
            places={"computer": self.computer},
            journal=self.journal,
            index=self.index,
            agreed=self.consents.agreed,
        )

    def _argv(self, folder: Path, attempt: int) -> list[str]:
        return [sys.executable, str(TRAINER), "train", "--run", str(folder), "--attempt", str(attempt), *self.trainer]

    def wait(
        self,
        run: str,
        until: Callable[[RunSummary], bool] = lambda row: row.over and not row.alive,
        seconds: float = PATIENCE_S,
    ) -> RunSummary:
        """The run's row as soon as it is as wanted; by default, over."""
        deadline = time.monotonic() + seconds
        while not until(row := self.runs.summary(run)):
            assert time.monotonic() < deadline, f"waited in vain: {row}"
            time.sleep(0.03)
        return row

    def view(self, run: str) -> RunView:
        following = self.index.follow(self.runs.folder(run))
        following.poll()
        following.close()
        return following.view

    def points(self, run: str, metric: str = "loss") -> list[tuple[int, float]]:
        following = self.index.follow(self.runs.folder(run))
        following.poll()
        steps, _, values = following.curve(metric).values()
        following.close()
        return list(zip(steps.tolist(), values.tolist(), strict=True))

    def close(self) -> None:
        self.index.close()
        self.journal.disconnect()


def loss_points(first: int, last: int) -> list[tuple[int, float]]:
    """The points that the fake trainer draws from step *first* to step *last*."""
    return [(step, 1.0 / step) for step in range(first, last + 1)]

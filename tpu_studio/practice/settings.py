"""What the practice cloud is called, and where its files are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def folder_of(home: Path) -> Path:
    """`TPU_STUDIO_PRACTICE_HOME`: the practice cloud of another home, as if this were a second computer."""
    return Path(os.environ.get("TPU_STUDIO_PRACTICE_HOME") or home) / "practice"


@dataclass(frozen=True)
class Settings:
    """Attributes:
    folder: ``<TPU_STUDIO_HOME>/practice``.
    speed: Practice seconds in a real one.
    machines: False: nodes get READY without a machine behind them (tests of the API alone).
    ready: False: a project in which nothing is set up (for the pages that set it up).
    iam_lag_s: Practice seconds until what was granted or made in IAM is known everywhere, at most; Google's own minutes
        come with the fault ``iam-slow``. *seed* picks how long for each.
    new: A person with one open billing account and no project: `project`, `number` and `bucket` name nothing that is
        there. *ready* is False then. What a home began as it stays (`Cloud`).
    """

    folder: Path
    project: str = "practice-project"
    number: str = "481516234200"
    display_name: str = "Practice project"
    zone: str = "us-west4-a"
    owner: str = "you@practice.example"
    billing_account: str = "billingAccounts/0A1B2C-3D4E5F-678901"
    bucket: str = "tpu-studio-0123456789ab"
    queue: str = "tpu-studio-stops"
    machines_queue: str = "tpu-studio"
    speed: float = 1.0
    machines: bool = True
    ready: bool = True
    new: bool = False
    iam_lag_s: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.new:
            object.__setattr__(self, "ready", False)

    def places(self) -> dict[str, str | None]:
        """Project, zone and bucket as the ready line names them; None: a new account has none."""
        if self.new:
            return {"project": None, "zone": None, "bucket": None}
        return {"project": self.project, "zone": self.zone, "bucket": self.bucket}

    @property
    def region(self) -> str:
        return self.zone.rpartition("-")[0]

    @property
    def runner(self) -> str:
        return f"tpu-studio-runner@{self.project}.iam.gserviceaccount.com"

    @property
    def stopper(self) -> str:
        return f"tpu-studio-stopper@{self.project}.iam.gserviceaccount.com"

    @property
    def database(self) -> Path:
        return self.folder / "practice.db"

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def machine_root(self) -> Path:
        return self.folder / "machines"

"""One cell of the matrix of `make chaos` (chaos_matrix), and the ends and phases that cells name."""

from __future__ import annotations

from dataclasses import dataclass

UNREADABLE = "permission-missing:permission=resourcemanager.projects.getIamPolicy,times=0"
"""Nobody may read what the accounts were granted: each is proved by a task of its own."""
PHASES = ("submit", "queued", "provisioning", "setting-up", "training", "saving", "cleaning-up")
COMPLETED = ("completed",)
HUNG = ("machine-silent", "machine-never-spoke", "machine-gone")
BUCKET = (
    "bucket-gone",
    "upload-failed",
    "reporting-lost",
    "launch-refused",
    "machine-silent",
    "machine-never-spoke",
    "machine-gone",
)


@dataclass(frozen=True)
class Cell:
    """Attributes:
    faults: ``[phase, fault text]``: armed when the run has reached that phase.
    doubts: What Google is to answer otherwise than we assume, from the start.
    settle: ``[fault name, seconds of real time]``: put right so long after it first changed an answer: a busy computer
        comes to it late.
    kill: Where the first desktop is killed (chaos_desktop); "" nowhere.
    again: Where the second, third … is killed.
    off: The laptop stays off from then on, until the cloud is empty: "", a phase, or "killed": from the first kill.
    verb: What is done at step 5: "", extend, stop, discard; ``verb_kill``: where that process is killed;
        ``verb_again``: whether it is tried once more.
    ends: Reasons with which the run may end.
    hours, money_usd, wait_hours, speed, tier, zones, accelerator: Of the plan and of the practice clock.
    steps, step_s, save_every: Of the stand-in trainer.
    boot_hang: Nobody is there who could know that the machine came: the longer of the stated margins counts.
    real: Trained by the real engine.
    backend: Of the plan: who lends the machine; "": whoever does by default.
    """

    name: str
    faults: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    settle: tuple[tuple[str, float], ...] = ()
    kill: str = ""
    again: tuple[str, ...] = ()
    off: str = ""
    verb: str = ""
    verb_kill: str = ""
    verb_again: bool = False
    ends: tuple[str, ...] = COMPLETED
    hours: float = 2.0
    money_usd: float = 1000.0
    wait_hours: float = 1.0
    speed: float = 20.0
    tier: str = "on-demand"
    zones: tuple[str, ...] = ("us-west4-a",)
    accelerator: str = "auto"
    steps: int = 40
    step_s: float = 0.04
    save_every: int = 5
    boot_hang: bool = False
    real: bool = False
    backend: str = ""

    @property
    def sudden(self) -> bool:
        """A machine goes without a word, or with one too short for a copy to come up: what it has made since the copy
        before is lost, and how much that is depends on how soon the copies came up."""
        return "gone" in self.name or any(",notice=" in fault for _, fault in self.faults)

"""Cells of `make chaos` in which machines are on their own: the laptop is off, they are taken away, stops come."""

from __future__ import annotations

from typing import Any

from chaos_cells import BUCKET, COMPLETED, HUNG, PHASES, Cell

OF_AN_EXTENSION = (
    "journal extend",
    "call stops.of",
    "call stops.set l",
    "call stops.remove",
    "call stops.of#2",
    "journal close",
    "control limits",
    "control extend",
)


def laptop_off() -> list[Cell]:
    """Off from the create call on, or from some phase; back when the cloud is empty."""
    cells = [Cell(f"laptop off from {phase}", off=phase) for phase in PHASES[1:]]
    cells.append(
        Cell(
            "laptop off from queued, preempted (spot waits for a computer)",
            off="queued",
            tier="spot",
            faults=(("submit", "preempted-at-step:step=12"),),
        )
    )
    away: dict[str, Any] = {"off": "killed", "kill": "after say intent-closed/create"}
    hung: dict[str, Any] = {**away, "hours": 0.2, "wait_hours": 0.3, "boot_hang": True}
    end = (*HUNG, "time-limit")
    about: list[tuple[str, str, dict[str, Any]]] = [
        ("vm-hung", "at boot", {**hung, "speed": 240.0, "ends": (*HUNG, "no-capacity")}),
        ("vm-hung:step=1", "at its first step", {**hung, "speed": 60.0, "ends": end}),
        ("vm-hung:step=12", "while training", {**hung, "speed": 60.0, "ends": end}),
        ("vm-hung:step=39", "before its end", {**hung, "speed": 60.0, "ends": end}),
        ("vm-without-network", "at boot", {**hung, "speed": 240.0, "ends": (*HUNG, "no-capacity")}),
        ("vm-without-network:step=12", "while training", {**hung, "speed": 60.0, "ends": (*end, "reporting-lost")}),
        ("node-gone:seconds=60", "", {**away, "ends": ("machine-gone", "preempted", "completed")}),
        ("environment-install-fails", "", {**away, "ends": ("environment-failed",), "speed": 10.0}),
        ("clock-skew:seconds=-3600", "", {**away}),
        ("clock-skew:seconds=3600", "", {**away}),
        ("delete-fails", "three times", {**away}),
        ("delete-fails:times=20", "twenty times", {**away, "speed": 90.0}),
        ("bucket-gone", "while training", {**hung, "kill": "", "off": "training", "speed": 90.0, "ends": BUCKET}),
        ("runner-may-not-delete", "", {**away, "ends": ("cannot-delete-itself",)}),
        ("stockout-for-ever", "", {**hung, "speed": 240.0, "ends": ("no-capacity", "launch-refused")}),
    ]
    for fault, when, more in about:
        at = "training" if fault == "bucket-gone" else "submit"
        cells.append(Cell(f"laptop off, {fault} {when}".strip(), faults=((at, fault),), **more))
    cells += [
        Cell(
            "laptop off, hung at boot, money for ten minutes, time for ten hours",
            **away,
            hours=10.0,
            money_usd=0.2,
            wait_hours=0.3,
            speed=240.0,
            faults=(("submit", "vm-hung"),),
            boot_hang=True,
            ends=(*HUNG, "no-capacity"),
        ),
        Cell(
            "laptop off, hung while training, money for a quarter of an hour, time for ten",
            **away,
            hours=10.0,
            money_usd=0.3,
            wait_hours=0.1,
            speed=60.0,
            faults=(("submit", "vm-hung:step=12"),),
            ends=(*end, "money-limit"),
            boot_hang=True,
        ),
    ]
    cells += [
        Cell(
            "laptop off, runner may not delete from training on",
            off="training",
            faults=(("training", "runner-may-not-delete"),),
        ),
        Cell(
            "laptop off, runner may neither delete nor set stops",
            **{**hung, "speed": 120.0},
            faults=(("submit", "runner-may-not-delete"), ("queued", "tasks-refused:times=0")),
            ends=("cannot-delete-itself",),
        ),
        Cell(
            "laptop off, runner may not delete, and it hangs while training",
            **{**hung, "speed": 60.0},
            faults=(("submit", "vm-hung:step=12"), ("submit", "runner-may-not-delete:after_s=600")),
            ends=(*end, "cannot-delete-itself"),
        ),
    ]
    cells.append(
        Cell(
            "laptop off, training longer than its time",
            **away,
            hours=0.2,
            wait_hours=0.1,
            speed=60.0,
            steps=5000,
            ends=("time-limit",),
        )
    )
    return cells


def preempted() -> list[Cell]:
    steps = (8, 14, 21, 27, 33)
    cells = []
    for times in range(1, 6):
        faults = tuple(("submit", f"preempted-at-step:step={step}") for step in steps[:times])
        cells.append(Cell(f"preempted {times} times", faults=faults, tier="spot"))
    cells += [
        Cell(
            "preempted without notice in time",
            tier="spot",
            faults=(("submit", "preempted-at-step:step=12,notice=0.1"),),
        ),
        Cell("preempted half a minute after it was ready", faults=(("submit", "preempted"),), tier="spot"),
        Cell(
            "preempted, then nothing free for a while",
            tier="spot",
            speed=60.0,
            faults=(("submit", "preempted-at-step:step=12"), ("training", "stockout-at-submit:times=2")),
        ),
    ]
    return cells


def after_the_stops() -> list[Cell]:
    """Create refused, timed out, answered twice, after the tasks were set; the desktop back at once, or not."""
    about: list[tuple[str, str, tuple[str, ...]]] = [
        ("refused for a permission", "permission-missing:permission=tpu.nodes.create", ("launch-refused",)),
        ("refused for quota", "quota-zero", ("quota-exceeded",)),
        ("timed out", "no-answer:match=^POST .*/queuedResources", COMPLETED),
        ("cut off", "connection-cut:match=^POST .*/queuedResources", COMPLETED),
        ("carried out and called failed", "apply-then-fail:match=^POST .*/queuedResources", COMPLETED),
        ("delivered twice", "answered-twice:match=^POST .*/queuedResources", COMPLETED),
        ("too slow", "slow-replies:match=^POST .*/queuedResources,seconds=600,times=1", COMPLETED),
    ]
    cells = []
    for what, fault, ends in about:
        cells.append(Cell(f"create {what}", faults=(("submit", fault),), ends=ends))
        cells.append(
            Cell(
                f"create {what}, killed before it is recorded",
                faults=(("submit", fault),),
                ends=ends,
                kill="before say intent-closed/create"
                if ends != COMPLETED or "twice" in what
                else "before say cloud/unclear",
            )
        )
        if ends == COMPLETED:
            cells.append(Cell(f"create {what}, laptop off from there", faults=(("submit", fault),), off="queued"))
    return cells


def extensions() -> list[Cell]:
    cells = [Cell("extended", verb="extend")]
    for at in OF_AN_EXTENSION:
        for when in ("before", "after"):
            cells.append(Cell(f"extension killed {when} {at}", verb="extend", verb_kill=f"{when} {at}"))
    cells += [
        Cell(
            "extension killed after its new stops, tried again",
            verb="extend",
            verb_kill="after call stops.set l",
            verb_again=True,
        ),
        Cell("extension refused its stops", verb="extend", faults=(("training", "tasks-refused:times=0"),)),
        Cell(
            "extension killed after its new stops, laptop off",
            verb="extend",
            verb_kill="after call stops.set l",
            off="training",
        ),
        Cell(
            "extension killed after its stops, before the word; laptop off",
            verb="extend",
            verb_kill="after journal close",
            off="training",
        ),
    ]
    return cells

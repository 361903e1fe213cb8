"""The matrix of `make chaos`: what goes wrong × when in the life of a run. Generated; each cell has a name."""

from __future__ import annotations

from typing import Any

from chaos_alone import after_the_stops, extensions, laptop_off, preempted
from chaos_cells import BUCKET, COMPLETED, HUNG, PHASES, UNREADABLE, Cell

# Every transition of an undisturbed run, from launch to receipt.
TRANSITIONS = (
    "journal launch",
    "say target",
    "say phase/queued",
    "call bucket.create",
    "say opened",
    "say upload",
    "say prepared",
    "journal stops",
    "say intent/stops",
    "call stops.set b",
    "say intent-closed/stops",
    "journal close#2",
    "journal create",
    "say intent/create",
    "call tpu.create",
    "say intent-closed/create",
    "call tpu.look",
    "say phase/provisioning",
    "say cloud/ready",
    "call stops.of#3",
    "call stops.set l",
    "call stops.remove",
    "say intent-closed/lease-stops",
    "call bucket.read#5",
    "say phase/cleaning-up",
    "say deleted",
    "say money",
    "call stops.remove#2",
    "say stops-removed",
    "call bucket.download",
    "say phase/done",
)
OF_A_LEAVING = (
    "say leaving",
    "journal delete",
    "say intent/delete",
    "call tpu.delete",
    "say intent-closed/delete",
    "say attempt-over",
    "journal create#2",
    "call tpu.create#2",
    "say intent-closed/create#2",
)


def matrix() -> list[Cell]:
    cells = [
        *_kills(),
        *_calls(),
        *_storage(),
        *_room(),
        *_machines(),
        *laptop_off(),
        *preempted(),
        *after_the_stops(),
        *extensions(),
        *_account(),
        *_verbs(),
        *_slices(),
        *_being_made(),
        *_gate(),
    ]
    names = [cell.name for cell in cells]
    if len(names) != len(set(names)):
        raise ValueError("two cells have one name")
    return cells


def _kills() -> list[Cell]:
    cells = [Cell("undisturbed")]
    for at in TRANSITIONS:
        cells += [Cell(f"killed {when} {at}", kill=f"{when} {at}") for when in ("before", "after")]
    for at in OF_A_LEAVING:
        cells += [
            Cell(
                f"preempted, killed {when} {at}",
                faults=(("submit", "preempted-at-step:step=12"),),
                tier="spot",
                kill=f"{when} {at}",
            )
            for when in ("before", "after")
        ]
    thrice = ("before call tpu.create", "before say intent-closed/create", "after say cloud/ready")
    cells.append(Cell("killed four times around create", kill="after say intent/create", again=thrice))
    return cells


def _calls() -> list[Cell]:
    faults = (
        "too-many-requests",
        "server-error",
        "unavailable",
        "gateway-timeout",
        "connection-cut",
        "slow-replies:times=6",
        "apply-then-fail",
        "answered-twice",
        "no-answer",
        "operation-never-ends",
    )
    pairs = [(fault, phase) for fault in faults for phase in PHASES]
    return [Cell(f"{fault} at {phase}", faults=((phase, fault),)) for fault, phase in pairs]


def _storage() -> list[Cell]:
    cells = []
    for phase in PHASES:
        for fault in ("storage-unavailable", "storage-write-unavailable", "storage-full"):
            cells.append(Cell(f"{fault} at {phase}", faults=((phase, fault),)))
        for fault in ("bucket-gone", "object-write-refused"):
            late = phase in ("saving", "cleaning-up")
            ends = (*BUCKET, *COMPLETED) if late else BUCKET
            cells.append(Cell(f"{fault} at {phase}", faults=((phase, fault),), ends=ends, speed=90.0))
    return cells


def _room() -> list[Cell]:
    two = ("us-west4-a", "us-east5-b")
    waits: dict[str, Any] = {"wait_hours": 0.1, "ends": ("no-capacity",), "speed": 90.0}
    refused: dict[str, Any] = {"ends": ("quota-exceeded", "launch-refused")}
    about: list[tuple[str, dict[str, Any]]] = [
        ("stockout-at-submit", {}),
        ("stockout-at-submit:times=3", {"speed": 90.0}),
        ("stockout-at-submit:times=0", waits),
        ("stockout-in-operation", {"speed": 60.0}),
        ("stockout-for-ever", waits),
        ("capacity-later", {"speed": 60.0}),
        ("quota-zero", refused),
        ("quota-region-limit", refused),
        ("not-entitled", {"ends": ("not-entitled",)}),
        ("not-entitled:zone=us-west4-a", {"ends": ("not-entitled", "completed")}),
        ("address-limit", {"ends": ("region-limit",)}),
        ("type-not-in-zone", {"ends": ("launch-refused", "completed")}),
        ("create-rate", {"speed": 60.0}),
        ("provisioning-flap", {"speed": 60.0}),
        ("unknown-enum", {}),
        ("foreign-metadata-type", {}),
    ]
    cells = []
    for fault, more in about:
        cells.append(Cell(f"{fault}, one zone", faults=(("submit", fault),), **more))
        cells.append(Cell(f"{fault}, two zones", faults=(("submit", fault),), zones=two, **more))
    return cells


def _machines() -> list[Cell]:
    """While a desktop is there."""
    silent: dict[str, Any] = {"ends": HUNG, "speed": 90.0}
    about: list[tuple[str, str, dict[str, Any]]] = [
        ("vm-hung", "at boot", {**silent, "speed": 150.0}),
        ("vm-hung:step=1", "at its first step", silent),
        ("vm-hung:step=12", "while training", silent),
        ("vm-hung:step=39", "before its end", silent),
        ("vm-without-network", "at boot", {**silent, "speed": 150.0}),
        ("vm-without-network:step=12", "while training", silent),
        ("vm-without-network:step=39", "before its end", silent),
        ("node-gone:seconds=30", "while it starts", {"ends": ("machine-gone", "preempted", "completed")}),
        ("node-gone:seconds=120", "while training", {"ends": ("machine-gone", "preempted", "completed"), "steps": 200}),
        ("environment-install-fails", "", {"ends": ("environment-failed",), "speed": 10.0}),
        (
            "disk-full:step=12",
            "while training",
            {"ends": ("disk-full", "machine-silent", "folder-unwritable"), "speed": 60.0},
        ),
        ("clock-skew:seconds=-600", "", {}),
        ("clock-skew:seconds=600", "", {}),
        ("clock-skew:seconds=86400", "", {}),
        ("delete-fails", "three times", {}),
        ("delete-fails:times=20", "twenty times", {"speed": 90.0}),
        ("runner-may-not-delete", "", {"ends": ("cannot-delete-itself",)}),
    ]
    return [Cell(f"{fault} {when}".strip(), faults=(("submit", fault),), **more) for fault, when, more in about]


def _account() -> list[Cell]:
    cells = [Cell(f"401 once at {phase}", faults=((phase, "token-expired"),)) for phase in PHASES]
    cells += [
        Cell(
            f"signed out for two seconds at {phase}",
            faults=((phase, "token-revoked"),),
            settle=(("token-revoked", 2.0),),
        )
        for phase in PHASES
    ]
    for fault, end in (
        ("billing-off", "launch-refused"),
        ("project-deleted", "launch-refused"),
        ("act-as-missing", "launch-refused"),
        ("org-policy", "launch-refused"),
        ("tasks-refused:times=0", "launch-refused"),
    ):
        cells.append(Cell(fault, faults=(("submit", fault),), ends=(end,)))
    cells.append(
        Cell(
            "service-disabled, switched on after some seconds",
            faults=(("submit", "service-disabled"),),
            settle=(("service-disabled", 3.0),),
        )
    )
    for service, ends in (("tpu", ("launch-refused",)), ("cloudtasks", ("launch-refused",))):
        cells.append(
            Cell(
                f"service-disabled, {service} left off",
                ends=ends,
                speed=60.0,
                faults=(("submit", f"service-disabled:service={service}.googleapis.com"),),
            )
        )
    cells.append(
        Cell(
            "service-disabled, storage left off",
            ends=("launch-refused",),
            speed=60.0,
            faults=(("submit", "service-disabled:service=storage.googleapis.com"),),
        )
    )
    cells.append(Cell("tasks-refused three times", faults=(("submit", "tasks-refused"),)))
    return cells


def _verbs() -> list[Cell]:
    stopped = ("stopped-by-user",)
    return [
        Cell("stopped, result kept", verb="stop", steps=400, ends=stopped),
        Cell("stopped and discarded", verb="discard", steps=400, ends=("discarded",)),
        Cell(
            "stopped, desktop killed after the word",
            verb="stop",
            verb_kill="after control stop",
            steps=400,
            ends=stopped,
        ),
        Cell(
            "stopped, machine hung",
            verb="stop",
            steps=400,
            speed=90.0,
            faults=(("submit", "vm-hung:step=5"),),
            ends=(*stopped, "machine-silent"),
        ),
    ]


def _slices() -> list[Cell]:
    """Two hosts: all of them hang, or lose their network; with a desktop and without."""
    slice_: dict[str, Any] = {"accelerator": "v5p-16", "zones": ("us-east5-a",)}
    away: dict[str, Any] = {
        "off": "killed",
        "kill": "after say intent-closed/create",
        "boot_hang": True,
        "hours": 0.2,
        "wait_hours": 0.3,
    }
    cells = [Cell("slice, undisturbed", **slice_), Cell("slice, laptop off from queued", off="queued", **slice_)]
    for fault, when, speed in (
        ("vm-hung", "at boot", 150.0),
        ("vm-hung:step=12", "while training", 60.0),
        ("vm-without-network", "at boot", 150.0),
        ("vm-without-network:step=12", "while training", 60.0),
    ):
        faults = (("submit", fault),)
        ends = (*HUNG, "reporting-lost")
        cells += [
            Cell(f"slice, {fault} {when}", faults=faults, speed=speed, ends=ends, **slice_),
            Cell(
                f"slice, laptop off, {fault} {when}",
                faults=faults,
                speed=speed,
                ends=(*ends, "time-limit", "no-capacity"),
                **away,
                **slice_,
            ),
        ]
    return cells


def _being_made() -> list[Cell]:
    """PROVISIONING for hours, in which Google takes no deletion, and says so in either way."""
    four_hours = ("submit", "provisioning-stalls:seconds=14400")
    away: dict[str, Any] = {
        "off": "killed",
        "kill": "after say intent-closed/create",
        "boot_hang": True,
        "hours": 0.2,
        "wait_hours": 0.3,
        "speed": 240.0,
    }
    cells = []
    for way in ("refused", "operation"):
        doubts = () if way == "refused" else (f"provisioning-delete={way}",)
        cells += [
            Cell(
                f"being made for hours, delete {way}, hung at boot, laptop off",
                doubts=doubts,
                **away,
                faults=(four_hours, ("submit", "vm-hung")),
                ends=(*HUNG, "no-capacity"),
            ),
            Cell(
                f"being made for hours, delete {way}, waited too long",
                doubts=doubts,
                faults=(four_hours,),
                wait_hours=0.3,
                hours=0.2,
                speed=240.0,
                ends=("no-capacity",),
            ),
        ]
    return cells


def _gate() -> list[Cell]:
    """What the accounts may do cannot be read, so that it is proved, and the proof is disturbed."""
    unreadable, base = ("submit", UNREADABLE), dict[str, Any](speed=30.0)
    cells = [
        Cell("rights that cannot be read, proved", faults=(unreadable,), **base),
        Cell(
            "rights that cannot be read, proved, laptop off from training", faults=(unreadable,), off="training", **base
        ),
        Cell(
            "rights that cannot be read, tasks refused",
            faults=(unreadable, ("submit", "tasks-refused:times=0")),
            ends=("launch-refused",),
            speed=60.0,
        ),
        Cell(
            "rights that cannot be read, runner may not delete",
            ends=("stops-unproved",),
            speed=120.0,
            faults=(unreadable, ("submit", "runner-may-not-delete")),
        ),
    ]
    for at in ("before say gate/proving", "after say gate/proving", "before say gate/proved"):
        cells.append(Cell(f"rights that cannot be read, killed {at}", faults=(unreadable,), kill=at, **base))
    return cells


def real_cells() -> list[Cell]:
    """Trained by the engine itself (digits, JAX); the first two must end with the same loss, bit for bit."""
    base: dict[str, Any] = {"real": True, "speed": 5.0, "steps": 0, "save_every": 20}
    five = tuple(("submit", f"preempted-at-step:step={step}") for step in REAL_STEPS)
    return [
        Cell("real: undisturbed", **base),
        Cell("real: preempted 5 times", faults=five, tier="spot", **base),
        Cell("real: killed after the create call", kill="after call tpu.create", **base),
        Cell("real: killed while training", kill="after call bucket.read#40", **base),
        Cell("real: laptop off from launch", off="queued", **base),
        Cell("real: laptop off while training", off="training", **base),
        Cell("real: clock wrong by an hour", faults=(("submit", "clock-skew:seconds=-3600"),), **base),
        Cell("real: storage unavailable while training", faults=(("training", "storage-unavailable"),), **base),
        Cell(
            "real: create carried out and called failed",
            faults=(("submit", "apply-then-fail:match=^POST .*/queuedResources"),),
            **base,
        ),
        Cell("real: stopped and kept", verb="stop", ends=("stopped-by-user",), **base),
        Cell(
            "real: machine gone",
            faults=(("training", "node-gone:seconds=0"),),
            ends=("machine-gone", "preempted", "completed"),
            **base,
        ),
        Cell(
            "real: hung while training, laptop off",
            off="training",
            hours=0.3,
            wait_hours=0.1,
            faults=(("submit", "vm-hung:step=20"),),
            ends=(*HUNG, "time-limit"),
            boot_hang=True,
            **{**base, "speed": 30.0},
        ),
    ]


REAL_STEPS = (83, 171, 262, 347, 451)

"""What a service asks of the machines: the port between the control planes (tpu, compute) and `practice.machines`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class MachineSpec:
    """One TPU VM (all workers of its slice).

    Attributes:
        resource: Full name, ``projects/P/locations/Z/nodes/N`` or ``projects/P/zones/Z/instances/N``.
        backend: ``tpu`` or ``compute``.
        service_account: Whose tokens the metadata server gives out.
        metadata: ``startup-script`` and the rest, as given.
        run_at: Practice seconds at which it was created.
    """

    resource: str
    project: str
    zone: str
    node: str
    accelerator_type: str
    chips: int
    topology: str
    workers: int
    service_account: str
    backend: str = "tpu"
    runtime_version: str = ""
    spot: bool = False
    scopes: tuple[str, ...] = ("https://www.googleapis.com/auth/cloud-platform",)
    metadata: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    run_at: float = 0.0


class Vms(Protocol):
    """*name* is the spec's ``resource``. Every call returns soon; none raises for a machine that is not there."""

    def start(self, name: str, spec: MachineSpec) -> None:
        """Boot it, or boot it again after a stop: the same disk, the startup script once more."""

    def stop(self, name: str, notice_s: float) -> None:
        """Warn it (metadata ``preempted``), run its ``shutdown-script``, and when that has ended, at the latest after
        *notice_s* practice seconds, end every process of it."""

    def shut_down(self, name: str, notice_s: float) -> None:
        """As `stop`, but somebody stops it: ``preempted`` stays FALSE."""

    def preempt_at(self, name: str, step: int, notice_s: float) -> None:
        """Have it warned as by `stop` the moment training has reached *step*; `noticed` tells when."""

    def noticed(self, name: str) -> float | None:
        """Practice time at which it was warned that it is taken away; None: it was not."""

    def reboot(self, name: str, notice_s: float) -> None:
        """Warn it, end every process, and run the startup script once more."""

    def console(self, name: str, worker: int = 0) -> bytes:
        """All that the startup script has printed since the first boot."""

    def kill(self, name: str) -> None:
        """End every process of it now, and forget its disk."""

    def alive(self, name: str) -> bool: ...

    def step(self, name: str) -> int | None:
        """The last training step that its run folder shows; None: none yet."""

"""What a run in the cloud needs of others: machines, shut-off timers, a bucket, a price. ``cloud`` implements them.

Every call blocks, with a timeout of its own, and raises only `CloudRefused`, `CloudUnclear`, `SignedOut` (wire.errors).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.gate import Evidence

Progress = Callable[[int, int], None]
"""Bytes done, bytes in all; may raise to cancel."""
READ_AT_MOST = 16 << 20
"""Bytes of one `Mailbox.read`; twice the longest range that a guardian writes."""


@dataclass(frozen=True)
class Ref:
    """A machine by its name: what is created, looked at and deleted. *backend*: ``tpu`` or ``compute``.

    *queue*: full name of the queue that its shut-off timers stand in, "" while none were set: the nearest then.
    *alpha*: asked for through the TPU API's v2alpha1 (flex-start), so that it is looked at and deleted through that.
    """

    name: str
    zone: str
    backend: str = "tpu"
    queue: str = field(default="", compare=False)
    alpha: bool = field(default=False, compare=False)

    @property
    def region(self) -> str:
        return self.zone.rpartition("-")[0]

    @property
    def version(self) -> str:
        """Of the TPU API."""
        return "v2alpha1" if self.alpha else "v2"


@dataclass(frozen=True)
class Wanted:
    """What to ask for.

    Attributes:
        request_id: UUID of this call; only a repeat of the same call uses it again.
        tier: on-demand, spot or flex-start.
        valid_for_s: How long the request may wait for capacity.
        run_s: The platform's own stop where it has one (flex-start, Compute Engine); None: none.
        metadata: startup-script, shutdown-script, ts-guardian, ts-config, ts-deadline.
    """

    ref: Ref
    request_id: str
    accelerator: str
    runtime: str
    tier: str
    valid_for_s: float
    run_s: float | None
    metadata: Mapping[str, str]
    labels: Mapping[str, str]
    service_account: str
    network: str = "default"


@dataclass(frozen=True)
class MachineSeen:
    """What GET by name says; times in seconds since 1970.

    Attributes:
        state: waiting, provisioning, ready, leaving (being deleted or taken back), preempted, failed, or unknown
            (an unheard-of state: neither good nor bad).
        raw: Google's own state words.
        error: Id and facts of a refusal that came late (stock-out in the operation, FAILED), or None.
        created: Node createTime: what is billed begins here; None while there is no node.
        by_service: The service, not a user, is taking it away.
        over: There is a machine of that name, and nothing is charged for it any more: it was taken back or is off.
    """

    ref: Ref
    state: str
    raw: str = ""
    error: tuple[str, Mapping[str, object]] | None = None
    created: float | None = None
    by_service: bool = False
    over: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Deletion:
    """The cloud's own record of a deletion that was done; times in seconds since 1970.

    Attributes:
        asked: When it was begun. The record does not say whether there was still a machine then.
        done: When it was over: nothing is billed from here on.
    """

    asked: float
    done: float


class Machines(Protocol):
    def check(self, wanted: Wanted) -> None:
        """What can be known before it is asked for the first time. Raises CloudRefused: nothing was asked for."""
        ...

    def create(self, wanted: Wanted) -> None:
        """Ask for it; returns when the request is accepted, not when the machine is there. ``exists`` is a refusal."""
        ...

    def look(self, ref: Ref) -> MachineSeen | None:
        """None: proved absent (404 by name, for request and node both)."""
        ...

    def delete(self, ref: Ref) -> None:
        """Delete request and node (force); absent is fine. Returns when the deletion is accepted.

        Raises CloudRefused ``precondition`` with the fact ``state`` where Google deletes nothing in that state.
        """
        ...

    def ended(self, ref: Ref) -> Deletion | None:
        """Its deletion by the cloud's own record, whoever asked for it; None: there is no record."""
        ...

    def find(self, labels: Mapping[str, str]) -> Sequence[MachineSeen]:
        """All machines of ours in all zones that carry *labels*; raises CloudUnclear when a zone did not answer."""
        ...


class OutsideStops(Protocol):
    """One-shot tasks at Google that delete a machine with the laptop off."""

    def queue(self, ref: Ref) -> str:
        """Full name of the queue that the stops of *ref* stand in, or would: in the nearest allowed region."""
        ...

    def machines_queue(self, ref: Ref) -> str:
        """Full name of the queue beside it that machines may add stops to."""
        ...

    def set(self, ref: Ref, kind: str, at: Sequence[float]) -> Sequence[str]:
        """Schedule a DELETE at each time and read each back; their full names. A name is never used twice."""
        ...

    def of(self, ref: Ref) -> Mapping[str, float]:
        """Tasks that stand for this machine: name → time. Only whoever sets them here writes to their queue."""
        ...

    def added(self, ref: Ref) -> Mapping[str, float]:
        """Tasks that its guardian added, in the queue that all machines write to: name → time. They may end a machine
        sooner, and count for no stop that shall stand."""
        ...

    def remove(self, names: Sequence[str]) -> None:
        """Remove them; absent is fine. Returns when each is verified gone."""
        ...


class StopRights(Protocol):
    """Whether the accounts that end the bill may do so: by reads, and by proof (`gate`)."""

    def evidence(self, ref: Ref) -> Evidence:
        """Of runner and stopper, for a machine in *ref*'s zone and backend; its queue stands and runs afterwards, or
        the evidence says why it does not. *ref*'s name does not count."""
        ...

    def begin(self, queue: str, ref: Ref, accounts: Sequence[str]) -> tuple[Mapping[str, str], str]:
        """Set a proof's tasks: name → account, with the account without rights that is one of them.

        Raises CloudRefused: one of them was refused; none is left then.
        """
        ...

    def trial(self, queue: str, ref: Ref, account: str) -> str:
        """Set one task as *account*, of the kind that a proof has; its name. Raises CloudRefused."""
        ...

    def answers(self, tasks: Sequence[str]) -> Mapping[str, int | None]:
        """Code (google.rpc) of each task's last attempt; None: none is told; `gate.GONE`: the task is not there."""
        ...

    def end(self, tasks: Sequence[str]) -> None:
        """Remove them; absent is fine."""
        ...

    def is_project_active(self) -> bool:
        """False: it is marked for deletion, and each call is refused because of that. Raises CloudRefused."""
        ...


LISTED_AT_MOST = 100_000  # names, in a hundred pages: more than any run has


@dataclass(frozen=True)
class Stored:
    name: str
    size: int
    generation: int
    updated: float
    md5: str = ""


class Mailbox(Protocol):
    """The bucket. Names are whole object names (``runs/<run>/…``)."""

    @property
    def bucket(self) -> str: ...

    def create(self, name: str, data: bytes) -> bool:
        """Create once (ifGenerationMatch=0); False when it is there with other content, True when ours is there."""
        ...

    def write(self, name: str, data: bytes, *, generation: int | None = None) -> int | None:
        """Overwrite, or compare-and-swap by *generation*; the new generation, None when the swap was lost."""
        ...

    def read(self, name: str, *, start: int = 0) -> bytes | None:
        """The bytes from *start*, at most READ_AT_MOST; None when it is absent."""
        ...

    def stat(self, name: str) -> Stored | None: ...

    def list(self, prefix: str, *, start: str = "", most: int = LISTED_AT_MOST) -> Sequence[Stored]:
        """Names under *prefix* from *start* on (inclusive), in order: of more than *most* the first, for whoever may
        write there could lay so many that nothing else is ever done."""
        ...

    def upload(self, path: Path, name: str, progress: Progress | None = None) -> None:
        """Resumable and checksummed; when the same content is there it is only kept from growing old (`renew`)."""
        ...

    def renew(self, name: str) -> bool:
        """The days after which the bucket's own rules delete it begin anew, where they began a day ago or earlier.
        False: it is not there (any more)."""
        ...

    def download(self, name: str, path: Path, progress: Progress | None = None, *, at_most: int | None = None) -> None:
        """To a file beside *path*, checked, then put in place.

        Raises:
            TooLarge: It has more than *at_most* bytes, whatever a listing said before; nothing is put in place.
        """
        ...

    def delete(self, names: Sequence[str]) -> None: ...


class ServerClock(Protocol):
    @property
    def speed(self) -> float:
        """See `CloudSide.speed`. Never asks once the cloud was reached."""
        ...

    def now(self) -> float:
        """Seconds since 1970 by the cloud's own ``Date``, carried on by the monotonic clock (practice: × its speed)."""
        ...

    def carried(self) -> float | None:
        """The same as far as it is known: never asks, never waits; None while the cloud has not been reached."""
        ...


@dataclass(frozen=True)
class CloudSide:
    """Everything a run in the cloud uses, for one project and bucket; made by ``cloud.connection``.

    Attributes:
        runner: The service account that machines run as.
        stopper: The one as which shut-off timers act; "": the runner too, so that both nets hang on one account.
        endpoints: Base URLs as the VM shall use them (ts-config).
    """

    place: str
    project: str
    runner: str
    machines: Mapping[str, Machines]
    stops: OutsideStops
    mailbox: Mailbox
    clock: ServerClock
    rights: StopRights
    endpoints: Mapping[str, str]
    stopper: str = ""

    @property
    def speed(self) -> float:
        """How much faster than real time the cloud's clock runs now (practice only), else 1."""
        return self.clock.speed

    @property
    def stop_account(self) -> str:
        return self.stopper or self.runner


class Preparing(Protocol):
    """Brings job and data to the bucket, and makes what a machine is given (``cloud.preparing``)."""

    def upload(self, side: CloudSide, plan: Plan, run: str, progress: Progress) -> Mapping[str, object]:
        """Bundle and data uploaded (skipped when they are there); repeatable. Blocks.

        Returns:
            Plain JSON pieces of ts-config: ``bundle``, ``data``, ``environment``, ``guardian_sha256``, ``trust_code``.

        Raises:
            CloudRefused, CloudUnclear, SignedOut; RunError or DataError where a file cannot be read.
        """
        ...

    def with_our_code(
        self, side: CloudSide, plan: Plan, run: str, pieces: Mapping[str, object], progress: Progress
    ) -> Mapping[str, object]:
        """*pieces* that another desktop has prepared, with its data, which may not be on this computer.

        Program, packages and installer are as this one brings them, and the person's own file as the plan names it.
        Raises as `upload`, and ModelError.
        """
        ...

    def is_current(self, pieces: Mapping[str, object]) -> bool:
        """Whether *pieces* are of this version of the app: metadata can be made of no others."""
        ...

    def metadata(self, config: Mapping[str, object], deadline: float) -> Mapping[str, str]:
        """startup-script, shutdown-script, ts-guardian, ts-config, ts-deadline for a finished ts-config."""
        ...


Connect = Callable[[Plan], CloudSide]
"""The side of a place that a plan is for: project, and bucket in the region of its first zone. Blocks; StudioError."""


@dataclass(frozen=True)
class CloudPlace:
    """A rented place: how to reach it, and what prepares a run for it.

    Attributes:
        at: The side of a run that was begun in that project and bucket (plan, project, bucket), whatever is chosen by
            now: who looks for its machine in another project finds none, and that would be no proof.
    """

    connect: Connect
    preparing: Preparing
    at: Callable[[Plan, str, str], CloudSide] | None = None


def needs_a_key(error: CloudRefused) -> bool:
    """Whether an object is there that Google gives to nobody without a key of whoever laid it there: one that comes
    with each call (400), or of Cloud KMS in another project (403)."""
    return error.id == "bad-request" or "kms" in f"{error.facts.get('raw')} {error.facts.get('permission')}".lower()

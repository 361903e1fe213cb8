"""A machine that a run asked for, as the desktops' records tell it, and what its guardian has said. Pure.

What it is charged for, at least and at most, and what of it counts towards the limits, is worked out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tpu_studio.wire.events import Event
from tpu_studio.workflow.cloudruns.ports import Ref

DELETED_S = 120.0  # between the look that found it waiting and the deletion that followed


@dataclass(frozen=True)
class Machine:
    """One name that was, or is about to be, asked for; times in seconds since 1970, None: not yet.

    Attributes:
        stops: Shut-off timers are set (or it was agreed to go without); ``stops_at``: when.
        asked: The create call was announced.
        outcome: Of the create call: "" (open or unclear), accepted, refused.
        unclear: An answer to a create call was lost at some time: stops stay until the very end.
        delete_taken: Google has taken its deletion, or said so.
        state: What GET by name said last; ``changed``: when that was noticed.
        created: Node createTime: billed from here.
        leaving: Why it is to be deleted, "" while it is wanted.
        node_gone: The node was not there any more, though its request was: nothing is billed from here on.
        gone: GET by name has proved it absent.
        billed_until: When it was really gone, as far as that can be told: a desktop that comes back proves it late.
        billed_least, billed_most: What that moment lies between, where no record of the cloud's tells it.
        counted_s, counted_money_s: Seconds that count at least towards the limit of time, and that of money, once it is
            gone: it may have been charged unseen.
        taken_back: Google itself says that it took the machine back.
        waited: When a look found it still waiting, at most minutes ago: until then there was nothing to be charged for.
        coming: When a look first saw it PROVISIONING without a node yet: that may be charged (`provisioning-free`).
        first: createTime of the first node in its place: one that vanished while it was provisioned may be billed; or
            the earliest at which it can have been made, where nobody was told.
        spoke: When it was there and ready at the latest: billing may begin with READY.
        made: Something was really there.
    """

    ref: Ref
    attempt: int
    number: int
    stops: bool = False
    stops_at: float = 0.0
    asked: float | None = None
    request_id: str = ""
    outcome: str = ""
    unclear: bool = False
    error: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    accepted: float | None = None
    state: str = ""
    changed: float = 0.0
    created: float | None = None
    ready: float | None = None
    node_gone: float | None = None
    lease_stops: bool = False
    leaving: str = ""
    leaving_facts: Mapping[str, object] = field(default_factory=dict)
    delete_asked: float | None = None
    delete_failed: int = 0
    delete_taken: bool = False
    gone: float | None = None
    billed_until: float | None = None
    billed_least: float | None = None
    billed_most: float | None = None
    counted_s: float = 0.0
    counted_money_s: float = 0.0
    taken_back: bool = False
    first: float | None = None
    waited: float = 0.0
    coming: float | None = None
    spoke: float | None = None
    made: bool = False
    stops_removed: bool = False

    @property
    def refusal(self) -> str:
        """Why it was not given, "" where it was: of the create call, or later."""
        return self.error or str(self.leaving_facts.get("error") or "")

    @property
    def refusal_facts(self) -> Mapping[str, object]:
        return self.facts if self.error else self.leaving_facts

    @property
    def waited_to_its_end(self) -> bool:
        """It waited when its deletion was asked for, Google took that, and no look found it being made after all."""
        never = self.ready is None and self.created is None and self.coming is None
        taken = self.delete_taken and self.state in ("", "waiting", "leaving")
        return never and taken and self.delete_asked is not None and 0.0 <= self.delete_asked - self.waited < DELETED_S

    @property
    def maybe_there(self) -> bool:
        return self.asked is not None and self.gone is None

    def billed_s(self, now: float) -> float:
        """Seconds that are charged: from the node's creation to the proof of its deletion, or to now."""
        until = now if self.gone is None else self.billed_until or self.gone
        return self._charged_s(until)

    def limited_s(self, now: float) -> float:
        """Seconds that count towards the limit of time: charged, or perhaps charged while nobody looked."""
        return max(self.billed_s(now), self.counted_s)

    def limited_money_s(self, now: float) -> float:
        """The same of the limit of money, whose price is for both the run's."""
        return max(self.billed_s(now), self.counted_money_s)

    def billed_between_s(self, now: float) -> tuple[float, float]:
        """Seconds that are charged at least and at most, whichever way Google counts (docs/live-checks.md)."""
        seconds = self.billed_s(now)
        created = self.created
        waits = [self.asked] if self.ref.backend == "compute" and self.asked is not None and self.made else []
        if self.gone is None or (created is None and not waits):
            return seconds, seconds
        until = self.billed_until or self.gone
        if created is None:  # a flex-start that waited in vain (doubt flex-pending-free)
            return 0.0, max(0.0, until - waits[0])
        ready = [one for one in (self.ready, self.spoke) if one is not None]
        least = (self.billed_least or until) - max(created, min(ready, default=created))
        most = (self.billed_most or until) - min(created, self.first or created, self.coming or created, *waits)
        return max(0.0, min(least, seconds)), max(most, seconds)

    def _charged_s(self, until: float) -> float:
        return 0.0 if self.created is None else max(0.0, until - self.created)


@dataclass(frozen=True)
class Guard:
    """What the guardian of an attempt has said, from its events files.

    Attributes:
        spoke: Time of its latest word, heartbeats included; 0: none yet.
        preempted: It said that the machine is being taken back; ``warned``: when, 0: not.
        end: Its end event.
        first: Time of its first word.
        since: The node's creation as it tells it; 0: not told.
        heard: Numbers of the control files that it says it has obeyed.
        trained: When it told of the first step; 0: not yet. Whatever is asked for later, it says that it heard it.
        compiled: What it has carried up of compiled programs (`wire.compiled`); empty: nothing. *compiled_seal*: what
            shows that it was the machine that told so.
    """

    spoke: float = 0.0
    preempted: bool = False
    warned: float = 0.0
    end: Event | None = None
    first: float = 0.0
    since: float = 0.0
    heard: frozenset[int] = frozenset()
    trained: float = 0.0
    compiled: Mapping[str, object] = field(default_factory=dict)
    compiled_seal: object = None

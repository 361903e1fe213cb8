"""The one machine that a live check rents: a v5litepod-1 spot for minutes, with every net that a run's machine has.

Before it is asked for, its shut-off timers stand, as a run's do; a task of this same check has shown that they
reach Google as the account of the stops. The machine's own timer ends it, too. The step deletes it and proves it gone
by name; what a kill leaves is deleted by the next check, or by `tpu-studio sweep --delete` (it has our labels).
It trains nothing.
"""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Sequence

from tpu_studio.cloud import startup
from tpu_studio.cloud.livecheck.asking import Answer, Side
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.cloud.tpu import TpuMachines, request_body
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire import loans
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError
from tpu_studio.wire.stops import LONGEST_GAP_S
from tpu_studio.workflow.cloudruns.ports import Ref, Wanted
from tpu_studio.workflow.cloudruns.pyz import startup_script
from tpu_studio.workflow.livecheck.ports import Seen

DOUBTS = (
    "request-id-repeated",
    "tpu-metadata-type",
    "delete-active-unforced",
    "second-delete",
    "operations-list",
    "partial-answers",
)
GENERATION, ACCELERATOR = "v5e", "v5litepod-1"
LABELS = {"tpu-studio": "run", "run-id": "live-check"}
ENDS_S = 600.0  # the machine's own timer, after its request
STOPS_S = (720.0, 1320.0, 1920.0, *(720.0 + 3600.0 * hour for hour in range(1, 25)))  # those from outside, as a run has
PRICED_S = max(STOPS_S[1], LONGEST_GAP_S) + 120.0
"""Until the second of them has had its answer; or made for hours, in which Google takes no deletion, and hung: from one
stop to the next."""
COMES_S, GOES_S = 300.0, 600.0  # how long it is waited for, and for its absence
LATE_S = 600.0  # so long a create call whose answer nobody heard may still be carried out
_KNOWN_TYPES = ("google.cloud.tpu.v2.", "google.cloud.common.")
_MACHINE = "machine"


def usd_at_most(zone: str) -> float:
    """What `PRICED_S` of it cost, with its disk and address."""
    price = catalogue().price(GENERATION, 1, zone, loans.spare().word)
    rate = 1.2 if price is None else price.usd_per_hour(1)
    return round((rate + 0.03) * PRICED_S / 3600.0, 2)


def timer_script() -> str:
    """Of a run's startup script the first half: the timer that deletes the machine with nothing but shell and curl."""
    head, timer, _ = startup_script().partition("\ntimer &\n")
    if not timer:
        raise ValueError("the startup script has no timer")
    return f"{head}{timer}wait\n"


class Renting:
    def __init__(self, side: Side, stops: TaskStops) -> None:
        self._side, self._stops = side, stops
        self._machines = TpuMachines(side.http, side.ends.tpu, side.project)

    def ask(self) -> Sequence[Seen]:
        """Raises StudioError; the machine is noted then, and `gone` takes it away."""
        side, now = self._side, self._side.now()
        ref = Ref(f"ts-live-{secrets.token_hex(6)}-a1-t1", side.zone)
        name = f"{ref.zone}/{ref.name}"
        with side.left.making(_MACHINE, name):
            self._stops.set(ref, "b", [now + after for after in STOPS_S])
            try:
                found = list(self._asked_twice(ref, now))
            except CloudRefused:
                self.gone(name, answered=True)
                raise
            if self._comes(ref):
                found += [self._part(ref), self._unforced(ref)]
            found.append(self._deleted_twice(ref))
            self.gone(name, answered=True)
        found.append(self._listed(ref))
        return found

    def _asked_twice(self, ref: Ref, now: float) -> Sequence[Seen]:
        side = self._side
        body = request_body(self._wanted(ref, now), side.project)
        body["queueingPolicy"] = {"validUntilDuration": f"{COMES_S:.0f}s"}
        query = {"queuedResourceId": ref.name, "requestId": str(uuid.uuid4())}
        url = f"{side.place(ref.zone)}/queuedResources"
        first = side.need(side.ask("POST", url, body, query, again=False))
        again = side.ask("POST", url, body, query, again=False)
        way = "conflict" if again.status == 409 else "" if again.ok else None
        kind = str((first.body.get("metadata") or {}).get("@type", ""))
        known = any(one in kind for one in _KNOWN_TYPES)
        return [
            Seen("request-id-repeated", way, side.kept(again)),
            Seen("tpu-metadata-type", ("" if known else "unheard-of") if kind else None, kind),
        ]

    def _wanted(self, ref: Ref, now: float) -> Wanted:
        side = self._side
        resource = f"v2/projects/{side.project}/locations/{ref.zone}/queuedResources/{ref.name}?force=true"
        config = {"format": 1, "name": ref.name, "backend": "tpu", "resource": resource, "tpu": side.ends.tpu}
        metadata = {
            "startup-script": timer_script(),
            "ts-config": json.dumps(config),
            "ts-deadline": f"{now + ENDS_S:.0f}",
        }
        return Wanted(
            ref=ref,
            request_id="",
            accelerator=ACCELERATOR,
            runtime=startup.runtime("jax", GENERATION),
            tier=loans.spare().word,
            valid_for_s=COMES_S,
            run_s=None,
            metadata=metadata,
            labels=LABELS,
            service_account=side.runner,
        )

    def _comes(self, ref: Ref) -> bool:
        """Whether it is ready in time."""
        give_up = self._side.now() + COMES_S
        while self._side.now() < give_up:
            seen = self._machines.look(ref)
            if seen is None or seen.state in ("failed", "preempted", "leaving"):
                return False
            if seen.state == "ready":
                return True
            self._pause()
        return False

    def _part(self, ref: Ref) -> Seen:
        side = self._side
        answer = side.ask("GET", f"{side.place(ref.zone)}/nodes/{ref.name}", query={"fields": "name,state"})
        if answer.status == 400:
            return Seen("partial-answers", "refused", side.kept(answer))
        told = ", ".join(sorted(side.need(answer).body))
        return Seen("partial-answers", "" if told == "name, state" else "ignored", told)

    def _unforced(self, ref: Ref) -> Seen:
        side = self._side
        answer = side.ask("DELETE", f"{side.place(ref.zone)}/queuedResources/{ref.name}", again=False)
        if answer.status in (400, 409):
            return Seen("delete-active-unforced", "", side.kept(answer))
        if not answer.ok:
            return Seen("delete-active-unforced", None, side.kept(answer))
        ended = self._operation(answer)
        failed = ended is not None and (ended.body.get("error") or {}).get("code") == 9
        return Seen("delete-active-unforced", "operation" if failed else None, side.kept(ended or answer))

    def _operation(self, answer: Answer) -> Answer | None:
        """Once it is done; None: not in time."""
        name, give_up = str(answer.body.get("name", "")), self._side.now() + COMES_S
        while name and self._side.now() < give_up:
            found = self._side.need(self._side.ask("GET", f"{self._side.ends.tpu}/v2/{name}"))
            if found.body.get("done"):
                return found
            self._pause()
        return None

    def _deleted_twice(self, ref: Ref) -> Seen:
        side = self._side
        url = f"{side.place(ref.zone)}/queuedResources/{ref.name}"
        first = side.ask("DELETE", url, query={"force": "true"}, again=False)
        again = side.ask("DELETE", url, query={"force": "true"}, again=False)
        if not first.ok or again.status == 404:
            return Seen("second-delete", None, side.kept(again))
        way = "" if again.ok else "refused" if again.status in (400, 409) else None
        return Seen("second-delete", way, side.kept(again))

    def _listed(self, ref: Ref) -> Seen:
        side = self._side
        answer = side.ask("GET", f"{side.place(ref.zone)}/operations", query={"pageSize": 500})
        if answer.status == 403:
            return Seen("operations-list", "refused", side.kept(answer))
        told = [
            one
            for one in side.need(answer).body.get("operations") or ()
            if str((one.get("metadata") or {}).get("target", "")).endswith(f"/{ref.name}")
            and (one.get("metadata") or {}).get("verb") == "delete"
            and (one.get("metadata") or {}).get("endTime")
        ]
        return Seen("operations-list", "" if told else "empty", f"{len(told)} finished deletes of it")

    def gone(self, name: str, *, answered: bool = False) -> None:
        """Delete it until GET by name proves it gone; then its stops go, and the note. Raises StudioError.

        *answered*: the create call was. Else a machine may still come, which is looked for as long, its stops standing.
        """
        zone, _, short = name.partition("/")
        ref = Ref(short, zone)
        stops = self._stops.of(ref)
        comes_until = 0.0 if answered else max(stops.values(), default=0.0) - STOPS_S[-1] + LATE_S
        give_up = max(self._side.now(), comes_until) + GOES_S
        late: StudioError | None = None
        while (seen := self._machines.look(ref)) is not None or self._side.now() < comes_until:
            if seen is not None:
                if self._side.now() > give_up:
                    raise late or CloudUnclear("server-error", raw="it is still there", name=short)
                comes_until = 0.0
                try:
                    self._machines.delete(ref)
                except StudioError as error:
                    late = error
            self._pause()
        self._stops.remove(list(stops))
        self._side.left.gone(_MACHINE, name)

    def _pause(self) -> None:
        time.sleep(max(0.05, 5.0 / self._side.speed))

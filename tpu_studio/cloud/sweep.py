"""Everything of a project that may cost money, in all zones and regions: ours, told by label, and not ours.

A place that does not answer is said, never passed over: "nothing is left" must be true. Deleting touches what is ours
only; a bucket stays, because it holds the results.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.cloud.compute import aggregated
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.evidence import PROOF
from tpu_studio.cloud.prices import ADDRESS_USD_PER_HOUR, DISK_USD_PER_GB_MONTH, extras
from tpu_studio.cloud.queues import QUEUES
from tpu_studio.cloud.session import PATIENT, Api, Patience, segment
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.wire import loans
from tpu_studio.wire.errors import BadInput, CloudRefused, CloudUnclear, StudioError
from tpu_studio.workflow.cloudruns.ports import Machines, Ref
from tpu_studio.workflow.livecheck.ways import USUAL, Ways

HOURS_PER_MONTH = 730.0
LABEL = "tpu-studio"
_NOT_BILLED = ("PREEMPTED", "TERMINATED", "STOPPED", "DELETING", "SUSPENDED")
_PROVED_WITHIN_S = 600.0
_COMING_S = 900.0
_STOP = re.compile(r"^ts-(?P<run>.+)-a\d+-t\d+-[bln]-\d+-\d+$")


@dataclass(frozen=True)
class Item:
    """Attributes:
    kind: node, queued-resource, instance, disk, address, bucket, task.
    name: As the console shows it; a task's full name.
    zone: Zone, region or location.
    usd_per_hour: None: unknown; 0: it costs nothing by itself.
    alpha: Only the TPU API's v2alpha1 shows it.
    run: Whose it is; "": of no run, or it is not told.
    at: Of a stop: when it is due, in seconds since 1970.
    """

    kind: str
    name: str
    zone: str
    ours: bool
    usd_per_hour: float | None = None
    state: str = ""
    run: str = ""
    alpha: bool = False
    at: float | None = None

    @property
    def usd_per_month(self) -> float | None:
        return None if self.usd_per_hour is None else self.usd_per_hour * HOURS_PER_MONTH

    @property
    def kept(self) -> bool:
        """Not deleted by a sweep."""
        return self.kind == "bucket" or not self.ours

    def to_json(self) -> dict[str, object]:
        told = {name: getattr(self, name) for name in ("kind", "name", "zone", "ours", "usd_per_hour", "usd_per_month")}
        return told | {"state": self.state, "run": self.run, "at": self.at}


@dataclass(frozen=True)
class Swept:
    """What was found, and what could not be looked at: (kind, error)."""

    items: Sequence[Item]
    unclear: Sequence[tuple[str, StudioError]] = field(default_factory=tuple)

    @property
    def ours(self) -> list[Item]:
        return [item for item in self.items if item.ours]

    def total(self, *, ours: bool = False) -> dict[str, float | int]:
        """What all of it (*ours*: ours of it) costs together, and how many things have a price that is not known."""
        told = [item.usd_per_hour for item in (self.ours if ours else self.items)]
        usd = sum(one for one in told if one is not None)
        return {"usd_per_hour": usd, "usd_per_month": usd * HOURS_PER_MONTH, "unknown": told.count(None)}


class Sweep:
    """Args:
    http: What `session.session` made.
    machines: By backend, of `connection`.
    now: The cloud's time, in seconds since 1970.
    known: Prices; default: the dated table.
    ways: What a live check has seen.
    """

    def __init__(
        self,
        http: object,
        endpoints: Endpoints,
        project: str,
        machines: Mapping[str, Machines],
        stops: TaskStops,
        now: Callable[[], float],
        *,
        known: Catalogue | None = None,
        patience: Patience = PATIENT,
        sleep: Callable[[float], None] = time.sleep,
        ways: Ways = USUAL,
    ) -> None:
        self._project, self._machines, self._stops = project, machines, stops
        self._now, self._by_zone = now, ways.by_zone
        self._known, self._sleep = known or catalogue(), sleep
        self._tpu = Api(endpoints.tpu, http, patience=patience)
        self._compute = Api(endpoints.compute, http, patience=patience)
        self._storage = Api(endpoints.storage, http, patience=patience)
        self._tasks = Api(endpoints.tasks, http, patience=patience)

    def look(self) -> Swept:
        """All of it; never raises for a part that cannot be looked at, but SignedOut for the whole."""
        items: list[Item] = []
        unclear: list[tuple[str, StudioError]] = []
        parts: list[tuple[str, Callable[[], Iterator[Item]]]] = [
            ("queued-resource", self._requests),
            ("node", self._nodes),
            ("instance", self._instances),
            ("disk", self._disks),
            ("address", self._addresses),
            ("bucket", self._buckets),
            ("task", self._our_tasks),
        ]
        for kind, part in parts:
            try:
                for item in part():  # what was found before a place that does not answer counts
                    items.append(item)
            except CloudRefused as error:
                if error.id != "service-disabled":  # a service that is off holds nothing
                    unclear.append((kind, error))
            except StudioError as error:
                if error.exit_code == 4:
                    raise
                unclear.append((kind, error))
        items.sort(key=lambda item: (not item.ours, -(item.usd_per_hour or 0.0), item.kind, item.zone, item.name))
        return Swept(items, unclear)

    def delete(self, items: Sequence[Item]) -> list[tuple[Item, StudioError | None]]:
        """Delete what is ours of *items*; each with None once it is verified gone, or with what stood in the way.

        Shut-off timers go last, and only those whose machine is verified gone, seen in this sweep or not: they are the
        last net of a machine that no list shows.
        """
        ours = [one for one in items if not one.kept]
        done = self._delete_all([one for one in ours if one.kind != "task"])
        tried = {(item.name, item.zone): error for item, error in done}
        free: list[Item] = []
        for task in (one for one in ours if one.kind == "task"):
            error = self._still_needed(task, tried)
            if error is None:
                free.append(task)
            else:
                done.append((task, error))
        return done + self._delete_all(free)

    def _still_needed(self, task: Item, tried: Mapping[tuple[str, str], StudioError | None]) -> StudioError | None:
        """Why a shut-off timer has to stay; None: what it would delete is not there, by its name (404)."""
        from tpu_studio.cloud import errors

        try:
            if f"/tasks/{PROOF}" in task.name:
                return None  # it was to show who may delete, and deletes nothing
            aim = self._stops.aim(task.name)
            if aim is None:
                return None  # it has fired meanwhile
            ref, set_at = aim
            name = (ref.name, ref.zone)
            if tried.get(name) is not None:
                return tried[name]
            raw = ""
            if self._machines[ref.backend].look(ref) is not None:
                raw = "the machine is there, and this is its shut-off timer"
            elif name not in tried and self._now() < set_at + _COMING_S:  # stops are set before a machine is asked for
                raw = "it was set just now, and its machine may be about to be made"
            return errors.make("precondition", {"name": task.name, "raw": raw}) if raw else None
        except StudioError as error:
            return error

    def _delete_all(self, items: Sequence[Item]) -> list[tuple[Item, StudioError | None]]:
        done: list[tuple[Item, StudioError | None]] = []
        going: list[Item] = []
        order = ("queued-resource", "node", "instance", "disk", "address", "task")
        for item in sorted(items, key=lambda one: order.index(one.kind)):
            try:
                self._delete(item)
                going.append(item)
            except StudioError as error:
                done.append((item, error))
        give_up = time.monotonic() + _PROVED_WITHIN_S
        for item in going:
            done.append((item, self._until_gone(item, give_up)))
        return done

    # -------------------------------------------------------------------------------------------------- finding

    def _requests(self) -> Iterator[Item]:
        for alpha, one in self._everywhere("queuedResources"):
            spec = ((one.get("tpu") or {}).get("nodeSpec") or [{}])[0]
            labels = (spec.get("node") or {}).get("labels") or {}
            state = str((one.get("state") or {}).get("state", ""))
            name, zone = _name(one), _zone(one)
            run = str(labels.get("run-id", ""))
            yield Item("queued-resource", name, zone, _ours(labels), 0.0, state, run, alpha)

    def _nodes(self) -> Iterator[Item]:
        tiers, all_known = {}, True
        try:
            for _, one in self._everywhere("queuedResources"):
                for spec in (one.get("tpu") or {}).get("nodeSpec") or ():
                    tiers[spec.get("nodeId")] = _loan(one)
        except (CloudRefused, CloudUnclear):
            all_known = False  # the requests' own part says so
        for alpha, one in self._everywhere("nodes"):
            labels, state, zone = one.get("labels") or {}, str(one.get("state", "")), _zone(one)
            told = one.get("schedulingConfig") or {}
            spare = told.get("spot") or told.get("preemptible")
            tier = loans.spare().word if spare else tiers.get(_name(one))
            if tier is None:
                tier = (
                    loans.usual().word if all_known or not one.get("queuedResource") else ""
                )  # "": it may be flex-start
            usd = 0.0 if state in _NOT_BILLED else self._rate(str(one.get("acceleratorType", "")), zone, tier)
            yield Item("node", _name(one), zone, _ours(labels), usd, state, str(labels.get("run-id", "")), alpha)

    def _instances(self) -> Iterator[Item]:
        for zone, one in aggregated(self._compute, self._project, "instances"):
            labels, state = one.get("labels") or {}, str(one.get("status", ""))
            machine = str(one.get("machineType", "")).rpartition("/")[2]
            model = str((one.get("scheduling") or {}).get("provisioningModel", "STANDARD"))
            tier = (loans.by_model(model) or loans.usual()).word
            usd = 0.0 if state in _NOT_BILLED else self._rate_of_machine(machine, zone, tier)
            yield Item("instance", str(one.get("name")), zone, _ours(labels), usd, state, str(labels.get("run-id", "")))

    def _disks(self) -> Iterator[Item]:
        for zone, one in aggregated(self._compute, self._project, "disks"):
            labels = one.get("labels") or {}
            usd = int(one.get("sizeGb") or 0) * DISK_USD_PER_GB_MONTH / HOURS_PER_MONTH
            state = "attached" if one.get("users") else "unused"
            yield Item("disk", str(one.get("name")), zone, _ours(labels), usd, state, str(labels.get("run-id", "")))

    def _addresses(self) -> Iterator[Item]:
        for region, one in aggregated(self._compute, self._project, "addresses"):
            if one.get("addressType", "EXTERNAL") == "EXTERNAL":
                labels, state = one.get("labels") or {}, str(one.get("status", ""))
                yield Item("address", str(one.get("name")), region, _ours(labels), ADDRESS_USD_PER_HOUR, state)

    def _buckets(self) -> Iterator[Item]:
        query = {"project": self._project, "maxResults": 500}
        for one in self._storage.pages("/storage/v1/b", "items", query):
            ours, region = _ours(one.get("labels") or {}), str(one.get("location", "")).lower()
            yield Item("bucket", str(one.get("name")), region, ours, self._bucket_rate(one, region) if ours else None)

    def _our_tasks(self) -> Iterator[Item]:
        locations = self._tasks.pages(f"/v2/projects/{segment(self._project)}/locations", "locations")
        silent: StudioError | None = None
        regions = sorted(str(one.get("locationId", "")) for one in locations)
        for region, machines in ((region, machines) for region in regions for machines in (False, True)):
            try:
                tasks = self._stops.all(region, machines=machines)
            except (CloudRefused, CloudUnclear) as error:
                silent = error
                continue
            for name, at in tasks.items():
                of = _STOP.match(name.rpartition("/")[2])
                run = of["run"] if of else ""
                ours = any(f"/queues/{one}/" in name for one in QUEUES)
                yield Item("task", name, region, ours, 0.0, "set", run, at=at)
        if silent is not None:
            raise silent

    def _everywhere(self, kind: str) -> Iterator[tuple[bool, dict[str, Any]]]:
        from tpu_studio.cloud.tpu import in_both

        return in_both(self._tpu, self._project, kind, by_zone=self._by_zone)

    # --------------------------------------------------------------------------------------------------- prices

    def _rate(self, accelerator: str, zone: str, tier: str) -> float | None:
        try:
            part = self._known.slice(accelerator)
        except BadInput:
            return None
        price = self._known.price(part.generation, part.chips, zone, tier)
        return None if price is None else price.usd_per_hour(part.chips)

    def _rate_of_machine(self, machine: str, zone: str, tier: str) -> float | None:
        for generation in self._known.offered():
            for one in generation.machines:
                if one.machine_type == machine:
                    price = self._known.price(generation.id, one.chips, zone, tier)
                    return None if price is None else price.usd_per_hour(one.chips)
        return None  # an ordinary VM: its price is not in our table

    def _bucket_rate(self, bucket: Mapping[str, object], region: str) -> float | None:
        price = next(one.usd for one in extras(region) if one.name == "storage")
        if price is None:
            return None
        query = {"fields": "items(size),nextPageToken", "maxResults": 1000}
        path = f"/storage/v1/b/{segment(str(bucket.get('name')))}/o"
        try:
            size = sum(int(one.get("size") or 0) for one in self._storage.pages(path, "items", query))
        except (CloudRefused, CloudUnclear):
            return None  # that it is there is what counts
        return size / 1e9 * price / HOURS_PER_MONTH

    # ------------------------------------------------------------------------------------------------- deleting

    def _delete(self, item: Item) -> None:
        if item.kind in ("queued-resource", "node"):
            self._machines["tpu"].delete(Ref(item.name, item.zone, alpha=item.alpha))
        elif item.kind == "instance":
            self._machines["compute"].delete(Ref(item.name, item.zone, "compute"))
        elif item.kind == "task":
            self._stops.remove([item.name])
        else:
            try:
                self._compute.delete(self._path(item))
            except CloudRefused as error:
                if error.id != "not-found":
                    raise

    def _until_gone(self, item: Item, give_up: float) -> StudioError | None:
        from tpu_studio.cloud import errors

        try:
            while self._is_there(item):
                if time.monotonic() > give_up:
                    return errors.make("timed-out", {"name": item.name, "zone": item.zone, "raw": "it is still there"})
                self._sleep(1.0)
        except StudioError as error:
            return error
        return None

    def _is_there(self, item: Item) -> bool:
        if item.kind in ("queued-resource", "node"):
            return self._machines["tpu"].look(Ref(item.name, item.zone, alpha=item.alpha)) is not None
        if item.kind == "instance":
            return self._machines["compute"].look(Ref(item.name, item.zone, "compute")) is not None
        if item.kind == "task":
            return False  # removed means verified gone
        try:
            self._compute.get(self._path(item))
        except CloudRefused as error:
            if error.id == "not-found":
                return False
            raise
        return True

    def _path(self, item: Item) -> str:
        scope = "zones" if item.kind == "disk" and item.zone.count("-") > 1 else "regions"
        where = "global" if item.zone == "global" else f"{scope}/{segment(item.zone)}"
        kind = {"disk": "disks", "address": "addresses"}[item.kind]
        return f"/compute/v1/projects/{segment(self._project)}/{where}/{kind}/{segment(item.name)}"


def _ours(labels: Mapping[str, object]) -> bool:
    return LABEL in labels


def _name(one: Mapping[str, object]) -> str:
    return str(one.get("name", "")).rpartition("/")[2]


def _zone(one: Mapping[str, object]) -> str:
    parts = str(one.get("name", "")).split("/")
    return parts[3] if len(parts) > 4 else ""


def _loan(request: Mapping[str, object]) -> str:
    """The kind of loan that a queued resource asks for."""
    known = loans.spare() if "spot" in request else loans.by_model(str(request.get("provisioningModel")))
    return (known if known and known.preemptible else loans.usual()).word

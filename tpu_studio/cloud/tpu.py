"""Machines of the Cloud TPU API: queued resources and the nodes they yield. Implements `ports.Machines`.

Google's client over REST, with a timeout on each call; plain REST where it can't: flex-start (v2alpha1, which no client
carries), and looks, which ask for a part of a resource.
Request and node are always looked at together: a node may go without its request noticing, and a request that lost its
node keeps eating quota. The operation of a create is asked only for an early "no": it may stay open long after the node
works.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from tpu_studio.cloud import addresses, errors
from tpu_studio.cloud.session import PATIENT, READ_S, SCOPES, Api, Patience, once, segment
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire import loans
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError
from tpu_studio.workflow.cloudruns.ports import Deletion, MachineSeen, Ref, Wanted
from tpu_studio.workflow.livecheck.ways import USUAL, Ways

_CREATE_S = 60.0
_WAITING = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES")
_COMING = ("CREATING", "STARTING", "RESTARTING", "REPAIRING", "REIMAGING")
_OFF = ("PREEMPTED", "TERMINATED", "STOPPED")
_GONE = ("PREEMPTED", "TERMINATED", "STOPPED", "STOPPING")


_FIELDS = {"queuedResources": "name,state,tpu/nodeSpec/node/labels", "nodes": "name,state,createTime,labels"}
"""What is read of them: the system parameter ``fields`` of Google's APIs (discovery: "a partial response")."""


class TpuMachines:
    """Args:
    http: What `session.session` made.
    endpoint: Base URL of the TPU API.
    compute: That of Compute Engine, which counts the addresses of hosts; "": they are not looked at.
    ways: What a live check has seen.
    """

    def __init__(
        self,
        http: object,
        endpoint: str,
        project: str,
        *,
        patience: Patience = PATIENT,
        compute: str = "",
        ways: Ways = USUAL,
    ) -> None:
        self._http, self._endpoint, self._project = http, endpoint.rstrip("/"), project
        self._patience = patience
        self._api = Api(endpoint, http, patience=patience)
        self._compute = Api(compute, http, patience=patience) if compute else None
        self._operations: dict[Ref, str] = {}  # of creates of this process
        self._whole, self._by_zone = ways.whole, ways.by_zone  # a part of a resource cannot be asked for
        self._lock = threading.Lock()

    def check(self, wanted: Wanted) -> None:
        """See `ports.Machines`: whether its hosts find an address each."""
        hosts = catalogue().slice(wanted.accelerator).vms
        if hosts > 1 and self._compute is not None:
            addresses.refuse_too_few(self._compute, self._project, wanted.ref.zone, hosts)

    def create(self, wanted: Wanted) -> None:
        """See `ports.Machines`. Sent once; whatever comes back unreadable is CloudUnclear."""
        about: dict[str, object] = {"zone": wanted.ref.zone, "accelerator": wanted.accelerator, "name": wanted.ref.name}
        operation = once(
            lambda: self._create_flex(wanted) if loans.by_id(wanted.tier).waits else self._create(wanted), **about
        )
        with self._lock:
            self._operations[wanted.ref] = operation

    def look(self, ref: Ref) -> MachineSeen | None:
        request, node = self._request(ref), self._node(ref)
        if request is None and node is not None:
            request = self._request(ref)  # it may have come between the two questions
        late = self._early_no(ref, request)
        if request is None and node is None:
            if late is None:
                return None
            if late is _OPEN:
                return MachineSeen(ref, "waiting", raw="CREATING (operation)")
            return MachineSeen(ref, "failed", raw="operation failed", error=_told(late))
        return seen(ref, request, node, late if isinstance(late, StudioError) else None)

    def delete(self, ref: Ref) -> None:
        with self._lock:
            self._operations.pop(ref, None)
        by = (self._delete_alpha, self._delete_alpha_node) if ref.alpha else (self._delete_request, self._delete_node)
        if self._deleted(by[0], ref):
            return
        self._deleted(by[1], ref)

    def ended(self, ref: Ref) -> Deletion | None:
        """The last delete operation of the node, else of its request: a bill's end that needs nobody to be looking."""
        path = f"/{ref.version}/{self._parent(ref.zone)}/operations"
        found: dict[str, list[Deletion]] = {"nodes": [], "queuedResources": []}
        for one in self._api.pages(path, "operations", {"pageSize": 500}, most=20):
            about = one.get("metadata") or {}
            done = _time(about.get("endTime"))
            if about.get("verb") != "delete" or done is None or one.get("error"):
                continue
            for kind, known in found.items():
                if _is(about, kind, ref):
                    known.append(Deletion(min(_time(about.get("createTime")) or done, done), done))
        known = found["nodes"] or found["queuedResources"]
        return max(known, key=lambda one: one.done, default=None)

    def find(self, labels: Mapping[str, str]) -> Sequence[MachineSeen]:
        requests = self._listed("queuedResources")
        nodes = self._listed("nodes")
        found = []
        for ref in sorted({*requests, *nodes}, key=lambda one: (one.zone, one.name)):
            machine = seen(ref, requests.get(ref), nodes.get(ref))
            if all(machine.labels.get(key) == value for key, value in labels.items()):
                found.append(machine)
        return found

    # ------------------------------------------------------------------------------------------------------ calls

    @cached_property
    def _client(self) -> Any:
        """Google's client on our session. Importing it costs 0.4 s: done with the first call, never at start."""
        import google.cloud.common  # noqa: F401  an operation may carry its message type: parsed, not refused
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import tpu_v2
        from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport
        from google.cloud.tpu_v2.services.tpu.transports.base import DEFAULT_CLIENT_INFO

        scheme, _, host = self._endpoint.partition("://")
        nobody: Any = AnonymousCredentials  # the session has the real ones
        transport: Any = TpuRestTransport(host=host, url_scheme=scheme, credentials=nobody())
        transport._session = self._http
        transport._prep_wrapped_messages(DEFAULT_CLIENT_INFO)  # its table of methods is keyed by the session
        return tpu_v2.TpuClient(transport=transport)

    def _create(self, wanted: Wanted) -> str:
        from google.cloud import tpu_v2

        body: Any = tpu_v2.QueuedResource.from_json(json.dumps(request_body(wanted, self._project)))
        body.queueing_policy.valid_until_duration = _duration(wanted.valid_for_s)
        operation = self._client.create_queued_resource(
            request={
                "parent": self._parent(wanted.ref.zone),
                "queued_resource_id": wanted.ref.name,
                "queued_resource": body,
                "request_id": wanted.request_id,
            },
            timeout=_CREATE_S,
            retry=None,
        )
        return str(operation.operation.name)

    def _create_flex(self, wanted: Wanted) -> str:
        if wanted.run_s is None:
            raise errors.make("bad-request", {"raw": "flex-start needs a run time"})
        body = request_body(wanted, self._project) | {
            "provisioningModel": "FLEX_START",
            "runDuration": {"maxRunDuration": f"{round(wanted.run_s)}s"},
            "queueingPolicy": {"validUntilDuration": f"{round(wanted.valid_for_s)}s"},
        }
        query = {"queuedResourceId": wanted.ref.name, "requestId": wanted.request_id}
        operation = self._api.post(f"/v2alpha1/{self._parent(wanted.ref.zone)}/queuedResources", body, query)
        return str(operation.get("name", ""))

    def _request(self, ref: Ref) -> dict[str, object] | None:
        return self._got("queuedResources", ref)

    def _node(self, ref: Ref) -> dict[str, object] | None:
        return self._got("nodes", ref)

    def _got(self, kind: str, ref: Ref) -> dict[str, object] | None:
        """What we read of it; whole, both carry all metadata, the guardian too: 0.2 MB a look."""
        path = self._path(kind, ref)
        try:
            if not self._whole:
                try:
                    return self._api.get(path, {"fields": _FIELDS[kind]}, zone=ref.zone, name=ref.name)
                except CloudRefused as error:
                    if error.id != "bad-request":
                        raise
                    self._whole = True
            return self._api.get(path, zone=ref.zone, name=ref.name)
        except CloudRefused as error:
            if error.id == "not-found":
                return None
            raise

    def _early_no(self, ref: Ref, request: Mapping[str, object] | None) -> Any:
        """The error of our create's operation; `_OPEN` while there is none yet; None when it says nothing more."""
        with self._lock:
            name = self._operations.get(ref)
        if not name or (request is not None and _state(request) not in _WAITING):
            return None
        try:
            operation = self._api.get(f"/{ref.version}/{name}", zone=ref.zone, name=ref.name)
        except CloudRefused:
            return None  # operations are kept for a while only
        except CloudUnclear:
            if request is None:
                raise  # absence is not proved while the create may still be at work
            return None
        if not operation.get("done"):
            return _OPEN
        if error := operation.get("error"):
            return errors.of_operation(error, zone=ref.zone, name=ref.name)
        with self._lock:
            self._operations.pop(ref, None)
        return None

    def _delete_request(self, ref: Ref) -> None:
        name = f"{self._parent(ref.zone)}/queuedResources/{ref.name}"
        asked = self._client.delete_queued_resource(request={"name": name, "force": True}, timeout=READ_S, retry=None)
        self._check_done(str(asked.operation.name), ref)

    def _check_done(self, operation: str, ref: Ref) -> None:
        """Raises what a deletion failed with that was taken by HTTP 200: one that is still at work tells nothing yet,
        and is asked for again for as long as the machine is there."""
        if not operation:
            return
        try:
            told = self._api.get(f"/{ref.version}/{operation}", zone=ref.zone, name=ref.name)
        except (CloudRefused, CloudUnclear):
            return
        if error := told.get("error"):
            raise errors.of_operation(error, zone=ref.zone, name=ref.name)

    def _delete_node(self, ref: Ref) -> None:
        name = f"{self._parent(ref.zone)}/nodes/{ref.name}"
        self._client.delete_node(request={"name": name}, timeout=READ_S, retry=None)

    def _delete_alpha(self, ref: Ref) -> None:
        told = self._api.delete(self._path("queuedResources", ref), {"force": "true"})
        self._check_done(str(told.get("name", "")), ref)

    def _delete_alpha_node(self, ref: Ref) -> None:
        self._api.delete(self._path("nodes", ref))

    def _path(self, kind: str, ref: Ref) -> str:
        return f"/{ref.version}/{self._parent(ref.zone)}/{kind}/{segment(ref.name)}"

    def _deleted(self, delete: Any, ref: Ref) -> bool:
        """Whether the deletion was accepted or is going on; False: there was nothing of that kind."""
        try:
            self._patience.call(lambda: delete(ref), zone=ref.zone, name=ref.name)
        except CloudRefused as error:
            if error.id == "not-found":
                return False
            if error.id not in ("precondition", "exists"):
                raise
            self._going_or(error, ref)
        except CloudUnclear as error:
            self._going_or(error, ref)
        return True

    def _going_or(self, error: StudioError, ref: Ref) -> None:
        """A second DELETE of what is being deleted is refused: fine. Raises *error* when it is not going."""
        machine = self.look(ref)
        if machine is not None and machine.state != "leaving":
            raise error

    def _listed(self, kind: str) -> dict[Ref, dict[str, object]]:
        """All of *kind* in all zones. Raises CloudUnclear when a zone did not answer."""
        found = in_both(self._api, self._project, kind, "" if self._whole else _FIELDS[kind], by_zone=self._by_zone)
        return {_ref(str(one.get("name", "")), alpha): one for alpha, one in found}

    def _parent(self, zone: str) -> str:
        return f"projects/{segment(self._project)}/locations/{segment(zone)}"


_OPEN = object()


def in_both(
    api: Api, project: str, kind: str, fields: str = "", *, by_zone: bool = False
) -> Iterator[tuple[bool, dict[str, object]]]:
    """`everywhere`, through v2 and then what only v2alpha1 shows (True with it): a flex-start may be seen there alone
    (doubt ``flex-list-v2``). Who is refused v2alpha1 has asked for nothing through it.

    Raises CloudUnclear, last, when a zone did not answer, or v2alpha1.
    """
    known, silent = set[str](), list[CloudUnclear]()
    for version in ("v2", "v2alpha1"):
        try:
            for one in everywhere(api, project, kind, fields, version, by_zone=by_zone):
                if (name := str(one.get("name", ""))) not in known:
                    known.add(name)
                    yield version != "v2", one
        except CloudUnclear as error:
            silent.append(error)
        except CloudRefused:
            if version == "v2":
                raise
    if silent:
        raise silent[0]


def everywhere(
    api: Api, project: str, kind: str, fields: str = "", version: str = "v2", *, by_zone: bool = False
) -> Iterator[dict[str, object]]:
    """All ``nodes`` or ``queuedResources`` of a project; zone by zone where the list over all is refused, or
    *by_zone*: at once. *fields*: of each, in Google's notation; "": all of them.

    Raises CloudUnclear, last, when a zone did not answer.
    """
    if not by_zone:
        try:
            yield from _over_all(api, project, kind, fields, version)
        except CloudRefused as error:
            if error.id != "bad-request":
                raise
        else:
            return
    missing = []
    places = f"/{version}/projects/{segment(project)}/locations"
    told = [str(one.get("locationId", "")) for one in api.pages(places, "locations", {"pageSize": 500})]
    ours = [zone.zone for one in catalogue().offered() if one.control_plane == "cloud-tpu" for zone in one.zones]
    for zone in dict.fromkeys((*told, *ours)):  # that the list names every zone is a doubt (``tpu-locations``)
        try:
            yield from api.pages(f"{places}/{segment(zone)}/{kind}", kind)
        except (CloudRefused, CloudUnclear) as error:
            if zone in told or isinstance(error, CloudUnclear):
                missing.append(zone)
    if missing:
        raise errors.make("server-error", {"raw": "some zones did not answer", "unreachable": sorted(missing)})


def _over_all(api: Api, project: str, kind: str, fields: str, version: str) -> Iterator[dict[str, object]]:
    missing: set[str] = set()
    query: dict[str, object] = {"pageSize": 500}
    if fields:
        query["fields"] = f"{kind}({fields}),nextPageToken,unreachable"
    for _ in range(200):
        page = api.get(f"/{version}/projects/{segment(project)}/locations/-/{kind}", query)
        yield from page.get(kind) or ()
        missing.update(map(str, page.get("unreachable") or ()))
        if not page.get("nextPageToken"):
            break
        query["pageToken"] = page["nextPageToken"]
    else:
        raise errors.make("unreadable-reply", {"raw": f"more than 200 pages of {kind}"})
    if missing:
        raise errors.make("server-error", {"raw": "some zones did not answer", "unreachable": sorted(missing)})


def request_body(wanted: Wanted, project: str) -> dict[str, object]:
    """The queued resource as v2 and v2alpha1 both take it, without tier-specific fields of the latter."""
    node = {
        "acceleratorType": wanted.accelerator,
        "runtimeVersion": wanted.runtime,
        # Without an address of its own the VM cannot fetch its environment: the field's default is false.
        "networkConfig": {"network": wanted.network, "enableExternalIps": True},
        "serviceAccount": {"email": wanted.service_account, "scope": list(SCOPES)},
        "labels": dict(wanted.labels),
        "metadata": dict(wanted.metadata),
    }
    spec = {"parent": f"projects/{project}/locations/{wanted.ref.zone}", "nodeId": wanted.ref.name, "node": node}
    body: dict[str, object] = {"tpu": {"nodeSpec": [spec]}}
    if loans.by_id(wanted.tier).spare:
        body["spot"] = {}
    return body


def seen(
    ref: Ref, request: Mapping[str, object] | None, node: Mapping[str, Any] | None, late: StudioError | None = None
) -> MachineSeen:
    """What request and node (as JSON, one of them may be absent) say together."""
    asked, made = _state(request), str(node.get("state", "")) if node is not None else ""
    error = _told(late)
    failed = _inner(request, "state", "failedData", "error")
    if failed and error is None:
        error = _told(errors.of_operation(failed, zone=ref.zone, name=ref.name))
    spec = (_inner(request, "tpu").get("nodeSpec") or [{}])[0]
    labels = (node or {}).get("labels") or _inner(spec, "node").get("labels") or {}
    created = _time((node or {}).get("createTime"))
    raw = " · ".join(one for one in (_shown(request, asked), _shown(node, made, "node ")) if one)
    by_service = str(_inner(request, "state").get("stateInitiator", "")) in ("SERVICE", "2")
    return MachineSeen(
        ref,
        _judged(asked, made, request, node, error),
        raw=raw,
        error=error,
        created=created,
        by_service=by_service,
        over=made in _OFF,
        labels={str(key): str(value) for key, value in labels.items()},
    )


def _judged(asked: str, made: str, request: object, node: object, error: object) -> str:
    if asked == "FAILED":
        return "failed"
    if asked in ("DELETING", "SUSPENDING"):
        return "leaving"
    if asked == "SUSPENDED":
        return "preempted"
    if made == "READY" and (request is None or asked in ("ACTIVE", "PROVISIONING", *_WAITING)):
        return "ready"  # also while the request lags behind: the VM is up, and billed
    if made == "DELETING":
        return "leaving"
    if made in _GONE:
        return "preempted"
    if error is not None:
        return "failed"
    if asked in _WAITING:
        return "waiting" if node is None else "provisioning" if made in _COMING else "unknown"
    if asked == "PROVISIONING":
        return "provisioning" if node is None or made in _COMING else "unknown"
    if asked == "ACTIVE":
        return "preempted" if node is None else "provisioning" if made in _COMING else "unknown"
    if request is None and made in _COMING:
        return "provisioning"
    return "unknown"


def _state(request: Mapping[str, object] | None) -> str:
    return str(_inner(request, "state").get("state", ""))


def _shown(record: Mapping[str, object] | None, state: str, kind: str = "") -> str:
    return "" if record is None else f"{kind}{state or 'STATE_UNSPECIFIED'}"


def _inner(record: Mapping[str, object] | None, *keys: str) -> Mapping[str, Any]:
    at: object = record
    for key in keys:
        at = at.get(key) if isinstance(at, Mapping) else None
    return at if isinstance(at, Mapping) else {}


def _told(error: StudioError | None) -> tuple[str, Mapping[str, object]] | None:
    return None if error is None else (error.id, error.facts)


def _ref(name: str, alpha: bool = False) -> Ref:
    """``projects/…/locations/Z/<kind>/N``; the project may come back as its number."""
    parts = name.split("/")
    return Ref(parts[-1], parts[3] if len(parts) > 4 else "", alpha=alpha)


def _is(operation: Mapping[str, object], kind: str, ref: Ref) -> bool:
    """Whether its *metadata* is about this name; the project may come back as its number."""
    return str(operation.get("target", "")).endswith(f"/locations/{ref.zone}/{kind}/{ref.name}")


def _time(text: object) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def _duration(seconds: float) -> object:
    from google.protobuf.duration_pb2 import Duration

    return Duration(seconds=round(seconds))

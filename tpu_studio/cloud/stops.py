"""Shut-off timers: one-shot tasks at Google that delete a machine. Implements `ports.OutsideStops`.

A task is an HTTP DELETE at a set time with the token of an account of its own (Cloud Tasks), laptop off or not. Each
is read back after it was set: one that cannot be proved to stand does not count. Names tell machine, kind and time;
none is used twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from tpu_studio.cloud import errors
from tpu_studio.cloud.queues import RETRIES, QueueRegions, has_retries, make_queue, of_machines
from tpu_studio.cloud.session import PATIENT, SCOPES, Api, Patience, segment
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.workflow.cloudruns.ports import Ref

_NAME = re.compile(r"^(?P<machine>.+)-(?P<kind>[bln])-(?P<n>\d+)-(?P<at>\d{9,})$")
_TARGET = re.compile(
    r"/projects/(?P<project>[^/]+)/(?:locations|zones)/(?P<zone>[^/]+)/(?P<kind>queuedResources|nodes|instances)"
    r"/(?P<name>[^/]+)$"
)
_MOST_NAMES = 20
_MOST_PAGES, _MOST_ADDED = 10, 200
"""Of the machines' queue, pages of a thousand tasks, and tasks of one machine: code on one may fill it, and keeps
nothing waiting by that."""


class TaskStops:
    """Args:
    http: What `session.session` made.
    endpoint: Base URL of Cloud Tasks.
    targets: Base URLs by backend (``tpu``, ``compute``) as the tasks shall call them.
    policies: Base URL of Organization Policy, which tells where a queue may stand.
    account: The service account whose token the task carries; the caller must be allowed to act as it. Not the
        machines' own where another can be had: what they may not delete, this net still can.
    """

    def __init__(
        self,
        http: object,
        endpoint: str,
        policies: str,
        project: str,
        account: str,
        targets: Mapping[str, str],
        *,
        patience: Patience = PATIENT,
    ) -> None:
        self._api = Api(endpoint, http, patience=patience)
        self._regions = QueueRegions(self._api, Api(policies, http, patience=patience), project)
        self._project, self._account, self._targets = project, account, dict(targets)

    def set(self, ref: Ref, kind: str, at: Sequence[float]) -> Sequence[str]:
        """See `ports.OutsideStops`.

        Raises:
            CloudRefused: No queue can be had, or a task was refused. Those that were set before stay.
            CloudUnclear: Whether one stands could not be found out.
        """
        queue = self.queue(ref)
        self.open(queue)
        standing = self._in(queue, ref)
        used = [int(found["n"]) for name in standing if (found := _NAME.match(name.rpartition("/")[2]))]
        next_n = max(used, default=0) + 1
        names = []
        for when in at:
            name, next_n = self._set_one(queue, ref, kind, when, next_n)
            names.append(name)
        return names

    def of(self, ref: Ref) -> Mapping[str, float]:
        return self._in(self.queue(ref), ref)

    def added(self, ref: Ref) -> Mapping[str, float]:
        """See `ports.OutsideStops`. Raises CloudUnclear: more stand there than are read, or than a guardian adds."""
        found = self._in(self.machines_queue(ref), ref, most=_MOST_PAGES)
        if len(found) > _MOST_ADDED:
            raise errors.make("unreadable-reply", {"raw": f"{len(found)} stops in its own queue", "name": ref.name})
        return found

    def _in(self, queue: str, ref: Ref, **pages: int) -> dict[str, float]:
        found = {}
        for name, when in self._tasks_of(queue, **pages).items():
            parts = _NAME.match(name.rpartition("/")[2])
            if parts and parts["machine"] == ref.name:
                found[name] = when
        return found

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                self._api.delete(f"/v2/{_path(name)}")
            except CloudRefused as error:
                if error.id != "not-found":
                    raise
            if self._task(name) is not None:
                raise errors.make("server-error", {"raw": "the task is still there", "name": name})

    def aim(self, name: str) -> tuple[Ref, float] | None:
        """What the task *name* would delete, and when it was set; None: the task is gone.

        Raises:
            CloudRefused: It calls no machine of this project.
        """
        task = self._task(name)
        if task is None:
            return None
        url = str((task.get("httpRequest") or {}).get("url", ""))
        found = _TARGET.search(urlsplit(url).path)
        if found is None or unquote(found["project"]) != self._project:
            raise errors.make("precondition", {"name": name, "raw": f"what it calls is no machine of ours: {url}"})
        backend = "compute" if found["kind"] == "instances" else "tpu"
        ref = Ref(unquote(found["name"]), unquote(found["zone"]), backend, alpha="/v2alpha1/projects/" in url)
        return ref, _seconds(task.get("createTime"))

    def queue(self, ref: Ref) -> str:
        """See `ports.OutsideStops`. Raises CloudRefused ``org-policy``, CloudUnclear."""
        region = self._regions.region_of(ref.queue)
        return self._regions.queue(region or self._regions.near(ref.region))

    def machines_queue(self, ref: Ref) -> str:
        """See `ports.OutsideStops`. Raises as `queue`."""
        return of_machines(self.queue(ref))

    def all(self, region: str, *, machines: bool = False) -> dict[str, float]:
        """Every task of our queue in *region*, or of the *machines*': full name → time; none where it has no queue."""
        queue = self._regions.queue(region)
        return self._tasks_of(of_machines(queue) if machines else queue)

    def _tasks_of(self, queue: str, **pages: int) -> dict[str, float]:
        try:
            tasks = self._api.pages(f"/v2/{_path(queue)}/tasks", "tasks", {"pageSize": 1000}, **pages)
        except CloudRefused as error:
            if error.id == "not-found":
                return {}
            raise
        return {str(one.get("name", "")): _seconds(one.get("scheduleTime")) for one in tasks}

    # ------------------------------------------------------------------------------------------------------ calls

    def open(self, queue: str) -> None:
        """The queue, made if absent, with our retries, and set going if it was paused: a paused one never fires."""
        path = f"/v2/{_path(queue)}"
        try:
            found = self._api.get(path)
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            found = make_queue(self._api, queue, path)
        if not has_retries(found):
            found = self._api.patch(path, {"retryConfig": dict(RETRIES)}, {"updateMask": "retryConfig"}, again=True)
        if found.get("state") in ("PAUSED", "DISABLED"):
            found = self._api.post(f"{path}:resume", {}, again=True)
            if found.get("state") in ("PAUSED", "DISABLED"):
                raise errors.make("precondition", {"raw": f"the queue is {found['state']}", "name": queue})

    def _set_one(self, queue: str, ref: Ref, kind: str, when: float, n: int) -> tuple[str, int]:
        """The task's name and the number that follows. A name that was used before is passed over."""
        for number in range(n, n + _MOST_NAMES):
            name = f"{queue}/tasks/{ref.name}-{kind}-{number}-{round(when)}"
            wanted = self._body(name, ref, when)
            for _ in range(3):
                try:
                    self._api.post(f"/v2/{_path(queue)}/tasks", {"task": wanted, "responseView": "FULL"}, zone=ref.zone)
                except CloudRefused as error:
                    if error.id != "exists":
                        raise
                    standing = self._task(name)
                    if standing is not None and _same(standing, wanted):
                        return name, number + 1  # an earlier call of ours that seemed to fail
                    break  # its name is spent
                except CloudUnclear:
                    pass
                standing = self._task(name)
                if standing is not None:
                    if not _same(standing, wanted):
                        raise errors.make(
                            "precondition", {"raw": "the task stands otherwise than it was set", "name": name}
                        )
                    return name, number + 1
            else:
                raise errors.make("server-error", {"raw": "the task was set and is not there", "name": name})
        raise errors.make("precondition", {"raw": "no free name for the task", "name": ref.name})

    def _body(self, name: str, ref: Ref, when: float) -> dict[str, object]:
        return {
            "name": name,
            "scheduleTime": datetime.fromtimestamp(round(when), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "httpRequest": {
                "httpMethod": "DELETE",
                "url": self.target(ref),
                "oauthToken": {"serviceAccountEmail": self._account, "scope": SCOPES[0]},
            },
        }

    def target(self, ref: Ref) -> str:
        """What the task calls."""
        return f"{self._targets[ref.backend].rstrip('/')}/{resource(ref, self._project)}"

    def _task(self, name: str) -> dict[str, Any] | None:
        try:
            return self._api.get(f"/v2/{_path(name)}", {"responseView": "FULL"})
        except CloudRefused as error:
            if error.id == "not-found":
                return None
            raise


def resource(ref: Ref, project: str) -> str:
    """What DELETE takes, under the backend's base URL (``ts-config``'s ``resource``)."""
    if ref.backend == "compute":
        return f"compute/v1/projects/{project}/zones/{ref.zone}/instances/{ref.name}"
    return f"{ref.version}/projects/{project}/locations/{ref.zone}/queuedResources/{ref.name}?force=true"


def _same(standing: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    there, ours = standing.get("httpRequest") or {}, wanted["httpRequest"]
    at_once = abs(_seconds(standing.get("scheduleTime")) - _seconds(wanted["scheduleTime"])) < 1.0
    account = ours["oauthToken"]["serviceAccountEmail"]
    by_it = (there.get("oauthToken") or {}).get("serviceAccountEmail", account) == account
    return at_once and by_it and there.get("httpMethod") == "DELETE" and there.get("url") == ours["url"]


def _seconds(text: object) -> float:
    """RFC 3339 as seconds since 1970. Raises CloudUnclear for anything else: a stop without a time is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        raise errors.make("unreadable-reply", {"raw": f"a task's time: {text}"}) from None


def _path(name: str) -> str:
    return "/".join(segment(part) for part in name.split("/"))

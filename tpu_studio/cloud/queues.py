"""Where the queue of the shut-off timers stands: the nearest region that has Cloud Tasks and is allowed.

Cloud Tasks is not in every region that lends TPUs; a task may call any address, so it need not be. Used by `stops`,
and by the doctor, which makes the queue.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.cloud.session import Api, segment
from tpu_studio.domain.regions import groups_of, nearest, with_cloud_tasks
from tpu_studio.wire.errors import CloudRefused, CloudUnclear

QUEUE = "tpu-studio-stops"
MACHINES = "tpu-studio"
QUEUES = (QUEUE, MACHINES)
"""Ours in a region: in the first stand the stops that this computer sets, and no machine has a right there; in the
second those that a guardian adds for its own machine, and whatever else code on a machine puts there. Before, all
stood in the second, from which machines of some accounts may remove tasks still: nobody has to take that from them."""
LOCATIONS = "gcp.resourceLocations"
RETRIES = {"maxAttempts": 5, "minBackoff": "30s", "maxBackoff": "300s"}
"""Of the queue: a stop that Google's own trouble hits is tried again, and one that fires on nothing is over soon."""
LOOKS_S = (0.0, 1.0, 3.0)
"""Pauses before each look for a queue that was only just made."""
_KEPT_S = 3600.0


class QueueRegions:
    """Args:
    tasks, policies: Of Cloud Tasks and of Organization Policy. What they answer is kept for an hour.
    """

    def __init__(self, tasks: Api, policies: Api, project: str) -> None:
        self._tasks, self._policies, self._project = tasks, policies, project
        self._kept: tuple[float, tuple[str, ...], Mapping[str, object]] | None = None

    def near(self, region: str) -> str:
        """The region of the queue for machines in *region*.

        Raises:
            CloudRefused: ``org-policy``: the organisation allows no region that has Cloud Tasks.
            CloudUnclear: Google could not be asked.
        """
        has_tasks, policy = self._look()
        found = nearest(region, [one for one in has_tasks if allows(policy, one)])
        if not found:
            raw = "No region that has Cloud Tasks is allowed"
            raise errors.make("org-policy", {"constraint": LOCATIONS, "raw": raw})
        return found

    def queue(self, region: str) -> str:
        """Full name of the queue that stands in *region*."""
        return f"projects/{self._project}/locations/{region}/queues/{QUEUE}"

    def region_of(self, queue: str) -> str:
        """Where *queue* stands; "": it is none of ours, whoever says so."""
        region = queue.split("/")[3] if queue.count("/") == 5 else ""
        ours = self.queue(region)
        return region if re.fullmatch(r"[a-z0-9-]+", region) and queue in (ours, of_machines(ours)) else ""

    def all(self) -> tuple[str, ...]:
        """The regions that have Cloud Tasks. Raises CloudUnclear."""
        return self._look()[0]

    def _look(self) -> tuple[tuple[str, ...], Mapping[str, object]]:
        now = time.monotonic()
        if self._kept is None or now - self._kept[0] > _KEPT_S:
            try:
                self._kept = (now, self._with_tasks(), self._policy())
            except CloudUnclear:
                if self._kept is None:
                    raise  # else: as it was an hour ago
        return self._kept[1], self._kept[2]

    def _with_tasks(self) -> tuple[str, ...]:
        """The project's own list; the documented one where it may not be read."""
        try:
            found = self._tasks.pages(f"/v2/projects/{segment(self._project)}/locations", "locations")
        except CloudRefused:
            return with_cloud_tasks()
        return tuple(str(one.get("locationId", "")) for one in found) or with_cloud_tasks()

    def _policy(self) -> Mapping[str, object]:
        """{} where it may not be read: the queue is asked for, and Google refuses it where it is forbidden."""
        path = f"/v2/projects/{segment(self._project)}/policies/{LOCATIONS}:getEffectivePolicy"
        try:
            found: Mapping[str, object] = self._policies.get(path).get("spec") or {}
        except CloudRefused:
            return {}
        return found


def of_machines(queue: str) -> str:
    """Full name of the machines' queue beside *queue*."""
    return f"{queue.rpartition('/')[0]}/{MACHINES}"


def make_queue(tasks: Api, name: str, path: str) -> dict[str, object]:
    """The queue *name*, made with our retries where it is absent, as GET of *path* shows it.

    A queue that was deleted leaves its name taken for up to 3 days, in which "queues.create … may appear to recreate
    the queue" (its page of queues.delete): only GET tells. See the doubt queue-tombstone.

    Raises:
        CloudRefused: ``queue-deleted-lately``: it cannot be had in this region for now; or what else Google refuses.
    """
    try:
        tasks.post(path.rpartition("/")[0], {"name": name, "retryConfig": dict(RETRIES)}, again=True)
    except CloudRefused as error:
        if error.id != "exists":
            raise
    for pause in LOOKS_S:
        time.sleep(pause)
        try:
            return tasks.get(path)
        except CloudRefused as error:
            if error.id != "not-found":
                raise
    raw = "the queue was made, says Google, and is not there"
    raise errors.make("queue-deleted-lately", {"raw": raw, "name": name})


def has_retries(queue: Mapping[str, Any]) -> bool:
    """Whether *queue* tries again as we need it (`RETRIES`)."""
    there = queue.get("retryConfig") or {}
    return all(_plain(there.get(key)) == _plain(value) for key, value in RETRIES.items())


def _plain(value: object) -> object:
    """A duration in seconds: Google writes ``30s`` and ``30.000s``."""
    text = str(value)
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        return text


def allows(policy: Mapping[str, Any], region: str) -> bool:
    """Whether a ``gcp.resourceLocations`` policy (its ``spec``) lets things be made in *region*."""
    for rule in policy.get("rules") or ():
        values = rule.get("values") or {}
        allowed, denied = values.get("allowedValues") or (), values.get("deniedValues") or ()
        groups = groups_of(region)
        if rule.get("denyAll") or groups & set(denied):
            return False
        if allowed and not groups & set(allowed):
            return False
    return True

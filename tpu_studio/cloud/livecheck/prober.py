"""The steps of a live check at Google, or at the practice cloud. Implements ``workflow.livecheck.ports.Prober``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tpu_studio.cloud import errors
from tpu_studio.cloud.doctor.names import NOBODY
from tpu_studio.cloud.livecheck import reads, renting, writes
from tpu_studio.cloud.livecheck.asking import Side
from tpu_studio.cloud.livecheck.renting import Renting
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.wire.errors import StudioError
from tpu_studio.workflow.cloudruns.ports import Ref
from tpu_studio.workflow.livecheck.ports import READ, RENT, WRITE, Seen, Step

SMALL_USD = 0.001  # some storage operations, or some tasks: a hundredth of that is what they cost

_READS: dict[str, tuple[Callable[[Side], Sequence[Seen]], tuple[str, ...], str]] = {
    "list of all zones": (reads.all_zones, ("list-all-zones",), "GET tpu queuedResources of all zones"),
    "areas": (reads.areas, ("tpu-locations",), "GET tpu locations"),
    "images": (reads.images, ("runtime-versions",), "GET tpu runtimeVersions of the zone"),
    "machine types": (reads.machine_types, ("machine-type-names",), "GET compute machineTypes of one zone"),
    "regions of tasks": (reads.tasks_areas, ("tasks-locations",), "GET cloudtasks locations"),
    "dates": (reads.dates, ("date-header",), "GET tpu a name that is absent; GET tpu without a sign-in"),
    "conditions": (reads.conditions, ("condition-as-written",), "POST resourcemanager getIamPolicy of the project"),
    "quota": (reads.quota_ids, ("quota-ids-old", "serving-region-quota"), "GET cloudquotas quotaInfos of the TPU API"),
    "prices": (reads.prices, ("price-descriptions",), "GET cloudbilling skus of TPU and Compute Engine"),
}


class GoogleProber:
    def __init__(self, side: Side, stops: TaskStops) -> None:
        self._side, self._stops = side, stops
        self._renting = Renting(side, stops)
        self._stops_work = False  # shown by a task of this check
        self.account, self.project = side.account, side.project

    def steps(self) -> Sequence[Step]:
        read = [Step(id, READ, about[1], tuple(about[2].split("; "))) for id, about in _READS.items()]
        return [
            *read,
            Step(
                "names of tasks",
                WRITE,
                ("tasks-far-ahead", "task-name-reuse"),
                ("POST cloudtasks a task 29 days ahead", "DELETE it", "POST one of the same name", "DELETE it"),
                SMALL_USD,
            ),
            Step(
                "a task that fires",
                WRITE,
                ("task-oauth-delete", "task-404-retried"),
                (
                    "POST cloudtasks a task for now, that deletes a name never made",
                    "GET it",
                    "DELETE it",
                    f"POST iam {NOBODY}, an account without rights, where it is not there (it stays)",
                    "the same task as that account",
                ),
                SMALL_USD,
            ),
            Step(
                "an upload given up",
                WRITE,
                ("missing-with-generation", "upload-statuses"),
                ("GET storage an object that is absent", "POST an upload", "DELETE it", "PUT to it"),
                SMALL_USD,
            ),
            Step("a bucket", WRITE, ("bucket-rules",), ("POST storage a bucket", "DELETE it"), SMALL_USD),
            Step(
                "a machine",
                RENT,
                renting.DOUBTS,
                (
                    "POST cloudtasks its stops, 12 minutes to a day ahead",
                    f"POST tpu a {renting.ACCELERATOR} spot, twice with one request id",
                    "GET it until it is ready, 5 minutes at most",
                    "GET a part of it",
                    "DELETE it without force",
                    "DELETE it twice",
                    "GET it until it is gone",
                    "GET tpu operations of the zone",
                    "DELETE the stops",
                ),
                renting.usd_at_most(self._side.zone),
            ),
        ]

    def ask(self, step: Step) -> Sequence[Seen]:
        side = self._side
        if step.id in _READS:
            return _READS[step.id][0](side)
        match step.id:
            case "names of tasks":
                return writes.task_names(side, self._queue())
            case "a task that fires":
                found = writes.task_fires(side, self._queue())
                self._stops_work = any(one.doubt == "task-oauth-delete" and one.way == "" for one in found)
                return found
            case "an upload given up":
                return writes.objects(side)
            case "a bucket":
                return writes.bucket_rules(side)
            case "a machine":
                if not self._stops_work:  # no machine without shut-off timers that was shown to work
                    raise errors.make("precondition", {"raw": "no shut-off timer was shown to work"})
                return self._renting.ask()
        raise KeyError(step.id)

    def clean(self) -> Sequence[str]:
        left = []
        for kind, name in self._side.left.all():
            try:
                if kind == "machine":
                    self._renting.gone(name)
                else:
                    writes.gone(self._side, kind, name)
            except StudioError as error:
                if error.exit_code == 4:
                    raise
                left.append(name)
        return left

    def _queue(self) -> str:
        """Made where it is absent: the first stop of a run would do the same."""
        queue = self._stops.queue(Ref("ts-live-check", self._side.zone))
        self._stops.open(queue)
        return queue

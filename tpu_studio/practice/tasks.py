"""Cloud Tasks v2 under ``/cloudtasks/v2``: queues, and tasks that really fire when their practice time has come.

A task is an HTTP request with a service account's token. Google's hosts mean this server; any other host cannot be
reached from here and counts as a failed attempt. A task that was on its way when the server died is sent again: at
least once is all that Google promises too.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from typing import Any

from tpu_studio.domain.regions import with_cloud_tasks
from tpu_studio.practice import iam, policies
from tpu_studio.practice.clock import parse_duration, parse_rfc3339
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, bad_request, error_info
from tpu_studio.practice.paging import page
from tpu_studio.practice.principals import CLOUD_PLATFORM
from tpu_studio.practice.resourcemanager import change_policy, need_project
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.server import require
from tpu_studio.practice.state import Record
from tpu_studio.practice.task_sender import OVER, RETRY, Sender, end

REGIONS = with_cloud_tasks()
FARTHEST_S = 30 * 86400
NEAR_S = 10 * 86400  # the doubt tasks-far-ahead
NAME_REST_S = 3600.0  # how long the name of a task that is over stays taken
QUEUE_REST_S = 3 * 86400.0
LARGEST_BYTES = 100_000
READY_RETRIES = {"maxAttempts": 5, "minBackoff": "30s", "maxBackoff": "300s"}  # as the Account page sets it up
RATE = {"maxDispatchesPerSecond": 500, "maxBurstSize": 100, "maxConcurrentDispatches": 1000}


def install(router: Router, cloud: Cloud) -> None:
    sender = Sender(cloud)
    service = "cloudtasks.googleapis.com"
    locations = r"/cloudtasks/v2/projects/(?P<project>[^/:]+)/locations"
    location = rf"{locations}/(?P<location>[^/:]+)"
    queue = rf"{location}/queues/(?P<queue>[^/:]+)"
    task = rf"{queue}/tasks/(?P<task>[^/:]+)"

    @router.route("GET", locations, service=service)
    def list_locations(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "cloudtasks.locations.list")
        told = REGIONS[: len(REGIONS) // 2] if cloud.doubts.way("tasks-locations") else REGIONS
        return page(request, "locations", [_location(project, region) for region in told], most=100)

    @router.route("GET", location, service=service)
    def get_location(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "cloudtasks.locations.get")
        if request.match["location"] not in REGIONS:
            raise GoogleError(404, "NOT_FOUND", "Requested entity was not found.")
        return _location(project, request.match["location"])

    @router.route("GET", rf"{location}/queues", service=service)
    def list_queues(request: Request) -> dict[str, object]:
        parent = _parent(cloud, request, "cloudtasks.queues.list")
        return page(request, "queues", [q for _, q in cloud.db.list("queue", f"{parent}/queues/")], most=9800)

    @router.route("POST", rf"{location}/queues", schema="cloudtasks.v2:Queue", service=service)
    def create_queue(request: Request) -> dict[str, object]:
        parent = _parent(cloud, request, "cloudtasks.queues.create")
        wanted = request.json()
        name = _name(cloud, wanted.get("name", ""))
        if not re.fullmatch(re.escape(parent) + r"/queues/[A-Za-z0-9-]{1,100}", name):
            raise _invalid(
                "queue.name",
                'Queue name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>"',
            )
        with cloud.db.transaction():
            return _make_queue(cloud, name, wanted)

    @router.route("GET", queue, service=service)
    def get_queue(request: Request) -> dict[str, object]:
        return _queue(cloud, request, "cloudtasks.queues.get")

    @router.route("PATCH", queue, schema="cloudtasks.v2:Queue", service=service)
    def patch_queue(request: Request) -> dict[str, object]:
        parent = _parent(cloud, request, "cloudtasks.queues.update")
        name = f"{parent}/queues/{request.match['queue']}"
        mask = [field.split(".")[0] for field in request.one("updateMask").split(",") if field]
        with cloud.db.transaction():
            record = cloud.db.get("queue", name)
            if record is None:  # documented: an update of what isn't there makes it
                return _make_queue(cloud, name, request.json())
            for field in ("rateLimits", "retryConfig"):
                camel = {field, re.sub(r"[A-Z]", lambda m: "_" + m[0].lower(), field)}
                if (not mask or camel & set(mask)) and field in request.json():
                    record[field] = {**record[field], **_config(field, request.json()[field])}
            cloud.db.put("queue", name, record)
        return record

    @router.route("DELETE", queue, service=service)
    def delete_queue(request: Request) -> dict[str, object]:
        name = _queue(cloud, request, "cloudtasks.queues.delete")["name"]
        with cloud.db.transaction():
            cloud.db.delete("queue", name)
            cloud.db.delete("policy", f"queues/{name}")
            cloud.db.put("queue-gone", name, {"at": cloud.clock.now()})
            for task_name, _ in cloud.db.list("task", f"{name}/tasks/"):
                cloud.db.delete("task", task_name)
        return {}

    @router.route(
        "POST", rf"{queue}:(?P<verb>pause|resume|purge)", schema="cloudtasks.v2:PauseQueueRequest", service=service
    )
    def change_queue(request: Request) -> dict[str, object]:
        verb = request.match["verb"]
        record = _queue(cloud, request, f"cloudtasks.queues.{verb}")
        with cloud.db.transaction():
            if verb == "purge":
                record["purgeTime"] = cloud.clock.rfc3339()
                for task_name, _ in cloud.db.list("task", f"{record['name']}/tasks/"):
                    end(cloud, task_name)
            else:
                record["state"] = "PAUSED" if verb == "pause" else "RUNNING"
            cloud.db.put("queue", record["name"], record)
        return record

    @router.route("POST", rf"{queue}:getIamPolicy", schema="cloudtasks.v2:GetIamPolicyRequest", service=service)
    def get_policy(request: Request) -> dict[str, object]:
        name = _queue(cloud, request, "cloudtasks.queues.getIamPolicy")["name"]
        asked = request.json().get("options", {}).get("requestedPolicyVersion")
        return policies.shown(cloud, cloud.principals.policy(f"queues/{name}"), asked)

    @router.route("POST", rf"{queue}:setIamPolicy", schema="cloudtasks.v2:SetIamPolicyRequest", service=service)
    def set_policy(request: Request) -> dict[str, object]:
        """Without conditions: queues are not among what accepts them (iam/docs/resource-types-with-policies)."""
        name = _queue(cloud, request, "cloudtasks.queues.setIamPolicy")["name"]
        wanted = request.json().get("policy", {})
        if policies.has_conditions(wanted):
            raise GoogleError(400, "INVALID_ARGUMENT", "Conditions are not supported on this resource.")
        return change_policy(cloud, f"queues/{name}", wanted)

    @router.route(
        "POST", rf"{queue}:testIamPermissions", schema="cloudtasks.v2:TestIamPermissionsRequest", service=service
    )
    def test_permissions(request: Request) -> dict[str, object]:
        on = (f"projects/{request.match['project']}", *_policy_of(cloud, request))
        asked = request.json().get("permissions", [])
        granted = [one for one in asked if cloud.principals.may(request.principal, one, *on)]
        return {"permissions": granted} if granted else {}

    @router.route("GET", rf"{queue}/tasks", service=service)
    def list_tasks(request: Request) -> dict[str, object]:
        name = _queue(cloud, request, "cloudtasks.tasks.list")["name"]
        full = _full(cloud, request, request.one("responseView"))
        tasks = [_shown(cloud, record, full) for _, record in cloud.db.list("task", f"{name}/tasks/")]
        return page(request, "tasks", tasks, most=1000)

    @router.route("POST", rf"{queue}/tasks", schema="cloudtasks.v2:CreateTaskRequest", service=service)
    def create_task(request: Request) -> dict[str, object]:
        parent = _parent(cloud, request, "cloudtasks.tasks.create")
        name = f"{parent}/queues/{request.match['queue']}"
        if cloud.faults.take("tasks-refused", queue=name) is not None:
            raise _lacking("cloudtasks.tasks.create", name)
        if cloud.db.get("queue", name) is None:
            raise GoogleError(
                404,
                "NOT_FOUND",
                "Queue does not exist. If you just created the queue, wait at least a "
                "minute for the queue to initialize.",
            )
        if len(request.body) > LARGEST_BYTES:
            raise _invalid("task", f"Task size too large: {len(request.body)} bytes, at most {LARGEST_BYTES}.")
        asked = request.json()
        full = _full(cloud, request, asked.get("responseView", ""))
        record = _new_task(cloud, request, name, asked.get("task", {}))
        with cloud.db.transaction():
            if cloud.db.get("task", record["name"]):
                raise GoogleError(409, "ALREADY_EXISTS", "Requested entity already exists")
            over = cloud.db.get(OVER, record["name"])
            if over and cloud.clock.now() < over["at"] + NAME_REST_S and not cloud.doubts.way("task-name-reuse"):
                raise GoogleError(
                    409,
                    "ALREADY_EXISTS",
                    "The task cannot be created because a task with this name "
                    "existed too recently. For more information about task de-duplication see "
                    "https://cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues.tasks/"
                    "create#body.request_body.FIELDS.task.",
                )
            cloud.db.put("task", record["name"], record)
        return _shown(cloud, record, full)

    @router.route("GET", task, service=service)
    def get_task(request: Request) -> dict[str, object]:
        record = _task(cloud, request, "cloudtasks.tasks.get")
        return _shown(cloud, record, _full(cloud, request, request.one("responseView")))

    @router.route("DELETE", task, service=service)
    def delete_task(request: Request) -> dict[str, object]:
        with cloud.db.transaction():
            end(cloud, _task(cloud, request, "cloudtasks.tasks.delete")["name"])
        return {}

    @router.route("POST", rf"{task}:run", schema="cloudtasks.v2:RunTaskRequest", service=service)
    def run_task(request: Request) -> dict[str, object]:
        record = _task(cloud, request, "cloudtasks.tasks.run")
        full = _full(cloud, request, request.json().get("responseView", ""))
        sender.send(record["name"])
        return _shown(cloud, cloud.db.get("task", record["name"]) or record, full)

    sender.recover()
    cloud.every(0.5, sender.send_due)
    cloud.busy.append(lambda: bool(cloud.db.list("task", limit=1)))
    cloud.closing.append(sender.wait)


def prepare(cloud: Cloud) -> None:
    """The queues that a ready project has."""
    settings = cloud.settings
    for queue in (settings.queue, settings.machines_queue) if settings.ready else ():
        name = f"projects/{settings.project}/locations/{settings.region}/queues/{queue}"
        _make_queue(cloud, name, {"retryConfig": READY_RETRIES})


def _new_task(cloud: Cloud, request: Request, queue: str, wanted: Record) -> Record:
    """The record of a valid task: ``shown`` is what GET answers, ``due`` practice seconds, ``body`` base64."""
    now = cloud.clock.now()
    name = _name(cloud, wanted.get("name", "")) or f"{queue}/tasks/{secrets.randbelow(10**19):019d}"
    if not re.fullmatch(re.escape(queue) + r"/tasks/[A-Za-z0-9_-]{1,500}", name):
        raise _invalid(
            "task.name",
            'Task name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/'
            'queues/<QUEUE_ID>/tasks/<TASK_ID>", in the queue it is created in.',
        )
    target = wanted.get("httpRequest")
    if not target:
        raise _invalid("task", "Task must have a target: the practice cloud knows HTTP requests only.")
    if not re.match(r"https?://[^/]+", target.get("url", "")) or len(target["url"]) > 2083:
        raise _invalid(
            "task.http_request.url",
            'HttpRequest.url must start with "http://" or "https://", and have at most 2083 characters.',
        )
    if "body" in target and target.get("httpMethod", "POST") not in ("POST", "PUT", "PATCH"):
        raise _invalid("task.http_request.body", "HTTP request body is allowed only for POST, PUT and PATCH.")
    try:
        base64.b64decode(target.get("body", ""), validate=True)
        due = parse_rfc3339(wanted["scheduleTime"]) if "scheduleTime" in wanted else now
        deadline_s = parse_duration(wanted.get("dispatchDeadline", "600s"))
    except (binascii.Error, ValueError) as error:
        raise _invalid("task", f"Invalid value: {error}") from error
    if due > now + (NEAR_S if cloud.doubts.way("tasks-far-ahead") else FARTHEST_S):
        raise _invalid("task.schedule_time", "The schedule time must be no more than 30 days in the future.")
    if not 15 <= deadline_s <= 1800:
        raise _invalid("task.dispatch_deadline", "The dispatch deadline must be between [15s, 30m].")
    if "oauthToken" in target:
        _check_act_as(cloud, request, target["oauthToken"].get("serviceAccountEmail", ""))
    due = max(due, now)
    shown = {
        "name": name,
        "httpRequest": {"httpMethod": "POST", **{k: v for k, v in target.items() if k != "body"}},
        "scheduleTime": cloud.clock.rfc3339(due),
        "createTime": cloud.clock.rfc3339(float(int(now))),
        "dispatchDeadline": wanted.get("dispatchDeadline", "600s"),
        **({"retryConfig": _config("retryConfig", wanted["retryConfig"])} if "retryConfig" in wanted else {}),
    }
    if "oauthToken" in target:
        shown["httpRequest"]["oauthToken"] = {"scope": CLOUD_PLATFORM, **target["oauthToken"]}
    return {"name": name, "shown": shown, "due": due, "body": target.get("body", "")}


def _check_act_as(cloud: Cloud, request: Request, email: str) -> None:
    if iam.account(cloud, email) is None or not iam.may_act_as(cloud, request.principal, email):
        if cloud.doubts.way("task-actas-words"):
            raise GoogleError(403, "PERMISSION_DENIED", "The caller does not have permission")
        raise _lacking("iam.serviceAccounts.actAs", email)
    if cloud.doubts.way("task-actas") and request.principal.kind != "user" and request.principal.email != email:
        raise _lacking("iam.serviceAccounts.getAccessToken", email)
    if (iam.account(cloud, email) or {})["projectId"] != request.match["project"]:
        raise _invalid("task.http_request.oauth_token", "The service account must be in the project of the queue.")


def _make_queue(cloud: Cloud, name: str, wanted: Record) -> Record:
    if cloud.db.get("queue", name):
        raise GoogleError(409, "ALREADY_EXISTS", "Queue already exists")
    gone = cloud.db.get("queue-gone", name)
    rests = gone is not None and cloud.clock.now() < gone["at"] + QUEUE_REST_S
    seems_made = rests and bool(cloud.doubts.way("queue-tombstone"))
    if rests and not seems_made:
        raise GoogleError(
            400,
            "FAILED_PRECONDITION",
            "The queue cannot be created because a queue with this name existed too recently.",
        )
    record = {
        "name": name,
        "rateLimits": {**RATE, **_config("rateLimits", wanted.get("rateLimits", {}))},
        "retryConfig": {**RETRY, **_config("retryConfig", wanted.get("retryConfig", {}))},
        "state": "RUNNING",
    }
    if not seems_made:
        cloud.db.put("queue", name, record)
    return record


def _config(field: str, wanted: Mapping[str, Any]) -> Record:
    """Raises GoogleError 400 for figures that Google refuses."""
    for key in ("minBackoff", "maxBackoff", "maxRetryDuration"):
        if key in wanted:
            try:
                parse_duration(wanted[key])
            except ValueError as error:
                raise _invalid(f"{field}.{key}", str(error)) from error
    if wanted.get("maxAttempts", 1) < -1 or wanted.get("maxAttempts", 1) == 0:
        raise _invalid(f"{field}.maxAttempts", "must be -1 (unlimited) or at least 1")
    if wanted.get("maxDispatchesPerSecond", 1) > 500 or wanted.get("maxConcurrentDispatches", 1) > 5000:
        raise _invalid(field, "above the largest rate: 500 dispatches a second, 5000 at a time")
    return dict(wanted)


def _location(project: dict[str, object], region: str) -> dict[str, object]:
    return {
        "name": f"projects/{project['projectId']}/locations/{region}",
        "locationId": region,
        "labels": {"cloud.googleapis.com/region": region},
    }


def _parent(cloud: Cloud, request: Request, permission: str) -> str:
    """Granted on the project, or on the queue that is meant by its own policy."""
    project = need_project(cloud, request, permission, *_policy_of(cloud, request))
    if request.match["location"] not in REGIONS:
        raise GoogleError(
            400,
            "INVALID_ARGUMENT",
            f"'{request.match['location']}' is not a valid location for Cloud "
            "Tasks. Use ListLocations to list valid locations.",
        )
    return f"projects/{project['projectId']}/locations/{request.match['location']}"


def _policy_of(cloud: Cloud, request: Request) -> tuple[str, ...]:
    """Under which the policy of the queue is kept that a request is about; none where the doubt says it is ignored."""
    if "queue" not in request.match or cloud.doubts.way("queue-policy"):
        return ()
    place = f"projects/{request.match['project']}/locations/{request.match['location']}"
    return (f"queues/{_name(cloud, place + '/')}queues/{request.match['queue']}",)


def _name(cloud: Cloud, name: str) -> str:
    """With the project's id where its number was given."""
    return name.replace(f"projects/{cloud.settings.number}/", f"projects/{cloud.settings.project}/")


def _queue(cloud: Cloud, request: Request, permission: str) -> Record:
    name = f"{_parent(cloud, request, permission)}/queues/{request.match['queue']}"
    record = cloud.db.get("queue", name)
    if record is None:
        raise GoogleError(404, "NOT_FOUND", "Queue does not exist.")
    return record


def _task(cloud: Cloud, request: Request, permission: str) -> Record:
    parent = _parent(cloud, request, permission)
    name = f"{parent}/queues/{request.match['queue']}/tasks/{request.match['task']}"
    record = cloud.db.get("task", name)
    if record is None:
        over = cloud.db.get(OVER, name)
        if over and cloud.clock.now() < over["at"] + NAME_REST_S:
            raise GoogleError(
                404,
                "NOT_FOUND",
                "The task no longer exists, though a task with this name existed "
                "recently. The task either successfully completed or was deleted.",
            )
        raise GoogleError(404, "NOT_FOUND", "Task does not exist.")
    return record


def _full(cloud: Cloud, request: Request, view: str) -> bool:
    if view != "FULL":
        return False
    if not cloud.doubts.way("task-fullview"):
        require(cloud, request, "cloudtasks.tasks.fullView", *_policy_of(cloud, request))
    return True


def _shown(cloud: Cloud, record: Record, full: bool) -> Record:
    shown = {**record["shown"], "view": "FULL" if full else "BASIC"}
    if full and record.get("body"):
        shown["httpRequest"] = {**shown["httpRequest"], "body": record["body"]}
    return shown


def _invalid(field: str, text: str) -> GoogleError:
    return GoogleError(400, "INVALID_ARGUMENT", text, [bad_request((field, text))])


def _lacking(permission: str, resource: str) -> GoogleError:
    return GoogleError(
        403,
        "PERMISSION_DENIED",
        f'The principal (user or service account) lacks IAM permission "{permission}" for the resource "{resource}" '
        "(or the resource may not exist).",
        [error_info("IAM_PERMISSION_DENIED", "cloudtasks.googleapis.com", permission=permission, resource=resource)],
    )

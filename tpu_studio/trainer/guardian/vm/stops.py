"""Outside stops, moved: tasks at Google that delete this machine at the end of its lease, should it hang.

Three new ones are set and read back, only then the three of before the launch are removed. What does not come about is
told and leaves the earlier ones standing, the safe direction. They act as an account of their own, so a machine whose
own account may not delete it can still have it done: by a stop that is due now.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone

from tpu_studio.trainer.guardian.vm.config import Config
from tpu_studio.trainer.guardian.vm.metadata import Authorized
from tpu_studio.trainer.guardian.vm.web import Refused, Reply

COUNT = 3
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def move(api: Authorized, config: Config, lease_end: float) -> list[str]:
    """Set the stops at *lease_end* + margin, then remove the earlier ones; names of the new.

    Raises:
        Unreachable, Refused: They are not set, or could not be read back; the earlier ones stand.
    """
    assert config.stops is not None
    queue, spacing = str(config.stops["queue"]), float(config.stops["spacing_s"])
    base = _base(config)
    names = []
    for number in range(1, COUNT + 1):
        at = int(lease_end + config.margin_s + (number - 1) * spacing)
        name = f"{queue}/tasks/{config.name}-l-{number}-{at}"
        _create(api, name, at, config)
        names.append(name)
    for name in names:
        reply = api.call("GET", base + name)
        if not reply.ok:
            raise Refused(reply)
    for name in config.stops["before"]:
        reply = api.call("DELETE", base + name)
        if not reply.ok and reply.status != 404:
            raise Refused(reply)
    return names


def at_once(api: Authorized, config: Config, now: float) -> str:
    """Have this machine deleted from outside, now; the name of the task. Raises Unreachable, Refused."""
    assert config.stops is not None
    name = f"{config.stops['queue']}/tasks/{config.name}-n-1-{int(now)}"
    _create(api, name, int(now), config)
    return name


def _base(config: Config) -> str:
    return f"{config.tasks}/v2/"


def _create(api: Authorized, name: str, at: int, config: Config) -> None:
    assert config.stops is not None
    queue = str(config.stops["queue"])
    task = {
        "name": name,
        "scheduleTime": datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: UP017  Python 3.10
        "httpRequest": {
            "httpMethod": "DELETE",
            "url": config.resource,
            "oauthToken": {"serviceAccountEmail": config.stops["account"], "scope": _SCOPE},
        },
    }
    body = json.dumps({"task": task}).encode()
    reply: Reply = api.call("POST", f"{_base(config)}{queue}/tasks", {"Content-Type": "application/json"}, body)
    if not reply.ok and reply.status != 409:  # 409: set by this machine before it was started again
        raise Refused(reply)

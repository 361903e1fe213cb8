"""Outside stops, added: tasks at Google that delete this machine at the end of its lease, should it hang.

They are set and read back, in a queue of the machines. Those of before the launch stand elsewhere, later, and a
machine may not touch them, whatever code runs on it. They act as an account of their own, so a machine whose own
account may not delete it can still have it done: by a stop that is due now.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from urllib.parse import quote

from tpu_studio.trainer.guardian.vm.config import Config
from tpu_studio.trainer.guardian.vm.metadata import Authorized
from tpu_studio.trainer.guardian.vm.web import Refused, Reply, Unreachable
from tpu_studio.wire.stops import times

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def add(api: Authorized, config: Config, lease_end: float) -> list[str]:
    """Set stops at *lease_end* + margin; their names.

    Raises:
        Unreachable, Refused: They are not set, or could not be read back; the earlier ones stand.
    """
    assert config.stops is not None
    queue, base = str(config.stops["queue"]), _base(config)
    names = []
    for number, when in enumerate(times(lease_end + config.margin_s), 1):
        name = f"{queue}/tasks/{config.name}-l-{number}-{int(when)}"
        _create(api, name, int(when), config)
        names.append(name)
    _read_back(api, f"{base}{queue}/tasks", names)
    return names


def _read_back(api: Authorized, tasks: str, names: list[str]) -> None:
    """Raises Refused, Unreachable: not all of *names* are among them."""
    left, token = set(names), ""
    while True:
        reply = api.call("GET", f"{tasks}?pageSize=1000" + (f"&pageToken={quote(token, safe='')}" if token else ""))
        if not reply.ok:
            raise Refused(reply)
        page = reply.json()
        left -= {str(one.get("name")) for one in page.get("tasks") or ()}
        token = str(page.get("nextPageToken") or "")
        if not left:
            return
        if not token:
            raise Unreachable(f"{len(left)} of the stops were set and are not there")


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

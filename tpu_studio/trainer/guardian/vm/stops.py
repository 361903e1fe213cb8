"""Outside stops, moved: tasks at Google that delete this machine at the end of its lease, should it hang.

Three new ones are set and read back, only then the three of before the launch are removed. What does not come about is
told and leaves the earlier ones standing, the safe direction.
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
    base = f"{config.tasks}/v2/"
    names = []
    for number in range(1, COUNT + 1):
        at = int(lease_end + config.margin_s + (number - 1) * spacing)
        name = f"{queue}/tasks/{config.name}-l-{number}-{at}"
        _create(api, base, queue, name, at, config)
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


def _create(api: Authorized, base: str, queue: str, name: str, at: int, config: Config) -> None:
    assert config.stops is not None
    task = {
        "name": name,
        "scheduleTime": datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: UP017  Python 3.10
        "httpRequest": {
            "httpMethod": "DELETE",
            "url": config.resource,
            "oauthToken": {"serviceAccountEmail": config.stops["runner"], "scope": _SCOPE},
        },
    }
    reply: Reply = api.call(
        "POST", f"{base}{queue}/tasks", {"Content-Type": "application/json"}, json.dumps({"task": task}).encode()
    )
    if not reply.ok and reply.status != 409:  # 409: set by this machine before it was started again
        raise Refused(reply)

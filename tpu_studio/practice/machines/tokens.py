"""Access tokens of a machine's service account: asked of the server, kept until shortly before they run out."""

from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path
from typing import Any

from tpu_studio.practice.machines import clockline
from tpu_studio.practice.machines.machine import Machine

PATH = "/practice/machine-token"
_RENEW_S = 300.0  # as at Google: a token with less life left is not given out again
_TIMEOUT_S = 10.0


class Tokens:
    """*root*: the folder of all machines, where the server leaves its address."""

    def __init__(self, root: Path, machine: Machine) -> None:
        self._root, self._machine = root, machine
        self._lock = threading.Lock()
        self._token: dict[str, Any] = {}

    def get(self) -> dict[str, object]:
        """``{"access_token","expires_in","token_type"}``, times in practice seconds.

        Raises:
            OSError: The server is not there, or refuses.
        """
        with self._lock:
            now = clockline.read(self._root).now()
            if self._token.get("expires", 0.0) - now < _RENEW_S:
                self._token = self._ask()
            return {
                "access_token": self._token["access_token"],
                "expires_in": int(self._token["expires"] - now),
                "token_type": "Bearer",
            }

    def _ask(self) -> dict[str, object]:
        url = clockline.read(self._root).url
        body = json.dumps({"machine": self._machine.name, "key": self._machine.key}).encode()
        request = urllib.request.Request(url + PATH, body, {"Content-Type": "application/json"}, method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=_TIMEOUT_S) as reply:
            told: dict[str, object] = json.loads(reply.read())
        return told

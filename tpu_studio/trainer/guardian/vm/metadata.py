"""The metadata server of this machine: its configuration, the time, a token, and a warning before it is taken away."""

from __future__ import annotations

import os
import threading
import time
from typing import IO
from urllib.parse import quote

from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.web import Refused, Reply, Web

_FLAVOR = {"Metadata-Flavor": "Google"}
_WAIT_S = 30
_COORDINATOR_PORT = 8482  # of the framework's distributed runtime, on worker 0


class Metadata:
    """``GCE_METADATA_HOST`` moves it (host or host:port), as it does for Google's own libraries."""

    def __init__(self, web: Web, clock: CloudClock) -> None:
        host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
        self._url = f"http://{host}/computeMetadata/v1/"
        self._web, self._clock = web, clock
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0

    def get(self, path: str, *, timeout_s: float = 10.0) -> Reply:
        """Raises Unreachable."""
        reply = self._web.call("GET", self._url + path, _FLAVOR, timeout_s=timeout_s)
        self._clock.hear(reply.headers)
        return reply

    def text(self, path: str) -> str | None:
        """The value, or None when there is no such key. Raises Unreachable, Refused."""
        reply = self.get(path)
        if reply.status == 404:
            return None
        if not reply.ok:
            raise Refused(reply)
        return reply.body.decode("utf-8", "replace")

    def worker(self) -> int:
        text = self.text("instance/attributes/agent-worker-number")
        return int(text) if text is not None and text.strip().isdigit() else 0

    def coordinator(self) -> str:
        """``host:port`` at which the workers of a slice meet. Raises Unreachable, Refused.

        Google's ``worker-network-endpoints`` has ``name:id:address`` for each worker, worker 0 first.
        """
        told = os.environ.get("TPU_STUDIO_COORDINATOR")
        if told:
            return told
        first = (self.text("instance/attributes/worker-network-endpoints") or "").split(",")[0]
        address = first.rpartition(":")[2].strip()
        if not address:
            raise Refused(Reply(404, {}, b"the metadata server names no address of worker 0"))
        return f"{address}:{_COORDINATOR_PORT}"

    def tick(self) -> None:
        """Hear what time it is."""
        self.get("instance/id")

    def token(self, *, anew: bool = False) -> str:
        """An access token of the machine's own account, asked for again before it runs out. Raises Unreachable,
        Refused."""
        with self._lock:
            if anew or time.monotonic() >= self._until:
                reply = self.get("instance/service-accounts/default/token")
                found = reply.json()
                if not reply.ok or not isinstance(found.get("access_token"), str):
                    raise Refused(Reply(reply.status, {}, b"the metadata server gave no token"))
                self._token = found["access_token"]
                try:
                    lasts = float(found.get("expires_in", 0))
                except (TypeError, ValueError):
                    lasts = 0.0
                self._until = time.monotonic() + max(1.0, min(lasts, 3600.0) - 120.0) / self._clock.speed
            return self._token

    def preempted(self, etag: str) -> tuple[bool, str]:
        """Whether the machine is about to be taken away, and the etag to wait with next; waits for a change.

        Raises:
            Unreachable, Refused.
        """
        query = f"?wait_for_change=true&timeout_sec={_WAIT_S}&last_etag={quote(etag)}" if etag else ""
        reply = self.get(f"instance/preempted{query}", timeout_s=_WAIT_S + 15.0)
        if not reply.ok:
            raise Refused(reply)
        return reply.body.strip().upper() == b"TRUE", reply.headers.get("etag", "")


class Authorized:
    """Calls of Google's APIs with the machine's own token."""

    def __init__(self, web: Web, metadata: Metadata) -> None:
        self._web, self._metadata = web, metadata

    def call(
        self,
        method: str,
        url: str,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_s: float = 30.0,
        into: IO[bytes] | None = None,
    ) -> Reply:
        """See `Web.call`; a token that is no longer taken is asked for anew, once. Raises Unreachable, Refused."""
        for anew in (False, True):
            token = self._metadata.token(anew=anew)
            sent = {**(headers or {}), "Authorization": f"Bearer {token}"}
            reply = self._web.call(method, url, sent, body, timeout_s=timeout_s, into=into)
            if reply.status != 401:
                break
        return reply

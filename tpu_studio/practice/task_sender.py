"""Sends the tasks of Cloud Tasks (`tasks`) when their time has come, and again where they fail, until they end."""

from __future__ import annotations

import base64
import http.client
import threading
import urllib.parse
from collections.abc import Mapping
from typing import Any

from tpu_studio.practice import iam
from tpu_studio.practice.clock import parse_duration
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.principals import CLOUD_PLATFORM
from tpu_studio.practice.state import Record

RETRY = {"maxAttempts": 100, "maxBackoff": "3600s", "minBackoff": "0.100s", "maxDoublings": 16}
OVER = "task-name-taken"

_HTTP_TO_RPC = {400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 412: 9, 429: 8, 499: 1, 500: 13, 501: 12, 503: 14, 504: 4}


class Sender:
    """Sends tasks, each in its own thread; the record says what became of it."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._lock = threading.Lock()
        self._on_their_way: set[str] = set()
        self._threads: set[threading.Thread] = set()

    def recover(self) -> None:
        """After a restart: what was on its way is due at once."""
        with self._cloud.db.transaction():
            for name, record in self._cloud.db.list("task"):
                if record.pop("sent_at", None) is not None:
                    self._cloud.db.put("task", name, record)

    def send_due(self) -> None:
        now = self._cloud.clock.now()
        paused = {name for name, queue in self._cloud.db.list("queue") if queue["state"] != "RUNNING"}
        for name, record in self._cloud.db.list("task"):
            if record["due"] <= now and "sent_at" not in record and name.split("/tasks/")[0] not in paused:
                self.send(name)

    def send(self, name: str) -> None:
        """Send now, whatever the schedule says; a task that is on its way isn't sent twice at a time."""
        with self._lock:
            if name in self._on_their_way:
                return
            self._on_their_way.add(name)
        now = self._cloud.clock.now()
        with self._cloud.db.transaction():
            record = self._cloud.db.get("task", name)
            if record is not None:
                moment = self._cloud.clock.rfc3339(now)
                record["sent_at"] = now
                record.setdefault("first_sent", now)
                record["shown"]["dispatchCount"] = record["shown"].get("dispatchCount", 0) + 1
                record["shown"].setdefault("firstAttempt", {"dispatchTime": moment})
                planned = record["shown"]["scheduleTime"]
                # Without responseTime the status means nothing (discovery cloudtasks.v2: Attempt.responseStatus).
                record["shown"]["lastAttempt"] = {"scheduleTime": planned, "dispatchTime": moment, "responseStatus": {}}
                self._cloud.db.put("task", name, record)
        if record is None:
            with self._lock:
                self._on_their_way.discard(name)
            return
        thread = threading.Thread(target=self._deliver, args=(record,), name="practice-task", daemon=True)
        with self._lock:
            self._threads = {one for one in self._threads if one.is_alive()} | {thread}
            thread.start()

    def wait(self) -> None:
        """Until those on their way are back (the port is closed by then, so that their calls end)."""
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _deliver(self, record: Record) -> None:
        try:
            code, message = self._request(record)
            self._settle(record["name"], code, message)
        finally:
            with self._lock:
                self._on_their_way.discard(record["name"])

    def _request(self, record: Record) -> tuple[int, str]:
        """Status and words of the answer; 0 = none came."""
        wanted = record["shown"]["httpRequest"]
        target = here(self._cloud.url, wanted["url"])
        if target is None:
            return 0, f"The practice cloud reaches no other host than Google's: {wanted['url']}"
        headers = {
            **wanted.get("headers", {}),
            "User-Agent": "Google-Cloud-Tasks",
            "X-CloudTasks-QueueName": record["name"].split("/")[5],
            "X-CloudTasks-TaskName": record["name"].rsplit("/", 1)[1],
            "X-CloudTasks-TaskRetryCount": str(record["shown"].get("dispatchCount", 1) - 1),
            "X-CloudTasks-TaskExecutionCount": str(record["shown"].get("responseCount", 0)),
        }
        if "oauthToken" in wanted and not self._cloud.doubts.way("task-oauth-delete"):
            token = wanted["oauthToken"]
            email = token["serviceAccountEmail"]
            if iam.account(self._cloud, email) is None:
                return 401, f"The service account {email} is gone."
            scopes = tuple(token.get("scope", CLOUD_PLATFORM).split())
            headers["Authorization"] = f"Bearer {self._cloud.principals.issue(email, 'serviceAccount', scopes)}"
        parts = urllib.parse.urlsplit(target)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            body = base64.b64decode(record.get("body", "")) or None
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request(wanted.get("httpMethod", "POST"), path, body, headers)
            reply = connection.getresponse()
            text = reply.read(4096).decode(errors="replace")
            return reply.status, text
        except (OSError, http.client.HTTPException, ValueError) as error:  # a header with a line end in it, too
            return 0, str(error)
        finally:
            connection.close()

    def _settle(self, name: str, code: int, message: str) -> None:
        """Success ends the task; failure (404 too) waits for the next attempt or, after the last, ends it."""
        cloud = self._cloud
        now = cloud.clock.now()
        with cloud.db.transaction():
            record = cloud.db.get("task", name)
            if record is None:  # deleted meanwhile
                return
            queue = cloud.db.get("queue", name.split("/tasks/")[0]) or {"retryConfig": RETRY}
            attempts = record["shown"]["dispatchCount"]
            own = {} if cloud.doubts.way("task-own-retries") else record["shown"].get("retryConfig", {})
            retry = {**queue["retryConfig"], **own}
            cloud.faults.note("task", name.rsplit("/", 1)[1], code=code, attempt=attempts, text=message[:300])
            if 200 <= code < 300:
                end(cloud, name)
                return
            record.pop("sent_at", None)
            hides = cloud.doubts.way("task-last-attempt") == "untold"
            if code:
                record["shown"]["responseCount"] = record["shown"].get("responseCount", 0) + 1
            record["shown"]["lastAttempt"].pop("responseStatus", None)
            record["shown"]["lastAttempt"] |= (
                {"responseTime": cloud.clock.rfc3339(now)}
                if hides
                else {
                    "responseTime": cloud.clock.rfc3339(now),
                    "responseStatus": {
                        "code": _HTTP_TO_RPC.get(code, 2 if code else 14),
                        "message": f"{_words(code)}({code}): HTTP status code {code}" if code else message,
                    },
                }
            )
            gone = code == 404 and cloud.doubts.way("task-404-retried")
            if gone or _exhausted(retry, attempts, now - record["first_sent"]):
                end(cloud, name)
                return
            record["due"] = now + backoff_s(retry, attempts)
            record["shown"]["scheduleTime"] = cloud.clock.rfc3339(record["due"])
            cloud.db.put("task", name, record)


def here(url: str, target: str) -> str | None:
    """*target* as an address of this server (at *url*); None: it is somewhere else."""
    parts = urllib.parse.urlsplit(target)
    rest = parts.path + (f"?{parts.query}" if parts.query else "")
    own = urllib.parse.urlsplit(url)
    if parts.port == own.port and parts.hostname in (own.hostname, "localhost"):
        return url.rstrip("/") + rest
    if parts.hostname == "cloudtasks.googleapis.com":
        return f"{url.rstrip('/')}/cloudtasks{rest}"
    if (parts.hostname or "").endswith(".googleapis.com"):
        return url.rstrip("/") + rest
    return None


def backoff_s(retry: Mapping[str, Any], attempts: int) -> float:
    """Seconds between attempt number *attempts* and the next: doubling, then linear, at most ``maxBackoff``."""
    least, most = parse_duration(retry["minBackoff"]), parse_duration(retry["maxBackoff"])
    doublings = int(retry["maxDoublings"])
    done = attempts - 1
    wait: float = least * 2.0 ** min(done, doublings)
    if done > doublings:
        wait += (done - doublings) * least * 2.0**doublings
    return min(wait, most)


def _exhausted(retry: Mapping[str, Any], attempts: int, age_s: float) -> bool:
    """Both limits must be reached; unlimited ones (-1, 0 s) count as reached unless both are."""
    at_most, at_longest = int(retry["maxAttempts"]), parse_duration(retry.get("maxRetryDuration", "0s"))
    if at_most < 0 and at_longest <= 0:
        return False
    return (at_most < 0 or attempts >= at_most) and (at_longest <= 0 or age_s >= at_longest)


def end(cloud: Cloud, name: str) -> None:
    """The task is over; its name rests."""
    cloud.db.delete("task", name)
    cloud.db.put(OVER, name, {"at": cloud.clock.now()})


def _words(code: int) -> str:
    names = {
        404: "NOT_FOUND",
        403: "PERMISSION_DENIED",
        401: "UNAUTHENTICATED",
        400: "INVALID_ARGUMENT",
        409: "ABORTED",
        429: "RESOURCE_EXHAUSTED",
        503: "UNAVAILABLE",
        500: "INTERNAL",
    }
    return names.get(code, "UNKNOWN")

"""How a live check asks: one call, its answer as it is (a refusal too), and what of it may be kept and sent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.secrecy import without_secrets
from tpu_studio.cloud.session import TIMEOUT, once
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.workflow.livecheck.left import Left

MOST_RAW = 400  # characters of an answer that are kept
_AGAIN = (429, 500, 502, 503, 504)
_TRIES = 3


@dataclass(frozen=True)
class Answer:
    """*body*: {} where it is no JSON object."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    text: str

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Side:
    """Whose account it is, and where.

    Attributes:
        http: With credentials; *plain* without.
        speed: Seconds of the cloud's in a real one (the practice cloud's clock).
        secret: What an answer must not name besides what has a shape: project, accounts, bucket.
    """

    http: Any
    plain: Any
    ends: Endpoints
    project: str
    zone: str
    region: str
    bucket: str
    runner: str
    stopper: str
    account: str
    left: Left
    now: Any
    speed: float = 1.0
    secret: tuple[str, ...] = field(default=())

    def ask(
        self,
        method: str,
        url: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        plain: bool = False,
        again: bool = True,
    ) -> Answer:
        """Raises CloudUnclear: nobody answered, or three times with "later"."""
        http = self.plain if plain else self.http
        last: Answer | None = None
        for number in range(_TRIES if again else 1):
            time.sleep(number / self.speed)
            reply = once(lambda: http.request(method, url, json=body, params=query, headers=headers, timeout=TIMEOUT))
            last = Answer(reply.status_code, _object(reply.content), reply.headers, reply.text)
            if last.status not in _AGAIN:
                return last
        assert last is not None
        raise CloudUnclear("server-error", raw=self.kept(last), code=last.status)

    def need(self, answer: Answer) -> Answer:
        """Raises StudioError where it is a refusal that settles nothing."""
        if not answer.ok:
            raise errors.of_reply(answer.status, answer.text)
        return answer

    def pages(self, url: str, key: str, query: Mapping[str, object] | None = None) -> Iterator[Mapping[str, object]]:
        """Raises StudioError."""
        asked = dict(query or {})
        for _ in range(50):
            page = self.need(self.ask("GET", url, query=asked)).body
            yield from page.get(key) or ()
            if not page.get("nextPageToken"):
                return
            asked["pageToken"] = page["nextPageToken"]

    def kept(self, answer: Answer) -> str:
        """Status and text, without anything that says whose account it is."""
        said = f"{answer.status} {json.dumps(answer.body) if answer.body else answer.text}"
        return self.without_names(said)[:MOST_RAW]

    def without_names(self, text: str) -> str:
        names = (self.project, self.bucket, self.account, *self.secret)
        for name in sorted(filter(None, names), key=len, reverse=True):
            text = text.replace(name, "…")
        text = without_secrets(text)
        text = re.sub(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", "…@…", text)
        text = re.sub(r"(?<![\d.])\d{9,}(?![\d.])", "…", text)
        return re.sub(r"0x[0-9a-fA-F]{8,}|[0-9a-f]{12,}", "…", text)

    def place(self, zone: str = "") -> str:
        """URL of a location of the TPU API."""
        return f"{self.ends.tpu}/v2/projects/{self.project}/locations/{zone or self.zone}"


def _object(content: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}

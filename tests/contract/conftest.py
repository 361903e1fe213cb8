"""The practice cloud for the tests that hold it to Google's schemas, clients and command line: a port of its own, an
empty home, no machines unless a test asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib import error, request

import pytest

from tests.contract.sides import side_of
from tests.fakes.practices import Start
from tpu_studio.practice.main import Practice
from tpu_studio.workflow.cloudruns.ports import CloudSide

__all__ = ["Answer", "Call", "Start", "caller"]


@pytest.fixture
def practice(start_practice: Start) -> Practice:
    """One in which everything is ready, nothing goes wrong, and what is granted counts at once."""
    return start_practice(iam_lag_s=0.0)


@pytest.fixture
def side(practice: Practice) -> CloudSide:
    return side_of(practice)


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    raw: bytes
    headers: dict[str, str]

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["error"]
        return found

    @property
    def reasons(self) -> list[str]:
        """Of the ErrorInfo details."""
        return [detail["reason"] for detail in self.error.get("details", []) if "reason" in detail]


Call = Callable[..., Answer]


@pytest.fixture
def call(practice: Practice) -> Call:
    """``call(method, path, body, token=…, headers=…)`` on `practice`, as its owner."""
    return caller(practice)


def caller(practice: Practice) -> Call:
    def call(
        method: str, path: str, body: Any = None, *, token: str | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        asked = request.Request(practice.url + path, data, method=method)
        token = practice.token if token is None else token
        if token:
            asked.add_header("Authorization", f"Bearer {token}")
        for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
            asked.add_header(name, value)
        opener = request.build_opener(request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=60) as reply:
                raw, status, got = reply.read(), reply.status, dict(reply.headers)
        except error.HTTPError as refused:
            with refused:
                raw, status, got = refused.read(), refused.code, dict(refused.headers)
        is_json = "json" in got.get("Content-Type", "") and raw
        return Answer(status, json.loads(raw) if is_json else {}, raw, got)

    return call

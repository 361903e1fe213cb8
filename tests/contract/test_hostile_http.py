"""Hostile requests from seeds: no internal error, no hang, and its owner is served afterwards (`make fuzz`)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fakes.hostile_http import Fallen, Hostile, Target

REQUESTS = 250


def test_the_practice_cloud_withstands_hostile_requests(tmp_path: Path) -> None:
    with Target(tmp_path / "practice") as target:
        for number in range(REQUESTS):
            target.fuzz(random.Random(f"http/{number}"))


def test_what_falls_is_told_with_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself is checked: a handler that breaks is seen."""
    with Target(tmp_path / "practice") as target:
        router = target.practice.server.router
        monkeypatch.setattr(router, "find", lambda *_: 1 // 0)
        with pytest.raises(Fallen, match="an internal error"):
            target.send(b"GET /v1/projects HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert Hostile(target.practice, random.Random(1)).request().startswith((b"GET", b"POST", b"P", b"D"))

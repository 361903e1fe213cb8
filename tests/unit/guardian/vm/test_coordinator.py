"""Where the workers of a slice meet."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.metadata import Metadata
from tpu_studio.trainer.guardian.vm.web import Refused, Reply, Web

ENDPOINTS = b"t1v-n-0a1b2c3d-w-0:1234567890:10.128.0.5,t1v-n-0a1b2c3d-w-1:1234567891:10.128.0.6"


class Answering(Web):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def call(self, *asked: Any, **how: Any) -> Reply:
        return self._reply


def metadata(reply: Reply) -> Metadata:
    return Metadata(Answering(reply), CloudClock())


def test_it_is_worker_0s_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TPU_STUDIO_COORDINATOR", raising=False)
    assert metadata(Reply(200, {}, ENDPOINTS)).coordinator() == "10.128.0.5:8482"


def test_what_the_image_names_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_COORDINATOR", "127.0.0.1:40001")
    assert metadata(Reply(404, {}, b"")).coordinator() == "127.0.0.1:40001"


def test_without_an_address_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TPU_STUDIO_COORDINATOR", raising=False)
    with pytest.raises(Refused):
        metadata(Reply(404, {}, b"")).coordinator()

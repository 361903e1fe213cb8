"""``owner.json`` as a disk or a bucket may have it: what cannot be of it is left out, the sentence about it told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.domain import figures
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.runfolder import OWNER
from tpu_studio.workflow import desk


@pytest.mark.parametrize("t", [1e300, -1e300, 10**400, float("inf"), float("nan"), "soon", None, [1], True])
def test_a_time_that_no_clock_shows_is_left_out(tmp_path: Path, t: Any) -> None:
    (tmp_path / OWNER).write_text(json.dumps({"install": "abcdefgh", "host": "desk", "t": t}))
    owner = desk.read_owner(tmp_path)
    assert owner == {"install": "abcdefgh", "host": "desk"}
    assert "Taken over by desk" in say(RunError("run-taken-over", **{**owner, "t": t})).title


@pytest.mark.parametrize("data", [b"[" * 100_000, b"\xff\xfe", b"[]", b"", b'{"install": [1], "host": {"a": 1}}'])
def test_what_names_nobody_names_nobody(data: bytes) -> None:
    assert desk.owner_of(data) == {}


def test_a_file_of_gigabytes_names_nobody(tmp_path: Path) -> None:
    with open(tmp_path / OWNER, "wb") as file:
        file.truncate(6 << 30)
    assert desk.read_owner(tmp_path) == {}


def test_a_clock_shows_what_is_a_time() -> None:
    assert figures.clock(1e300) == "an unknown time"
    assert figures.clock(float("nan")) == "an unknown time"
    assert ":" in figures.clock(1.8e9)

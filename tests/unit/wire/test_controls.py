"""Control files: what is asked of a run, and what nobody can obey."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tpu_studio.wire import controls
from tpu_studio.wire.runfolder import control_file, create_once


def test_controls_are_read_once_in_order(tmp_path: Path) -> None:
    controls.send(tmp_path, {"verb": "extend", "epochs": 3})
    controls.send(tmp_path, {"verb": "limits", "hours": 2.0})
    reader = controls.Controls(tmp_path)
    assert [(record["number"], record["verb"]) for record in reader.read()] == [(1, "extend"), (2, "limits")]
    assert reader.read() == []


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"garbage",
        b'{"verb": "extend", "epochs": Infinity}',
        b'{"verb": "extend", "epochs": 1e300}',
        b'{"verb": "extend", "epochs": "3"}',
        b'{"verb": "extend"}',
        b'{"verb": "limits", "hours": NaN}',
        b'{"verb": "limits", "hours": -1}',
        b'{"verb": "limits", "money_usd": true}',
    ],
)
def test_what_nobody_can_obey_is_unreadable_and_the_next_one_counts(tmp_path: Path, data: bytes) -> None:
    create_once(control_file(tmp_path, 1), data)
    create_once(control_file(tmp_path, 2), json.dumps({"verb": "extend", "epochs": 1}).encode())
    assert [record["verb"] for record in controls.Controls(tmp_path).read()] == ["unreadable", "extend"]


def test_of_a_control_the_fields_that_are_known_are_handed_out(tmp_path: Path) -> None:
    """One named “kind” ended the guardian as often as it started: its machine paid, and trained nothing."""
    odd = {"verb": "stop", "keep": True, "attempt": 1, "kind": "end", "self": 1, "number": 99, "by": "x" * 9000}
    create_once(control_file(tmp_path, 1), json.dumps(odd).encode())
    assert controls.Controls(tmp_path).read() == [{"verb": "stop", "keep": True, "attempt": 1, "number": 1}]

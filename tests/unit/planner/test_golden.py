"""The memory estimate beside what the TPU compiler said of the same plans (`make golden`)."""

from __future__ import annotations

import json

import pytest

from tools import make_golden

POINTS = json.loads(make_golden.GOLDEN.read_text(encoding="utf-8"))["points"]
ROWS = [(row, batch) for row in make_golden.GRID for batch in row[-1]]


def test_every_point_of_the_grid_was_compiled() -> None:
    assert list(POINTS) == [make_golden.point_name(row, batch) for row, batch in ROWS]


@pytest.mark.parametrize(("row", "batch"), ROWS, ids=[make_golden.point_name(*one) for one in ROWS])
def test_the_estimate_is_within_fifteen_percent_of_the_compiler(row, batch) -> None:
    said, memory = POINTS[make_golden.point_name(row, batch)], make_golden.plan_of(row, batch).memory
    assert memory.by == "estimate"
    near = memory.device_bytes == pytest.approx(said["device_bytes"], rel=0.15)
    assert near == (make_golden.point_name(row, batch) not in make_golden.FAR)
    if said["device_bytes"] > 1.05 * said["limit_bytes"]:
        assert not said["fits"]
        assert not memory.fits


def test_where_chips_share_the_state_out_no_estimate_is_far_too_low() -> None:
    plans = {make_golden.point_name(*one): make_golden.plan_of(*one) for one in ROWS}
    off = {
        name: made.memory.device_bytes / POINTS[name]["device_bytes"] - 1
        for name, made in plans.items()
        if made.sharded
    }
    assert len(off) >= 12
    assert min(off.values()) > -0.1  # so little, and a rented machine is none too small
    large = [name for name in off if name.startswith("gpt-124m layers=")]
    assert max(off[name] for name in large) < 0.2

"""A look at a machine brings what is read of it, not the metadata that it was made with, whatever Google allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import caller
from tests.contract.sides import LABELS, REF, WANTED, side_of, until
from tpu_studio.practice.main import Practice
from tpu_studio.workflow.cloudruns.ports import Ref

Start = Callable[..., Practice]
HEAVY = {"startup-script": "#!/bin/sh\n", "ts-guardian": "x" * 113_000}
COMPUTE = replace(
    WANTED,
    ref=Ref(REF.name, "us-east5-b", "compute"),
    accelerator="v6e-1",
    runtime="",
    tier="spot",
    metadata=HEAVY,
    run_s=3600.0,
)


def lengths(machines: Any) -> list[int]:
    """Bytes of each answer from now on."""
    found: list[int] = []
    machines._api._http.hooks["response"].append(lambda reply, *args, **more: found.append(len(reply.content)))
    return found


@pytest.mark.parametrize(("way", "most"), [("", 2_000), ("ignored", 300_000), ("refused", 300_000)])
def test_a_look_at_a_tpu_is_small_where_google_gives_parts_and_right_where_it_does_not(
    start_practice: Start, way: str, most: int
) -> None:
    practice = start_practice(speed=60)
    if way:
        practice.cloud.doubts.arm(f"partial-answers={way}")
    machines: Any = side_of(practice).machines["tpu"]
    machines.create(replace(WANTED, metadata=HEAVY))
    ready = until(lambda: machines.look(REF), "ready")
    assert ready is not None and ready.labels == LABELS and ready.created is not None
    sizes = lengths(machines)
    machines.look(REF)
    assert [one.ref for one in machines.find(LABELS)] == [REF]
    assert max(sizes) < most
    assert len(sizes) <= (6 if way != "refused" else 60)  # a look two, the lists of v2 and v2alpha1 two each
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


@pytest.mark.parametrize(("way", "most"), [("", 2_000), ("ignored", 200_000), ("refused", 200_000)])
def test_a_look_at_an_instance_is_small_too(start_practice: Start, way: str, most: int) -> None:
    practice = start_practice(speed=60)
    if way:
        practice.cloud.doubts.arm(f"partial-answers={way}")
    machines: Any = side_of(practice).machines["compute"]
    machines.create(COMPUTE)
    assert until(lambda: machines.look(COMPUTE.ref), "ready") is not None
    sizes = lengths(machines)
    seen = machines.look(COMPUTE.ref)
    assert seen is not None and seen.labels == LABELS and seen.created is not None
    assert max(sizes) < most


def test_a_field_that_google_does_not_have_is_refused(practice: Practice) -> None:
    call = caller(practice)
    path = "/v2/projects/practice-project/locations/us-west4-a/nodes"
    assert call("GET", f"{path}?fields=nodes(name,state),nextPageToken,unreachable").status == 200
    for wrong in ("nodes(name,colour)", "colour", "nodes(", "nodes/state/inner("):
        answer = call("GET", f"{path}?fields={wrong}")
        assert (answer.status, answer.error["status"]) == (400, "INVALID_ARGUMENT"), wrong

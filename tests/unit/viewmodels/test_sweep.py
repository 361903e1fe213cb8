"""What the sweep says of a thing: whose it is, and whether it is offered for deletion."""

from __future__ import annotations

import pytest

from tpu_studio.cloud.sweep import Item
from tpu_studio.viewmodels.sweep import row_of

NODE = "projects/p/locations/us-west4-a/nodes/ts-cats-k3f7-a1-t1"


@pytest.mark.parametrize("run", ["cats-k3f7", ""])
def test_what_a_run_that_goes_on_needs_is_not_offered(run: str) -> None:
    known = row_of(Item("node", NODE, "us-west4-a", True, 12.0, "READY", run), ["dogs-b2b2", "cats-k3f7"])
    assert known.going_on and not known.deletable


@pytest.mark.parametrize("run", ["cats-k3f7", ""])
@pytest.mark.parametrize("piece", ["t", "ts", "cats", "cats-k3f7-a1", "ts-cats-k3f7", ".*", ""])
def test_a_run_that_is_called_as_a_piece_of_a_name_needs_nothing_of_it(run: str, piece: str) -> None:
    known = row_of(Item("node", NODE, "us-west4-a", True, 12.0, "READY", run), [piece])
    assert not known.going_on and known.deletable and known.whose == "TPU Studio's"

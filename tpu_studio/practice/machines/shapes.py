"""What a slice is made of, from the catalogue: its hosts' machine type, and the devices frameworks see on each."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tpu_studio.wire.resources import resource_path


@cache
def generations() -> tuple[dict[str, Any], ...]:
    """The generations of the catalogue that are offered."""
    text = resource_path("catalogue", "generations.json").read_text("utf-8")
    return tuple(one for one in json.loads(text)["generations"] if one["offered"])


def devices_per_worker(accelerator_type: str, chips: int, workers: int) -> int:
    """2 a chip on v2, v3 and TPU7x, else 1; for a slice that the catalogue lacks one a chip."""
    for generation in generations():
        for slice_ in generation["slices"]:
            if slice_["accelerator_type"] == accelerator_type:
                return max(1, int(slice_["devices"]) // int(slice_["vms"]))
    return max(1, chips // max(1, workers))


def machine_type(accelerator_type: str, chips: int, workers: int) -> str:
    """Of one host; "" for a slice that the catalogue lacks."""
    per_host = max(1, chips // max(1, workers))
    for generation in generations():
        if any(slice_["accelerator_type"] == accelerator_type for slice_ in generation["slices"]):
            for offered in generation["machine_types"]:
                if offered["chips"] == per_host:
                    return str(offered["machine_type"]).split()[0]
    return ""

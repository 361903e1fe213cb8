"""What a slice is made of: the machine type of its hosts, and the devices that frameworks see on each."""

from __future__ import annotations

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import Slice


def find(accelerator_type: str) -> Slice | None:
    slices = (part for generation in catalogue().offered() for part in generation.slices)
    return next((part for part in slices if part.accelerator_type == accelerator_type), None)


def devices_per_worker(accelerator_type: str, chips: int, workers: int) -> int:
    """2 a chip on v2, v3 and TPU7x, else 1; for a slice that the catalogue lacks one a chip."""
    part = find(accelerator_type)
    return max(1, part.devices // part.vms if part else chips // max(1, workers))


def hbm_bytes(accelerator_type: str) -> int:
    """Memory of one device; 16 GiB for a slice that the catalogue lacks."""
    part = find(accelerator_type)
    return catalogue().generation(part.generation).hbm_bytes_per_device if part else 16 * 2**30


def machine_type(accelerator_type: str, chips: int, workers: int) -> str:
    """Of one host; "" for a slice that the catalogue lacks."""
    part = find(accelerator_type)
    machines = catalogue().generation(part.generation).machines if part else ()
    per_host = max(1, chips // max(1, workers))
    return next((one.machine_type.split()[0] for one in machines if one.chips == per_host), "")

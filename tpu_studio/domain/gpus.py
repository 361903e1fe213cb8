"""GPUs that a TPU is compared with, of `resources/catalogue/gpus.json`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.wire.records import read


@dataclass(frozen=True)
class Gpu:
    """Of a machine with *gpus_per_vm*; None: not known."""

    id: str
    name: str
    gpus_per_vm: int
    memory_gb: float
    peak_bf16_tflops_per_gpu: float | None
    peak_fp16_tflops_per_gpu: float | None
    on_demand_usd_per_hour: float | None


@lru_cache(maxsize=8)
def gpus_of(known: Catalogue) -> tuple[Gpu, ...]:
    return tuple(read(Gpu, one, "gpu") for one in known.file("gpus")["gpus"])

"""Has a program traced here as it will be on a TPU: what asks JAX for its devices is told of a TPU's.

Keras, KerasHub and people's own models choose other operations where `jax.devices()` or the default backend is a TPU's.
Traced as on a processor, `check` would compile another program than the one that is going to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """As much of a JAX device as is asked before anything is compiled."""

    id: int = 0
    platform: str = "tpu"
    device_kind: str = "TPU"
    process_index: int = 0


@contextmanager
def as_on_a_tpu(devices: Sequence[object] = ()) -> Iterator[None]:
    """Args:
    devices: The compiler's own descriptions of the slice; without them one chip stands in.
    """
    import jax

    shown = list(devices) or [Chip()]
    told = {
        "devices": lambda backend=None: shown,
        "local_devices": lambda *args, **more: shown,
        "default_backend": lambda: "tpu",
        "device_count": lambda backend=None: len(shown),
        "local_device_count": lambda backend=None: len(shown),
    }
    before = {name: getattr(jax, name) for name in told}
    try:
        for name, value in told.items():
            setattr(jax, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(jax, name, value)

"""The pictures that a training step makes of a batch are the same bytes in every framework, and on every device."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.in_engine import run_in_engine
from tests.unit.data.test_augment import mixed, varied

pytestmark = [pytest.mark.engine]


def expected() -> dict[str, str]:
    rng = np.random.default_rng(7)
    found = {}
    for name, shape, top, how in (
        ("photos", (16, 37, 53, 3), 255, ""),
        ("digits", (16, 8, 8, 1), 16, ""),
        ("photos mixup", (16, 37, 53, 3), 255, "mixup"),
        ("photos cutmix", (16, 37, 53, 3), 255, "cutmix"),
    ):
        pictures = varied(rng.integers(0, top + 1, shape, dtype=np.uint8), 3, mirror=True, value_max=top)
        pictures = mixed(pictures, how, 4) if how else pictures
        head = f"{pictures.dtype}{pictures.shape}".encode()
        found[name] = hashlib.sha256(head + pictures.tobytes()).hexdigest()
    return found


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_a_step_varies_and_mixes_pictures_to_the_very_bytes_that_numpy_makes(framework: str) -> None:
    told = run_in_engine(Path(__file__).with_name("program_varying.py"), framework, backend=framework)
    wanted = expected()
    assert len(told) == (12 if framework == "jax" else 8)
    assert told == {name: wanted[name.partition(",")[0]] for name in told}

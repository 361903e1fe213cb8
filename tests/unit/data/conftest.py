"""Small data sets made on the spot, and jobs for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tpu_studio.wire.job import Job, parse

MODELS = {"images": "small-cnn", "digits": "small-cnn", "table": "mlp", "text": "gpt-nano"}


@pytest.fixture
def job_of() -> Callable[..., Job]:
    """job_of("images", path, validation=0.5): a job whose other keys are the defaults."""

    def make(kind: str, path: Path | str | None = None, *, model: str | None = None, **data: Any) -> Job:
        tree: dict[str, Any] = {"kind": kind, **({"path": str(path)} if path is not None else {}), **data}
        return parse({"model": {"name": model or MODELS.get(kind, "mlp")}, "data": tree})

    return make


@pytest.fixture
def picture() -> Callable[..., Image.Image]:
    """picture(7): noise of its own, so that no two are equal."""

    def make(seed: int, size: tuple[int, int] = (20, 20), mode: str = "RGB") -> Image.Image:
        shape = (size[1], size[0]) if mode == "L" else (size[1], size[0], 3)
        pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
        return Image.fromarray(pixels)

    return make


@pytest.fixture
def picture_folder(tmp_path: Path, picture: Callable[..., Image.Image]) -> Callable[..., Path]:
    """picture_folder({"cats": 10, "dogs": 10}): PNG files 0.png, 1.png … in a folder for each class."""

    def make(
        classes: dict[str, int], *, size: tuple[int, int] = (20, 20), mode: str = "RGB", name: str = "pets"
    ) -> Path:
        root = tmp_path / name
        seed = 0
        for label, count in classes.items():
            (root / label).mkdir(parents=True)
            for number in range(count):
                seed += 1
                picture(seed, size, mode).save(root / label / f"{number}.png")
        return root

    return make

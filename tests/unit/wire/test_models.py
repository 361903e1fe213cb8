"""The one rule for the size of a model's pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tpu_studio.wire import models
from tpu_studio.wire.models import image_size


@pytest.mark.parametrize(
    ("family", "side", "pixels"),
    [
        ("mlp", 8, 32),
        ("mlp", 500, 32),
        ("cnn", 12, 16),
        ("cnn", 47, 32),
        ("cnn", 48, 48),
        ("cnn", 4000, 64),
        ("file", 100, 64),
        ("", 3, 8),
        ("", 48, 48),
        ("", 49, 64),
        ("", 160, 64),
        ("", 320, 96),
        ("", 321, 128),
    ],
)
def test_the_size_of_pictures_by_the_model_and_the_pictures_themselves(family: str, side: int, pixels: int) -> None:
    assert image_size(family, side) == pixels


def test_nothing_else_decides_a_size_of_pictures_for_auto() -> None:
    """Who asks: the planner, and the look and a conversion, which know no model yet."""
    package = Path(models.__file__).resolve().parents[1]
    asks = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if re.search(r"(?<![\w.])image_size\((?!job)", path.read_text("utf-8"))
    ]
    assert asks == ["data/images.py", "planner/auto.py", "wire/models.py"]

"""Varies a batch of pictures a little: shift, zoom, brightness, contrast; a mirror image only when asked for.

Used by the trainer on training batches. Pure numpy on uint8, a pure function of the generator. Mirroring is off
unless `mirror_safe` names are given: a mirrored digit, letter or hand is another one.

Shapes: B pictures, H × W pixels, C channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tpu_studio.data.arrays import Array, Bytes, Doubles

SHIFT = 0.10  # of the side, at strength 1
ZOOM = 0.10
BRIGHTNESS = 0.20  # of the range of values
CONTRAST = 0.25


def augment(
    images_BxHxWxC: Bytes,
    rng: np.random.Generator,
    strength: float = 1.0,
    *,
    mirror: bool = False,
    value_max: int = 255,
) -> Bytes:
    """A varied copy of the batch.

    Args:
        strength: 0 gives the pictures back unchanged, 1 is the ordinary amount.
        mirror: Flip half of them left to right.
        value_max: The largest value a pixel can have (16 for the built-in digits).
    """
    batch, height, width, _ = images_BxHxWxC.shape
    if strength <= 0 or not batch:
        return images_BxHxWxC.copy()
    moved = np.empty_like(images_BxHxWxC)
    zoom = np.exp(_drawn(rng, batch, strength * ZOOM))
    rows_BxH = _places(height, zoom, _drawn(rng, batch, strength * SHIFT))
    columns_BxW = _places(width, zoom, _drawn(rng, batch, strength * SHIFT))
    if mirror:
        flipped = rng.random(batch) < 0.5
        columns_BxW[flipped] = columns_BxW[flipped, ::-1]
    light_BxV = _light_tables(rng, batch, strength, value_max)
    for index in range(batch):  # taking rows, then columns, of one picture at a time stays in the cache
        picture = images_BxHxWxC[index].take(rows_BxH[index], axis=0).take(columns_BxW[index], axis=1)
        light_BxV[index].take(picture, out=moved[index], mode="clip")
    return moved


def may_mirror(description: Mapping[str, Any]) -> bool:
    """Whether mirror images keep their meaning, as far as class names tell; False unless it is plain.

    Single characters and numbers are signs, and left and right change places in a mirror.
    """
    if description.get("kind") == "digits":
        return False
    names = [str(name).lower() for name in description.get("classes", ())]
    signs = sum(len(name) <= 2 or name.isdecimal() for name in names)
    sided = any(word in name for name in names for word in ("left", "right", "sign", "digit", "letter", "hand", "turn"))
    return bool(names) and signs == 0 and not sided


def _drawn(rng: np.random.Generator, batch: int, most: float) -> Doubles:
    return np.asarray(rng.uniform(-most, most, batch), dtype=np.float64)


def _places(size: int, zoom: Array, shift: Array) -> Array:
    """For each picture the source place of each row (or column); the border is repeated beyond the edge."""
    middle = (size - 1) / 2
    grid = (np.arange(size) - middle)[None, :] / zoom[:, None] + middle - (shift * size)[:, None]
    return np.asarray(np.clip(np.rint(grid), 0, size - 1), dtype=np.intp)


def _light_tables(rng: np.random.Generator, batch: int, strength: float, value_max: int) -> Bytes:
    """For each picture, what each value becomes."""
    values = np.arange(value_max + 1, dtype=np.float32)[None, :]
    middle = value_max / 2
    contrast = 1 + rng.uniform(-CONTRAST, CONTRAST, (batch, 1)).astype(np.float32) * strength
    brightness = rng.uniform(-BRIGHTNESS, BRIGHTNESS, (batch, 1)).astype(np.float32) * strength * value_max / 2
    changed = np.rint((values - middle) * contrast + middle + brightness)
    return np.asarray(np.clip(changed, 0, value_max), dtype=np.uint8)

"""Varies a batch of pictures a little: shift, zoom, brightness, contrast; a mirror image only when asked for.

Used by the trainer on training batches. Pure numpy on uint8, a pure function of the generator. Mirroring is off
unless `mirror_safe` names are given: a mirrored digit, letter or hand is another one.

Shapes: B pictures, H × W pixels, C channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_studio.data.arrays import Array, Bytes, Doubles
from tpu_studio.data.opened import Share, of_share
from tpu_studio.wire import kinds

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
    share: Share | None = None,
) -> Bytes:
    """A varied copy of the batch.

    Args:
        strength: 0 gives the pictures back unchanged, 1 is the ordinary amount.
        mirror: Flip half of them left to right.
        value_max: The largest value a pixel can have (16 for the built-in digits).
        share: What these pictures are of a batch: they are varied as they would be in the whole one.
    """
    batch, height, width, _ = images_BxHxWxC.shape
    if strength <= 0 or not batch:
        return images_BxHxWxC.copy()
    moved = np.empty_like(images_BxHxWxC)
    draw = _Draws(rng, batch if share is None else share.of, share)
    zoom = np.exp(draw.up_to(strength * ZOOM))
    rows_BxH = _places(height, zoom, draw.up_to(strength * SHIFT))
    columns_BxW = _places(width, zoom, draw.up_to(strength * SHIFT))
    if mirror:
        flipped = draw.coins()
        columns_BxW[flipped] = columns_BxW[flipped, ::-1]
    light_BxV = _light_tables(draw, strength, value_max)
    for index in range(batch):  # taking rows, then columns, of one picture at a time stays in the cache
        picture = images_BxHxWxC[index].take(rows_BxH[index], axis=0).take(columns_BxW[index], axis=1)
        light_BxV[index].take(picture, out=moved[index], mode="clip")
    return moved


def may_mirror(description: Mapping[str, Any]) -> bool:
    """Whether mirror images keep their meaning, as far as class names tell; False unless it is plain.

    Single characters and numbers are signs, and left and right change places in a mirror.
    """
    kind = kinds.find(description.get("kind"))
    if kind and kind.is_built_in:
        return False
    names = [str(name).lower() for name in description.get("classes", ())]
    signs = sum(len(name) <= 2 or name.isdecimal() for name in names)
    sided = any(word in name for name in names for word in ("left", "right", "sign", "digit", "letter", "hand", "turn"))
    return bool(names) and signs == 0 and not sided


@dataclass(frozen=True)
class _Draws:
    """One random number for each picture of a whole batch, of which a machine takes its share."""

    rng: np.random.Generator
    batch: int
    share: Share | None

    def up_to(self, most: float) -> Doubles:
        return np.asarray(of_share(self.rng.uniform(-most, most, self.batch), self.share), dtype=np.float64)

    def coins(self) -> Array:
        return of_share(self.rng.random(self.batch) < 0.5, self.share)


def _places(size: int, zoom: Array, shift: Array) -> Array:
    """For each picture the source place of each row (or column); the border is repeated beyond the edge."""
    middle = (size - 1) / 2
    grid = (np.arange(size) - middle)[None, :] / zoom[:, None] + middle - (shift * size)[:, None]
    return np.asarray(np.clip(np.rint(grid), 0, size - 1), dtype=np.intp)


def _light_tables(draw: _Draws, strength: float, value_max: int) -> Bytes:
    """For each picture, what each value becomes."""
    values = np.arange(value_max + 1, dtype=np.float32)[None, :]
    middle = value_max / 2
    contrast = 1 + draw.up_to(CONTRAST)[:, None].astype(np.float32) * strength
    brightness = draw.up_to(BRIGHTNESS)[:, None].astype(np.float32) * strength * value_max / 2
    changed = np.rint((values - middle) * contrast + middle + brightness)
    return np.asarray(np.clip(changed, 0, value_max), dtype=np.uint8)

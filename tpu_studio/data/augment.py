"""How pictures of a batch are varied a little: shift, zoom, brightness, contrast; a mirror image only when asked for.

Drawn here, in numpy, as a few numbers for each picture, a pure function of the generator; the training step applies
them on the device (``trainer.varying``), in whole numbers, so that every framework makes the very same pictures.
Mirroring is off unless class names allow it: a mirrored digit, letter or hand is another one.

Of a batch whose pictures are mixed (Mixup, CutMix) it draws with how much, and where: each with the one before it.

Shapes: B pictures, H × W pixels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tpu_studio.data.arrays import Array, Doubles
from tpu_studio.data.opened import Share, of_share
from tpu_studio.wire import kinds

SHIFT = 0.10  # of the side
ZOOM = 0.10
BRIGHTNESS = 0.20  # of the range of values
CONTRAST = 0.25
LIGHT_BITS = 16  # of the fraction in `light`
MIX_BITS = 8  # of the shares in `mixes`
MIXUP_ALPHA = 0.2  # Zhang et al. 2018, section 3.1 (ImageNet)


def variations(
    rng: np.random.Generator,
    batch: int,
    size: tuple[int, int],
    *,
    mirror: bool = False,
    value_max: int = 255,
    share: Share | None = None,
) -> dict[str, Array]:
    """For each picture of a batch: ``rows`` BxH and ``columns`` BxW, the place each is taken from, and ``light`` Bx3.

    A value v becomes (v · light₀ + light₁) >> `LIGHT_BITS`, kept within 0 and light₂. All are int32.

    Args:
        batch: Pictures of the whole batch, of which *share* is this machine's: varied as they would be in it.
        size: H and W.
        mirror: Flip half of them left to right.
        value_max: The largest value a pixel can have (16 for the built-in digits).
    """
    draw = _Draws(rng, batch, share)
    zoom = np.exp(draw.up_to(ZOOM))
    rows_BxH = _places(size[0], zoom, draw.up_to(SHIFT))
    columns_BxW = _places(size[1], zoom, draw.up_to(SHIFT))
    if mirror:
        flipped = draw.coins()
        columns_BxW[flipped] = columns_BxW[flipped, ::-1]
    return {"rows": rows_BxH, "columns": columns_BxW, "light": _light(draw, value_max)}


def mixes(
    rng: np.random.Generator, batch: int, size: tuple[int, int], how: str, *, share: Share | None = None
) -> dict[str, Array]:
    """``mix`` Bx6, int32: how much each picture keeps of its own class and of its pixels within a rectangle, both of
    2^`MIX_BITS`; the rectangle's top, bottom, left and right. Beyond it a picture is its own.

    A picture keeps at least half of its class, so that accuracy while it learns is that of the larger part.

    Args:
        batch, size, share: As of `variations`.
        how: ``mixup`` (Zhang et al. 2018): the other shines through everywhere, by Beta(0.2, 0.2); or ``cutmix`` (Yun
            et al. 2019): a rectangle of the other, whose area is drawn evenly, cut where it leaves the picture.
    """
    whole, (height, width) = 1 << MIX_BITS, size
    if how == "mixup":
        drawn = rng.beta(MIXUP_ALPHA, MIXUP_ALPHA, batch)
        kept = np.rint(np.maximum(drawn, 1 - drawn) * whole)
        ends = np.tile([0, height, 0, width], (batch, 1))
        inner = kept
    else:
        drawn = rng.random(batch)
        side = np.sqrt(1 - np.maximum(drawn, 1 - drawn))
        ends = np.concatenate(
            [_span(rng.random(batch) * length, side * length, length) for length in (height, width)], axis=1
        )
        area = (ends[:, 1] - ends[:, 0]) * (ends[:, 3] - ends[:, 2])
        kept, inner = np.rint((1 - area / (height * width)) * whole), np.zeros(batch)
    told = np.concatenate([kept[:, None], inner[:, None], ends], axis=1).astype(np.int32)
    return {"mix": of_share(told, share)}


def _span(middle: Doubles, length: Doubles, most: int) -> Doubles:
    """Begin and end, Bx2, of *length* about *middle*, within 0 and *most*."""
    ends = np.stack([middle - length / 2, middle + length / 2], axis=1)
    return np.asarray(np.clip(np.rint(ends), 0, most), dtype=np.float64)


def may_mirror(kind: object, classes: Iterable[object]) -> bool:
    """Whether mirror images keep their meaning, as far as class names tell; False unless it is plain.

    Single characters and numbers are signs, and left and right change places in a mirror.
    """
    known = kinds.find(kind)
    if known and known.is_built_in:
        return False
    names = [str(name).lower() for name in classes]
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
    return np.asarray(np.clip(np.rint(grid), 0, size - 1), dtype=np.int32)


def _light(draw: _Draws, value_max: int) -> Array:
    """Contrast about the middle and brightness, as whole numbers: a float's last bit differs between compilers."""
    middle, one = value_max / 2, 1 << LIGHT_BITS
    contrast = 1 + draw.up_to(CONTRAST)
    brightness = draw.up_to(BRIGHTNESS) * value_max / 2
    added = middle * (1 - contrast) + brightness + 0.5
    top = np.full(len(contrast), value_max)
    return np.stack([np.rint(contrast * one), np.rint(added * one), top], axis=1).astype(np.int32)

"""The families of models: what the planner has to know of each, in numbers and in traits. Data only.

A family is the kind of network (``wire.models`` names the models of each) or the person's own file. How it is built:
``trainer.models``; its work by formula: ``planner.work``. The rules are general: sizes of data and model go in,
nothing knows a data set by name.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = float("inf")


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        icon: On the cards of its models.
        throughput: The family of published throughputs that it counts as (``planner.throughput.families``).
        compile_s: The first compile on a processor, unseen, in seconds.
        steps_per_epoch: The batch aims at about this many steps each time through the data…
        batch_least, batch_most: …within these bounds, as a power of two.
        learning_rate: For AdamW at a batch of 32; it grows with the square root of the batch
            (Malladi et al. 2022, On the SDEs and Scaling Rules for Adaptive Gradient Algorithms). Of a family that
            reads tokens the width decides instead.
        sgd_rate: For SGD with momentum at a batch of 256; it grows with the batch (Goyal et al. 2017).
        epochs: (examples up to, times through the data): the first that applies.
        steps_per_call: Steps a call of the device on a processor; on a TPU too where *chip_steps* is 0.
        chip_steps: Steps a call on a TPU, where a step takes milliseconds and Python one between two calls.
        image_sizes: Pixels of a side that "auto" chooses from, the largest that the pictures themselves have.
        reads_tokens: Works on sequences of tokens: length and rate follow the text and the width, and its blocks can
            be recomputed instead of remembered.
        looks_at_pixels: Takes each pixel of a picture by itself.
        convolves: Slow in XLA on a processor, and one step a call there.
        pads_width: Its width is worth being a multiple of the chip's matrix unit.
        own: The person's own file, of which nothing is known until it was measured.
    """

    id: str
    icon: str
    throughput: str | None
    compile_s: float
    steps_per_epoch: int
    batch_least: int
    batch_most: int
    learning_rate: float
    warmup: float
    weight_decay: float
    epochs: tuple[tuple[float, int], ...]
    steps_per_call: int
    sgd_rate: float = 0.05
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    chip_steps: int = 0
    image_sizes: tuple[int, ...] = (16, 24, 32, 48, 64)
    reads_tokens: bool = False
    looks_at_pixels: bool = False
    convolves: bool = False
    pads_width: bool = False
    own: bool = False


_FAMILIES = (
    Family(
        "mlp",
        "layers",
        "mlp",
        compile_s=4.0,
        steps_per_epoch=340,
        batch_least=32,
        batch_most=1024,
        learning_rate=1e-3,
        warmup=0.05,
        weight_decay=0.01,
        epochs=((2_000, 60), (100_000, 30), (ALL, 10)),
        steps_per_call=32,
        image_sizes=(32,),
        looks_at_pixels=True,
        pads_width=True,
    ),
    Family(
        "cnn",
        "images",
        "cnn",
        compile_s=6.0,
        steps_per_epoch=50,
        batch_least=32,
        batch_most=128,
        learning_rate=1e-3,
        warmup=0.1,
        weight_decay=0.05,
        label_smoothing=0.1,
        epochs=((1_000, 60), (20_000, 25), (ALL, 10)),
        steps_per_call=1,
        chip_steps=32,
        convolves=True,
    ),
    Family(
        "gpt",
        "type",
        "llm-dense",
        compile_s=12.0,
        steps_per_epoch=0,
        batch_least=8,
        batch_most=32,
        learning_rate=0.0,
        warmup=0.05,
        weight_decay=0.1,
        epochs=(),
        steps_per_call=32,
        reads_tokens=True,
        pads_width=True,
    ),
    Family(
        "file",
        "file-code",
        None,
        compile_s=10.0,
        steps_per_epoch=100,
        batch_least=16,
        batch_most=128,
        learning_rate=1e-3,
        warmup=0.05,
        weight_decay=0.01,
        epochs=((2_000, 30), (100_000, 10), (ALL, 3)),
        steps_per_call=1,
        chip_steps=32,
        own=True,
    ),
)
_BY_ID = {family.id: family for family in _FAMILIES}


def all_families() -> tuple[Family, ...]:
    return _FAMILIES


def by_id(name: str) -> Family:
    """The family of that id.

    Raises:
        KeyError: no such family; ``wire.models`` names only those that exist.
    """
    return _BY_ID[name]


def find(name: object) -> Family | None:
    """The family of that id, None where no model of it was chosen."""
    return _BY_ID.get(name) if isinstance(name, str) else None


def own_family() -> Family:
    """The one of a person's own file."""
    return next(family for family in _FAMILIES if family.own)

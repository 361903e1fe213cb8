"""The models that come with TPU Studio: names, sizes, options, and which data they take. Data only, no framework.

``trainer.models`` builds them in Keras; the planner counts their weights and work; the window lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.wire import families
from tpu_studio.wire.errors import JobError


@dataclass(frozen=True)
class Option:
    """One option of a model: its default, its inclusive bounds, and what it is in plain words."""

    name: str
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    help: str = ""


@dataclass(frozen=True)
class ModelSpec:
    """A model of the catalogue.

    Attributes:
        takes: Kinds of data it can learn from; ``tfrecord`` counts as what was converted.
        tasks: What it can learn.
        family: mlp, cnn or gpt: the builder in ``trainer.models``.
    """

    name: str
    title: str
    family: str
    takes: tuple[str, ...]
    tasks: tuple[str, ...]
    help: str
    options: tuple[Option, ...] = field(default_factory=tuple)
    sequence_length: int | None = None


def _gpt(layers: int, width: int, heads: int, vocabulary: int, dropout: float) -> tuple[Option, ...]:
    return (
        Option("layers", layers, 1, 96, "Transformer blocks, one after the other."),
        Option("width", width, 16, 12_288, "Numbers that stand for one token inside the model; a multiple of heads."),
        Option("heads", heads, 1, 128, "Attention heads in each block."),
        Option("vocabulary", vocabulary, 256, 1_000_000, "Different tokens the model knows."),
        Option("dropout", dropout, 0.0, 0.9, "Share of values switched off at random while training."),
    )


_CLASSIFY_OR_MEASURE = ("classification", "regression")

MODELS: tuple[ModelSpec, ...] = (
    ModelSpec(
        "mlp",
        "Simple network",
        "mlp",
        ("table", "digits", "images"),
        _CLASSIFY_OR_MEASURE,
        "Learns from columns of numbers and words. The first choice for tables.",
        (
            Option("layers", 3, 1, 20, "Hidden layers."),
            Option("width", 256, 4, 8192, "Neurons in each."),
            Option("dropout", 0.0, 0.0, 0.9, "Share of neurons switched off at random while training."),
        ),
    ),
    ModelSpec(
        "small-cnn",
        "Small picture network",
        "cnn",
        ("images", "digits"),
        ("classification",),
        "Looks for shapes, small ones first (a CNN). A few hundred pictures are enough.",
        (
            Option("blocks", 4, 1, 6, "Convolution blocks; each halves the picture."),
            Option("width", 32, 4, 512, "Channels of the first block; doubled in each next."),
            Option("dropout", 0.2, 0.0, 0.9, "Share of features switched off before the answer."),
        ),
    ),
    ModelSpec(
        "gpt-nano",
        "Tiny GPT",
        "gpt",
        ("text",),
        ("language-model",),
        "Learns to write like your text, character by character. Minutes on a laptop.",
        _gpt(3, 128, 4, 256, 0.0),
        64,
    ),
    ModelSpec(
        "gpt-mini",
        "Small GPT",
        "gpt",
        ("text",),
        ("language-model",),
        "Writes better than Tiny GPT and learns longer: an evening on a laptop, minutes on a TPU.",
        _gpt(6, 384, 6, 256, 0.1),
        256,
    ),
    ModelSpec(
        "gpt-124m",
        "GPT-2 small",
        "gpt",
        ("text",),
        ("language-model",),
        "GPT-2 small: 12 layers of 768, 12 heads, 1,024 tokens at once. For TPUs. It reads bytes, of which there are "
        "256; a vocabulary of 50,257, as GPT-2's, makes it 124 million weights instead of 86.",
        _gpt(12, 768, 12, 256, 0.0),
        1024,
    ),
)


def image_size(family: str, side: int) -> int:
    """Pixels on each side to which "auto" brings pictures whose shorter side has *side*: the one rule for it.

    The plan writes it down, and from then on the job names it. Pictures that were converted, and those of `digits`,
    keep the size they have: that was chosen before.

    Args:
        family: Of the model that learns; "file" for one of one's own; "" for none yet, when pictures are looked at or
            converted: as much is kept as any model that may come will need.
    """
    if family:
        sizes = families.by_id(family).image_sizes
        return max((size for size in sizes if size <= side), default=sizes[0])
    if side <= 48:
        return max(8, side)
    return 64 if side <= 160 else 96 if side <= 320 else 128


BY_NAME: dict[str, ModelSpec] = {model.name: model for model in MODELS}
OLDER_OPTIONS: dict[str, dict[str, Any]] = {"gpt-124m": {"vocabulary": 50_257}}
"""Defaults that were others when plans did not carry their model's options yet."""


def spec(name: str) -> ModelSpec:
    """The model of that name, or a JobError with the nearest known name."""
    import difflib

    try:
        return BY_NAME[name]
    except KeyError:
        near = difflib.get_close_matches(name, list(BY_NAME), n=1)
        raise JobError(
            "job-not-a-choice", key="model.name", value=name, allowed=list(BY_NAME), nearest=near[0] if near else None
        ) from None


def options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of the model, the given ones checked, the rest by default.

    Raises:
        JobError: unknown option, wrong type, out of range, or a width that the heads do not divide.
    """
    import difflib

    known = {option.name: option for option in spec(name).options}
    values = {option.name: option.default for option in known.values()}
    for key, value in given.items():
        option = known.get(key)
        if option is None:
            near = difflib.get_close_matches(key, list(known), n=1)
            raise JobError("job-unknown-key", key=f"model.options.{key}", nearest=near[0] if near else None)
        whole = isinstance(option.default, int)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or (whole and value != int(value)):
            raise JobError(
                "job-wrong-type",
                key=f"model.options.{key}",
                value=repr(value)[:60],
                wanted="a whole number" if whole else "a number",
            )
        if not (
            (option.minimum is None or value >= option.minimum) and (option.maximum is None or value <= option.maximum)
        ):
            raise JobError(
                "job-out-of-range",
                key=f"model.options.{key}",
                value=value,
                minimum=option.minimum,
                maximum=option.maximum,
                above=False,
            )
        values[key] = int(value) if whole else float(value)
    if "heads" in values and values["width"] % values["heads"]:
        raise JobError("job-heads", key="model.options.width", value=values["width"], heads=values["heads"])
    return values

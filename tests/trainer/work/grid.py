"""Points of our models' options at which formula and trace are compared; a framework only where one is built."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Point:
    model: str
    input: tuple[int, ...]
    outputs: int
    options: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    batch: int = 8

    @property
    def name(self) -> str:
        parts = [f"{name}={value}" for name, value in {**self.options, **self.training}.items()]
        return " ".join([self.model, "x".join(map(str, self.input)), *parts])


_TEXT, _SMALL = (64,), {"layers": 2, "width": 64, "heads": 4}
_POINTS = (
    Point("mlp", (26,), 1),
    Point("mlp", (26,), 1, {"layers": 1, "width": 64}),
    Point("mlp", (9,), 1, {"layers": 6, "width": 512, "dropout": 0.2}, batch=128),
    Point("mlp", (200,), 1, {"layers": 2, "width": 32}, {"precision": "bfloat16"}),
    Point("small-cnn", (32, 32, 3), 3),
    Point("small-cnn", (64, 64, 3), 10, {"blocks": 2, "width": 64}),
    Point("small-cnn", (16, 16, 1), 5, {"blocks": 6, "width": 16, "dropout": 0.0}),
    Point("small-cnn", (24, 24, 3), 4, {"blocks": 1, "width": 8}, {"precision": "bfloat16"}, batch=32),
    Point("gpt-nano", _TEXT, 256),
    Point("gpt-nano", _TEXT, 256, {}, {"rematerialize": True}),
    Point("gpt-nano", _TEXT, 5000, {**_SMALL, "vocabulary": 5000}),
    Point("gpt-nano", _TEXT, 5000, {**_SMALL, "vocabulary": 5000, "dropout": 0.1}, {"rematerialize": True}),
    Point("gpt-nano", (256,), 256, {"layers": 6, "width": 96, "heads": 3}, {"precision": "bfloat16"}),
    Point("gpt-nano", (256,), 256, {"layers": 1, "width": 384, "heads": 6, "dropout": 0.1}, {"rematerialize": True}),
    Point("gpt-nano", (1024,), 50_257, {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50_257}),
)
GRID = {point.name: point for point in _POINTS}
"""Of families with a formula."""
PICTURES, TEXTS = Point("efficientnet-lite0", (224, 224, 3), 1000), Point("all-minilm-l6-v2", (128,), 2)
COUNTED = {point.name: point for point in (PICTURES, TEXTS)}
"""Of families without one."""


def built(point: Point) -> tuple[Any, Any, Any]:
    """The model of *point*, the constants of its step, and shape and number format of an example. In the engine."""
    from programs_plans import PICTURES as PHOTOGRAPHS
    from programs_plans import ROWS, SORTED, TEXT, plan

    from tpu_studio.trainer import recipe
    from tpu_studio.trainer.models import build, initial
    from tpu_studio.trainer.models.shapes import example_of, shapes

    pictures, texts = dict.fromkeys(("small-cnn", PICTURES.model), PHOTOGRAPHS), {"gpt-nano": TEXT, TEXTS.model: SORTED}
    data = {"mlp": ROWS, **pictures, **texts}[point.model]
    description = {**data, "input_shape": list(point.input), "outputs": point.outputs}
    description |= {"classes": [str(number) for number in range(point.outputs)]}
    given = plan(point.model, description, options=point.options, **point.training)
    if description["kind"] == "text":
        given = replace(given, job=given.job.with_values({"data.sequence_length": point.input[0]}))
    with initial.without_weights():
        model = build(given, description)
    return model, recipe.Recipe(str(description["task"])), example_of(shapes(given, description))

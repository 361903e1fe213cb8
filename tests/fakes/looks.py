"""Looks at well-known data sets as ``data.look`` finds them, worked out once and written down; no files are read."""

from __future__ import annotations

from typing import Any

from tpu_studio.data.looked import Finding, ImageSizes, Look
from tpu_studio.planner.computer import Computer
from tpu_studio.wire.job import Job, parse

LAPTOP = Computer(cores=4, memory_bytes=16_000_000_000)
NOW = 1_795_229_666.0  # 21 November 2026

DIGITS = Look(
    "digits",
    "classification",
    examples=1797,
    train=1438,
    validation=359,
    input_shape=(8, 8, 1),
    outputs=10,
    classes=tuple((str(digit), 178) for digit in range(10)),
    image_size=8,
)
HANDS = Look(
    "images",
    "classification",
    examples=2062,
    train=1650,
    validation=412,
    input_shape=(64, 64, 3),
    outputs=10,
    classes=tuple((str(digit), 205) for digit in range(10)),
    image_sizes=ImageSizes(100, 100, 100, 100, 100, 100),
)
DIAMONDS = Look(
    "table",
    "regression",
    target="price",
    examples=53_940,
    train=43_152,
    validation=10_788,
    input_shape=(26,),
    outputs=1,
)
PLAYS = Look(
    "text",
    "language-model",
    examples=17_427,
    train=13_942,
    validation=3_485,
    input_shape=(64,),
    outputs=256,
    numbers={"tokens": 1_115_394},
    sequence_length=64,
)


def job(model: str | None, kind: str, /, **tables: Any) -> Job:
    """A job on made-up data of *kind*, with extra settings as ``training={"epochs": 3}``."""
    tree: dict[str, Any] = {"model": {"name": model} if model else {}, "data": {"kind": kind}}
    if kind != "digits":
        tree["data"]["path"] = "somewhere"
    for table, values in tables.items():
        tree.setdefault(table, {}).update(values)
    return parse(tree, base="/jobs")


def with_finding(look: Look, finding: Finding) -> Look:
    from dataclasses import replace

    return replace(look, findings=(*look.findings, finding))


def counted(params: int, flops: float, **more: Any) -> dict[str, Any]:
    """What the engine tells of a model that it has looked at (``trainer.work.model``)."""
    return {
        "params": params,
        "flops": flops,
        "model_flops": flops,
        "forward_flops": flops / 3,
        "convolutions": False,
        "activation_bytes": 40_000.0,
        "evaluation_bytes": 20_000.0,
        "widest": None,
        "unclear": [],
        "precision": "float32",
        **more,
    }

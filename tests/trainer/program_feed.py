"""Run in the engine: the same training data through our own gather and through Grain; prints whether they are equal."""

from __future__ import annotations

import json

import numpy as np

from tpu_studio.data.opened import ArraySource
from tpu_studio.trainer.feed import Feed
from tpu_studio.trainer.order import Order

STEPS, PER_CALL = 60, 8


def batches(*, in_memory: bool, start: int, vary: bool) -> list[dict[str, np.ndarray]]:  # type: ignore[type-arg]
    x = np.arange(101 * 4, dtype=np.float32).reshape(101, 4)
    source = ArraySource({"x": x, "y": np.arange(101)}, in_memory=in_memory)
    order = Order(101, 10, seed=3)
    noise = (lambda rng, share: {"light": rng.normal(size=10)}) if vary else None
    feed = Feed(source, order, PER_CALL, lambda step: min(PER_CALL - step % 3, STEPS - step), vary=noise)
    feed.start(start)
    found = []
    while (piece := feed.next()) is not None:
        found += [{name: stack[n] for name, stack in piece.stack.items()} for n in range(piece.count)]
    feed.close()
    return found


def equal(one: list[dict[str, np.ndarray]], other: list[dict[str, np.ndarray]]) -> bool:  # type: ignore[type-arg]
    return len(one) == len(other) and all(
        a.keys() == b.keys() and all((a[name] == b[name]).all() for name in a) for a, b in zip(one, other, strict=True)
    )


found = {}
for vary in (False, True):
    ours = batches(in_memory=True, start=0, vary=vary)
    found[f"grain gives what we give, varied {vary}"] = equal(ours, batches(in_memory=False, start=0, vary=vary))
    found[f"ours goes on at a step, varied {vary}"] = equal(ours[23:], batches(in_memory=True, start=23, vary=vary))
    found[f"grain goes on at a step, varied {vary}"] = equal(ours[23:], batches(in_memory=False, start=23, vary=vary))
print(json.dumps({"steps": len(ours), "found": found}))

"""Run in the engine: pictures that do not lie in memory, decoded by other processes; prints what was found.

With ``--hold`` it starts reading, says so, and goes on until it is killed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tpu_studio.data.opened import Opened, Share
from tpu_studio.data.sources import open_data
from tpu_studio.trainer.feed import Feed
from tpu_studio.trainer.order import Order
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import parse

BATCH, PER_CALL, STEPS, SIDE = 12, 3, 11, 300  # 12 pictures of 270 KB: one piece of a batch; 24 are two


def pictures(folder: Path, *, broken: int) -> Path:
    rng = np.random.default_rng(0)
    for number in range(60):
        path = folder / ("left" if number % 2 else "right") / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (40, 50, 3), dtype=np.uint8)).save(path, "JPEG")
        if number < broken:  # its header is whole
            path.write_bytes(path.read_bytes()[:700])
    return folder


def opened(folder: Path) -> Opened:
    data = {"kind": "images", "path": str(folder), "image_size": SIDE, "max_broken_share": 0.2}
    return open_data(parse({"name": "n", "model": {"name": "mlp"}, "data": data}), memory_budget_bytes=0)


def read(data: Opened, *, batch: int = BATCH, start: int = 0, processes: int = 2, share: Share | None = None) -> Any:
    order = Order(len(data.train), batch, seed=3)
    feed = Feed(data.train, order, PER_CALL, lambda s: min(PER_CALL, STEPS - s), share=share, processes=processes)
    feed.start(start)
    found = []
    while (piece := feed.next()) is not None:
        found += [{name: stack[n].copy() for name, stack in piece.stack.items()} for n in range(piece.count)]
    feed.close()
    return found


def here(data: Opened, *, batch: int = BATCH, share: Share | None = None) -> Any:
    order = Order(len(data.train), batch, seed=3)
    return [data.train.batch(order.indices(step), share=share) for step in range(STEPS)]


def equal(one: Any, other: Any) -> bool:
    pairs = zip(one, other, strict=True)
    return all(a.keys() == b.keys() and all((a[name] == b[name]).all() for name in a) for a, b in pairs)


def main(folder: Path) -> dict[str, Any]:
    whole = pictures(folder / "whole", broken=0)
    wanted = here(opened(whole))
    share = Share(np.array([1, 2, 3, 8]), BATCH)
    found = {
        "two processes": equal(read(opened(whole)), wanted),
        "three processes, from a step on": equal(read(opened(whole), processes=3, start=4), wanted[4:]),
        "a batch of several pieces": equal(read(opened(whole), batch=24), here(opened(whole), batch=24)),
        "a machine's share": equal(read(opened(whole), share=share), here(opened(whole), share=share)),
    }
    some, known = opened(pictures(folder / "some", broken=4)), opened(folder / "some")
    found["broken ones replaced"] = equal(read(some), here(known))
    told = {"broken": sorted(item.item for item in some.broken), "count": some.broken_count}
    told["here"] = sorted(item.item for item in known.broken)
    try:
        read(opened(pictures(folder / "many", broken=20)))
    except DataError as error:
        told["many"] = error.id
    wait_until = time.monotonic() + 30
    while multiprocessing.active_children() and time.monotonic() < wait_until:
        time.sleep(0.05)
    return {"found": found, "left": len(multiprocessing.active_children()), **told}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        if sys.argv[1:] == ["--hold"]:
            data = opened(pictures(Path(name), broken=0))
            feed = Feed(data.train, Order(len(data.train), BATCH, 3), 1, lambda step: 1, processes=2)
            feed.start(0)
            feed.next()
            os.write(1, b"reading\n")
            time.sleep(3600)
        print(json.dumps(main(Path(name))))

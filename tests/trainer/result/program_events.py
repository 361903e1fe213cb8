"""What TensorFlow finds in a folder of event files, checksums included; and TensorBoard, where the engine has it."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import tensorflow as tf

folder = sys.argv[1]
files = sorted(str(path) for path in Path(folder).iterdir())
points: dict[str, list[tuple[float, int, float]]] = {}
for file in files:
    for event in tf.compat.v1.train.summary_iterator(file):
        for value in event.summary.value:
            plain = value.HasField("simple_value")
            number = value.simple_value if plain else float(tf.make_ndarray(value.tensor))
            points.setdefault(value.tag, []).append((event.wall_time, event.step, number))
found = {
    "tags": sorted(points),
    "counts": {tag: len(several) for tag, several in points.items()},
    "first": points["loss"][0],
    "last": points["loss"][-1],
    "records": sum(1 for _ in tf.data.TFRecordDataset(files)),
    "tensorboard": None,
}
if find_spec("tensorboard") is not None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    seen = EventAccumulator(folder, size_guidance={"scalars": 0})
    seen.Reload()
    found["tensorboard"] = {tag: len(seen.Scalars(tag)) for tag in sorted(seen.Tags()["scalars"])}
print(json.dumps(found))

"""What TensorBoard and TensorFlow find in a folder of event files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = sys.argv[1]
seen = EventAccumulator(folder, size_guidance={"scalars": 0})
seen.Reload()
tags = sorted(seen.Tags()["scalars"])
loss = seen.Scalars("loss")
files = [str(path) for path in Path(folder).iterdir()]
print(
    json.dumps(
        {
            "tags": tags,
            "counts": {tag: len(seen.Scalars(tag)) for tag in tags},
            "first": [loss[0].wall_time, loss[0].step, loss[0].value],
            "last": [loss[-1].wall_time, loss[-1].step, loss[-1].value],
            "records": sum(1 for _ in tf.data.TFRecordDataset(files)),
        }
    )
)

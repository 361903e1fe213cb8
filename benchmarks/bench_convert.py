"""Image folder to TFRecord: `tpu_studio.data.convert` with 2 processes against the same loop with TensorFlow's writer.

Both read the same files, look at the same headers, store the same features in as many shards; the peer with
`tf.train.Example` and `tf.io.TFRecordWriter` in one process. Ours also lists and splits the folder, checks each picture
for completeness, takes checksums, syncs to the disk and starts its processes anew each time; the peer's import of
TensorFlow is not counted. Runs are interleaved, the medians compared.

    .venv/bin/python benchmarks/bench_convert.py
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES, CLASSES, SIDE = 60_000, 10, 128
DISTINCT = 300  # pictures that are made; the others are the same bytes under other names
RUNS = 5
GOAL = 1.3


def run() -> list[dict[str, Any]]:
    """[{name, ours, peer, unit, ratio, goal, passed}]: pictures a second."""
    from tpu_studio.local.engine import Engine, engine_root

    engine_python = Engine(engine_root()).python()
    with tempfile.TemporaryDirectory(prefix="bench-convert-") as folder:
        source = Path(folder, "pictures")
        make_pictures(source)
        with Server(Path(sys.executable), "ours") as ours, Server(engine_python, "peer") as peer:
            rates: dict[str, list[float]] = {"ours": [], "peer": []}
            for number in range(RUNS + 1):
                for name, server in (("ours", ours), ("peer", peer)):
                    target = Path(folder, f"{name}-{number}")
                    seconds = server.convert(source, target)
                    shutil.rmtree(target)
                    if number:  # the first one warms the page cache
                        rates[name].append(PICTURES / seconds)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["ours"] / medians["peer"]
    return [
        {
            "name": "image folder to TFRecord, 2 processes",
            "ours": round(medians["ours"]),
            "peer": round(medians["peer"]),
            "unit": "pictures/s",
            "ratio": round(ratio, 2),
            "goal": GOAL,
            "passed": ratio >= GOAL,
        }
    ]


class Server:
    """A process that converts on request and tells the seconds, so that imports are not counted."""

    def __init__(self, python: Path, role: str) -> None:
        self._command = [str(python), str(Path(__file__).resolve()), "--serve", role]

    def __enter__(self) -> Server:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def convert(self, source: Path, target: Path) -> float:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([str(source), str(target)]) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._command} ended with {self._process.wait()}")
        return float(answer)


def make_pictures(folder: Path) -> None:
    """Photo-like JPEGs of some 5 KB: smooth colours with some noise."""
    import io

    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    made = []
    for _ in range(DISTINCT):
        waves = [np.sin(rng.uniform(2, 12) * rows + rng.uniform(2, 12) * columns + rng.uniform(0, 6)) for _ in range(3)]
        pixels = 128 + 90 * np.stack(waves, axis=-1) + rng.normal(0, 9, (SIDE, SIDE, 3))
        stored = io.BytesIO()
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(stored, "JPEG", quality=75)
        made.append(stored.getvalue())
    for number in range(PICTURES):
        label = folder / f"class{number % CLASSES}"
        label.mkdir(parents=True, exist_ok=True)
        (label / f"{number:06d}.jpg").write_bytes(made[number % DISTINCT])


def convert_ours(source: Path, target: Path) -> None:
    from tpu_studio.data.convert import convert
    from tpu_studio.data.guess import guess_job

    convert(guess_job(source), target, workers=2)


def convert_peer(source: Path, target: Path) -> None:
    import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from tpu_studio.data.quickheader import quick_header

    def integer(value: int) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    def raw(value: bytes) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    target.mkdir()
    labels = sorted(item.name for item in source.iterdir())
    names = sorted((label, item.name) for label in labels for item in (source / label).iterdir())
    shards = 5
    for shard in range(shards):
        with tf.io.TFRecordWriter(str(target / f"train-{shard:05d}-of-{shards:05d}.tfrecord")) as writer:
            for label, name in names[shard * len(names) // shards : (shard + 1) * len(names) // shards]:
                with open(source / label / name, "rb") as file:
                    data = file.read()
                header = quick_header(data, whole=True)
                assert header is not None
                features = tf.train.Features(
                    feature={
                        "image/encoded": raw(data),
                        "image/format": raw(b"jpeg"),
                        "image/height": integer(header.height),
                        "image/width": integer(header.width),
                        "image/class/label": integer(labels.index(label)),
                        "image/class/text": raw(label.encode()),
                        "image/filename": raw(f"{label}/{name}".encode()),
                    }
                )
                writer.write(tf.train.Example(features=features).SerializeToString())


def serve(role: str) -> None:
    if role == "peer":
        import tensorflow  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401
    else:
        import tpu_studio.data.convert  # noqa: F401
    work = {"ours": convert_ours, "peer": convert_peer}[role]
    for line in sys.stdin:
        source, target = map(Path, json.loads(line))
        start = time.perf_counter()
        work(source, target)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        sys.path.insert(0, str(ROOT))
        print(json.dumps(run(), indent=1))

"""Pictures in: JPEGs of 500 x 375 to varied batches of 224 x 224, and the same from a decoded data set.

Ours is the training's own feed (`trainer.feed`: processes that decode, the batch put together) and the part of the step
that varies pictures, on JAX; the peer is TensorFlow's tf.data with the same operations: read, decode, cut the middle
out, resize, shift, zoom, mirror, brightness, contrast. Its resize is the default of `tf.image` (two by two pixels,
whatever the scale); another row has it smooth what it shrinks, as ours does. Each side has one core, or two; the rounds
go by turns. "A core" is pictures for each second of processor time, of all processes together: on a busy machine that
is what a core would do. Two processes against one are told twice, both on two cores: by the clock, judged only where
the machine had a core for the one process, and by processor time: what two free cores would make of the work, as fast
as the busiest process and no faster than both cores can do all of it.

    python benchmarks/run.py --only pictures        in the engine's Python: bench_pictures.py --serve NAME FOLDER
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, SIDE, BATCH = 500, 375, 224, 64
PICTURES, DISTINCT = 512, 64
ROUNDS, ROUND_S = 9, 1.5
AHEAD = 6  # batches: more than lie ready between rounds
OURS = {"jpeg": "photos", "decoded": "decoded"}  # what is read → its folder
PEERS = {"tf.data": False, "tf.data, smooth": True}  # → whether it smooths what it shrinks
GOALS = {"jpeg": 0.6, "decoded": 3.0}
TWO_GOAL = 1.6
FREE = 0.9  # of a core that the busiest process must have had


def run() -> list[dict[str, Any]]:
    """One figure for each way and peer, and one for the second process."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        make_pictures(folder / "photos")
        decode_once(folder / "photos", folder / "decoded")

        def start(role: str, *, processes: int = 1, cores: list[int] = cores[-1:]) -> Server:
            return running.enter_context(Server(role, folder, processes, cores))

        servers = {role: start(role) for role in (*OURS, *PEERS)}
        told: dict[str, list[dict[str, float]]] = {role: [] for role in servers}
        for _ in range(ROUNDS):
            for role, server in servers.items():
                told[role].append(server.round())
        figures = [
            figure(f"{way}, a core, against {peer}", told[way], told[peer], GOALS[way] if not smooth else None)
            for way in OURS
            for peer, smooth in PEERS.items()
        ]
        if len(cores) > 1:
            figures += second_process(lambda processes: start("jpeg", processes=processes, cores=cores[:2]))
    return figures


def figure(name: str, ours: list[dict[str, float]], peer: list[dict[str, float]], goal: float | None) -> dict[str, Any]:
    rates = [[one["pictures"] / one["cpu_s"] for one in rounds] for rounds in (ours, peer)]
    ratio = statistics.median(a / b for a, b in zip(*rates, strict=True))
    return {
        "name": f"pictures from {name}",
        "ours": round(statistics.median(rates[0])),
        "peer": round(statistics.median(rates[1])),
        "unit": "pictures/s of a core",
        "ratio": round(ratio, 2),
        "goal": f">= {goal}" if goal else None,
        "passed": ratio >= goal if goal else None,
    }


def second_process(start: Callable[[int], Server]) -> list[dict[str, Any]]:
    servers = {processes: start(processes) for processes in (1, 2)}
    told: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for processes, server in servers.items():
            told[processes].append(server.round())
    by_clock = {n: max(one["pictures"] / one["wall_s"] for one in told[n]) for n in told}
    by_work = {
        n: statistics.median(one["pictures"] / max(one["cpu_s"] / 2, one["busiest_s"]) for one in told[n]) for n in told
    }
    had_a_core = max(one["busiest_s"] / one["wall_s"] for one in told[1]) > FREE
    return [
        {
            "name": f"pictures from jpeg, two processes against one, {how}",
            "ours": round(rates[2]),
            "peer": round(rates[1]),
            "unit": "pictures/s",
            "ratio": round(rates[2] / rates[1], 2),
            "goal": f">= {TWO_GOAL}" if judged else None,
            "passed": rates[2] / rates[1] >= TWO_GOAL if judged else None,
        }
        for how, rates, judged in (("by processor time", by_work, True), ("by the clock", by_clock, had_a_core))
    ]


class Server:
    """A process in the engine that makes batches for a round when asked, held to its cores."""

    def __init__(self, role: str, folder: Path, processes: int, cores: list[int]) -> None:
        from tpu_studio.local.engine import engine_root
        from tpu_studio.local.engine.state import Paths

        python, file = str(Paths(engine_root()).python), str(Path(__file__).resolve())
        self._cores = cores
        self._command = [python, file, "--serve", role, str(folder), str(processes), ",".join(map(str, cores))]

    def __enter__(self) -> Server:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "CUDA_VISIBLE_DEVICES": "",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def round(self) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return dict(self._answer())

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._command} ended with {self._process.wait()}")
        return dict(json.loads(line))


def make_pictures(folder: Path) -> None:
    """Photo-like JPEGs of some 40 KB in two classes: smooth colours with some noise."""
    import io

    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    made = []
    for _ in range(DISTINCT):
        rough = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(rough).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
        stored = io.BytesIO()
        noisy = np.clip(smooth + rng.normal(0, 9, smooth.shape), 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save(stored, "JPEG", quality=75)
        made.append(stored.getvalue())
    for number in range(PICTURES):
        path = folder / ("cats", "dogs")[number % 2] / f"{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made[number % DISTINCT])


def decode_once(source: Path, target: Path) -> None:
    from tpu_studio.data.convert import convert
    from tpu_studio.data.guess import guess_job
    from tpu_studio.wire.job import set_values

    convert(set_values(guess_job(source), {"data.image_size": SIDE}), target, decoded=True, workers=1)


# ------------------------------------------------------------------------------------------- in the engine's Python


def serve(role: str, folder: Path, processes: int, cores: list[int]) -> None:
    import time

    os.sched_setaffinity(0, cores)
    batches = ours(folder / OURS[role], processes) if role in OURS else theirs(folder / "photos", PEERS[role])
    next(batches)  # compiled
    print("{}", flush=True)
    while sys.stdin.readline():
        for _ in range(AHEAD):  # made while others had their turn
            next(batches)
        begun, before, pictures = time.perf_counter(), cpu_s(), 0
        while time.perf_counter() - begun < ROUND_S:
            next(batches)
            pictures += BATCH
        wall_s, spent = time.perf_counter() - begun, [now - was for was, now in zip(before, cpu_s(), strict=True)]
        told = {"pictures": pictures, "wall_s": wall_s, "cpu_s": sum(spent), "busiest_s": max(spent)}
        print(json.dumps(told), flush=True)
    batches.close()


def cpu_s() -> list[float]:
    """Of this process and of each that it has started and that lives (they decode as long as it does)."""
    found = []
    for pid in (os.getpid(), *children()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return found


def children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return sorted(int(pid) for task in tasks for pid in (task / "children").read_text().split())


def ours(folder: Path, processes: int) -> Generator[Any, None, None]:
    import jax

    from tpu_studio.data.augment import variations
    from tpu_studio.data.guess import guess_job
    from tpu_studio.data.sources import open_data
    from tpu_studio.trainer.feed import Feed
    from tpu_studio.trainer.order import Order
    from tpu_studio.trainer.step_jax import picked
    from tpu_studio.trainer.varying import varied
    from tpu_studio.wire.job import set_values

    opened = open_data(set_values(guess_job(folder), {"data.image_size": SIDE}), memory_budget_bytes=0)
    feed = Feed(
        opened.train,
        Order(len(opened.train), BATCH, seed=1),
        1,
        lambda step: 1,
        vary=lambda rng, share: variations(rng, BATCH, (SIDE, SIDE), mirror=True, share=share),
        processes=processes,
    )
    vary = jax.jit(lambda stack: varied({name: value[0] for name, value in stack.items()}, picked))
    feed.start(0)
    try:
        while True:
            piece = feed.next()
            assert piece is not None
            yield vary(piece.stack).block_until_ready()
    finally:
        feed.close()


def theirs(folder: Path, smooth: bool) -> Generator[Any, None, None]:
    import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]

    left, short = (WIDTH - HEIGHT) // 2, min(WIDTH, HEIGHT)

    def one(path: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        picture = tf.image.crop_to_bounding_box(picture, 0, left, short, short)
        picture = tf.image.resize(picture, (SIDE, SIDE), antialias=smooth)
        drawn = tf.random.uniform((5,), -1.0, 1.0)
        half = 0.5 / tf.exp(0.1 * drawn[0])  # zoom and shift
        down, across = 0.5 + 0.1 * drawn[1], 0.5 + 0.1 * drawn[2]
        box = [[down - half, across - half, down + half, across + half]]
        picture = tf.image.crop_and_resize(picture[None], box, [0], (SIDE, SIDE), method="nearest")[0]
        picture = tf.image.random_flip_left_right(picture)
        picture = (picture - 127.5) * (1.0 + 0.25 * drawn[3]) + 127.5 + 25.5 * drawn[4]
        return tf.cast(tf.clip_by_value(tf.round(picture), 0.0, 255.0), tf.uint8)

    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    paths = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*/*.jpg")))).shuffle(PICTURES, seed=1)
    pictures = paths.repeat().map(one, num_parallel_calls=1)
    yield from pictures.batch(BATCH, drop_remainder=True).prefetch(1).with_options(options)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--serve"]:
        raise SystemExit("python benchmarks/run.py --only pictures")
    serve(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), [int(core) for core in sys.argv[5].split(",")])

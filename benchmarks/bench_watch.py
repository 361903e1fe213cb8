"""Fifty rented runs watched at once: what it costs this computer, how late the numbers are, what the requests cost.

    python benchmarks/bench_watch.py

The practice cloud is one process, fifty guardians' mailboxes another (the real ones, over sockets; each run tells ten
steps and a speed report every second; there are no machines behind them). Measured is the desktop's process:
driver, steward and mirror of all fifty, and a follower of each that is read twice a second, as the list and the page
of a run do. Late is a report from the moment it is written on the machine to the moment the follower has it; drawing it
is `bench_live`'s. Then one run alone is on the screen. Then nobody looks: requests are counted again and priced for
eight hours.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNS, SECONDS, ALONE_S = 50, 20.0, 30.0
SETTLE_S, READ_EVERY_S = 8.0, 0.5
LOOK_HOLDS_S = 12.0  # for so long the desktop tells the machines that somebody looks, and a little more
CPU_GOAL, LATE_GOAL_S, ALONE_GOAL_USD = 0.25, 3.0, 0.05
ALONE_H = 8.0


def run() -> list[dict[str, object]]:
    """The figures for `benchmarks/run.py`."""
    with (
        tempfile.TemporaryDirectory(prefix="tpu-studio-watch-") as folder,
        Helper("--sky", folder) as sky,
        Helper("--guardians", folder, json.dumps(sky.told)) as guardians,
        _process("--desk", folder, json.dumps(sky.told)) as desk,
    ):
        _hear(desk, "launched")
        guardians.tell("work")
        _hear(desk, "training")
        before, begun = sky.tell("count"), time.monotonic()
        watched = _hear(desk, "watched")
        after, seconds = sky.tell("count"), time.monotonic() - begun
        single = _hear(desk, "single")
        time.sleep(LOOK_HOLDS_S)
        guardians.tell("alone")
        alone_from = sky.tell("count")
        time.sleep(ALONE_S)
        alone_to = sky.tell("count")
        desk.communicate("over\n", timeout=60)
    prices = _prices()
    told = _between(before, after)
    alone = _between(alone_from, alone_to)
    usd_h = _usd(told, prices) / RUNS / seconds * 3600.0
    usd_alone = _usd(alone, prices) / RUNS / ALONE_S * 3600.0 * ALONE_H
    return [
        _figure(f"watch: processor time with {RUNS} runs", watched["cpu"], "of one core", CPU_GOAL),
        _figure("watch: event to follower, 95th percentile", watched["late_s"], "s", LATE_GOAL_S),
        _figure("watch: the same with one run on the screen", single["late_s"], "s", LATE_GOAL_S),
        _told("watch: the desktop's requests", watched["requests"] / RUNS / watched["seconds"], "a run and second"),
        _told("watch: storage operations charged, class A", told["A"] / RUNS / seconds, "a run and second"),
        _told("watch: storage operations charged, class B", told["B"] / RUNS / seconds, "a run and second"),
        _told("watch: their price", usd_h, "USD a run and hour"),
        _figure(f"watch: price of {ALONE_H:.0f} h while nobody looks", usd_alone, "USD a run", ALONE_GOAL_USD),
    ]


def _figure(name: str, ours: float, unit: str, goal: float) -> dict[str, object]:
    return {"name": name, "ours": round(ours, 4), "unit": unit, "goal": f"at most {goal:g}", "passed": ours <= goal}


def _told(name: str, ours: float, unit: str) -> dict[str, object]:
    return {"name": name, "ours": round(ours, 5), "unit": unit, "passed": None}


def _prices() -> dict[str, float]:
    """USD of one operation, by class."""
    table = json.loads((ROOT / "resources" / "catalogue" / "prices.json").read_text("utf-8"))["storage"]
    return {"A": table["class_a_usd_per_1000"] / 1000.0, "B": table["class_b_usd_per_1000"] / 1000.0}


def _usd(counted: dict[str, int], prices: dict[str, float]) -> float:
    return sum(counted[key] * prices[key] for key in prices)


def _between(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {key: after[key] - before[key] for key in after}


# ------------------------------------------------------------------------------------------------------- processes


def _process(*argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, *argv],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _hear(process: subprocess.Popen[str], word: str) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the process ended before it said {word}")
    told: dict[str, Any] = json.loads(line)
    if word not in told:
        raise RuntimeError(f"{told} came instead of {word}")
    return told


class Helper:
    """A process that does as it is told, a word a line. *told*: what it said first."""

    def __init__(self, *argv: str) -> None:
        self._process = _process(*argv)
        self.told = _hear(self._process, "url")

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate("over\n", timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def tell(self, word: str) -> dict[str, int]:
        """What it answers when it has done so: of the sky, operations charged so far by class."""
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        return {key: int(value) for key, value in _hear(self._process, "A").items()}


def _say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


# --------------------------------------------------------------------------------------------------------- the sky


def sky(folder: Path) -> None:
    from tpu_studio.practice.main import Practice
    from tpu_studio.practice.settings import Settings
    from tpu_studio.practice.storage.service import SKU

    practice = Practice(Settings(folder=folder / "practice", machines=False)).start()
    settings = practice.cloud.settings
    _say(url=practice.url, token=practice.token, project=settings.project, bucket=settings.bucket, zone=settings.zone)
    try:
        for word in sys.stdin:
            if word.strip() == "over":
                return
            lines = [line for line in practice.cloud.meter.bill() if line["name"] == settings.bucket]
            _say(**{kind: sum(int(line["count"]) for line in lines if line["sku"] == SKU[kind]) for kind in "AB"})
    finally:
        practice.stop()


def machines(folder: Path, found: dict[str, str]) -> None:
    guardians = Guardians(folder, found["url"], found["token"], found["project"], found["zone"])
    _say(url="")
    try:
        for word in sys.stdin:
            if word.strip() == "over":
                return
            if word.strip() == "work":
                guardians.begin()
            elif word.strip() == "alone":
                guardians.nobody_looks()
            _say(A=0, B=0)
    finally:
        guardians.end()


class Guardians:
    """What the machines of all runs write and ask: their mailboxes are the guardian's own."""

    def __init__(self, folder: Path, url: str, token: str, project: str, zone: str) -> None:
        self._folder, self._url, self._token = folder, url, token
        self._nodes = f"{url}/v2/projects/{project}/locations/{zone}/nodes?pageSize=500"
        self._boxes: list[Any] = []
        self._files: list[Path] = []
        self._over = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)

    def begin(self) -> None:
        from tpu_studio.trainer.guardian.vm.bucket import Bucket
        from tpu_studio.trainer.guardian.vm.config import load
        from tpu_studio.trainer.guardian.vm.mailbox import Mailbox
        from tpu_studio.trainer.guardian.vm.web import Web
        from tpu_studio.wire.events import encode
        from tpu_studio.wire.runfolder import events_file

        api: Any = _AsOwner(Web(), self._token)
        for node in api.call("GET", self._nodes).json()["nodes"]:
            config = load(node["metadata"]["ts-config"])
            folder = self._folder / config.run
            path = events_file(folder, config.attempt, 0)
            path.parent.mkdir(parents=True)
            path.write_text(_line("phase", phase="training", attempt=1) + _line("target", steps=10**6))
            bucket = Bucket(api, config.storage, config.bucket)
            bucket.create(f"{config.prefix}claims/a0001.json", encode({"name": config.name, "attempt": 1}))
            box = Mailbox(bucket, config, folder, 0, ledger=dict, speed=lambda: 1.0, now=time.time)
            box.start()
            self._boxes.append(box)
            self._files.append(path)
        self._writer.start()

    def nobody_looks(self) -> None:
        """The time for which the last look holds is over."""
        for box in self._boxes:
            box._watched_until = 0.0

    def end(self) -> None:
        self._over.set()
        for box in self._boxes:
            box._over.set()
            box._urgent.set()

    def _write(self) -> None:
        """Each run once a second, one after the other."""
        step, count = 0, len(self._files)
        begun = time.monotonic()
        while True:
            step += 10
            for number, path in enumerate(self._files):
                due = begun + step / 10.0 + number / count
                if self._over.wait(max(0.0, due - time.monotonic())):
                    return
                with open(path, "a", encoding="utf-8") as file:
                    file.write(_points(step))


class _AsOwner:
    """The guardian's calls with a token that does not run out."""

    def __init__(self, web: Any, token: str) -> None:
        self._web, self._token = web, token

    def call(self, method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"", **more: Any) -> Any:
        return self._web.call(method, url, {**(headers or {}), "Authorization": f"Bearer {self._token}"}, body, **more)


def _line(kind: str, **fields: Any) -> str:
    return json.dumps({"t": round(time.time(), 3), "kind": kind, **fields}) + "\n"


def _points(last: int) -> str:
    steps = list(range(last - 9, last + 1))
    loss = [round(2.0 * math.exp(-step / 8000.0) + 0.3, 5) for step in steps]
    return _line("metric", step=steps, loss=loss, accuracy=loss, learning_rate=[1e-3] * 10) + _line(
        "speed", step=last, steps=10, examples=320, seconds=1.0, waiting_for_data_s=0.1, device_s=0.8
    )


# ------------------------------------------------------------------------------------------------------- the desktop


def desk(home: Path, found: dict[str, str]) -> None:
    from tests.fakes.looks import DIGITS, LAPTOP, job
    from tests.fakes.making import make_plan
    from tpu_studio.cloud.connection import practice_side
    from tpu_studio.cloud.preparing import Preparation
    from tpu_studio.store.index import Index
    from tpu_studio.store.journal import JournalFile
    from tpu_studio.workflow.background import BackgroundLoop
    from tpu_studio.workflow.cloudruns.driver import Driver
    from tpu_studio.workflow.cloudruns.ports import CloudPlace
    from tpu_studio.workflow.cloudruns.steward import Steward
    from tpu_studio.workflow.runs import Runs

    side = practice_side(found["url"], found["token"], found["project"], found["bucket"])
    requests = [0]
    http: Any = side.mailbox
    http._http.hooks["response"].append(lambda reply, **_: requests.__setitem__(0, requests[0] + 1))
    journal, index = JournalFile(home / "journal.db"), Index(home)
    driver = Driver(home, places={"practice": CloudPlace(lambda plan: side, Preparation())}, journal=journal)
    runs = Runs(home, places={}, journal=journal, index=index, driver=driver)
    where = {"place": "practice", "accelerator": "v5litepod-1"}
    plan = make_plan(
        job("mlp", "digits", where=where, training={"epochs": 100}), DIGITS, now=time.time(), computer=LAPTOP
    )
    names = [runs.launch(plan) for _ in range(RUNS)]
    steward = Steward(driver)
    loop = BackgroundLoop()
    keeping = loop.run(steward.keep())
    _until(lambda: all((machine := driver.state(name).machine) and machine.ready for name in names), "no machines")
    _say(launched=RUNS)
    followers = [runs.follow(name) for name in names]

    def look(count: int = RUNS) -> list[Any]:
        for name in names[:count]:
            steward.watch(name)
        return [event for follower in followers[:count] for event in follower.poll().events if event.kind == "speed"]

    _until(lambda: look() is not None and all(one.view.step > 0 for one in followers), "no training")
    _say(training=RUNS)
    watched(SETTLE_S, look)
    cpu, before, begun = _cpu_s(), requests[0], time.perf_counter()
    late = watched(SECONDS, look)
    seconds = time.perf_counter() - begun
    late.sort()
    _say(
        watched=RUNS,
        seconds=seconds,
        cpu=(_cpu_s() - cpu) / seconds,
        requests=requests[0] - before,
        late_s=late[int(0.95 * len(late))],
        reports=len(late),
    )
    watched(LOOK_HOLDS_S, lambda: look(1))
    late = sorted(watched(ALONE_S, lambda: look(1)))
    _say(single=1, late_s=late[int(0.95 * len(late))])
    sys.stdin.readline()  # the app stays open, and nobody looks
    keeping.cancel()
    steward.rest(10.0)
    os._exit(0)  # fifty runs go on: this is a measurement, and their cloud ends with it


def watched(seconds: float, look: Any) -> list[float]:
    """Seconds from each report to this process's having read it."""
    late: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        events, now = look(), time.time()
        late += [now - event.t for event in events]
        time.sleep(READ_EVERY_S)
    return late


def _until(true: Any, what: str) -> None:
    give_up = time.monotonic() + 240.0
    while not true():
        if time.monotonic() > give_up:
            raise RuntimeError(what)
        time.sleep(1.0)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    if "--sky" in sys.argv:
        sky(Path(sys.argv[2]))
    elif "--guardians" in sys.argv:
        machines(Path(sys.argv[2]) / "machines", json.loads(sys.argv[3]))
    elif "--desk" in sys.argv:
        desk(Path(sys.argv[2]) / "home", json.loads(sys.argv[3]))
    else:
        for figure in run():
            print(figure)

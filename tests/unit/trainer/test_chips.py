"""What libtpu tells of the chips, asked beside the training: told where it makes sense, never in the run's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.processes import alive
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.trainer import backend, chips
from tpu_studio.trainer.chips import ChipWatch, own_memory, reading
from tpu_studio.trainer.reports import Reports
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.utilisation import Utilisation

GIB = 2.0**30


class Monitoring:
    """`libtpu.sdk.tpumonitoring` with these answers; an exception is raised."""

    def __init__(self, duty: Any = (), used: Any = (), total: Any = ()) -> None:
        self._answers = {"duty_cycle_pct": duty, "hbm_capacity_usage": used, "hbm_capacity_total": total}

    def get_metric(self, name: str) -> Any:
        answer = self._answers[name]
        if isinstance(answer, Exception):
            raise answer

        class Metric:
            def data(self) -> list[str]:
                return list(answer)

        return Metric()


def test_eight_chips_become_their_mean_and_the_fullest_of_them() -> None:
    duty = ["10.00", "20.00", "30.00", "40.00", "50.00", "60.00", "70.00", "80.00"]  # mean 45
    used = [str(int(gib * GIB)) for gib in (1, 2, 9, 3, 4, 5, 6, 7)]
    assert reading(Monitoring(duty, used, [str(int(16 * GIB))] * 8)) == {
        "duty_cycle": 0.45,
        "hbm_used_bytes": 9 * GIB,
        "hbm_total_bytes": 16 * GIB,
    }


def test_a_figure_a_little_over_the_whole_is_the_whole() -> None:
    told = reading(Monitoring(["100.20"], ["1001"], ["1000"]))
    assert told == {"duty_cycle": 1.0, "hbm_used_bytes": 1000.0, "hbm_total_bytes": 1000.0}


@pytest.mark.parametrize(
    "monitoring",
    [
        Monitoring(),  # no program is loaded
        Monitoring(["-1"], ["5"], ["0"]),
        Monitoring(["130"], ["2000"], ["1000"]),
        Monitoring(["nan"], ["nan"], ["1000"]),
        Monitoring(["inf"], ["1"], ["inf"]),
        Monitoring([], ["1", "2"], ["1000"]),
    ],
)
def test_what_is_missing_or_cannot_be_is_not_told(monitoring: Monitoring) -> None:
    assert reading(monitoring) == {}


def test_one_value_that_is_no_number_takes_its_list_with_it_and_is_named() -> None:
    told = reading(Monitoring(["71.00", "N/A"], ["1"], ["4"]))
    assert "duty_cycle" not in told
    assert told["hbm_used_bytes"] == 1.0
    assert "duty_cycle_pct" in told["trouble"] and "N/A" in told["trouble"]


def test_a_question_that_fails_leaves_the_others() -> None:
    told = reading(Monitoring(["71.00"], RuntimeError("no such metric"), ["4"]))
    assert told["duty_cycle"] == 0.71
    assert "no such metric" in told["trouble"]


# ------------------------------------------------------------------------------------------ asked beside the training


@pytest.fixture
def watches() -> Iterator[Callable[..., ChipWatch]]:
    begun: list[ChipWatch] = []

    def begin(argv: Sequence[str] = (), **settings: float) -> ChipWatch:
        begun.append(ChipWatch(argv, **settings))
        begun[-1].begin()
        return begun[-1]

    yield begin
    for watch in begun:
        watch.close()
        if watch._thread is not None:
            watch._thread.join(20)
            assert not watch._thread.is_alive()


@pytest.fixture
def libtpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Installs a libtpu whose `get_metric` has this body."""

    def install(body: str) -> Path:
        sdk = tmp_path / "libtpu" / "sdk"
        sdk.mkdir(parents=True)
        (tmp_path / "libtpu" / "__init__.py").write_text("")
        (sdk / "__init__.py").write_text("")
        (sdk / "tpumonitoring.py").write_text(
            "class Metric:\n    def __init__(self, *each):\n        self.each = each\n"
            "    def data(self):\n        return list(self.each)\n"
            f"def get_metric(name):\n    {body}\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.syspath_prepend(str(tmp_path))
        return tmp_path

    return install


def until(condition: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def until_said(capfd: pytest.CaptureFixture[str], *wanted: str) -> None:
    said: list[str] = []

    def all_said() -> bool:
        said.append(capfd.readouterr().err)
        return all(word in "".join(said) for word in wanted)

    until(all_said)


def test_what_libtpu_tells_is_there_to_be_taken(libtpu: Any, watches: Any) -> None:
    libtpu(
        "return Metric('40.0', '60.0') if name == 'duty_cycle_pct' else Metric('3', '4') if 'usage' in name "
        "else Metric('8', '8')"
    )
    watch = watches()
    until(watch.latest)
    assert watch.latest() == {"duty_cycle": 0.5, "hbm_used_bytes": 4.0, "hbm_total_bytes": 8.0}


def test_without_libtpu_nothing_is_started(watches: Any) -> None:
    watch = watches()
    assert watch.latest() == {} and watch._thread is None


def test_what_was_told_long_ago_is_told_no_more(watches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watches([sys.executable, "-c", "print('{\"duty_cycle\": 0.5}', flush=True); import time; time.sleep(600)"])
    until(watch.latest)
    monkeypatch.setattr(chips, "FRESH_S", 0.0)
    assert watch.latest() == {}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with the one before it")
def test_a_question_that_never_ends_is_none_of_the_trainers_trouble_and_ends_with_it(libtpu: Any) -> None:
    """The lock is held all the while, as libtpu does; the trainer is killed, not closed."""
    asking = libtpu("import ctypes; open(__file__ + '.asked', 'w').close(); ctypes.PyDLL(None).sleep(600)")
    trainer = (
        "import time; from tpu_studio.trainer.chips import ChipWatch; watch = ChipWatch(); watch.begin()\n"
        "while True: time.sleep(0.01); print(watch._process and watch._process.pid, watch.latest(), flush=True)"
    )
    root = str(Path(chips.__file__).resolve().parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(asking)])}
    with subprocess.Popen([sys.executable, "-c", trainer], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        until(lambda: (asking / "libtpu/sdk/tpumonitoring.py.asked").exists())
        lines = (line.split(maxsplit=1) for line in process.stdout)
        pid = next(int(pid) for pid, _ in lines if pid != "None")  # it takes a while to be started
        for _ in range(20):
            _, answer = next(lines)
            assert answer.strip() == "{}"  # it goes on, and is told nothing
        process.kill()
    until(lambda: not alive(int(pid)))


def test_one_that_is_silent_for_too_long_is_ended_and_that_is_said_once(
    watches: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chips, "EVERY_S", 0.02)
    watch = watches([sys.executable, "-c", "import time; time.sleep(600)"], give_up_s=0.05)
    process = until(lambda: watch._process)
    until(lambda: process.poll() is not None)
    until_said(capfd, "silent")
    assert watch.latest() == {}


def test_one_that_falls_over_and_one_that_complains_are_named_in_the_log(
    libtpu: Any, watches: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    libtpu("raise RuntimeError('chips are shy')")
    watches()
    watches([sys.executable, "-c", "import os; print('not ours'); os.abort()"])
    watches(["/no/such/program"])
    until_said(capfd, "chips are shy", "exit code -6", "/no/such/program")


class Device:
    def __init__(self, stats: Any) -> None:
        self.stats = stats

    def memory_stats(self) -> Any:
        if isinstance(self.stats, Exception):
            raise self.stats
        return self.stats


@pytest.mark.parametrize(
    ("stats", "told"),
    [
        ([{"bytes_in_use": 3, "bytes_limit": 8}, {"bytes_in_use": 5, "bytes_limit": 8}], (5.0, 8.0)),
        ([None], ()),  # a processor
        ([{"bytes_in_use": 3}], ()),
        ([RuntimeError("UNIMPLEMENTED")], ()),
    ],
)
def test_where_libtpu_is_silent_jax_counts_the_memory(
    monkeypatch: pytest.MonkeyPatch, stats: list[Any], told: tuple[float, ...]
) -> None:
    class Jax:
        local_devices = staticmethod(lambda: [Device(one) for one in stats])

    monkeypatch.setitem(sys.modules, "jax", Jax)
    assert tuple(own_memory().values()) == told


class Told:
    """`words.Events` that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append((kind, fields))


class Busy(ChipWatch):
    def begin(self) -> None: ...
    def latest(self) -> dict[str, float]:
        return {"duty_cycle": 0.52, "hbm_used_bytes": 9.1e9, "hbm_total_bytes": 1.6e10}


def test_a_device_event_tells_of_the_chips_and_the_word_on_slow_data_of_how_busy_they_are() -> None:
    told: Any = Told()
    reports = Reports(told, batch=32, chips=Busy())
    reports.add(0, {"loss": np.array([0.5])})
    reports.spend(steps=1, seconds=10.0, waiting=4.0, device=5.0)
    reports.send(compiles=1)
    sent = dict(told.sent)
    assert sent["device"] == sent["device"] | {"worker": 0, **Busy().latest()}
    assert sent["notice"]["facts"] == {"share": 0.4, "duty_cycle": 0.52}


def test_each_worker_of_a_slice_tells_of_its_own_chips_under_its_own_number() -> None:
    worker = (
        "from tests.unit.trainer.test_chips import Busy, Reports; from tpu_studio.trainer.team import Aside\n"
        "events = Aside(1, 3); Reports(events, batch=32, chips=Busy()).send(compiles=1); events.flush()"
    )
    root = Path(chips.__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", worker], cwd=root, capture_output=True, check=True, timeout=PATIENCE_S)
    told = json.loads(done.stdout)
    assert (told["kind"], told["worker"], told["duty_cycle"]) == ("device", 3, 0.52)


def reported(utilisation: Utilisation | None) -> dict[str, Any]:
    """The speed event of 50 steps of 32 examples in 10 s."""
    told: Any = Told()
    reports = Reports(told, batch=32, chips=Busy(), utilisation=utilisation)
    reports.add(0, {"loss": np.array([0.5])})
    reports.spend(steps=50, seconds=10.0, waiting=1.0, device=5.0)
    reports.send(compiles=1)
    return dict(told.sent)["speed"]


def test_on_chips_each_report_of_the_speed_tells_mfu_over_the_whole_time_of_its_steps() -> None:
    told = reported(Utilisation(flops_per_example=1e12, peak_flops_per_s=8 * 197e12))
    assert told["mfu"] == pytest.approx(160 * 1e12 / (8 * 197e12), rel=1e-3)  # 160 examples a second


def test_on_processors_no_mfu_is_told_whatever_the_plan_says() -> None:
    assert "mfu" not in reported(None)
    told = Utilisation(1e12, 197e12)
    job = parse({"name": "d", "model": {"name": "mlp"}, "data": {"kind": "digits"}})
    plan = Plan(job=job, task="classification", framework="jax", place="cloud", utilisation=told)
    assert backend.utilisation(plan) == told
    for place in ("computer", "practice"):
        assert backend.utilisation(replace(plan, place=place)) is None

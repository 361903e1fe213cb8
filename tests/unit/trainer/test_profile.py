"""A profile: what its trace says of where the time went, and when one is made."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.traces import Shown, example, on_a_tpu, trace
from tpu_studio.trainer.profile import profiling
from tpu_studio.trainer.profile.profiling import Profiling
from tpu_studio.trainer.profile.shares import Shares, kind_of, shares_of
from tpu_studio.trainer.profile.xspace import STEPS, WAIT, Operation, read

DOT = "%fusion.7 = bf16[8,128]{1,0} fusion(%p0, %p1), kind=kOutput, calls=%fused"


def told(data: bytes) -> Shares:
    return shares_of(read(data))


def without_zeros(shares: dict[str, float]) -> dict[str, float]:
    return {kind: share for kind, share in shares.items() if share}


def test_on_a_tpu_the_time_is_split_by_xlas_categories_and_by_what_the_host_does_meanwhile() -> None:
    found = told(
        on_a_tpu(
            Shown(10, 40, DOT, "convolution fusion"),
            Shown(50, 20, "%fusion.9 = f32[8]{0} fusion(%a)", "loop fusion"),
            Shown(70, 10, "%all-reduce.1 = f32[8]{0} all-reduce(%a)", "all-reduce"),
            host=[Shown(0, 100, STEPS), Shown(75, 15, WAIT)],
        )
    )
    # 100 in all: 40 multiply, 20 else, 10 between chips; idle 0-10 and 80-100, of which 80-90 the host waits for data.
    assert without_zeros(found.shares) == {
        "matrix": 0.4,
        "memory": 0.2,
        "collectives": 0.1,
        "data": 0.1,
        "host": 0.2,
    }
    assert (found.on, found.seconds) == ("tpu", pytest.approx(100e-6))
    assert found.top[0] == ("fusion.7", "matrix", 0.4)
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_waiting_for_data_costs_nothing_while_the_tpu_computes() -> None:
    found = told(on_a_tpu(Shown(0, 100, DOT, "convolution fusion"), host=[Shown(0, 100, STEPS), Shown(20, 60, WAIT)]))
    assert without_zeros(found.shares) == {"matrix": 1.0}


def test_checks_and_copies_between_the_steps_do_not_count() -> None:
    found = told(
        on_a_tpu(
            Shown(0, 50, DOT, "convolution fusion"),
            Shown(50, 900, "%evaluate", "loop fusion"),
            Shown(950, 50, DOT, "convolution fusion"),
            host=[Shown(0, 50, STEPS), Shown(950, 50, STEPS)],
        )
    )
    assert without_zeros(found.shares) == {"matrix": 1.0} and found.seconds == pytest.approx(100e-6)


def test_of_several_chips_the_mean_counts_and_what_stands_beside_their_operations_does_not() -> None:
    steps = {"python": [Shown(0, 100, STEPS)]}
    found = told(
        trace(
            {
                "/device:TPU:0": {
                    "XLA Ops": [Shown(0, 100, DOT, "convolution fusion"), Shown(0, 100, "%while.1", "while")],
                    "XLA Modules": [Shown(0, 100, "jit_run_many(123)")],
                    "Async XLA Ops": [Shown(0, 90, "%copy-start.1", "copy-start")],
                },
                "/device:TPU:1": {"XLA Ops": [Shown(0, 50, DOT, "convolution fusion")]},
                "/device:TPU:0 SparseCore 0": {"XLA Ops": [Shown(0, 100, "%gather", "gather")]},
                "/host:CPU": steps,
            }
        )
    )
    assert without_zeros(found.shares) == {"matrix": 0.75, "host": 0.25}


def test_a_tpu_whose_clock_is_another_one_is_looked_at_by_its_own() -> None:
    late = [Shown(5000, 30, DOT, "convolution fusion"), Shown(5040, 60, "%add", "loop fusion")]
    assert without_zeros(told(on_a_tpu(*late, host=[Shown(0, 100, STEPS)])).shares) == {
        "matrix": 0.3,
        "memory": 0.6,
        "host": 0.1,
    }


def test_threads_of_a_processor_share_the_time_that_they_take_together() -> None:
    steps = [Shown(0, 100, STEPS), Shown(0, 40, "PjRtCpuClient::Execute")]
    threads = {
        "tf_XLAPjRtCpuClient/1": [Shown(0, 80, "while.5", device=0), Shown(0, 80, "dot_general.5", device=0)],
        "tf_XLAEigen/2": [Shown(40, 40, "wrapped_tanh", device=0), Shown(80, 10, "ThreadpoolListener::Record")],
    }
    found = told(trace({"/host:CPU": {"python": steps, **threads}}))
    # 80 of 100 are busy; of 120 on the threads 80 multiply.
    assert found.shares["matrix"] == pytest.approx(0.8 * 80 / 120, abs=1e-4)
    assert found.shares["memory"] == pytest.approx(0.8 * 40 / 120, abs=1e-4)
    assert (found.shares["host"], found.on) == (pytest.approx(0.2), "cpu")


def test_operations_that_tensorflow_does_not_compile_count_by_their_type() -> None:
    operations = [
        Shown(0, 60, "while/body/_1/while/matmul:_MklMatMul"),
        Shown(60, 20, "while/Tanh:Tanh"),
        Shown(0, 90, "ExecutorState::Process"),
    ]
    found = told(trace({"/host:CPU": {"python": [Shown(0, 100, STEPS)], "tf_Compute/1": operations}}))
    assert without_zeros(found.shares) == {"matrix": 0.6, "memory": 0.2, "host": 0.2}


def test_compiling_is_told_apart_from_other_work_of_the_host() -> None:
    host = [Shown(0, 100, STEPS), Shown(0, 30, "TpuCompiler::RunBackend")]
    found = told(on_a_tpu(Shown(40, 60, DOT, "convolution fusion"), host=host))
    assert without_zeros(found.shares) == {"matrix": 0.6, "host": 0.1, "compile": 0.3}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("convolution", "matrix"),
        ("convolution fusion", "matrix"),
        ("custom-call", "matrix"),
        ("all-gather-start", "collectives"),
        ("reduce-scatter", "collectives"),
        ("collective-permute", "collectives"),
        ("loop fusion", "memory"),
        ("data formatting", "memory"),
        ("convert", "memory"),
        ("non-fusion elementwise", "memory"),
    ],
)
def test_the_kinds_of_xlas_categories(name: str, kind: str) -> None:
    assert kind_of(Operation("%x", "x", name, True)) == kind


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no step"),
        (trace({"/host:CPU": {"python": [Shown(0, 9, STEPS)]}}), "no operation"),
        (on_a_tpu(Shown(0, 9, DOT, "convolution fusion"), host=[]), "no step"),
        (on_a_tpu(Shown(0, 9, DOT, "convolution fusion"), host=[Shown(0, 9, STEPS)])[:-3], "cut short"),
        (b"no trace at all", "wire type|cut short"),
    ],
)
def test_a_trace_of_which_nothing_can_be_told_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        told(data)


@given(st.binary(max_size=200))
@also(b"3\x00\x00\x00")  # a table's row without its value
def test_no_bytes_break_the_reader(data: bytes) -> None:
    whole = on_a_tpu(Shown(0, 9, DOT, "convolution fusion"), host=[Shown(0, 9, STEPS)])
    with contextlib.suppress(ValueError):
        told(whole[: len(data)] + data + whole[len(data) :])


def test_the_reader_is_a_program_that_answers_also_for_a_broken_file(tmp_path: Path) -> None:
    def ask(data: bytes) -> Any:
        (tmp_path / "host.xplane.pb").write_bytes(data)
        argv = [sys.executable, "-m", "tpu_studio.trainer.profile", str(tmp_path / "host.xplane.pb")]
        root = Path(profiling.__file__).parents[3]
        return json.loads(subprocess.run(argv, cwd=root, capture_output=True, check=True).stdout)

    assert ask(on_a_tpu(Shown(0, 9, DOT, "convolution fusion"), host=[Shown(0, 9, STEPS)]))["on"] == "tpu"
    assert ask(b"\xff") == {"raw": "no trace: IndexError: index out of range"}


# ------------------------------------------------------------------------------------------------- when one is made


class Told:
    """`words.Events` that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append({"kind": kind, **fields})


class Profiler:
    """A framework whose profiler writes a trace of four fifths of work, or refuses with *trouble*."""

    def __init__(self, *, trouble: Exception | None = None, size: int = 0) -> None:
        self.trouble, self.size, self.folder, self.marks = trouble, size, Path(), [""]

    def trace(self, folder: Path) -> Profiler:
        if self.trouble is not None:
            raise self.trouble
        self.folder = folder
        return self

    @contextlib.contextmanager
    def mark(self, name: str) -> Iterator[None]:
        self.marks.append(f"+{name}")
        yield
        self.marks.append(f"-{name}")

    def stop(self) -> None:
        made = self.folder / "plugins" / "profile" / "2026" / "t1v-n-1.xplane.pb"
        made.parent.mkdir(parents=True)
        work = Shown(0, 80, DOT, "convolution fusion")
        made.write_bytes(on_a_tpu(work, host=[Shown(0, 100, STEPS), Shown(0, 1, "x" * self.size)]))
        made.with_name("t1v-n-1.trace.json.gz").write_bytes(b"the same again")


def asked(run: Path, profiler: Any, *, calls: tuple[int, ...] = (8, 8, 8), begins: int = 40) -> tuple[Any, Told]:
    """A profile that was asked for, begun, and went through *calls*, of so many steps each."""
    heard = Told()
    made = Profiling(run, heard, profiler)  # type: ignore[arg-type]
    made.ask()
    made.begin(begins)
    for count in calls:
        made.calling(count)
    return made, heard


def test_whole_calls_of_twenty_steps_at_least_are_profiled_and_the_raw_trace_stays(tmp_path: Path) -> None:
    made, heard = asked(tmp_path, Profiler(), calls=(8, 8))
    assert not made.is_full
    made.calling(8)
    assert made.is_full
    made.end()
    made.finish()
    begun, done = heard.sent
    assert begun == {"kind": "profile", "state": "begun", "step": 40}
    kept = tmp_path / "profile" / "00000040" / "plugins" / "profile" / "steps" / "host.xplane.pb"
    assert done == {
        "kind": "profile",
        "state": "done",
        "step": 40,
        "steps": 24,
        "seconds": pytest.approx(1e-4),
        "on": "tpu",
        "shares": {"matrix": 0.8, "memory": 0, "collectives": 0, "data": 0, "host": 0.2, "compile": 0},
        "top": [["fusion.7", "matrix", 0.8]],
        "path": "profile/00000040",
        "bytes": kept.stat().st_size,
    }
    assert [path for path in (tmp_path / "profile").rglob("*") if path.is_file()] == [kept]


def test_steps_are_marked_from_the_first_call_to_where_none_is_under_way_and_waiting_by_itself(tmp_path: Path) -> None:
    profiler = Profiler()
    made, _ = asked(tmp_path, profiler, calls=(8, 8))
    made.drained()  # a check on unseen data
    with made.waiting():
        pass
    made.calling(8)
    made.end()
    made.finish()
    assert profiler.marks[1:] == [f"+{STEPS}", f"-{STEPS}", f"+{WAIT}", f"-{WAIT}", f"+{STEPS}", f"-{STEPS}"]


def test_asked_twice_there_is_one_and_a_word_about_it(tmp_path: Path) -> None:
    made, heard = asked(tmp_path, Profiler())
    made.ask()
    assert not made.is_due
    assert heard.sent[-1] == {"kind": "notice", "id": "profile-under-way", "level": "info", "facts": {}}
    made.end()
    made.ask()  # the next one, when the first is made
    made.ask()
    assert made.is_due and [one.get("id") for one in heard.sent].count("profile-under-way") == 2


@pytest.mark.parametrize(("calls", "why"), [((8, 8, 8), "stopped"), ((8,), "too-few")])
def test_what_ended_too_early_is_told_and_thrown_away(tmp_path: Path, calls: tuple[int, ...], why: str) -> None:
    made, heard = asked(tmp_path, Profiler(), calls=calls)
    made.end("stopped" if why == "stopped" else "")
    made.finish()
    assert heard.sent[-1] == {"kind": "profile", "state": "failed", "step": 40, "why": why, "raw": ""}
    assert list((tmp_path / "profile").iterdir()) == []


def test_one_that_training_never_came_to_is_told_at_the_end(tmp_path: Path) -> None:
    heard = Told()
    made = Profiling(tmp_path, heard, Profiler())  # type: ignore[arg-type]
    made.ask()
    made.finish()
    assert [(one["state"], one["why"]) for one in heard.sent] == [("failed", "too-few")]


@pytest.mark.parametrize(
    ("trouble", "why"),
    [(RuntimeError("Profile has already been started"), "not-started"), (OSError(28, "full"), "disk")],
)
def test_a_profiler_that_does_not_start_is_told_and_training_goes_on(
    tmp_path: Path, trouble: Exception, why: str
) -> None:
    made, heard = asked(tmp_path, Profiler(trouble=trouble))
    with made.waiting():
        assert made.is_full  # waits for its calls where the other workers do
    made.end()
    made.finish()
    assert [(one["state"], one["why"]) for one in heard.sent] == [("failed", why)]


def test_a_trace_that_cannot_be_read_is_kept_for_whoever_looks_why(tmp_path: Path) -> None:
    class Other(Profiler):
        def stop(self) -> None:
            super().stop()
            (made,) = self.folder.rglob("*.xplane.pb")
            made.write_bytes(trace({"/device:TPU:0": {"Operations": [Shown(0, 9, DOT)]}}))

    made, heard = asked(tmp_path, Other())
    made.end()
    made.finish()
    failed = heard.sent[-1]
    assert (failed["state"], failed["why"], failed["raw"]) == ("failed", "not-read", "no step is in it")
    assert len(list((tmp_path / failed["path"]).rglob("*.xplane.pb"))) == 1


def test_a_trace_that_is_too_large_is_told_of_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "RAW_AT_MOST", 1000)
    made, heard = asked(tmp_path, Profiler(size=2000))
    made.end()
    made.finish()
    assert (heard.sent[-1]["state"], heard.sent[-1]["path"]) == ("done", "")
    assert heard.sent[-1]["bytes"] > 2000 and list((tmp_path / "profile").iterdir()) == []


def test_the_newest_three_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40):
        made, _ = asked(tmp_path, Profiler(), begins=step)
        made.end()
        made.finish()
    assert sorted(one.name for one in (tmp_path / "profile").iterdir()) == ["00000020", "00000030", "00000040"]


def test_another_worker_counts_the_same_steps_and_traces_nothing(tmp_path: Path) -> None:
    made, heard = asked(tmp_path, None)
    assert made.is_full
    made.end()
    made.finish()
    assert heard.sent == [] and list(tmp_path.iterdir()) == []


def test_the_library_xprof_says_the_same_of_the_same_trace() -> None:
    golden = json.loads(Path(__file__).with_name("golden_profile.json").read_bytes())
    assert bytes.fromhex(golden["trace"]) == example()  # else: tools/make_golden_profile.py
    theirs = {category: time / 1e9 for category, time in golden["picoseconds"].items()}  # shares of 1,000 µs
    ours = told(example())
    assert ours.shares["matrix"] == pytest.approx(theirs["convolution fusion"] + theirs["custom-call"])
    assert ours.shares["collectives"] == pytest.approx(theirs["all-reduce"])
    between = 0.740 - sum(time for category, time in theirs.items() if category != "IDLE")  # in loop and program
    assert ours.shares["memory"] == pytest.approx(theirs["loop fusion"] + theirs["data formatting"] + between)
    assert ours.shares["host"] == pytest.approx(1.0 - 0.740)
    assert {name: share for name, _, share in ours.top} == {
        "fusion.1": 0.24,
        "custom-call.3": 0.16,
        "all-reduce.5": 0.12,
        "fusion.2": 0.07,
        "copy.4": 0.04,
    }

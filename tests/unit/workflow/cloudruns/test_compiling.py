"""Which compiled programs a machine is handed: only such as a machine of the same work told this computer of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.fakes.skies import cloud_plan
from tpu_studio.wire import compiled
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns import compiling
from tpu_studio.workflow.cloudruns.mirror import Words
from tpu_studio.workflow.cloudruns.state import State

RUN, ANOTHER = "digits-k3f7", "digits-aaaa"
PIECES = {"environment": {"lock": "jax"}, "runtime": "v2-alpha"}


def facts(run: str = RUN, sha256: str = "ab" * 32) -> dict[str, Any]:
    return {"object": compiled.object_name(f"runs/{run}/", sha256), "sha256": sha256, "bytes": 9, "programs": 2}


def sealed(home: Path, told: dict[str, Any], run: str = RUN, attempt: int = 1) -> dict[str, Any]:
    """As the machine of that attempt tells it, which has its key in its ts-config."""
    key = compiling.key_of_machine(home, run, attempt)
    return told | {"seal": compiled.seal(key, told["object"], told["sha256"], told["bytes"])}


def line(kind: str, t: float, **fields: Any) -> bytes:
    return json.dumps({"t": t, "kind": kind, **fields}).encode() + b"\n"


TRAINED = line("metric", 2.0, step=[1], loss=[1.0])
FAILED = line("end", 9.0, status="failed", reason="trainer-failed", steps=0, final={})


class Side:
    """What `compiling` needs of a run that is driven, and of its records."""

    def __init__(self, home: Path, run: str = RUN, plan: Plan | None = None, bucket: str = "b") -> None:
        self.home, self.folder, self.plan = home, home / "runs" / run, plan or cloud_plan()
        self.state, self.words = State(attempt=1, pieces=PIECES), Words(self.folder)
        self.side = type("Cloud", (), {"mailbox": type("Box", (), {"bucket": bucket})()})()

    def says(self, attempt: int, *lines: bytes) -> None:
        path = self.folder / "events" / f"a{attempt:04d}-w000.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))

    def handed(self, attempt: int = 1) -> Mapping[str, Any] | None:
        self.state = replace(self.state, attempt=attempt)
        return compiling.handed(cast(Any, self), cast(Any, self))

    def keep(self, attempt: int = 1) -> None:
        compiling.keep(cast(Any, self), cast(Any, self), attempt)


def carried(told: Any) -> bytes:
    return line("notice", 3.0, id="compiled-carried", level="info", facts=told)


PIECE = {name: facts()[name] for name in ("object", "sha256", "bytes")}


def test_the_next_attempt_is_handed_what_the_one_before_told_of(tmp_path: Path) -> None:
    run = Side(tmp_path)
    assert run.handed() is None
    run.says(1, TRAINED, carried(sealed(tmp_path, facts())))
    assert run.handed(2) == PIECE


def test_the_next_run_of_the_same_work_is_handed_it_and_no_other(tmp_path: Path) -> None:
    run = Side(tmp_path)
    run.says(1, TRAINED, carried(sealed(tmp_path, facts())))
    run.keep()
    assert Side(tmp_path, ANOTHER).handed() == PIECE
    plan = cloud_plan()
    for other in (
        replace(plan, accelerator="v6e-1"),
        replace(plan, consent="cd" * 32),
        replace(plan, devices=plan.devices * 2),
        replace(plan, data={**plan.data, "fingerprint": "other"}),
        replace(plan, job=plan.job.with_values({"training.global_batch": 17})),
    ):
        assert Side(tmp_path, ANOTHER, other).handed() is None
    assert Side(tmp_path, ANOTHER, bucket="another").handed() is None


@pytest.mark.parametrize(
    "told",
    [
        facts(ANOTHER),  # another run's prefix: a machine may tell of its own alone
        facts() | {"object": "data/x.tar"},
        facts() | {"sha256": "cd" * 32},
        facts() | {"bytes": 10**12},
        facts() | {"bytes": "9"},
        [],
        None,
    ],
)
def test_nothing_else_that_a_machine_tells_is_handed_on(tmp_path: Path, told: Any) -> None:
    run = Side(tmp_path)
    whole = isinstance(told, dict) and isinstance(told["bytes"], int)
    run.says(1, TRAINED, carried(sealed(tmp_path, told) if whole else told))
    run.keep()
    assert run.handed(2) is None
    assert Side(tmp_path, ANOTHER).handed() is None


def test_after_a_machine_that_came_to_no_first_step_it_is_compiled_anew(tmp_path: Path) -> None:
    first = Side(tmp_path)
    first.says(1, TRAINED, carried(sealed(tmp_path, facts())))
    first.keep()
    broken = Side(tmp_path, ANOTHER)
    assert broken.handed() == PIECE
    broken.says(1, line("phase", 1.0, phase="compiling"), FAILED)
    broken.keep()
    assert broken.handed(2) is None
    assert Side(tmp_path, "digits-cccc").handed() is None


@pytest.mark.parametrize("seal", [None, "", 7, "é", "ab" * 32])
def test_what_others_write_into_the_bucket_in_a_machines_name_is_handed_to_none(tmp_path: Path, seal: Any) -> None:
    """Whoever can write there had the next machine load a program of their own, by a line of events."""
    run = Side(tmp_path)
    run.says(1, TRAINED, carried(facts() | {"seal": seal}))
    run.keep()
    assert run.handed(2) is None
    assert Side(tmp_path, ANOTHER).handed() is None


@pytest.mark.parametrize("of", [{"run": ANOTHER}, {"attempt": 2}])
def test_the_seal_of_another_machine_counts_for_nothing(tmp_path: Path, of: dict[str, Any]) -> None:
    run = Side(tmp_path)
    run.says(1, TRAINED, carried(sealed(tmp_path, facts(), **of)))
    assert run.handed(2) is None


def test_a_seal_holds_for_the_very_bytes_that_were_told_of(tmp_path: Path) -> None:
    run, other = Side(tmp_path), facts(sha256="cd" * 32)
    run.says(1, TRAINED, carried(other | {"seal": sealed(tmp_path, facts())["seal"]}))
    assert run.handed(2) is None


def test_a_computer_that_takes_the_run_over_believes_nothing_of_before(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    told = carried(sealed(first, facts()))
    run = Side(second)
    run.says(1, TRAINED, told)
    assert run.handed(2) is None


def test_the_key_stays_and_is_its_owners(tmp_path: Path) -> None:
    key = compiling.key_of_machine(tmp_path, RUN, 1)
    assert key == compiling.key_of_machine(tmp_path, RUN, 1) and len(key) == 64
    assert (tmp_path / "compiled" / compiling.KEY).stat().st_mode & 0o077 == 0

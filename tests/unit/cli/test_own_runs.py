"""What own runs taught, on the command line: `plan`, `estimate --own-runs`, `runs --forget-taught`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, NOW, job
from tests.fakes.making import make_plan
from tests.unit.planner.own.test_user import Person, step_range
from tpu_studio.cli.main import main
from tpu_studio.wire.resources import resource_path

JOB = str(resource_path("examples", "digits.tpujob"))


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    someone = Person(tmp_path)
    yield someone
    someone.index.close()


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_plan_says_that_own_runs_stand_behind_it_until_they_are_forgotten(
    person: Person, capsys: pytest.CaptureFixture[str]
):
    from tpu_studio.data.look import look
    from tpu_studio.domain.jobfile import load

    digits = load(Path(JOB))
    first = make_plan(digits, look(digits), now=NOW)
    person.runs("digits-aaaa", first, 4 * step_range(first)[1])
    assert main(["plan", JOB, "--no-measure", "--json"]) == 0
    taught = told(capsys)
    assert taught["estimate_from"]["by"] == "own-runs" and taught["estimate_from"]["same"] == 1
    assert taught["time_s"]["expected"] > (first.time_s.expected if first.time_s else 0)

    assert main(["runs", "--forget-taught", "--json"]) == 2  # nobody said yes
    assert told(capsys)["error"]["id"] == "needs-yes-to-forget"
    assert main(["runs", "--forget-taught", "--yes", "--json"]) == 0
    assert told(capsys) == {"forgotten": 1}
    assert main(["plan", JOB, "--no-measure", "--json"]) == 0
    assert "estimate_from" not in told(capsys)
    assert main(["runs", "--json"]) == 0
    assert [row["run"] for row in told(capsys)["runs"]] == ["digits-aaaa"]


def test_an_estimate_sees_own_runs_only_when_it_is_asked_to(
    person: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rented = make_plan(job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-8"}), DIGITS, now=NOW)
    person.runs("digits-aaaa", rented, 3 * step_range(rented)[1])
    workload = tmp_path / "workload.json"
    workload.write_text(json.dumps(rented.basis.workload))
    assert main(["estimate", str(workload), "--json"]) == 0
    alone = told(capsys)
    assert alone["own_runs"] is None
    assert main(["estimate", str(workload), "--json", "--own-runs"]) == 0
    taught = told(capsys)
    assert taught["own_runs"]["runs"] == 1
    assert taught["units_per_s"]["expected"] < 0.75 * alone["units_per_s"]["expected"]
    assert taught["mfu"]["high"] <= 1 and taught["step_time_s"]["low"] < taught["step_time_s"]["high"]


def test_own_runs_that_cannot_be_read_change_nothing(person: Person, capsys: pytest.CaptureFixture[str]):
    (person.home / "runs" / "broken").mkdir(parents=True)
    (person.home / "runs" / "broken" / "plan.json").write_bytes(b"{")
    assert main(["plan", JOB, "--no-measure", "--json"]) == 0
    assert "estimate_from" not in told(capsys)


def test_an_empty_workload_names_what_is_missing_and_which_tpus_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "workload.json").write_text("{}")
    assert main(["estimate", str(tmp_path / "workload.json"), "--json"]) == 0
    said = capsys.readouterr().err
    assert "“generation” is not told" in said and "v5e" in said and "v6e" in said
    assert "Not told: chips, family" in said

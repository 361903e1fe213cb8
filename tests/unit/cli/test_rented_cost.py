"""`show` and `plan` of a rented run: its cost, its range, and what the account needs before it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.viewmodels.test_rented_words import ASKED, UNSEEN, plan_at, view_of
from tests.unit.viewmodels.test_runs import DONE
from tpu_studio.cli.keeping import _as_text, _part_lines, _parts, _receipt, _receipt_lines
from tpu_studio.cli.main import main
from tpu_studio.cli.output import Output
from tpu_studio.cli.running import _tell_end
from tpu_studio.places.known import bucket_known
from tpu_studio.places.reaching import PRACTICE_OWNER
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.wire import places
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.resources import resource_path
from tpu_studio.workflow.account.ports import Choices
from tpu_studio.workflow.account.remembering import ChoicesFile


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("cloud", "$0.00–$1.11: no record tells it exactly, and the bill is in between"),
        ("practice", "practice $0.00–$1.11: no record tells it exactly, and the bill is in between; nothing"),
    ],
)
def test_show_names_the_range_and_why(place: str, line: str) -> None:
    row = replace(DONE, place=place, usd=0.0)
    view = view_of(*ASKED, *UNSEEN)
    assert f"Cost    {line}" in _as_text(row, SimpleNamespace(view=view, plan=plan_at(place)))
    certain = SimpleNamespace(view=replace(view, usd_between=None), plan=plan_at(place))
    assert "$0.30" in _as_text(replace(row, usd=0.3), certain)
    assert "no record" not in _as_text(replace(row, usd=0.3), certain)


def test_a_launch_that_was_refused_is_told_without_its_no_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.json").write_bytes(dumps(plan_at("cloud").launched("digits-k3f7", 0.0, "test")))
    facts = {"error": "service-disabled", "service": "cloudtasks.googleapis.com", "stop": True}
    end = {"attempt": 1, "status": "failed", "reason": "launch-refused", "steps": 0, "final": {}, "facts": facts}
    _tell_end("digits-k3f7", view_of(*ASKED[:2], (5.0, "end", end)), tmp_path, Output(as_json=True))
    told = capsys.readouterr().err
    assert "so nothing was rented.\n" in told and "steps" not in told and "cloudtasks.googleapis.com" in told


def test_show_lists_the_parts_of_the_receipt_where_there_is_one(tmp_path: Path) -> None:
    assert _parts(tmp_path) is None
    (tmp_path / "result").mkdir()
    parts = [
        {"id": "chips", "usd": 1.2, "usd_at_least": 1.2, "usd_at_most": 1.2},
        {"id": "disk", "usd": 0.0, "usd_at_least": 0.0, "usd_at_most": 0.05},
        {"id": "storage", "usd": None, "usd_at_least": None, "usd_at_most": None},
    ]
    receipt = tmp_path / "result" / "receipt.json"
    receipt.write_text(json.dumps({"parts": parts}), "utf-8")
    assert _parts(tmp_path) == parts
    lines = [line.partition(":")[2].strip() for line in _part_lines(parts)]
    assert lines == ["$1.20", "$0, at most $0.05", "Price unknown"]
    receipt.write_text("{", "utf-8")
    assert _parts(tmp_path) is None


def test_show_names_each_machine_how_its_end_is_proved_and_what_stays(tmp_path: Path) -> None:
    assert _receipt(tmp_path, []) == ()
    machine = {"name": "ts-x-a1-t1", "zone": "us-west4-a", "created": 1.7e9, "deleted": 1.7e9 + 60, "billed_s": 60.0}
    told = {
        "place": places.charging().id,
        "usd": 0.02,
        "usd_at_most": 0.02,
        "usd_per_hour": 1.2,
        "parts": [{"id": "chips", "usd": 0.02, "usd_at_least": 0.02, "usd_at_most": 0.02}],
        "made": [{**machine, "usd": 0.02}, {**machine, "name": "odd\u202e\nname", "deleted": None}],
    }
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "receipt.json").write_text(json.dumps(told), "utf-8")
    first, second, stops, *_ = _receipt_lines(_receipt(tmp_path, _parts(tmp_path) or []))
    assert first.startswith("ts-x-a1-t1 in us-west4-a: 1 min · $0.02. There from ")
    assert "answered at" in first and "that it is not there any more" in first
    assert "Not verified to be gone" in second and "\u202e" not in second and "\n" not in second
    assert stops == "Shut-off timers: All removed."
    (tmp_path / "result" / "receipt.json").write_text('{"made": [7]}', "utf-8")
    assert _receipt(tmp_path, []) == ()


def test_the_worst_case_stands_there_with_what_lowers_it(home: Path, capsys: pytest.CaptureFixture[str]):
    digits = str(resource_path("examples/digits.tpujob"))
    assert main(["plan", digits, "--on", "cloud", "--no-measure"]) == 0
    told = capsys.readouterr().out
    row = next(line for line in told.splitlines() if line.startswith("At worst"))
    assert " at its limits, and up to 4 h 40 of rent beyond, if it hangs" in row
    assert "--set limits.wait_hours=0.5" in told and ": --set limits.hours=…" in told
    assert main(["plan", digits, "--on", "cloud", "--no-measure", "--set", "limits.wait_hours=0.5"]) == 0
    assert "--set limits.wait_hours" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("usd", "price"), [(0.001, "$1.20 an hour (as of "), (30, "$30.00 an hour (the price in the job)")]
)
def test_a_price_in_the_job_is_called_that_and_counts_where_it_is_dearer(
    home: Path, capsys: pytest.CaptureFixture[str], usd: float, price: str
):
    digits = str(resource_path("examples/digits.tpujob"))
    at = ["--set", "where.accelerator=v5litepod-1", "--set", f"where.usd_per_hour={usd}"]
    assert main(["plan", digits, "--on", "cloud", "--no-measure", *at]) == 0
    told = capsys.readouterr().out
    assert price in next(line for line in told.splitlines() if line.startswith("Price"))
    assert ("The list price counts, not the lower one in the job" in told) == (usd < 1)


def test_a_plan_for_google_says_what_the_account_needs_first(home: Path, capsys: pytest.CaptureFixture[str]):
    plan = ["plan", str(resource_path("examples/digits.tpujob")), "--no-measure", "--on"]
    assert main([*plan, "cloud"]) == 0
    assert "Next: sign in to Google." in capsys.readouterr().err
    assert main([*plan, "practice"]) == 0
    assert "Next:" not in capsys.readouterr().err


def test_a_plan_for_a_new_practice_account_says_that_it_is_to_be_set_up_first(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    with Practice(Settings(home / "practice", new=True, machines=False)):
        pass
    plan = ["plan", str(resource_path("examples/digits.tpujob")), "--no-measure", "--on", "practice"]
    assert main(plan) == 0
    assert "doctor --on practice --project my-first-tpu --fix all" in capsys.readouterr().err
    folder = home / "practice" / "account"
    folder.mkdir(exist_ok=True)
    ChoicesFile(folder).keep(PRACTICE_OWNER, Choices("my-first-tpu", "us-west4", "some-bucket"))
    assert main(plan) == 0
    assert "Next:" not in capsys.readouterr().err


def test_a_bucket_that_keeps_what_was_deleted_is_priced_on_practice_as_on_google(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    """An organisation's soft delete of 7 days: practice bills it, and the plan reserved nothing for it."""
    folder = home / "practice" / "account"
    folder.mkdir(parents=True)
    plan = ["plan", str(resource_path("examples/digits.tpujob")), "--no-measure", "--on", "practice", "--json"]
    kept = Choices("my-first-tpu", "us-west4", "some-bucket")
    told = []
    for days in (0, 7):
        ChoicesFile(folder).keep(PRACTICE_OWNER, replace(kept, kept_days=days))
        assert bucket_known("practice", home) == ("", days)
        assert main(plan) == 0
        extras = json.loads(capsys.readouterr().out)["extras"]
        told.append((extras.get("kept_days", 0), next(one for one in extras["parts"] if one["id"] == "storage")))
    assert [days for days, _ in told] == [0, 7]
    assert told[1][1]["usd"] > told[0][1]["usd"] and "7 days more" in told[1][1]["note"]

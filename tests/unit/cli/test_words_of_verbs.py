"""What verbs say where little is there: no checkpoint, nobody signed in, somebody else's run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.skies import cloud_plan
from tests.fakes.views import view_of
from tests.unit.viewmodels.test_rented_words import THERE, plan_at
from tests.unit.viewmodels.test_runs import DONE
from tpu_studio.cli import keeping, main, running
from tpu_studio.cli.output import Output
from tpu_studio.domain import jobfile
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import BadInput, RunError, SignedOut


def services(folder: Path, place: str, *told: Any) -> Any:
    following = SimpleNamespace(poll=lambda: None, close=lambda: None, plan=plan_at(place), view=view_of(*THERE, *told))
    return SimpleNamespace(runs=SimpleNamespace(folder=lambda _: folder, follow=lambda _: following))


def test_resume_knows_whether_there_is_a_copy_to_go_on_from(tmp_path: Path):
    copy = (25.0, "checkpoint", {"step": 3, "seconds": 0.1, "bytes": 5})
    assert not keeping._has_copy(services(tmp_path, "practice"), "r")
    assert keeping._has_copy(services(tmp_path, "practice", copy), "r")
    (tmp_path / "checkpoints" / "00000003").mkdir(parents=True)
    assert not keeping._has_copy(services(tmp_path, "computer"), "r")  # not whole
    (tmp_path / "checkpoints" / "00000003" / "COMMITTED").touch()
    assert keeping._has_copy(services(tmp_path, "computer"), "r")


def test_signed_out_speaks_of_charges_only_where_something_may_be_rented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(main, "home_folder", lambda: tmp_path)
    main._tell(Output(as_json=False), SignedOut("signed-out"))
    said = capsys.readouterr().err
    assert "nothing was looked at or changed." in said and "charged" not in said
    (tmp_path / "live-check-left.json").write_text("[]")  # of a machine that may be there
    main._tell(Output(as_json=False), SignedOut("signed-out"))
    assert "is charged until it ends" in capsys.readouterr().err
    (tmp_path / "live-check-left.json").unlink()
    (tmp_path / "runs" / "odd-b2b2").mkdir(parents=True)
    (tmp_path / "runs" / "odd-b2b2" / "plan.json").write_text("{")  # nobody knows where it runs
    main._tell(Output(as_json=False), SignedOut("signed-out"))
    assert "is charged until it ends" in capsys.readouterr().err


def test_a_rented_run_that_nobody_follows_says_how_old_its_state_is(tmp_path: Path):
    now = time.time()
    row = replace(DONE, place="cloud", status="training", reason="", over=False, settled=False, seen=now - 600)
    row = replace(row, folder=tmp_path)
    assert "training, 10 min ago" in keeping._as_table([row])
    told = keeping._as_text(row, SimpleNamespace(view=view_of(*THERE), plan=plan_at("cloud")))
    assert "Last heard" in told and f"10 min ago; “tpu-studio watch {row.run}”" in told
    for other in (replace(row, seen=now), replace(row, over=True, settled=True), replace(row, place="computer")):
        assert "ago" not in keeping._as_table([other])
    assert keeping._unheard(replace(row, over=True), now)  # something may be rented still


def test_somebody_elses_run_is_named_as_it_is_with_the_way_in_a_terminal():
    said = say(RunError("run-imported", run="digits-fh2y"))
    assert "“digits-fh2y”" in said.title and "show digits-fh2y --job again.tpujob" in said.action


def test_a_run_gives_its_job_file_and_writes_over_none(tmp_path: Path):
    plan, path = plan_at("cloud"), tmp_path / "again.tpujob"
    keeping._save_job(plan, tmp_path, path, Output(as_json=False))
    assert jobfile.load(path)["model.name"] == plan.job["model.name"]
    with pytest.raises(BadInput, match="is there already"):
        keeping._save_job(plan, tmp_path, path, Output(as_json=False))


@pytest.mark.parametrize("verb", ["resume", "extend"])
def test_a_rented_run_goes_on_only_after_a_yes_to_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    asked: list[str] = []
    plan = cloud_plan(place="cloud").launched("digits-k3f7", 1.0, "1")
    plan = replace(plan, limits=replace(plan.limits, money_usd=12.5, hours=3.0))
    runs = SimpleNamespace(
        plan=lambda run: plan,
        folder=lambda run: tmp_path / "digits-k3f7",
        resume=lambda run, **limits: asked.append("resume"),
        extend=lambda run, epochs, **limits: asked.append("extend"),
    )

    @contextmanager
    def studio() -> Iterator[Any]:
        yield SimpleNamespace(runs=runs)

    monkeypatch.setattr(keeping, "studio", studio)
    monkeypatch.setattr(keeping, "of_run", lambda *rest, **more: None)
    monkeypatch.setattr(keeping, "_has_copy", lambda *rest: True)
    monkeypatch.setattr(running, "carry", lambda *rest: None)
    arguments = SimpleNamespace(run="digits-k3f7", epochs=1.0, hours=None, money=None, trust_code=False, yes=False)
    with pytest.raises(BadInput) as refused:
        getattr(keeping, verb)(arguments, Output(as_json=True))
    assert (refused.value.id, refused.value.exit_code, asked) == ("needs-yes", 2, [])
    assert "$12.50 or 3 hours" in capsys.readouterr().err
    arguments.yes = True
    assert getattr(keeping, verb)(arguments, Output(as_json=True)) == 0
    assert asked == [verb]

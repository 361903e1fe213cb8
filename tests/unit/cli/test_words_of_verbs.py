"""What verbs say where little is there: no saved copy, nobody signed in, somebody else's run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.views import view_of
from tests.unit.viewmodels.test_rented_words import THERE, plan_at
from tpu_studio.cli import keeping, main
from tpu_studio.cli.output import Output
from tpu_studio.domain import jobfile
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import BadInput, RunError, SignedOut


def services(folder: Path, place: str, *told: Any) -> Any:
    following = SimpleNamespace(
        poll=lambda: None, close=lambda: None, plan=plan_at(place), view=view_of(*THERE, *told)
    )
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


def test_somebody_elses_run_is_named_as_it_is_with_the_way_in_a_terminal():
    said = say(RunError("run-imported", run="digits-fh2y"))
    assert "“digits-fh2y”" in said.title and "show digits-fh2y --job again.tpujob" in said.action


def test_a_run_gives_its_job_file_and_writes_over_none(tmp_path: Path):
    plan, path = plan_at("cloud"), tmp_path / "again.tpujob"
    keeping._save_job(plan, path, Output(as_json=False))
    assert jobfile.load(path)["model.name"] == plan.job["model.name"]
    with pytest.raises(BadInput, match="is there already"):
        keeping._save_job(plan, path, Output(as_json=False))

"""What a person is told of a rented run that somebody sent, before the yes and after: price, data, cost of a copy."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.fakes.looks import DIAMONDS, HANDS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.presets import unpacked
from tests.fakes.views import T
from tests.unit.viewmodels.test_rented_words import plan_at, row
from tpu_studio.cli import planning
from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.planner.report import travels
from tpu_studio.viewmodels.money import month_of
from tpu_studio.viewmodels.news import news
from tpu_studio.viewmodels.review import review_of
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow import desk
from tpu_studio.workflow.planning import Draft, Sources, plan_job
from tpu_studio.workflow.ports import RunSummary


def test_the_review_says_whose_price_it_is():
    def price(usd: float) -> str:
        review = review_of(plan_at("cloud", accelerator="v5litepod-1", usd_per_hour=usd), date.today())
        return next(fact.value for fact in review.facts if fact.label == "Price")

    assert (price(30.0), price(0.001)) == ("$30.00 an hour, the price in the job", "$1.20 an hour")


@pytest.mark.parametrize(
    ("path", "named"),
    [("~/.ssh/id_ed25519", "/home/me/.ssh/id_ed25519"), ("/d/a\nb\u202e", "/d/a b"), ("hands", "/jobs/hands")],
)
def test_the_review_and_the_command_line_name_the_data_that_is_copied_to_the_bucket(
    path: str, named: str, monkeypatch: pytest.MonkeyPatch
):
    """A job named a private key as its data, and nothing that was asked before the yes said so."""
    monkeypatch.setenv("HOME", "/home/me")
    asked = job("mlp", "table", data={"path": path}, where={"place": "cloud"})
    plan = make_plan(asked, replace(DIAMONDS, bytes_on_disk=2_500_000), now=NOW, computer=LAPTOP)
    (fact,) = [fact for fact in review_of(plan, date.today()).facts if fact.label == "Data"]
    assert fact.value == named and fact.more.endswith(" MB: copied to your bucket.")
    (line,) = [line for line in planning.as_text(plan).splitlines() if line.startswith("Data")]
    assert f"  {named}. " in line and line.endswith("copied to your bucket.")
    built_in = plan_at("practice")
    assert "Data" not in [fact.label for fact in review_of(built_in, date.today()).facts]
    assert "\nData" not in planning.as_text(built_in)


@pytest.mark.parametrize("place", ["cloud", "practice"])
def test_and_the_folder_that_the_model_begins_from(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A job named a folder of the person's own weights: up to 128 MB went up, and no word said so."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = unpacked("vit", tmp_path / "private")
    asked = job("kerashub-backbone", "images", model={"preset": "~/private/vit"}, where={"place": place})
    plan = plan_job(Draft(asked, HANDS), Sources(SHIPPED), NOW).plan
    size = figures.size(sum((folder / one).stat().st_size for one in reading.read(folder).files))
    bucket = "your" if place == "cloud" else "the practice"
    copied = f"{size} of weights and what belongs to them: copied to {bucket} bucket."
    facts = [(fact.value, fact.more) for fact in review_of(plan, date.today()).facts if fact.label == "Begins from"]
    assert facts == [(str(folder), copied)]
    (line,) = [line for line in planning.as_text(plan).splitlines() if line.startswith("Begins from")]
    assert line.endswith(f" {folder}. {copied}")
    older = plans.loads(plans.dumps(replace(plan, preset_bytes=0)))
    assert [one.words for one in travels.brought(older)][1:] == [f"Copied to {copied.partition('copied to ')[2]}"]
    assert plans.loads(plans.dumps(plan)) == plan
    for odd in (-1, "x", 10**16, True):
        with pytest.raises(RunError, match="preset_bytes"):
            plans.from_json({**plan.to_json(), "preset_bytes": odd})


def test_a_copy_that_somebody_sent_costs_nothing_here_and_no_machine_of_it_is_looked_for(tmp_path: Path):
    """It says $4,321 and an end without a proof: that stood in the person's own month, and as a lasting red notice."""
    going = RunSummary("r", "r", tmp_path, T, place="cloud", usd=4_321.0, usd_limit=4_400.0, status="training")
    over = replace(going, over=True, status="finished", settled=False, ended=T)
    mine = [row_of(going), row_of(over)]
    assert mine[0].near_cap and mine[1].unproved and month_of([mine[0]], 100.0, T).spent == "$4,321.00"
    desk.write_owner(tmp_path, "abcd", t=T, imported=True)
    copies = [row_of(going), row_of(over)]
    assert not copies[0].near_cap and not copies[1].unproved
    money = month_of([*copies, row("cloud", 4.0, T)], 100.0, T)
    assert money.spent == "$4.00" and money.share == pytest.approx(0.04)
    assert [one.kind for one in news({"r": mine[0]}, [mine[1]])] == ["ended", "unproved"]
    assert [one.kind for one in news({"r": copies[0]}, [copies[1]])] == ["ended"]

"""A model that begins from a run of ours: what is planned with it, and what is said before anything begins."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bases import PICTURES, RUN, card, result, run
from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, NOW, PLAYS, job
from tpu_studio.data.looked import ColumnLook, Look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

PRESET = f"run:{RUN}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def planned(look: Look = HANDS, model: str = "small-cnn", preset: str = PRESET, **tables: Any) -> Plan:
    tables["model"] = {"preset": preset, "options": tables.pop("options", {})}
    return plan_job(Draft(job(model, look.kind, **tables), look), Sources(SHIPPED), NOW).plan


def ids(plan: Plan) -> list[str]:
    return [check.id for check in plan.blocking]


def test_the_plan_has_the_runs_id_its_options_and_its_hash(home: Path) -> None:
    folder = run(home, card(options={"width": 16, "dropout": 0.5}))
    plan = planned()
    assert not plan.blocking and plan.job.model.preset == PRESET
    assert (plan.options["width"], plan.options["dropout"]) == (16, 0.5)
    assert plan.preset_sha256 == reading.read(folder / "result").sha256
    assert plans.loads(plans.dumps(plan)) == plan
    (check,) = (one for one in plan.checks if one.id == "base-taken-over")
    assert check.level == "info" and check.facts["head"] is True  # ten digits there as here


def test_other_classes_mean_a_new_last_layer(home: Path) -> None:
    run(home)
    look = replace(HANDS, classes=(("cat", 800), ("dog", 850)), outputs=2)
    (check,) = (one for one in planned(look).checks if one.id == "base-taken-over")
    assert check.facts["head"] is False


def test_a_model_file_that_lies_elsewhere_is_whole_in_the_plan(home: Path) -> None:
    kept = result(home / "kept")
    plan = planned(preset=str(kept / "model.keras"))
    assert not plan.blocking and plan.job.model.preset == str(kept / "model.keras")


def test_another_option_is_refused_by_its_name(home: Path) -> None:
    run(home)
    with pytest.raises(JobError) as refused:
        planned(options={"width": 64})
    assert refused.value.facts["key"] == "model.options.width"


def test_another_model_is_one_press_away(home: Path) -> None:
    run(home, card("mlp"))
    (check,) = planned().blocking
    assert (check.id, check.fix) == ("base-of-another-model", {"model.name": "mlp", "model.preset": PRESET})


def test_pictures_are_no_larger_than_it_learned_with_and_not_too_small(home: Path) -> None:
    run(home, card(data=PICTURES | {"input_shape": [32, 32, 3]}))
    assert planned().job.data.image_size == 32
    (check,) = planned(data={"image_size": 8}).blocking
    assert (check.id, check.fix) == ("base-too-small-pictures", {"data.image_size": "auto"})
    (check,) = planned(DIGITS).blocking  # of eight pixels, whatever is asked
    assert (check.id, check.fix) == ("base-too-small-pictures", None)


def test_one_that_looks_at_each_pixel_gets_pictures_of_its_size(home: Path) -> None:
    run(home, card("mlp", PICTURES | {"input_shape": [24, 24, 3]}))
    plan = planned(model="mlp")
    assert not plan.blocking and plan.job.data.image_size == 24
    assert "this size, and no others" in plan.reasons["data.image_size"]
    assert ids(planned(model="mlp", data={"image_size": 32})) == ["base-one-size"]


def test_rows_are_no_pictures(home: Path) -> None:
    run(home, card("mlp"))
    assert ids(planned(DIAMONDS, "mlp")) == ["base-reads-other"]


def test_columns_are_held_to_those_it_has_learned_from(home: Path) -> None:
    columns = [{"name": "carat", "kind": "number"}, {"name": "cut", "kind": "category"}]
    run(home, card("mlp", {"kind": "table", "task": "regression", "input_shape": [26], "columns": columns}))
    both = tuple(ColumnLook(str(one["name"]), str(one["kind"])) for one in columns)
    assert not planned(replace(DIAMONDS, columns=both), "mlp").blocking
    (check,) = planned(replace(DIAMONDS, columns=both[:1]), "mlp").blocking
    assert (check.id, check.facts["columns"]) == ("base-other-columns", ["cut"])


def text(**more: Any) -> dict[str, Any]:
    told = {"kind": "text", "task": "language-model", "input_shape": [32], "vocabulary": 256, "tokenizer": "bytes"}
    return card("gpt-nano", told | more)


def test_a_language_model_reads_the_runs_tokens_and_no_longer_texts(home: Path) -> None:
    run(home, text())
    plan = planned(PLAYS, "gpt-nano")
    assert (plan.job.data.tokenizer, plan.job.data.sequence_length) == ("bytes", 32)
    with pytest.raises(JobError) as refused:
        planned(PLAYS, "gpt-nano", data={"sequence_length": 64})
    assert refused.value.facts["maximum"] == 32
    with pytest.raises(JobError) as refused:
        planned(PLAYS, "gpt-nano", data={"tokenizer": "bpe"})
    assert refused.value.id == "job-tokenizer-unfit"


def test_what_stays_as_it_is_follows_the_family(home: Path) -> None:
    run(home, card("efficientnet-lite0", PICTURES | {"input_shape": [96, 96, 3]}))
    plan = planned(model="efficientnet-lite0")
    assert plan.job.training.freeze == "head-first" and "starter-missing" not in [one.id for one in plan.checks]
    run(home, card(), name="cnn-ab12")
    with pytest.raises(JobError) as refused:
        planned(preset="run:cnn-ab12", training={"freeze": "backbone"})
    assert refused.value.facts["key"] == "training.freeze"
    plan = planned(preset="run:cnn-ab12")
    assert plan.job.training.freeze == "none" and "goes on learning" in plan.reasons["training.freeze"]


def test_a_run_goes_to_a_rented_machine_by_its_files(home: Path) -> None:
    run(home)
    plan = planned(where={"place": "cloud", "accelerator": "v5litepod-1"}, limits={"money_usd": 5})
    assert plan.preset_bytes > 0 and not [one for one in ids(plan) if one.startswith(("base-", "preset-", "starter-"))]
    assert "starter-not-in-notebook" in ids(planned(where={"place": "colab"}))


@pytest.mark.parametrize(
    ("status", "id"), [("", "base-still-trains"), ("failed", "base-without-result"), ("finished", None)]
)
def test_a_run_has_to_have_ended_with_a_result(home: Path, status: str, id: str | None) -> None:
    run(home, status=status)
    assert ids(planned()) == ([id] if id else [])


def test_a_run_that_goes_on_again_has_not_ended(home: Path) -> None:
    folder = run(home)
    (folder / "claims").mkdir()
    (folder / "claims" / "a0002.json").write_text("{}")
    (folder / "events" / "a0002-w000.jsonl").write_text('{"t":20.0,"kind":"phase","phase":"training"}\n')
    assert ids(planned()) == ["base-still-trains"]


def test_a_run_whose_events_are_a_pipe_is_not_waited_for(home: Path) -> None:
    events = run(home) / "events" / "a0001-w000.jsonl"
    events.unlink()
    os.mkfifo(events)
    assert ids(planned()) == ["base-still-trains"]


def test_a_run_that_is_not_there_is_named_with_the_nearest(home: Path) -> None:
    run(home)
    (check,) = planned(preset="run:hands-ab13").blocking
    assert (check.id, check.facts["nearest"]) == ("base-missing", RUN)
    (home / "trash").mkdir()
    (home / "runs" / RUN).rename(home / "trash" / RUN)
    assert ids(planned()) == ["base-in-trash"]


def test_a_damaged_result_is_refused(home: Path) -> None:
    folder = run(home) / "result"
    (folder / "model.json").write_text(json.dumps(card(task="none")))
    assert ids(planned()) == ["base-damaged"]

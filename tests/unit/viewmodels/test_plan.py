"""The Plan page without a window: choosing, editing, looking, timing, agreeing, starting."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.looks import DIGITS
from tests.fakes.planning import TOLD, World
from tests.fakes.tasks import LaterTasks
from tpu_studio.wire.errors import DataError, RunError


def test_a_new_page_says_what_to_choose_first():
    view = World().view
    assert view.missing == ("data", "Choose data first")
    assert [(step.id, step.state) for step in view.steps] == [
        ("data", "current"),
        ("model", "todo"),
        ("settings", "todo"),
        ("where", "todo"),
    ]
    assert view.is_open("model")
    assert view.is_open("data")


def test_choosing_data_chooses_a_fitting_model_and_makes_a_plan():
    one = World()
    one.model.choose_data("digits", None)
    assert one.view.job["model.name"] == "small-cnn"
    assert one.view.plan is not None
    assert one.view.missing == ("", "")
    assert [step.state for step in one.view.steps] == ["done", "done", "current", "done"]


def test_other_data_keeps_a_model_that_fits_and_replaces_one_that_cannot():
    one = World()
    one.model.choose_model("mlp")
    one.model.choose_data("table", Path("/data/diamonds.csv"))
    assert one.view.job["model.name"] == "mlp"
    one.model.choose_data("text", Path("/data/plays.txt"))
    assert one.view.job["model.name"] == "gpt-nano"


def test_a_run_is_named_after_its_data_until_the_person_names_it():
    one = World()
    one.model.choose_data("table", Path("/data/diamonds.csv"))
    assert one.view.name == "diamonds"
    one.model.choose_data("text", Path("/data/plays"))
    assert one.view.name == "plays"
    one.model.set("name", "my run")
    one.model.choose_data("table", Path("/data/diamonds.csv"))
    assert one.view.name == "my run"


def test_every_edit_plans_anew_without_looking_anew():
    one = World()
    one.model.choose_data("digits", None)
    before = one.view.plan
    one.model.set_text("training.epochs", "7")
    assert one.view.plan is not None
    assert before is not None
    assert one.view.plan.steps < before.steps
    assert len(one.looked) == 1


def test_going_back_to_known_data_does_not_look_again():
    one = World()
    for kind in ("digits", "table", "digits"):
        one.model.choose_data(kind, None if kind == "digits" else Path("/d.csv"))
    assert len(one.looked) == 2
    one.model.look_again()
    assert len(one.looked) == 3


def test_a_wrong_value_is_told_under_its_field_and_the_plan_stays():
    one = World()
    one.model.choose_data("digits", None)
    plan = one.view.plan
    one.model.set_text("training.epochs", "-3")
    field = next(field for field in one.view.main_fields if field.path == "training.epochs")
    assert (field.text, field.error) == ("-3", "It may be more than 0, and at most 100,000.")
    assert one.view.plan == plan
    assert one.view.missing == ("settings", "A value needs correcting")
    one.model.set_text("training.epochs", "3")
    assert one.view.problems == {}
    assert one.view.missing == ("", "")


def test_typed_thousands_and_auto_are_understood():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set_text("training.global_batch", "1,000")
    assert one.view.job["training.global_batch"] == 1000
    one.model.set_text("training.global_batch", "auto")
    assert "training.global_batch" not in one.view.job.given
    one.model.set_text("training.learning_rate", "nonsense")
    assert "needs a number" in one.view.problems["training.learning_rate"].title


def test_a_recommended_value_says_so_and_why():
    one = World()
    one.model.choose_data("digits", None)
    field = next(field for field in one.view.main_fields if field.path == "training.learning_rate")
    assert (field.text, field.unit, field.recommended) == ("0.001", "recommended", True)
    assert field.why


def test_a_value_that_cannot_be_is_not_called_recommended():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set_text("training.learning_rate", "-3")
    field = next(field for field in one.view.main_fields if field.path == "training.learning_rate")
    assert (field.text, field.unit) == ("-3", "") and field.error


def test_setting_epochs_takes_steps_away_and_the_field_follows():
    one = World()
    one.model.choose_data("text", Path("/plays.txt"))
    assert "training.steps" in [field.path for field in one.view.main_fields]
    one.model.set_text("training.epochs", "3")
    assert one.view.job["training.steps"] is None
    assert "training.epochs" in [field.path for field in one.view.main_fields]


def test_model_options_are_fields_too_and_go_with_their_model():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set_text("model.options.width", "16")
    assert one.view.job["model.options"] == {"width": 16}
    one.model.set_text("model.options.blocks", "99")
    assert "model.options.blocks" in one.view.problems
    one.model.set_text("model.options.blocks", "2")
    one.model.choose_model("mlp")
    assert one.view.job["model.options"] == {"width": 16}


def test_undo_and_redo_walk_through_the_edits():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set("training.epochs", 5)
    one.model.set("training.epochs", 6)
    one.model.undo()
    assert one.view.job["training.epochs"] == 5
    one.model.undo()
    assert one.view.job["training.epochs"] is None
    one.model.redo()
    one.model.redo()
    assert one.view.job["training.epochs"] == 6
    assert not one.view.may_redo


def test_one_press_repairs_a_warning():
    one = World()
    one.model.choose_data("images", Path("/hands"))
    one.model.set("training.framework", "jax")
    warning = next(check for check in one.view.warnings if check.id == "jax-convolutions-slow")
    one.model.apply(warning.fix or {})
    assert one.view.plan is not None
    assert one.view.plan.framework == "tensorflow"
    assert one.view.warnings == ()


def test_data_that_cannot_be_read_is_told_and_the_section_stays_open():
    one = World()
    one.trouble = DataError("data-empty", path="/hands")
    one.model.choose_data("images", Path("/hands"))
    assert one.view.look_problem is not None
    assert one.view.look_problem.title == "“hands” holds nothing to learn from"
    assert one.view.plan is None
    assert one.view.missing == ("data", "Fix the data first")
    assert next(step for step in one.view.steps if step.id == "data").state == "problem"
    one.trouble = None
    one.model.look_again()
    assert one.view.plan is not None


def test_a_look_tells_its_progress_and_can_be_stopped():
    tasks = LaterTasks()
    one = World(tasks)
    one.model.choose_data("images", Path("/hands"))
    assert one.view.looking
    one.time += 1
    one.model.tick()
    assert one.view.look_slow
    one.model.choose_data("digits", None)  # other data: the first look is forgotten
    tasks.finish()
    assert one.view.looking
    tasks.finish()
    assert one.view.look is DIGITS


def test_an_old_plan_stays_on_screen_as_stale_while_new_data_is_looked_at():
    tasks = LaterTasks()
    one = World(tasks)
    one.model.choose_data("images", Path("/hands"))
    tasks.finish_all()
    one.model.set("data.validation", 0.3)
    assert one.view.stale
    assert one.view.pill == ("neutral", "Updating")
    tasks.finish_all()
    assert not one.view.stale


def test_real_steps_are_timed_once_editing_pauses_and_the_estimate_gets_narrow():
    one = World()
    one.model.choose_data("digits", None)
    wide = one.view.plan
    one.model.tick()
    assert one.timed == []
    one.pause()
    assert len(one.timed) == 1
    assert one.view.parts is not None
    assert one.view.parts.measured
    assert one.view.pill == ("neutral", "Measured here")
    narrow = one.view.plan
    assert wide and narrow and wide.time_s and narrow.time_s
    assert narrow.time_s.high / narrow.time_s.low < wide.time_s.high / wide.time_s.low
    one.pause()
    one.model.set("training.epochs", 3)  # more steps of the same kind need no new timing
    one.pause()
    assert len(one.timed) == 1
    one.model.set("training.global_batch", 64)
    one.pause()
    assert len(one.timed) == 2


def test_nothing_is_timed_without_an_engine_or_while_another_run_trains():
    one = World(engine="missing")
    one.model.choose_data("digits", None)
    one.pause()
    assert one.timed == []
    two = World()
    two.model.choose_data("digits", None)
    two.model.state.set(replace(two.view, running=("hands",)))
    two.pause()
    assert two.timed == []
    two.model.measure()
    assert len(two.timed) == 1


def test_a_timing_that_fails_keeps_nobody_from_starting_and_is_not_repeated_by_itself():
    one = World()
    one.stopwatch.trouble = RunError("start-failed", raw="no")
    one.model.choose_data("digits", None)
    one.pause()
    one.pause()
    assert len(one.timed) == 1
    assert one.view.timing == "failed"
    one.model.start()
    assert one.launched


def test_a_pretended_price_turns_the_estimate_into_money():
    one = World()
    one.model.choose_data("text", Path("/plays.txt"))
    assert "$" not in one.view.headline
    assert one.view.charge_sentence == "Runs on this computer. Nothing is charged."
    one.model.set_text("where.usd_per_hour", "3")
    assert one.view.headline.startswith("$")
    assert "simulated" in one.view.subline


def test_saving_and_opening_gives_the_same_job(tmp_path: Path):
    one = World()
    one.model.choose_data("table", tmp_path / "diamonds.csv")
    one.model.set("training.epochs", 12)
    assert one.view.dirty
    one.model.save(tmp_path / "mine.tpujob")
    assert not one.view.dirty
    two = World()
    two.model.open_job(tmp_path / "mine.tpujob")
    assert two.view.file == tmp_path / "mine.tpujob"
    assert two.view.job["training.epochs"] == 12
    assert two.view.job["data.path"] == str(tmp_path / "diamonds.csv")
    assert not two.view.dirty


def test_a_broken_job_file_is_told_with_its_line(tmp_path: Path):
    file = tmp_path / "bad.tpujob"
    file.write_text('format = 1\n[model]\nname = "mlp"\n[data]\nkind = "digits"\n[training]\nepoch = 3\n')
    one = World()
    one.model.open_job(file)
    assert one.view.problem is not None
    assert one.view.problem.title == "bad.tpujob, line 7: there is no setting called “training.epoch”"
    assert "training.epochs" in one.view.problem.action


def test_a_column_can_be_used_otherwise():
    one = World()
    one.model.choose_data("table", Path("/d.csv"))
    one.model.set_column("id", "ignore")
    assert one.view.job["data.columns"] == {"id": "ignore"}
    one.model.set_column("id", None)
    assert one.view.job["data.columns"] == {}


def test_use_recommended_takes_back_every_setting_but_model_and_data():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set_text("training.epochs", "5")
    one.model.set_text("training.warmup", "0.3")
    one.model.set_text("training.learning_rate", "x")
    one.model.use_recommended()
    assert not any(path.startswith("training.") for path in one.view.job.given)
    assert one.view.problems == {}
    assert one.view.job["data.kind"] == "digits"


def test_every_key_of_the_schema_is_on_the_page_or_has_its_own_place():
    from tpu_studio.wire.schema import KEYS

    one = World()
    seen = set()
    for kind in ("images", "text"):
        one.model.choose_data(kind, Path("/x"))
        for set_length in ({"training.epochs": 1}, {"training.steps": 1}):
            one.model.apply(set_length)
            seen |= {field.path for field in one.view.main_fields}
            seen |= {field.path for _, fields in one.view.more_fields for field in fields}
    one.model.apply({"data.task": "instruction"})
    seen |= {field.path for _, fields in one.view.more_fields for field in fields}
    own_place = {
        "format",
        "model.name",
        "model.file",
        "model.options",
        "data.kind",
        "data.path",
        "data.target",
        "data.columns",
        "training.framework",
        "where.place",
    }
    of_the_cloud = {"where.accelerator", "where.tier", "where.zones", "where.backend", "where.project"}
    assert {key.path for key in KEYS} - seen - own_place - of_the_cloud == set()


def test_the_models_that_fit_are_offered_with_what_they_would_take():
    one = World()
    of_text = ["gpt-nano", "gpt-mini", "gpt-124m", "pretrained-lm", "text-classifier", "all-minilm-l6-v2"]
    of_pictures = ["small-cnn", "efficientnet-lite0", "kerashub-backbone"]
    assert [choice.name for choice in one.view.choices] == ["mlp", *of_pictures, *of_text]
    one.model.choose_data("images", Path("/hands"))
    assert [choice.name for choice in one.view.choices] == ["small-cnn", "mlp", *of_pictures[1:]]
    first = one.view.choices[0].detail
    assert first.startswith("Recommended · 391 thousand weights · about ")
    assert one.view.choices[0].why == "2,062 pictures are enough to learn from nothing."
    assert [choice.detail.startswith("about ") for choice in one.view.choices[2:]] == [
        True,
        True,
    ]  # nobody counted them
    assert not any(choice.why for choice in one.view.choices[1:])


def test_letters_typed_in_one_go_are_undone_in_one():
    one = World()
    one.model.choose_data("digits", None)
    for text in ("1", "12", "128"):
        one.model.set_text("training.global_batch", text)
        one.time += 0.2
    one.time += 5
    one.model.set_text("training.global_batch", "64")
    one.model.undo()
    assert one.view.job["training.global_batch"] == 128
    one.model.undo()
    assert "training.global_batch" not in one.view.job.given


def test_a_sample_brings_its_data_and_length():
    from tpu_studio.wire.resources import resource_path

    one = World()
    one.model.choose_sample(resource_path("examples", "diamonds.tpujob"))
    assert one.view.job["data.kind"] == "table"
    assert one.view.job["data.target"] == "price"
    assert Path(str(one.view.job["data.path"])).is_file()
    assert one.view.missing == ("", "")


def test_a_timing_of_an_earlier_session_is_taken_without_measuring_again():
    one = World()
    one.stopwatch.remembered = TOLD
    one.model.choose_data("digits", None)
    one.pause()
    assert one.timed == []
    assert one.view.parts is not None
    assert one.view.parts.measured


def _money(one: World):
    return next(field for _, fields in one.view.more_fields for field in fields if field.path == "limits.money_usd")


def test_a_cost_limit_is_echoed_as_it_was_understood():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set_text("where.usd_per_hour", "4,80")
    one.model.set_text("limits.money_usd", "2,50")
    assert one.view.job["limits.money_usd"] == 2.5
    assert (_money(one).text, _money(one).hint) == ("2.5", "Stops at $2.50.")
    one.model.set_text("limits.hours", "0,5")
    assert one.view.job["limits.hours"] == 0.5


def test_a_cost_limit_with_two_readings_is_asked_about_and_nothing_starts_meanwhile():
    one = World()
    one.model.choose_data("digits", None)
    one.model.set_text("limits.money_usd", "3")
    one.model.set_text("limits.money_usd", "2,500")
    field = _money(one)
    assert one.view.job["limits.money_usd"] == 3
    assert (field.text, field.offers) == ("2,500", (("$2.50", "2.5"), ("$2,500.00", "2\u202f500")))
    assert field.error == "That can mean 2.5 or 2500: which one?"
    assert one.view.missing == ("settings", "A value needs correcting")
    one.model.set_text("limits.money_usd", field.offers[1][1])
    assert one.view.job["limits.money_usd"] == 2500
    assert not _money(one).offers and not _money(one).error


def test_a_disk_that_is_nearly_full_is_among_what_the_page_warns_of(monkeypatch: pytest.MonkeyPatch):
    one = World()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(1 << 40, 0, 300 << 10))
    one.model.choose_data("digits", None)
    plan = one.view.plan
    assert plan is not None
    (check,) = [check for check in plan.checks if check.id == "disk-nearly-full"]
    assert check.level == "warning" and check.facts["free_bytes"] == 300 << 10

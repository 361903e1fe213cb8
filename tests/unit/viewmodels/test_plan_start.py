"""Starting from the Plan page: what is launched, what is missing, what is asked before."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.planning import World
from tpu_studio.wire.errors import RunError


def test_starting_launches_exactly_the_plan_that_is_shown():
    one = World()
    one.model.choose_data("digits", None)
    shown = one.view.plan
    one.model.start()
    assert one.launched == [(shown, False)]
    assert one.started == [("digits-k3f7", "digits")]
    assert not one.view.starting


def test_start_points_to_what_is_missing_instead_of_doing_nothing():
    one = World()
    one.model.start()
    assert one.view.attention == ("data", 1)
    one.model.start()
    assert one.view.attention == ("data", 2)
    assert one.view.start_note == "Choose data first."


def test_a_launch_that_fails_is_told_and_can_be_tried_again():
    one = World()
    one.model.choose_data("digits", None)
    one.launch_trouble = RunError("disk-full", folder="/runs", raw="no space")
    one.model.start()
    assert one.view.problem is not None
    assert one.view.problem.title == "The disk is full"
    assert not one.view.starting
    one.launch_trouble = None
    one.model.start()
    assert one.started


def test_without_an_engine_start_offers_to_create_it():
    one = World(engine="missing")
    one.model.choose_data("digits", None)
    one.model.start()
    assert one.view.asking_engine
    assert one.launched == []
    one.model.decline()
    assert not one.view.asking_engine


def test_an_own_model_runs_only_after_consent_to_exactly_this_file(tmp_path: Path):
    file = tmp_path / "model.py"
    file.write_text("def build_model(job): ...\n")
    one = World()
    one.model.choose_data("digits", None)
    one.model.choose_file(file)
    assert one.view.own is not None
    assert "build_model" in one.view.own.text
    one.pause()
    assert one.timed == []  # nothing of it runs before consent
    one.model.start()
    assert one.view.asking_consent
    assert one.launched == []
    one.model.agree()
    plan, _ = one.launched[0]
    assert list(one.consented) == [(plan.consent, "computer")]


def test_agreeing_to_a_file_goes_on_with_what_was_pressed_and_starts_nothing_else(tmp_path: Path):
    file = tmp_path / "model.py"
    file.write_text("def build_model(job): ...\n")
    for asks, checks in ((lambda one: one.model.check(), 1), (lambda one: one.model.ask_consent(), 0)):
        one = World()
        one.model.choose_data("digits", None)
        one.model.choose_file(file)
        begun: list[object] = []
        one.model._checks.start = begun.append
        asks(one)
        assert one.view.asking_consent and not begun
        one.model.agree()
        assert len(begun) == checks
        assert one.launched == [] and not one.view.reviewing and not one.view.needs_consent


def test_a_file_changed_while_it_was_read_is_asked_for_again(tmp_path: Path):
    file = tmp_path / "model.py"
    file.write_text("one = 1\n")
    one = World()
    one.model.choose_data("digits", None)
    one.model.choose_file(file)
    one.model.start()
    file.write_text("import os\n")
    one.model.agree()
    assert one.launched == []
    assert one.consented == {}
    assert one.view.asking_consent
    assert one.view.own is not None
    assert "import os" in one.view.own.text


def test_a_missing_own_file_is_an_error_of_the_plan(tmp_path: Path):
    one = World()
    one.model.choose_data("digits", None)
    one.model.choose_file(tmp_path / "gone.py")
    assert one.view.missing[0] == "model"

"""Fields of the Plan page: the unit of a recommended value, and what a job hands to a file of one's own."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.planning import World
from tpu_studio.viewmodels.planform import option_fields


def test_a_recommended_value_keeps_its_unit():
    one = World()
    one.model.choose_data("digits", None)
    units = {field.path: field.unit for _, fields in one.view.more_fields for field in fields}
    assert units["limits.hours"] == "hours · recommended"
    assert all(
        unit == "recommended" or unit.endswith(" · recommended") or "recommended" not in unit for unit in units.values()
    )


def test_what_a_job_hands_to_a_file_of_ones_own_is_a_field_and_stays_of_its_kind(tmp_path: Path):
    one = World()
    one.model.choose_data("digits", None)
    (tmp_path / "model.py").write_text("")
    options = {"takes": 32, "solver": "eig", "deep": True}
    one.model.apply({"model.file": str(tmp_path / "model.py"), "model.options": options})
    fields = {
        field.path: field for field in option_fields(one.view.job, one.view.plan, one.view.problems, one.view.typed)
    }
    assert [field.text for field in fields.values()] == ["32", "eig", "true"]
    one.model.set_text("model.options.takes", "sixty")
    assert "model.options.takes" in one.view.problems and one.view.job["model.options"] == options
    one.model.set_text("model.options.deep", "perhaps")
    assert "model.options.deep" in one.view.problems
    for name, text in (("takes", "64"), ("solver", "eigh"), ("deep", "false")):
        one.model.set_text(f"model.options.{name}", text)
    assert one.view.job["model.options"] == {"takes": 64, "solver": "eigh", "deep": False}
    assert not one.view.problems
    one.model.undo()
    assert one.view.job["model.options"] == {"takes": 64, "solver": "eigh", "deep": True}

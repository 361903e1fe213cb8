"""What the engine counted in a model is kept by what it depends on, and found again by whoever plans it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.fakes.looks import HANDS, LAPTOP, NOW, counted, job
from tests.fakes.making import make_plan
from tests.fakes.studio import ThisPython
from tpu_studio.local import modelfacts
from tpu_studio.local.modelfacts import ModelFacts
from tpu_studio.local.stopwatch import Stopwatch
from tpu_studio.planner.modelwork import key_of_plan
from tpu_studio.wire.plan import Plan


def planned(**more: object) -> Plan:
    return make_plan(job("small-cnn", "images", **more), HANDS, now=NOW, computer=LAPTOP)


def test_facts_are_found_again_for_the_same_model_with_their_key(tmp_path: Path) -> None:
    facts = ModelFacts(tmp_path)
    assert facts.of(planned()) is None
    facts.keep(planned(), counted(5, 6.0))
    found = facts.of(planned(training={"global_batch": 16}))
    assert found is not None
    assert (found["params"], found["key"], found["precision"]) == (5, key_of_plan(planned()), "float32")
    assert facts.of(planned(model={"options": {"width": 8}})) is None


def test_a_problem_is_told_and_not_kept(tmp_path: Path) -> None:
    facts = ModelFacts(tmp_path)
    assert facts.keep(planned(), {"problem": "model-stuck", "facts": {}})["problem"] == "model-stuck"
    assert facts.of(planned()) is None


def test_what_cannot_be_kept_is_still_told(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    assert ModelFacts(tmp_path).keep(planned(), counted(5, 6.0))["params"] == 5


def test_facts_of_an_older_way_of_counting_are_counted_anew(tmp_path: Path, monkeypatch) -> None:
    ModelFacts(tmp_path).keep(planned(), counted(5, 6.0))
    monkeypatch.setattr(modelfacts, "_SOURCES", ("trainer/work",))
    assert ModelFacts(tmp_path).of(planned()) is None


def test_a_model_is_built_once_for_all_that_ask(tmp_path: Path) -> None:
    program = f"open({str(tmp_path / 'asked')!r}, 'a').write('x'); print({json.dumps(json.dumps(counted(5, 6.0)))})"
    watch = Stopwatch(tmp_path, ThisPython(), command=("-c", program))
    assert watch.counted(planned()) is None
    assert [watch.inspect(planned())["params"] for _ in range(2)] == [5, 5]
    assert (tmp_path / "asked").read_text() == "x"
    kept = watch.counted(replace(planned(), created=1.0))
    assert kept is not None and kept["flops"] == 6.0

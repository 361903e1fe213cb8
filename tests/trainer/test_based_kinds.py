"""Transfer learning on texts and tables: the tokenizer, the categories and the scales are those of the other run."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.in_engine import ROOT
from tests.trainer.test_based import train
from tests.trainer.test_starting import newest
from tests.trainer.training import answers, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.wire import plan as plans
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.planning import Draft, Sources, plan_job

pytestmark = [pytest.mark.engine, pytest.mark.slow]
BASE = "first-ab12"
TEXT = (ROOT / "resources" / "samples" / "shakespeare" / "shakespeare.txt").read_text()
FEW_STEPS = {"steps": 6, "checkpoint_every": 3, "evaluate_every": 3, "framework": "tensorflow"}
STILL = FEW_STEPS | {"steps": 1, "learning_rate": 1e-9, "weight_decay": 0.0}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def planned(run: str, model: dict[str, Any], data: dict[str, Any], training: dict[str, Any]) -> Plan:
    job = parse({"name": "any", "model": model, "data": data, "training": training})
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED), 0.0).plan
    assert not plan.blocking, plan.blocking
    return plans.from_json({**plan.to_json(), "run": run})


def trained(home: Path, run: str, model: dict[str, Any], data: dict[str, Any], training: dict[str, Any]) -> Path:
    return train(put(home / "runs" / run, planned(run, model, data, training))).run


def card(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result" / "model.json").read_text())
    return found


def differing(one: Path, other: Path) -> set[str]:
    """Weights that are not the same in the last copies, as far as both have them in one shape."""
    first, second = newest(one)[0], newest(other)[0]
    both = [name for name in first if name.startswith("weights/") and first[name].shape == second[name].shape]
    return {name for name in both if not np.allclose(first[name], second[name], atol=1e-6)}


@pytest.mark.parametrize("cut", ["bpe", pytest.param("bytes", marks=pytest.mark.thorough)])
def test_a_text_is_cut_by_the_other_runs_tokenizer(home: Path, cut: str) -> None:
    (home / "one.txt").write_text(TEXT[:40_000])
    (home / "two.txt").write_text(TEXT[60_000:75_000].upper())
    model = {"name": "gpt-nano", "options": {"layers": 1, "width": 16, "heads": 2}}
    text = {"kind": "text", "path": str(home / "one.txt"), "sequence_length": 32}
    first = trained(home, BASE, model, text | {"tokenizer": cut}, FEW_STEPS)
    begins = {"name": "gpt-nano", "preset": f"run:{BASE}"}
    plan = planned("second", begins, {"kind": "text", "path": str(home / "two.txt")}, STILL)
    assert plan.job.data.sequence_length == 32 and plan.job.data.tokenizer == ("bytes" if cut == "bytes" else "preset")
    second = train(put(home / "runs" / "second", plan)).run
    assert card(second)["data"]["tokenizer"] == cut
    assert card(second)["data"].get("tokenizer_sha256") == card(first)["data"].get("tokenizer_sha256")
    assert not differing(first, second)  # all is taken over: the answers are the tokens
    short = {"kind": "text", "path": str(home / "two.txt"), "sequence_length": 16}
    assert not differing(first, trained(home, "third", begins, short, STILL))  # the first places


def test_the_model_before_training_is_the_other_run(home: Path) -> None:
    (home / "one.txt").write_text(TEXT[:40_000])
    (home / "two.txt").write_text(TEXT[60_000:75_000].upper())
    model = {"name": "gpt-nano", "options": {"layers": 1, "width": 16, "heads": 2}}
    text = {"kind": "text", "path": str(home / "one.txt"), "sequence_length": 32}
    first = trained(home, BASE, model, text | {"tokenizer": "bpe"}, FEW_STEPS | {"learning_rate": 0.01})
    begins = {"name": "gpt-nano", "preset": f"run:{BASE}"}
    learned = FEW_STEPS | {"steps": 40, "learning_rate": 0.05}
    second = trained(home, "second", begins, {"kind": "text", "path": str(home / "two.txt")}, learned)
    question = ("--temperature", "0", "--tokens", "12", "--prompt", "To be")
    before, after = (answers(second, *more, *question)["answers"][0]["text"] for more in (("--before",), ()))
    assert before == answers(first, *question)["answers"][0]["text"] != after


def test_texts_are_told_apart_anew_in_the_other_runs_pieces(home: Path) -> None:
    for folder, kinds, start in (("one", ("a", "b"), 0), ("two", ("b", "c", "d"), 60_000)):
        for number, kind in enumerate(kinds):
            (home / folder / kind).mkdir(parents=True)
            for text in range(30):
                at = start + 400 * (30 * number + text)
                (home / folder / kind / f"{text}.txt").write_text(TEXT[at : at + 100])
    model = {"name": "text-classifier", "options": {"layers": 1, "width": 16, "heads": 2}}
    first = trained(home, BASE, model, {"kind": "text", "path": str(home / "one")}, FEW_STEPS)
    begins = {"name": "text-classifier", "preset": f"run:{BASE}"}
    rates = {"learning_rate": 1e-9, "weight_decay": 0.0}
    second = trained(home, "second", begins, {"kind": "text", "path": str(home / "two")}, FEW_STEPS | rates)
    plan = plans.read(second)
    assert plan.job.training.freeze == "head-first"  # as with other starter weights
    assert card(second)["data"]["tokenizer_sha256"] == card(first)["data"]["tokenizer_sha256"]
    assert card(second)["classes"] == ["b", "c", "d"]
    assert not differing(first, second)


def rows(path: Path, count: int, *, colours: tuple[str, ...], seed: int, target: str = "price") -> Path:
    drawn = random.Random(seed)
    lines = [f"weight,colour,{target}"]
    for _ in range(count):
        weight, colour = drawn.uniform(0, 10), drawn.choice(colours)
        lines.append(f"{weight:.3f},{colour},{weight * 3 + len(colour) + drawn.uniform(0, 0.5):.3f}")
    path.write_text("\n".join(lines))
    return path


def test_a_table_becomes_numbers_as_it_did_in_the_other_run(home: Path) -> None:
    model = {"name": "mlp", "options": {"layers": 2, "width": 8}}
    table = {"kind": "table", "path": str(rows(home / "one.csv", 200, colours=("red", "green"), seed=1))}
    first = trained(home, BASE, model, table | {"target": "price"}, FEW_STEPS)
    few = {"kind": "table", "path": str(rows(home / "two.csv", 20, colours=("green",), seed=2)), "target": "price"}
    second = trained(home, "second", {"name": "mlp", "preset": f"run:{BASE}"}, few, STILL)
    assert card(second)["data"]["columns"] == card(first)["data"]["columns"]  # though one colour alone is there
    assert card(second)["data"]["target_transform"] == card(first)["data"]["target_transform"]
    assert not differing(first, second)

    path = rows(home / "three.csv", 20, colours=("red",), seed=3, target="cost")
    third = trained(
        home, "third", {"name": "mlp", "preset": f"run:{BASE}"}, few | {"path": str(path), "target": "cost"}, STILL
    )
    assert differing(first, third) == {"weights/answer/kernel", "weights/answer/bias"}  # another number


def test_a_table_that_lacks_a_column_is_refused_by_its_name(home: Path) -> None:
    model = {"name": "mlp", "options": {"layers": 1, "width": 8}}
    table = {"kind": "table", "path": str(rows(home / "one.csv", 60, colours=("red", "green"), seed=1))}
    trained(home, BASE, model, table | {"target": "price"}, FEW_STEPS)
    path = home / "two.csv"
    path.write_text(rows(path, 40, colours=("red", "blue"), seed=2).read_text().replace("colour", "tint"))
    job = parse(
        {
            "model": {"name": "mlp", "preset": f"run:{BASE}"},
            "data": {"kind": "table", "path": str(path), "target": "price"},
        }
    )
    (check,) = plan_job(Draft(job, look(job)), Sources(SHIPPED), 0.0).plan.blocking
    assert (check.id, check.facts["columns"]) == ("base-other-columns", ["colour"])

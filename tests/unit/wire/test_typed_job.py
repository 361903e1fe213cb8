"""A job's values by their names and types: the dataclasses are the schema, and the types are what is checked."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from tpu_studio.wire.job import Job, job_of, parse, resolved_of, set_values
from tpu_studio.wire.schema import BY_PATH, KEYS, SCHEMAS, Top

WHOLE = {"model": {"name": "mlp"}, "data": {"kind": "digits"}, "training": {"epochs": 3, "global_batch": 32}}


def test_each_field_of_a_table_is_a_key_and_each_key_a_field():
    named = {f"{table}.{one.name}" for table, schema in SCHEMAS.items() for one in fields(schema)}
    assert named | {one.name for one in fields(Top)} == set(BY_PATH)
    assert [key.path for key in KEYS][:3] == ["format", "name", "model.name"]


def test_a_value_is_the_same_by_its_name_and_by_its_path():
    job = parse(WHOLE)
    assert job.training.global_batch == job["training.global_batch"] == 32
    assert job.training.learning_rate == job["training.learning_rate"] == "auto"
    assert job.name == job["name"] == "run"


def test_a_key_is_of_the_kind_that_its_type_says():
    kinds = {path: BY_PATH[path].kind for path in ("training.steps", "training.warmup", "data.augment", "data.path")}
    assert list(kinds.values()) == ["integer", "number", "boolean", "path"]
    assert BY_PATH["where.tier"].choices == ("on-demand", "spot", "flex-start")
    assert BY_PATH["training.global_batch"].auto and not BY_PATH["training.accumulate"].auto
    assert BY_PATH["where.zones"].kind == "list" and BY_PATH["model.options"].kind == "table"


def test_a_changed_copy_leaves_the_job_and_what_was_given_as_they_are():
    job = parse(WHOLE, base="/here")
    changed = job.with_values({"training.epochs": 5}, base="/there")
    assert (job.training.epochs, changed.training.epochs) == (3, 5)
    assert (changed.base, changed.given) == ("/there", job.given)
    assert changed["training.epochs"] == 5 and set_values(job, {"training.epochs": 5}).training == changed.training


def test_values_and_back_give_an_equal_job():
    job = parse(WHOLE)
    assert job_of(job.values, job.base, job.given) == job
    assert resolved_of(job.values, job.base, job.given).training == job.training
    assert Job() == job_of({key.path: key.default for key in KEYS})


CHECKED = """
from tpu_studio.wire.job import Job, ResolvedJob
def of(written: Job, resolved: ResolvedJob) -> None:
    batch: int = resolved.training.global_batch
    hours: float = resolved.limits.hours
    of(resolved, resolved)
    asked: int = written.training.global_batch
    slip = resolved.training.global_bach
    of(written, written)
    spelt = resolved.training.optimizer == "adamv"
"""
WRONG = {7: "Incompatible types", 8: "has no attribute", 9: "incompatible type", 10: "Non-overlapping equality"}


def test_a_wrong_key_type_or_choice_is_found_before_anything_runs(tmp_path: Path):
    (tmp_path / "use.py").write_text(CHECKED)
    root = Path(__file__).parents[3]
    mypy = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(tmp_path / "use.py")]
    found = subprocess.run(mypy, cwd=root, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(root)})
    errors = [line for line in found.stdout.splitlines() if "use.py" in line and "error:" in line]
    assert [int(line.split(":")[1]) for line in errors] == list(WRONG)
    assert all(words in line for words, line in zip(WRONG.values(), errors, strict=True))

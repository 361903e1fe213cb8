"""A table that is read as the result of another run has learned to: its columns, categories and scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.bases import RUN, card, run
from tpu_studio.data import based
from tpu_studio.data.look import look
from tpu_studio.data.sources import open_data
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.job import Job, parse

CARAT = {"name": "carat", "kind": "number", "decimal": ".", "median": 1.0, "mean": 1.0, "std": 0.5, "missing": False}
CUT = {"name": "cut", "kind": "category", "categories": ["fair", "good"], "missing": False}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def diamonds(
    home: Path,
    *columns: dict[str, Any],
    lines: str = "",
    header: str = "carat,cut,price",
    scale: dict[str, Any] | None = None,
) -> Job:
    scale = scale or {"log": False, "mean": 100.0, "std": 10.0}
    data = {"kind": "table", "task": "regression", "target": "price", "input_shape": [4], "target_transform": scale}
    run(home, card("mlp", data | {"columns": list(columns) or [CARAT, CUT]}))
    rows = lines or "".join(f"{0.5 + number / 10},good,{90 + number}\n" for number in range(20))
    (home / "new.csv").write_text(f"{header}\n{rows}")
    tree = {"kind": "table", "path": str(home / "new.csv"), "target": "price"}
    return parse({"model": {"name": "mlp", "preset": f"run:{RUN}"}, "data": tree})


def test_numbers_and_categories_are_what_they_were_there(home: Path) -> None:
    job = diamonds(home)
    seen, opened = look(job), open_data(job)
    assert seen.input_shape == (4,) == tuple(opened.description["input_shape"])
    x = opened.train.batch(np.arange(1))["x"][0]
    assert x[1:].tolist() == [0.0, 1.0, 0.0]  # fair, good, any other
    assert opened.description["columns"][0]["mean"] == 1.0
    assert opened.description["target_transform"] == {"log": False, "mean": 100.0, "std": 10.0}


def test_a_column_that_has_one_value_here_is_read_as_it_was_there(home: Path) -> None:
    kinds = {column.name: column.kind for column in look(diamonds(home)).columns}
    assert kinds["cut"] == "category"  # by itself it would be left out: all of them are good


def test_how_this_file_writes_decimals_is_its_own(home: Path) -> None:
    rows = "".join(f'"{number // 10},{number % 10}",good,{90 + number}\n' for number in range(5, 25))
    opened = open_data(diamonds(home, lines=rows))
    assert opened.description["columns"][0]["decimal"] == ","


@pytest.mark.parametrize("name", ["mean", "std"])
def test_a_scale_of_hundreds_of_digits_is_none_for_what_is_predicted(home: Path, name: str) -> None:
    scale = {"log": False, "mean": 100.0, "std": 10.0, name: 10**400}
    assert 0 < open_data(diamonds(home, scale=scale)).description["target_transform"]["std"] < 10


def test_a_column_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(ModelError) as refused:
        open_data(diamonds(home, header="carat,polish,price"))
    assert (refused.value.id, refused.value.facts["columns"]) == ("base-other-columns", ["cut"])


@pytest.mark.parametrize(
    "odd",
    [
        CARAT | {"std": 0},
        CARAT | {"mean": "1"},
        CARAT | {"median": float("1e999")},
        *(CARAT | {name: 10**400} for name in ("median", "mean", "std")),
        *(CARAT | {name: -(10**400)} for name in ("median", "mean", "std")),
        CARAT | {"kind": "picture"},
        CUT | {"categories": ["a"] * 3},
        CUT | {"categories": [str(number) for number in range(1000)]},
        {"name": "day", "kind": "date", "form": "%Y", "median": 1.0, "missing": False, "parts": {"second": {}}},
        {"name": "day"},
    ],
)
def test_a_card_with_odd_columns_is_refused(home: Path, odd: dict[str, Any]) -> None:
    job = diamonds(home, CARAT, odd)
    preset = None
    with pytest.raises(ModelError) as refused:
        preset = based.preset_of(job)
        assert preset is not None
        based.encoders(preset)
    assert refused.value.id == "base-damaged"

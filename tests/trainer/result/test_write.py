"""A run's result: every format there, both models answering as the trained one, whole or as it was before."""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import engine_python, environment
from tests.trainer.results_of import PROGRAM

pytestmark = [pytest.mark.engine, pytest.mark.slow]
OWN_FILE = ("own", "subclassed")
KINDS = ["pictures", "rows", "text", *OWN_FILE]


@pytest.fixture(scope="module", params=["tensorflow", pytest.param("jax", marks=pytest.mark.thorough)])
def made(request: pytest.FixtureRequest, results: Callable[[str], tuple[Path, Any]]) -> tuple[Path, Any]:
    return results(request.param)


@pytest.mark.parametrize("name", KINDS)
def test_the_result_has_every_format_and_nothing_half_done(made: tuple[Path, Any], name: str) -> None:
    wanted = {"metrics.csv", "model.json", "model.keras", "report.html", "saved_model", "tensorboard", "receipt.json"}
    assert set(made[1][name]["entries"]) == wanted | ({"own_model.py"} if name in OWN_FILE else set())
    assert made[1][name]["left_over"] == []


@pytest.mark.parametrize("name", KINDS)
def test_the_saved_model_answers_as_the_model_did_in_either_framework(made: tuple[Path, Any], name: str) -> None:
    assert made[1][name]["saved_model"] < 1e-4


@pytest.mark.parametrize("name", KINDS)
def test_the_keras_file_answers_exactly_as_the_model_did(made: tuple[Path, Any], name: str) -> None:
    assert made[1][name]["keras"] < 1e-6


@pytest.mark.parametrize("name", KINDS)
def test_a_model_whose_description_is_damaged_is_told_as_that(made: tuple[Path, Any], name: str) -> None:
    brackets, empty, bytes_only = made[1][name]["damaged"]
    assert brackets == bytes_only == "result-unreadable"
    assert empty == ("loaded" if name in OWN_FILE else "result-unreadable")  # one's own is made by its file


@pytest.mark.parametrize("name", KINDS)
def test_one_changed_byte_in_a_file_of_the_model_is_told(made: tuple[Path, Any], name: str) -> None:
    assert set(made[1][name]["one_byte"]) == {"result-unreadable"}


def test_the_curves_of_the_run_replace_those_of_an_earlier_attempt(made: tuple[Path, Any]) -> None:
    with open(made[0] / "rows" / "result" / "metrics.csv", newline="") as file:
        assert [row["loss"] for row in csv.DictReader(file)] == ["2.0", "1.0"]


def test_the_card_says_what_goes_in_and_comes_out_and_how_well_it_did(made: tuple[Path, Any]) -> None:
    card = json.loads((made[0] / "pictures" / "result" / "model.json").read_bytes())
    assert card["input"] == {"shape": [None, 8, 8, 1], "dtype": "uint8", "largest": 16.0}
    assert card["classes"] == list("0123456789")
    assert card["trained"]["final"] == {"loss": 1.0, "val_loss": 0.25}
    assert (card["trained"]["steps"], card["trained"]["ended"]) == (20, "stopped-by-user")
    assert {"keras", "tensorflow", "jax", "numpy", "python"} <= set(card["versions"])


def test_a_full_disk_is_told_and_leaves_the_result_before_it(made: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = made
    before = (folder / "rows" / "result" / "model.keras").read_bytes()

    def small_files() -> None:  # a limit on file sizes fails like a full disk: write() stops half-way with an error
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    argv = [str(engine_python()), str(PROGRAM), str(folder / "rows")]
    backend = environment(folder.name.rstrip("0123456789")) | {"JAX_ENABLE_COMPILATION_CACHE": "0"}  # another disk
    done = subprocess.run(
        argv, env=backend, capture_output=True, text=True, timeout=PATIENCE_S, check=False, preexec_fn=small_files
    )
    assert "disk-full" in done.stderr
    assert (folder / "rows" / "result" / "model.keras").read_bytes() == before
    assert [name for name in os.listdir(folder / "rows") if name.startswith(".result")] == []

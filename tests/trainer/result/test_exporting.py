"""A model in other formats: checked beside Keras on what it did not learn from, or not there at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import engine_python, run_in_engine
from tests.trainer.results_of import OWN
from tpu_studio.local import formats
from tpu_studio.wire import exports
from tpu_studio.wire.errors import RunError

pytestmark = [pytest.mark.engine, pytest.mark.slow]
CONSENT = hashlib.sha256(OWN.encode()).hexdigest()


@pytest.fixture(scope="module")
def runs(results: Callable[[str], tuple[Path, Any]]) -> Path:
    return results("tensorflow")[0]


@pytest.fixture(scope="module")
def told(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("exported")
    found: dict[str, Any] = run_in_engine(
        Path(__file__).with_name("program_exporting.py"), str(folder), str(runs), CONSENT
    )
    return found


@pytest.mark.parametrize("run", ["pictures", "rows", "text", "own"])
def test_as_litert_a_model_answers_as_keras_does_on_unseen_examples(told: dict[str, Any], run: str) -> None:
    seen = told[f"{run} litert"]
    assert seen["checked"] == "examples" and seen["count"] >= 8 and seen["difference"] <= 1e-3


def test_a_model_that_computes_in_bfloat16_is_held_in_float32(told: dict[str, Any]) -> None:
    """LiteRT's kernels know no other; a model of a rented TPU was refused as unknown operations."""
    assert told["wide"]["count"] == 200 and told["wide"]["difference"] <= 1e-3
    assert told["wide"]["off"] <= 0.02  # what it has computed of its weights is carried over as well


def test_safetensors_hold_every_weight_by_its_name(told: dict[str, Any]) -> None:
    seen = told["pictures safetensors"]
    assert seen == {"checked": "weights", "count": len(told["tensors"]), "difference": 0.0}
    assert [10] in told["tensors"].values() and told["metadata"]["format"] == "keras"


def test_a_model_of_ones_own_is_not_made_without_a_yes_to_its_file(told: dict[str, Any]) -> None:
    assert told["own safetensors"] == {"error": "model-no-consent"}


def test_what_answers_otherwise_is_refused_with_how_much(told: dict[str, Any]) -> None:
    assert told["near"]["checked"] == "inputs" and told["near"]["count"] == 200
    assert told["off"] == {"error": "export-differs", "difference": pytest.approx(3e-2, rel=1e-3)}


def test_the_file_appears_whole_and_beside_it_nothing(runs: Path, tmp_path: Path) -> None:
    form, to = exports.by_id("safetensors"), tmp_path / "model.safetensors"
    written = formats.write(engine_python(), runs / "pictures", form, to)
    assert written.file == to and written.bytes == to.stat().st_size > 1000 and list(tmp_path.iterdir()) == [to]
    with pytest.raises(RunError) as refused:
        formats.write(engine_python(), runs / "pictures", form, to)
    assert refused.value.id == "export-file-exists"
    with pytest.raises(RunError) as missing:
        formats.write(engine_python(), tmp_path, form, to, replace=True)
    assert missing.value.id == "result-missing" and list(tmp_path.iterdir()) == [to]
    with pytest.raises(RunError) as nowhere:
        formats.write(engine_python(), runs / "pictures", form, tmp_path / "no" / "model")
    assert nowhere.value.id == "export-unwritable"

"""A model as ONNX: ONNX Runtime answers as Keras does; what writes it stands beside the engine, or is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import engine_python
from tests.trainer.results_of import OWN, SUBCLASSED
from tpu_studio.local import formats
from tpu_studio.local.engine import engine_root, packages_for
from tpu_studio.wire import exports
from tpu_studio.wire.errors import NotReady, RunError

pytestmark = [pytest.mark.engine, pytest.mark.slow]
FORM = exports.by_id("onnx")
CONSENTS = {"own": OWN, "subclassed": SUBCLASSED}


@pytest.fixture(scope="module")
def packages() -> Path:
    """Skips, by name, where the exporter is not installed (`tpu-studio engine --install --with onnx-exporter`)."""
    engine_python()
    try:
        found = packages_for(engine_root(), FORM)
    except NotReady:
        pytest.skip("no ONNX exporter on this computer (tpu-studio engine --install --with onnx-exporter)")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def runs(results: Callable[[str], tuple[Path, Any]]) -> Path:
    return results("tensorflow")[0]


@pytest.mark.parametrize("run", ["pictures", "rows", "text", "own", "subclassed"])
def test_a_model_answers_as_keras_does_on_unseen_examples(packages: Path, runs: Path, tmp_path: Path, run: str) -> None:
    consent = hashlib.sha256(CONSENTS[run].encode()).hexdigest() if run in CONSENTS else ""
    to = tmp_path / "model.onnx"
    written = formats.write(engine_python(), runs / run, FORM, to, consent=consent, packages=packages)
    assert written.checked == "examples" and written.count >= 8 and written.difference <= 1e-3
    assert list(tmp_path.iterdir()) == [to] and to.stat().st_size == written.bytes > 500


def test_what_answers_otherwise_is_not_there(packages: Path, runs: Path, tmp_path: Path) -> None:
    """A packages folder whose ONNX Runtime is another: its answers are not the model's."""
    false = tmp_path / "packages"
    false.mkdir()
    for one in packages.iterdir():
        if one.name != "onnxruntime":
            (false / one.name).symlink_to(one)
    (false / "onnxruntime.py").write_text(
        "import numpy as np\n"
        "class _Named:\n    name = 'x'\n"
        "class InferenceSession:\n"
        "    def __init__(self, path, providers): pass\n"
        "    def get_inputs(self): return [_Named()]\n"
        "    def get_outputs(self): return [_Named()]\n"
        "    def run(self, names, given): return [np.full((1, 10), 7.0, 'float32')]\n"
    )
    to = tmp_path / "model.onnx"
    with pytest.raises(RunError) as refused:
        formats.write(engine_python(), runs / "pictures", FORM, to, packages=false)
    assert refused.value.id == "export-differs" and not to.exists()


def test_without_its_packages_it_is_refused_in_a_sentence(runs: Path, tmp_path: Path) -> None:
    to = tmp_path / "model.onnx"
    with pytest.raises(RunError) as refused:
        formats.write(engine_python(), runs / "pictures", FORM, to)
    assert refused.value.id in ("export-unsupported", "export-failed") and not to.exists()
    assert json.dumps(dict(refused.value.facts))

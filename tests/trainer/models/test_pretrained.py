"""Models from KerasHub's folders are what KerasHub makes of them, in every framework, and open without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.presets import names, unpacked
from tests.trainer.in_engine import ROOT, run_in_engine
from tests.trainer.training import planned
from tpu_studio.wire import plan as plans

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("program_pretrained.py")


@pytest.mark.parametrize("backend", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_every_network_sees_what_keras_hub_s_sees(tmp_path: Path, backend: str) -> None:
    found = run_in_engine(PROGRAM, "seen", str(tmp_path), backend=backend)
    assert sorted(found) == sorted(names())
    for name, one in found.items():
        assert one["difference"] < 1e-5 and one["spread"] > 1e-2, (name, one)
        assert one["answer"] == ["answer/bias", "answer/kernel"] and one["opens"], name
        assert not one["norms_learn"], name


def test_a_folder_whose_weights_do_not_fit_its_description_is_refused_by_name(tmp_path: Path) -> None:
    found = run_in_engine(PROGRAM, "unfit", str(tmp_path), backend="jax")
    assert {one["id"] for one in found.values()} == {"preset-unfit"}
    assert (found["narrow"]["file"], found["deep"]["file"]) == ("model.weights.h5", "model.weights.h5")
    assert found["heads"]["file"] == "config.json"
    assert found["without"]["file"] == found["blocks"]["file"] == "config.json"
    assert "'fused'" in found["blocks"]["why"]
    assert "zero" in found["zero"]["why"] and "zero" in found["divisor"]["why"]


def test_what_a_folder_claims_is_counted_before_it_takes_memory(tmp_path: Path) -> None:
    found = run_in_engine(PROGRAM, "hostile", str(tmp_path), backend="jax")
    assert [found.pop(taken).keys() for taken in ("small", "shards", "halves")] == [{"mb"}] * 3
    assert found.pop("memory")["id"] == "preset-needs-memory"
    at_once = [found.pop(name)["id"] for name in list(found) if name.endswith(" at once")]
    assert at_once == ["preset-unreadable"] * 5
    assert {one["id"] for one in found.values()} == {"preset-unfit"}
    assert {name: one["mb"] for name, one in found.items() if one["mb"] > 500} == {}
    whys = {
        **dict.fromkeys(("kernel", "wide", "places"), "it has more than "),
        "claims": "has 1,000,000,000 numbers, of which at most ",
        **dict.fromkeys(("packed", "chunk", "holes"), "is packed, or not there as a whole"),
        "texts": "holds |S1000",
        "unnamed": "model.weights.json does not name layers/conv2d",
    }
    assert {name: whys[name] in found[name]["why"] for name in found} == dict.fromkeys(whys, True), found


def test_its_work_is_counted_from_the_description_alone(tmp_path: Path) -> None:
    folder = unpacked("resnet-bottleneck", tmp_path)
    data = {"kind": "images", "path": str(ROOT / "resources" / "samples" / "sign-digits"), "image_size": 64}
    plan = planned({"name": "x", "model": {"name": "kerashub-backbone", "preset": str(folder)}, "data": data})
    file = tmp_path / "plan.json"
    file.write_bytes(plans.dumps(plan))

    found = run_in_engine(PROGRAM, "counted", str(file), backend="jax")
    assert found["flops"] > 3 * 1e6 and found["convolutions"] and found["unclear"] == []
    learns = sum(one["params"] for one in found["layers"] if one["kind"] != "BatchNormalization")
    assert found["params"] == learns > 60_000

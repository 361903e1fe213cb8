"""``models``: each model with its options, what it learns from, and whether what it can begin from is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.cli.main import main
from tpu_studio.wire.models import MODELS


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path))

    def ask(*arguments: str) -> str:
        assert main(["models", *arguments]) == 0
        return capsys.readouterr().out

    return ask


def test_every_model_is_listed_with_its_options_and_what_it_learns_from(ask: Any) -> None:
    told = {one["name"]: one for one in json.loads(ask("--json"))["models"]}
    assert list(told) == [model.name for model in MODELS]
    assert told["gpt-nano"]["takes"][0] == "text" and told["gpt-nano"]["starter"] is None
    (dropout,) = told["efficientnet-lite0"]["options"]
    assert (dropout["name"], dropout["default"], dropout["maximum"]) == ("dropout", 0.2, 0.9)


def test_what_a_model_can_begin_from_comes_with_its_licence_and_whether_it_is_here(ask: Any, tmp_path: Path) -> None:
    def starter() -> Any:
        models = json.loads(ask("--json", "--kind", "images"))["models"]
        return next(model["starter"] for model in models if model["starter"])

    found = starter()
    assert (found["preset"], found["licence"]) == ("starter:efficientnet-lite0", "Apache-2.0")
    assert (found["installed"], found["problem"]) == (False, "starter-missing")
    (tmp_path / "starter-weights").mkdir()
    (tmp_path / "starter-weights" / "efficientnet-lite0.safetensors").write_bytes(b"torn")
    assert (starter()["installed"], starter()["problem"]) == (False, "starter-damaged")


def test_a_model_that_begins_from_a_folder_names_the_networks_that_it_can_hold(ask: Any) -> None:
    told = {one["name"]: one["begins_from"] for one in json.loads(ask("--json"))["models"]}
    assert {"ResNetBackbone", "ViTBackbone"} <= set(told["kerashub-backbone"]) and told["efficientnet-lite0"] == []
    assert "Begins from a folder, named by model.preset: ResNetBackbone" in ask("--kind", "images")
    assert {"llama", "gemma3_text"} <= set(told["pretrained-lm"]) and "ViTBackbone" not in told["pretrained-lm"]


def test_what_a_model_reached_is_told_with_its_data(ask: Any) -> None:
    told = {one["name"]: one["measured"] for one in json.loads(ask("--json"))["models"]}
    assert told["gpt-mini"] == []
    few = next(one for one in told["efficientnet-lite0"] if one["examples"] == 480)
    assert (few["result"], few["data"], few["page"]) == (
        "96.7 % right",
        "480 photographs of ten hand signs",
        "docs/training.md",
    )
    assert "Measured on unseen examples: 96.7 % right, from 480 photographs of ten hand signs." in ask(
        "--kind", "images"
    )


def test_a_kind_of_data_names_those_that_learn_from_it(ask: Any) -> None:
    text = ask("--kind", "text")
    assert "gpt-124m" in text and "efficientnet" not in text
    assert "engine --install --with starter-weights" in ask("--kind", "images")


def test_models_of_the_hub_that_are_planned_with_before_they_are_asked_for_are_listed(ask: Any) -> None:
    known = {one["preset"]: one for one in json.loads(ask("--json"))["known"]}
    small, large = known["hf:Qwen/Qwen2.5-0.5B"], known["hf:Qwen/Qwen3-8B"]
    assert (small["parameters"], small["licence"], small["read"]) == (494_032_768, "apache-2.0", True)
    assert not large["read"]
    told = " ".join(ask().split())
    assert "hf:Qwen/Qwen2.5-0.5B" in told and "hf:Qwen/Qwen3-8B" not in told

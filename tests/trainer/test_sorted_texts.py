"""Texts that are told apart, in the engine: tokens, the encoder beside its formulas, trainings, and asking a result."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine
from tests.trainer.training import Training, answers, completed, curve, planned, put
from tpu_studio.wire.plan import Plan

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("models") / "program_encoder.py"
WORDS = {"weather": ("rain", "sunny", "clouds", "storm"), "food": ("bread", "cheese", "soup", "apples")}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """120 texts of two kinds, that a word or two tell apart."""
    path = tmp_path / "texts.csv"
    with open(path, "w", newline="") as file:
        rows = [
            (f"Today, as on day {number}, there is {words[number % 4]} and {words[number % 3]} for all", kind)
            for number in range(60)
            for kind, words in WORDS.items()
        ]
        csv.writer(file).writerows([("text", "about"), *rows])
    return path


def plan_of(path: Path, tokenizer: str = "bpe", **training: Any) -> Plan:
    options = {"layers": 1, "width": 32, "heads": 2}
    model = {"name": "text-classifier", "options": options}
    data = {"kind": "text", "path": str(path), "tokenizer": tokenizer}
    rhythm = {"steps": 60, "checkpoint_every": 20, "evaluate_every": 20, "global_batch": 16}
    return planned({"name": "texts", "model": model, "data": data}, **rhythm | training)


def test_the_encoder_computes_what_its_formulas_say_whatever_stands_behind_a_text() -> None:
    told = run_in_engine(PROGRAM, "drawn", backend="jax")
    assert told["left"] == ["answer/bias", "answer/kernel"]
    assert told["off"] < 1e-5 and told["padding"] < 1e-5


def test_published_weights_give_the_published_likeness() -> None:
    told = run_in_engine(PROGRAM, "published", backend="jax")
    if not told["installed"]:
        pytest.skip("no starter weights on this computer: tpu-studio engine --install --with starter-weights")
    assert told["ids"] == [101, 1037, 2158, 2003, 5983, 2833, 1012, 102]
    assert told["off"] < 1e-4
    # The first is what the documentation of sentence-transformers prints for this model and these sentences.
    assert told["alike"][1] == pytest.approx(0.7553, abs=1e-3) and told["alike"][2] < 0.3
    assert told["shortened"] == [101, 1037, 2158, 2003, 102]


def test_tokens_are_learned_alike_in_every_process_and_stand_for_any_text() -> None:
    # Cold: Python hashes otherwise in each.
    one, other = (run_in_engine(PROGRAM, "learned", backend="jax", cold=True) for _ in range(2))
    assert one == other
    assert one["vocabulary"] <= 512 and one["pieces"] == 4
    assert one["texts"] == ["The quick brown fox", "中文 é 🦊"]
    assert one["same"] and one["broken"] == "ValueError"


@pytest.mark.parametrize(
    ("framework", "tokenizer"), [("jax", "bpe"), pytest.param("tensorflow", "bytes", marks=pytest.mark.thorough)]
)
def test_kinds_of_text_are_learned_and_a_result_tells_new_ones_apart(
    framework: str, tokenizer: str, texts: Path, tmp_path: Path
) -> None:
    run = put(tmp_path / "run", plan_of(texts, tokenizer, framework=framework))
    training = completed(run)
    assert curve(training, name="val_accuracy")[60] > 0.9

    card = json.loads((run / "result" / "model.json").read_text())
    kept = run / "result" / "tokenizer.json"
    assert card["data"]["tokenizer"] == tokenizer and kept.exists() == (tokenizer == "bpe")
    if kept.exists():
        assert card["data"]["tokenizer_sha256"] == hashlib.sha256(kept.read_bytes()).hexdigest()
    found = answers(run, "Today there is soup and bread for all", "clouds and rain for all")["answers"]
    assert [one["classes"][0]["name"] for one in found] == ["food", "weather"]
    assert all(sum(kind["probability"] for kind in one["classes"]) == pytest.approx(1.0) for one in found)
    assert len(answers(run, str(texts))["answers"]) == 120
    alone = run_in_engine(PROGRAM, "opened", str(run / "result"), "apples and cheese for all", backend=framework)
    assert alone == {"kind": "food", "length": card["data"]["sequence_length"]}


def test_killed_it_learns_the_same_tokens_and_goes_on_bit_for_bit(texts: Path, tmp_path: Path) -> None:
    whole = completed(put(tmp_path / "whole", plan_of(texts, framework="jax")))
    run = put(tmp_path / "killed", plan_of(texts, framework="jax"))
    with Training(run) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 20)
        killed.kill()
    resumed = completed(run, 2)

    assert resumed.kinds("resume")[0]["step"] >= 20
    for metric in ("loss", "val_loss"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric


def test_a_tokenizer_of_another_model_is_refused(texts: Path, tmp_path: Path) -> None:
    run = put(tmp_path / "run", plan_of(texts, framework="jax", steps=2))
    completed(run)
    kept = run / "result" / "tokenizer.json"
    kept.write_text(kept.read_text().replace("soup", "sooup", 1) + " ")
    assert answers(run, "Soup for all")["error"]["id"] == "result-unreadable"

"""Texts that are continued in pieces learned from them (BPE), in the engine: tokens, trainings, and asking a result."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine
from tests.trainer.training import Training, answers, completed, curve, planned, put
from tpu_studio.wire.plan import Plan

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("models") / "program_pieces.py"
LINE = "{}: It was the best of times, it was the wörst of times, née {}.\n\n"
TALE = "".join(LINE.format(number, number % 7) for number in range(1200))


@pytest.fixture
def tale(tmp_path: Path) -> Path:
    path = tmp_path / "tale.txt"
    path.write_text(TALE, encoding="utf-8")
    return path


def tree_of(path: Path, tokenizer: str = "bpe", **data: Any) -> dict[str, Any]:
    model = {"name": "gpt-nano", "options": {"layers": 1, "width": 32, "heads": 2}}
    return {"name": "tale", "model": model, "data": {"kind": "text", "path": str(path), "tokenizer": tokenizer, **data}}


def plan_of(path: Path, tokenizer: str = "bpe", **training: Any) -> Plan:
    rhythm = {"steps": 40, "checkpoint_every": 10, "evaluate_every": 10, "global_batch": 8}
    return planned(tree_of(path, tokenizer, sequence_length=16), **rhythm | training)


def opened(path: Path, **more: Any) -> dict[str, Any]:
    tree = tree_of(path, **more)
    told: dict[str, Any] = run_in_engine(PROGRAM, "opened", json.dumps(tree), backend="jax")
    return told


def test_pieces_are_the_same_in_every_process_and_put_together_they_are_the_text_to_the_byte() -> None:
    one, other = (run_in_engine(PROGRAM, "cut_up", backend="jax", cold=True) for _ in range(2))
    assert one == other
    assert one["same"] and one["size"] and one["fewer"] and one["nothing"]
    assert 257 < one["vocabulary"] <= 400
    endless = [one[name] for name in ("longest", "longest_blank", "longest_odd", "told_apart")]
    assert all(1 < longest <= 100 for longest in endless)  # whole, each takes its length squared
    assert one["asked_for"] == 40_000  # the library keeps each in pieces: a hundred times its letters of memory
    assert one["refused"] == ["", *(f"one of its tokens is {long:,} bytes long" for long in (1001, 14_000_000))]
    assert sum(one["parts"]) == 4 and len(one["parts"]) > 1  # a letter that was never seen is cut in its bytes


def test_the_look_counts_about_what_is_opened_and_nothing_kept_aside_is_lost(tale: Path) -> None:
    told = opened(tale)
    tokens, rows = told["looked"]
    assert tokens == pytest.approx(told["tokens"], rel=0.12)  # which the steps of an epoch are counted by
    assert told["vocabulary"] <= rows == 384
    assert told["tokens_a_byte"] == pytest.approx(1.0)
    raw = tale.read_bytes()
    cut = len(raw) - round(len(raw) * 0.2)
    assert told["kept"] in raw[cut - 4 :].decode("utf-8", "ignore")[:70]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_other_encodings_and_several_files_give_the_same_pieces(tale: Path, tmp_path: Path, encoding: str) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    half = TALE.index("600: ")
    for name, part in (("a.txt", TALE[: half - 1]), ("b.txt", TALE[half:])):
        (folder / name).write_text(part, encoding=encoding)
    one, other = opened(tale), opened(folder)
    assert {**one, "looked": 0} == {**other, "looked": 0}


def test_a_text_with_little_to_learn_from_has_fewer_pieces_and_too_short_a_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("Once upon a time there was a fox.\n\n\n" * 12)
    told = opened(path)
    assert 257 < told["vocabulary"] < 384 and told["length"] >= 8
    path.write_text("To be.")
    assert opened(path)["error"] == "data-too-few"
    few = opened(path, validation=0.1) | {"path": ""}
    assert (few["error"], few["unit"]) == ("data-too-few", "tokens")


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_a_text_is_learned_in_pieces_and_gone_on_with(framework: str, tale: Path, tmp_path: Path) -> None:
    plan = plan_of(tale, framework=framework)
    assert plan.options["vocabulary"] == 384
    run = put(tmp_path / "run", plan)
    training = completed(run)

    card, kept = json.loads((run / "result" / "model.json").read_text()), run / "result" / "tokenizer.json"
    assert card["output"]["shape"] == [None, 16, 384]
    assert card["data"]["tokenizer_sha256"] == hashlib.sha256(kept.read_bytes()).hexdigest()
    assert card["data"]["vocabulary"] <= 384
    nats, bits = (curve(training, name=name)[40] for name in ("val_nats_per_token", "val_bits_per_byte"))
    assert nats < math.log(384) and 0 < bits < nats / math.log(2)  # a token is more than a byte
    text = answers(run, "--prompt", "7: It was the wörst", "--tokens", "40")["answers"][0]["text"]
    assert len(text) > 40 and "\N{REPLACEMENT CHARACTER}" not in text[:20]
    undone = run_in_engine(PROGRAM, "decoded", str(run / "result"), "the wörst of times", backend=framework)
    assert undone["undone"] == "the wörst of times" and undone["tokens"] < 16

    kept.write_bytes(kept.read_bytes() + b" ")
    assert answers(run, "--prompt", "It")["error"]["id"] == "result-unreadable"


def test_bytes_have_as_many_bits_as_their_loss(tale: Path, tmp_path: Path) -> None:
    training = completed(put(tmp_path / "run", plan_of(tale, "bytes", framework="jax", steps=10)))
    nats, bits = (curve(training, name=name)[10] for name in ("val_nats_per_token", "val_bits_per_byte"))
    assert bits == pytest.approx(nats / math.log(2), rel=1e-5)


def test_killed_it_goes_on_bit_for_bit_and_never_with_other_tokens(tale: Path, tmp_path: Path) -> None:
    whole = completed(put(tmp_path / "whole", plan_of(tale, framework="jax")))
    run = put(tmp_path / "killed", plan_of(tale, framework="jax"))
    with Training(run) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 10)
        killed.kill()
    resumed = completed(run, 2)
    assert resumed.kinds("resume")[0]["step"] >= 10
    for metric in ("loss", "val_loss", "val_bits_per_byte"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric

    folder = max((run / "checkpoints").iterdir())
    position = json.loads((folder / "data-w000.json").read_bytes())
    (folder / "data-w000.json").write_text(json.dumps({**position, "tokenizer": "0" * 64}))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["sha256"]["data-w000.json"] = hashlib.sha256((folder / "data-w000.json").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with Training(run, 3) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("checkpoint-corrupt", "tokenizer-differs")

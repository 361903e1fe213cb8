"""A language model of a Hugging Face folder learns a text, by LoRA and by all of its weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.presets import decoder
from tests.trainer.in_engine import engine_python
from tests.trainer.test_starting import newest, tensors
from tests.trainer.training import Training, answers, curve, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.local import formats
from tpu_studio.wire import exports
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job, preset_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]
LINE = "{} quick brown foxes jump over the lazy dog, née {}.\n\n"


@pytest.fixture
def tale(tmp_path: Path) -> Path:
    path = tmp_path / "tale.txt"
    path.write_text("".join(LINE.format(number, number % 7) for number in range(900)), encoding="utf-8")
    return path


def planned(folder: Path, tale: Path, framework: str = "jax", rank: int = 4, **training: object) -> Plan:
    tree = {
        "name": "tale",
        "model": {"name": "pretrained-lm", "preset": str(folder), "lora_rank": rank},
        "data": {"kind": "text", "path": str(tale), "sequence_length": 16},
        "training": {"steps": 40, "checkpoint_every": 10, "evaluate_every": 10, "framework": framework} | training,
    }
    job = parse(tree)
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED, preset=preset_of), 0.0).plan
    assert not plan.blocking, plan.checks
    return plans.from_json({**plan.to_json(), "run": "test-0000"})


def train(run: Path, attempt: int = 1) -> Training:
    with Training(run, attempt, {"TPU_STUDIO_HOME": str(run.parent)}) as training:
        assert training.outcome()["status"] == "finished", training.outcome()
    return training


@pytest.mark.parametrize(
    ("framework", "precision"),
    [
        ("jax", "bfloat16"),
        pytest.param("jax", "float32", marks=pytest.mark.thorough),
        pytest.param("tensorflow", "bfloat16", marks=pytest.mark.thorough),
    ],
)
def test_killed_it_goes_on_bit_for_bit_and_a_copy_holds_what_learns_alone(
    tmp_path: Path, tale: Path, framework: str, precision: str
) -> None:
    folder = decoder("qwen2", tmp_path)
    plan = planned(folder, tale, framework, precision=precision)
    whole = train(put(tmp_path / "whole", plan))
    _, position, copy = newest(whole.run)
    assert position["base"] == plan.preset_sha256 == reading.read(folder).sha256
    kept = tensors(copy / "state.safetensors")
    assert {name.rpartition("/")[2] for name in kept} == {"lora_kernel_a", "lora_kernel_b"}
    run = put(tmp_path / "killed", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(tmp_path)}) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 20)
        killed.kill()
    resumed = train(run, 2)
    for metric in ("loss", "val_loss", "learning_rate"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric
    losses = curve(whole, name="val_loss")
    assert losses[40] < losses[10]

    card = json.loads((whole.run / "result" / "model.json").read_text())
    assert card["began_from"] == {"network": "qwen2", "sha256": plan.preset_sha256}
    assert card["output"]["shape"][-1] == reading.read(folder).vocabulary
    told = answers(whole.run, "3 quick brown")
    assert told


def test_all_of_its_weights_learn_without_a_rank(tmp_path: Path, tale: Path) -> None:
    run = train(put(tmp_path / "run", planned(decoder("gpt2", tmp_path), tale, rank=0))).run
    learned = {name.rpartition("/")[2] for name in tensors(newest(run)[2] / "state.safetensors")}
    assert {"embeddings", "kernel", "bias", "gamma", "beta"} <= learned


def test_a_folder_that_changed_since_the_plan_trains_nothing(tmp_path: Path, tale: Path) -> None:
    folder = decoder("smollm", tmp_path)
    run = put(tmp_path / "run", planned(folder, tale))
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    with Training(run, 1, {"TPU_STUDIO_HOME": str(tmp_path)}) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", "preset-changed")


@pytest.mark.parametrize(
    ("name", "rank"),
    [("gpt2", 4), *(pytest.param(*one, marks=pytest.mark.thorough) for one in (("gemma3", 4), ("gpt2", 0)))],
)
def test_a_result_goes_back_into_a_folder_that_answers_as_it_does(
    tmp_path: Path, tale: Path, name: str, rank: int
) -> None:
    """Read by who reads such folders here, which is held to Transformers (`tests/trainer/models/test_decoders.py`)."""
    folder = decoder(name, tmp_path)
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "LICENSE").write_text("of the base")
    (folder / "pytorch_model.bin").write_bytes(b"no more of it")
    run = train(put(tmp_path / "run", planned(folder, tale, rank=rank))).run
    to = tmp_path / "out"
    written = formats.write(engine_python(), run, exports.by_id("huggingface"), to)
    assert (written.file, written.checked, written.difference < 1e-4) == (to, "folder", True)
    kept = {one.name for one in to.iterdir()}
    assert kept >= {"config.json", "tokenizer.json", "tokenizer_config.json", "LICENSE", "README.md"}
    assert "pytorch_model.bin" not in kept and str(tmp_path) not in (to / "README.md").read_text()
    again = reading.read(to)
    assert again.config == reading.read(folder).config and again.sha256 != reading.read(folder).sha256
    before, after = ((one / "model.safetensors").read_bytes() for one in (folder, to))
    assert len(before) == len(after) and before != after

    (folder / "NOTICE").symlink_to("pytorch_model.bin")  # a file of the folder that is not asked for
    (folder / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": "evil.py"}}')
    with pytest.raises(StudioError, match="preset-foreign"):
        formats.write(engine_python(), run, exports.by_id("huggingface"), tmp_path / "other")
    (folder / "tokenizer_config.json").unlink()
    card = json.loads((run / "result" / "model.json").read_text())
    card["trained"] |= {"steps": "many", "final": {"loss": 1.0, "x |\n<img src=//evil>": 2.0}}
    (run / "result" / "model.json").write_text(json.dumps(card))
    told = formats.write(engine_python(), run, exports.by_id("huggingface"), to)
    assert told.file == to / "run"  # beside what is there
    assert not (told.file / "NOTICE").exists()
    about = (told.file / "README.md").read_text()
    assert "| loss | 1 |" in about and "evil" not in about and "many" not in about
    with pytest.raises(RunError, match="export-exists"):
        formats.write(engine_python(), run, exports.by_id("huggingface"), to)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(StudioError, match="preset-changed"):
        formats.write(engine_python(), run, exports.by_id("huggingface"), tmp_path / "other")
    assert not (tmp_path / "other").exists()

"""A language model of a Hugging Face folder learns to answer: what is learned, gone on with, asked and given on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.presets import blank, decoder
from tests.trainer.in_engine import engine_python
from tests.trainer.predict.test_predict import Server
from tests.trainer.test_adapted_texts import train
from tests.trainer.test_starting import newest
from tests.trainer.training import Training, answers, curve, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.local import formats
from tpu_studio.wire import exports
from tpu_studio.wire import plan as plans
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job, preset_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}"
)
ANSWER = "It is so."


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [{"prompt": f"Is {n} quick?", "completion": ANSWER if n % 3 else f"{ANSWER} Or not."} for n in range(120)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def with_template(name: str, root: Path, jinja: str = CHATML) -> Path:
    folder = decoder(name, root)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": jinja}))
    return folder


def planned(
    folder: Path, table: Path, framework: str = "jax", *, devices: int = 1, rank: int = 4, **tables: Any
) -> Plan:
    usual = {"steps": 40, "checkpoint_every": 10, "evaluate_every": 10, "global_batch": 8, "framework": framework}
    tree = {
        "name": "pairs",
        "model": {"name": "pretrained-lm", "preset": str(folder), "lora_rank": rank},
        "data": {"kind": "text", "path": str(table), "sequence_length": 48} | tables.get("data", {}),
        "training": usual | tables.get("training", {}),
    }
    job = parse(tree)
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED, preset=preset_of), 0.0).plan
    assert not plan.blocking, plan.checks
    return plans.from_json({**plan.to_json(), "devices": devices, "run": "test-0000"})


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_killed_it_goes_on_bit_for_bit(tmp_path: Path, pairs: Path, framework: str) -> None:
    plan = planned(with_template("qwen2", tmp_path), pairs, framework)
    assert (plan.task, plan.job.data.chat_template) == ("instruction", "chatml")
    whole = train(put(tmp_path / "whole", plan))
    run = put(tmp_path / "killed", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(tmp_path)}) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 20)
        killed.kill()
    resumed = train(run, 2)
    for metric in ("loss", "val_loss", "val_accuracy", "val_bits_per_byte"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric
    _, position, _ = newest(whole.run)
    assert position["base"] == plan.preset_sha256


@pytest.mark.parametrize(
    ("framework", "parts", "devices"),
    [
        ("jax", 2, 2),
        pytest.param("tensorflow", 1, 1, marks=pytest.mark.thorough),
        pytest.param("tensorflow", 2, 1, marks=pytest.mark.thorough),
        pytest.param("tensorflow", 1, 2, marks=pytest.mark.thorough),
    ],
)
def test_frameworks_parts_and_devices_learn_the_same(
    tmp_path: Path, pairs: Path, framework: str, parts: int, devices: int
) -> None:
    """Answers are of two lengths, so a mean of the parts' means would be another."""
    folder, few = with_template("qwen2", tmp_path), {"steps": 12, "evaluate_every": 6, "checkpoint_every": 6}
    alone = train(put(tmp_path / "alone", planned(folder, pairs, training=few)))
    cut = planned(folder, pairs, framework, devices=devices, training=few | {"accumulate": parts})
    other = train(put(tmp_path / "other", cut))
    for metric in ("loss", "val_loss", "val_bits_per_byte"):
        mine, wanted = curve(other, name=metric), curve(alone, name=metric)
        assert list(mine) == list(wanted) and list(mine.values()) == pytest.approx(list(wanted.values()), rel=2e-4), (
            metric
        )


def test_it_answers_in_its_template_until_the_end_of_its_turn(tmp_path: Path, pairs: Path) -> None:
    folder = with_template("qwen2", tmp_path)
    training = {"steps": 200, "learning_rate": 0.005, "evaluate_every": 100, "checkpoint_every": 100}
    plan = planned(folder, pairs, rank=0, training=training)
    run = train(put(tmp_path / "run", plan)).run
    card = json.loads((run / "result" / "model.json").read_text())
    assert (card["task"], card["data"]["chat_template"]) == ("instruction", "chatml")
    final = card["trained"]["final"]
    assert final["val_accuracy"] > 0.8 and final["val_bits_per_byte"] < 1.0
    assert final["val_nats_per_token"] == final["val_loss"]
    told = answers(run, "--temperature", "0", "--prompt", "Is 17 quick?")
    assert told["answers"][0]["text"] in (ANSWER, f"{ANSWER} Or not.")
    empty = answers(run, "--prompt", " ")
    assert empty["error"]["id"] == "data-prompt-empty"
    long = answers(run, "--prompt", "quick " * 60)
    assert (long["error"]["id"], long["error"]["facts"]["most"]) == ("data-prompt-too-long", 47)

    to = tmp_path / "out"
    formats.write(engine_python(), run, exports.by_id("huggingface"), to)
    assert json.loads((to / "tokenizer_config.json").read_text())["chat_template"] == CHATML
    assert not (to / "chat_template.jinja").exists() and "chat template “chatml”" in (to / "README.md").read_text()


MISTRAL = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ \"[INST] \" + message['content'] + '[/INST]' }}{% else %}{{ ' ' + message['content'] }}"
    "{% if not loop.last or not add_generation_prompt %}{{ eos_token }}{% endif %}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize("kind", ["legacy", pytest.param("first", marks=pytest.mark.thorough)])
def test_blanks_that_a_tokenizer_and_a_template_put_before_an_answer_are_not_said(
    tmp_path: Path, pairs: Path, kind: str
) -> None:
    folder = with_template("mistral", tmp_path, MISTRAL)
    (folder / "tokenizer.json").write_bytes(blank(kind)[0])
    training = {"steps": 120, "learning_rate": 0.005, "evaluate_every": 60, "checkpoint_every": 60}
    plan = planned(folder, pairs, rank=0, training=training)
    assert plan.job.data.chat_template == "mistral"
    run = train(put(tmp_path / "run", plan)).run
    told = answers(run, "--temperature", "0", "--prompt", "Is 17 quick?")
    assert told["answers"][0]["text"] in (ANSWER, f"{ANSWER} Or not.")
    formats.write(engine_python(), run, exports.by_id("huggingface"), tmp_path / "out")
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == blank(kind)[0]


def test_a_conversation_goes_on_and_what_has_no_room_is_told(tmp_path: Path, pairs: Path) -> None:
    training = {"steps": 4, "evaluate_every": 2, "checkpoint_every": 2}
    run = train(put(tmp_path / "run", planned(with_template("qwen2", tmp_path), pairs, training=training))).run
    said = [{"role": "user", "text": "Is 1 quick?"}, {"role": "assistant", "text": ANSWER}]

    def heard(server: Server, question: dict[str, Any]) -> list[dict[str, Any]]:
        server.tell({"prompt": "And 2?", "tokens": 5, **question})
        told = [server.hear()]
        while told[-1].get("done", True) is False:
            told.append(server.hear())
        return told

    with Server(run) as server:
        assert not any("left_out" in one for one in heard(server, {"id": 1}))
        long = heard(server, {"id": 2, "turns": said * 6})
        assert long[0] == {"id": 2, "text": "", "left_out": long[0]["left_out"], "done": False}
        assert 4 <= long[0]["left_out"] <= 6 and long[-1]["done"] is True
        (refused,) = heard(server, {"id": 3, "turns": said[:1]})
        assert refused["error"]["id"] == "predict-bad-question"
        assert heard(server, {"id": 4, "turns": said[:2]})[-1]["done"] is True  # nothing of it stays behind


def test_a_machine_needs_no_template_for_the_plan_names_it(tmp_path: Path, pairs: Path) -> None:
    """What is brought to a rented one are the files that the base's sha256 counts."""
    folder = with_template("qwen2", tmp_path)
    plan = planned(folder, pairs, training={"steps": 4, "evaluate_every": 2, "checkpoint_every": 2})
    there = tmp_path / "there"
    there.mkdir()
    for name in reading.read(folder).files:
        (there / name).write_bytes((folder / name).read_bytes())
    (folder / "tokenizer.json").unlink()
    assert reading.read(there).template == ""
    run = put(tmp_path / "run", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(tmp_path)}, ("--preset", str(there))) as training:
        assert training.outcome()["status"] == "finished", training.outcome()
    card = json.loads((run / "result" / "model.json").read_text())
    assert card["data"]["chat_template"] == "chatml"


def test_plain_headings_stand_in_the_folder_that_its_result_becomes(tmp_path: Path, pairs: Path) -> None:
    folder = decoder("gpt2", tmp_path)
    plan = planned(folder, pairs, training={"steps": 4, "evaluate_every": 2, "checkpoint_every": 2})
    assert plan.job.data.chat_template == "plain"
    run = train(put(tmp_path / "run", plan)).run
    to = tmp_path / "out"
    formats.write(engine_python(), run, exports.by_id("huggingface"), to)
    jinja = (to / "chat_template.jinja").read_text()
    assert "### Response:" in jinja and "<|endoftext|>" in jinja
    assert math.isfinite(json.loads((run / "result" / "model.json").read_text())["trained"]["final"]["val_loss"])
    assert reading.read(to).template == "plain"  # as it is begun from again


@pytest.mark.parametrize(
    ("rank", "precision"), [(4, "bfloat16"), pytest.param(0, "float32", marks=pytest.mark.thorough)]
)
def test_the_model_before_training_answers_beside_the_one_that_has_learned(
    tmp_path: Path, pairs: Path, rank: int, precision: str
) -> None:
    """That before is the one that a run without a step's worth of learning has."""
    folder = with_template("qwen2", tmp_path)
    usual = {"evaluate_every": 1, "checkpoint_every": 100, "precision": precision, "rematerialize": True}
    still = {"steps": 1, "learning_rate": 1e-12, **usual}
    learned = {"steps": 60, "learning_rate": 0.02, **usual, "evaluate_every": 30}
    runs = [
        train(put(tmp_path / name, planned(folder, pairs, rank=rank, training=training))).run
        for name, training in (("still", still), ("learned", learned))
    ]
    question = ("--temperature", "0", "--tokens", "12", "--prompt", "Is 17 quick?")
    stood, after, before = (
        answers(runs[0], *question),
        answers(runs[1], *question),
        answers(runs[1], "--before", *question),
    )
    assert before["answers"][0]["text"] == stood["answers"][0]["text"] != after["answers"][0]["text"]
    with Server(runs[1], "--before") as server:
        server.tell({"id": 1, "prompt": "Is 17 quick?", "tokens": 12, "temperature": 0})
        told = [server.hear()]
        while told[-1].get("done", True) is False:
            told.append(server.hear())
    assert "".join(one["text"] for one in told) == before["answers"][0]["text"]

    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + b"\x7f")
    assert answers(runs[1], "--before", *question)["error"]["id"] == "preset-changed"
    weights.unlink()
    assert answers(runs[1], "--before", *question)["error"]["id"].startswith("preset-")
    weights.write_bytes(whole)
    card = runs[1] / "result" / "model.json"
    lied = json.loads(card.read_text())
    lied["data"]["input_shape"] = [10**9]
    card.write_text(json.dumps(lied))
    assert answers(runs[1], "--before", *question)["error"]["id"] == "result-unreadable"

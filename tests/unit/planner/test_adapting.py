"""A language model that begins from a Hugging Face folder: what is planned with it, and what is refused before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import HANDS, NOW, job
from tests.fakes.presets import decoder, unpacked
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.domain.sentences import say
from tpu_studio.planner import rules
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

MODEL = "pretrained-lm"


@pytest.fixture
def tale(tmp_path: Path) -> Path:
    path = tmp_path / "tale.txt"
    path.write_text("".join(f"{number} quick brown foxes jump over the lazy dog.\n" for number in range(4000)))
    return path


def planned(preset: Path | None, path: Path, name: str = MODEL, **tables: Any) -> Plan:
    tables["model"] = tables.get("model", {}) | ({"preset": str(preset)} if preset else {})
    asked = job(name, "text", **tables)
    asked = asked.with_values({"data.path": str(path)})
    return plan_job(Draft(asked, look(asked)), Sources(SHIPPED), NOW).plan


def test_small_matrices_learn_and_its_own_pieces_cut_the_text(tmp_path: Path, tale: Path) -> None:
    folder = decoder("qwen2", tmp_path)
    plan = planned(folder, tale)
    assert not plan.blocking
    assert plan.job.model.rank == rules.LORA_RANK and "LoRA" in plan.reasons["model.lora_rank"]
    assert (plan.job.data.tokenizer, plan.job.training.freeze) == ("preset", "none")
    assert (
        plan.job.data.sequence_length == reading.read(folder).longest == 64
    )  # and no more, whatever the model's usual is
    assert plan.job.training.learning_rate == pytest.approx(2e-4) and "LoRA" in plan.reasons["training.learning_rate"]
    assert plan.data["outputs"] == reading.read(folder).vocabulary
    assert plan.preset_sha256 == reading.read(folder).sha256
    assert plans.loads(plans.dumps(plan)) == plan


def test_without_a_rank_all_of_it_learns_at_a_lower_rate(tmp_path: Path, tale: Path) -> None:
    plan = planned(decoder("gpt2", tmp_path), tale, model={"lora_rank": 0})
    assert plan.job.model.rank == 0 and plan.job.training.learning_rate < 1e-4
    assert "All of it learns" in plan.reasons["training.freeze"]


def test_weights_that_stay_count_for_memory(tmp_path: Path, tale: Path) -> None:
    counted = {"flops": 1e9, "model_flops": 1e9, "convolutions": False, "precision": "float32", "widest": 10}
    counted |= {"activation_bytes": 1e6, "evaluation_bytes": 1e6, "params": 1_000_000}
    asked = job(MODEL, "text", model={"preset": str(decoder("gpt2", tmp_path))}).with_values({"data.path": str(tale)})

    def weights(precision: str, **more: int) -> int:
        sources = Sources(SHIPPED, model=lambda plan: counted | more)
        with_it = asked.with_values({"training.precision": precision})
        return plan_job(Draft(with_it, look(with_it)), sources, NOW).plan.memory.device_bytes

    for precision, bytes_each in (("float32", 4), ("bfloat16", 2)):
        more = weights(precision, frozen=500_000_000) - weights(precision)
        assert more == pytest.approx(bytes_each * 500_000_000, rel=0.01), precision


def test_longer_pieces_than_it_has_read_are_refused(tmp_path: Path, tale: Path) -> None:
    with pytest.raises(JobError) as caught:
        planned(decoder("llama", tmp_path), tale, data={"sequence_length": 65})
    assert (caught.value.id, caught.value.facts["maximum"]) == ("job-out-of-range", 64)


@pytest.mark.parametrize("freeze", ["backbone", "head-first"])
def test_it_has_no_last_layer_that_learns_alone(tmp_path: Path, tale: Path, freeze: str) -> None:
    with pytest.raises(JobError) as caught:
        planned(decoder("llama", tmp_path), tale, training={"freeze": freeze})
    assert (caught.value.id, caught.value.facts["key"]) == ("job-not-a-choice", "training.freeze")


def test_other_models_have_nothing_to_learn_beside(tale: Path) -> None:
    assert planned(None, tale, "gpt-nano").job.model.rank == 0
    with pytest.raises(JobError) as caught:
        planned(None, tale, "gpt-nano", model={"lora_rank": 8})
    assert (caught.value.id, caught.value.facts["value"]) == ("job-lora-unfit", 8)


def test_another_tokenizer_than_its_own_is_refused(tmp_path: Path, tale: Path) -> None:
    with pytest.raises(JobError) as caught:
        planned(decoder("llama", tmp_path), tale, data={"tokenizer": "bpe"})
    assert (caught.value.id, caught.value.facts["allowed"]) == ("job-tokenizer-unfit", ["preset"])


def test_a_folder_of_pictures_is_none_for_texts_and_the_other_way_round(tmp_path: Path, tale: Path) -> None:
    hands = job("kerashub-backbone", "images", model={"preset": str(decoder("llama", tmp_path))})
    plan = plan_job(Draft(hands, replace(HANDS)), Sources(SHIPPED), NOW).plan
    (check,) = plan.blocking
    assert (check.id, check.facts["of"]) == ("preset-reads-other", "Pretrained language model of yours")
    vit = unpacked("vit", tmp_path)
    assert {one.id for one in planned(vit, tale).blocking} == {"preset-reads-other"}


def test_without_a_folder_it_is_not_begun(tale: Path) -> None:
    assert {check.id for check in planned(None, tale).blocking} == {"preset-not-chosen"}


def test_what_the_memory_beside_a_tpu_does_not_hold_is_refused_before_anything_is_rented(
    tmp_path: Path, tale: Path
) -> None:
    """A result of 7 billion weights is put together twice, in float32: 56 GB, where a machine of one v5e chip has 48
    GiB and one of eight 384 GiB."""
    counted = {"flops": 1e9, "model_flops": 1e9, "convolutions": False, "precision": "bfloat16", "widest": 10}
    counted |= {"activation_bytes": 1e6, "evaluation_bytes": 1e6, "params": 1_000_000, "frozen": 7_000_000_000}
    folder = str(decoder("gpt2", tmp_path))

    def refused(accelerator: str, **more: int) -> set[str]:
        where = {"place": "cloud", "accelerator": accelerator}
        asked = job(MODEL, "text", model={"preset": folder}, where=where).with_values({"data.path": str(tale)})
        sources = Sources(SHIPPED, model=lambda plan: counted | more)
        return {check.id for check in plan_job(Draft(asked, look(asked)), sources, NOW).plan.blocking}

    assert refused("v5litepod-1") == {"preset-needs-disk", "preset-needs-host"}  # 112 GB in the result's four formats
    assert refused("v5litepod-8") == {"preset-needs-disk"}
    assert refused("v5litepod-1", frozen=3_000_000_000) == set()


# ------------------------------------------------------------------------------------------------ questions and answers

CHATML = "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'}} '<|im_start|>assistant\n'"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    lines = [json.dumps({"prompt": f"{number}?", "completion": f"{number} " * 9}) for number in range(400)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def with_template(folder: Path, jinja: str) -> Path:
    (folder / "chat_template.jinja").write_text(jinja)
    return folder


def test_chats_are_planned_with_the_folders_own_template(tmp_path: Path, pairs: Path) -> None:
    plan = planned(with_template(decoder("qwen2", tmp_path), CHATML), pairs)
    assert not plan.blocking and plan.task == "instruction"
    assert plan.job.data.chat_template == "chatml" and "learned to answer" in plan.reasons["data.chat_template"]
    assert plan.job.data.tokenizer == "preset" and plan.job.data.sequence_length == 64
    assert plan.job.training.epochs == 3 and plan.job.training.learning_rate == pytest.approx(2e-4)
    assert plan.job.training.global_batch == 8  # chats, not tokens, are counted
    assert plans.loads(plans.dumps(plan)) == plan


def test_a_folder_without_a_template_gets_plain_headings_and_a_text_to_continue_none(
    tmp_path: Path, pairs: Path, tale: Path
) -> None:
    folder = decoder("gpt2", tmp_path)
    plan = planned(folder, pairs)
    assert plan.job.data.chat_template == "plain" and "no template" in plan.reasons["data.chat_template"]
    assert "Only chats" in planned(with_template(folder, "unknown"), tale).reasons["data.chat_template"]


def test_an_unknown_template_is_refused_until_the_person_agrees_to_plain_headings(tmp_path: Path, pairs: Path) -> None:
    folder = with_template(decoder("qwen2", tmp_path), "{{ its own }}")
    with pytest.raises(JobError) as caught:
        planned(folder, pairs)
    assert (caught.value.id, caught.value.facts["key"]) == ("job-template-unknown", "data.chat_template")
    assert "data.chat_template = “plain”" in say(caught.value).action
    assert planned(folder, pairs, data={"chat_template": "plain"}).job.data.chat_template == "plain"
    with pytest.raises(JobError) as other:
        planned(folder, pairs, data={"chat_template": "gemma"})
    assert (other.value.id, other.value.facts["allowed"]) == ("job-template-unfit", ["plain"])


def test_without_a_folder_chats_wait_for_one_and_other_models_are_no_match(pairs: Path) -> None:
    assert "preset-not-chosen" in [check.id for check in planned(None, pairs).checks]
    asked = job("gpt-nano", "text", data={"task": "instruction"}).with_values({"data.path": str(pairs)})
    checks = plan_job(Draft(asked, look(asked)), Sources(SHIPPED), NOW).plan.checks
    assert next(one for one in checks if one.id == "model-task-mismatch").fix == {"model.name": MODEL}


def test_a_file_of_ones_own_knows_no_template_and_sorts_the_table_as_before(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def build_model(job): ...")
    table = tmp_path / "asked.csv"
    table.write_text(
        "question,answer\n" + "".join(f"Is it so {n} times?,{'yes' if n % 2 else 'no'}\n" for n in range(99))
    )
    asked = job(None, "text", model={"file": str(tmp_path / "mine.py")}, data={"target": "answer"})
    asked = asked.with_values({"data.path": str(table)})
    assert look(asked).task == "text-classification"
    by_hand = asked.with_values({"data.task": "instruction"})
    with pytest.raises(JobError, match="job-not-a-choice"):
        plan_job(Draft(by_hand, look(by_hand)), Sources(SHIPPED), NOW)

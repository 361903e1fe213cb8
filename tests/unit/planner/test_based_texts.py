"""A language model that begins from a fine-tuned one: what is planned with it, and what is said before anything begins.

Its folder is gone in each of these: the result says all that is needed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bases import RUN, run, tuned
from tests.fakes.looks import NOW, job
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.domain.sentences import say, say_check
from tpu_studio.planner import rules
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

MODEL, PRESET = "pretrained-lm", f"run:{RUN}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def tale(tmp_path: Path) -> Path:
    path = tmp_path / "tale.txt"
    path.write_text("".join(f"{number} quick brown foxes jump over the lazy dog.\n" for number in range(4000)))
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    lines = [json.dumps({"prompt": f"{number}?", "completion": f"{number} " * 9}) for number in range(400)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def begun(home: Path, name: str = "qwen2", *, run_name: str = RUN, **more: Any) -> Path:
    tree, files = tuned(name, home, **more)
    return run(home, tree | {"run": run_name}, files, name=run_name)


def planned(path: Path, name: str = MODEL, *, counted: dict[str, Any] | None = None, **tables: Any) -> Plan:
    tables["model"] = {"preset": PRESET} | tables.get("model", {})
    asked = job(name, "text", **tables).with_values({"data.path": str(path)})
    sources = Sources(SHIPPED, model=lambda plan: counted)
    return plan_job(Draft(asked, look(asked)), sources, NOW).plan


def ids(plan: Plan) -> list[str]:
    return [check.id for check in plan.blocking]


def test_it_is_planned_as_its_folder_was(home: Path, tale: Path) -> None:
    folder = begun(home)
    plan, seen = planned(tale), reading.read(folder / "result")
    assert not plan.blocking and plan.job.model.preset == PRESET
    assert (plan.preset_sha256, plan.data["outputs"]) == (seen.sha256, seen.vocabulary)
    assert plan.job.model.rank == rules.LORA_RANK and plan.job.training.learning_rate == pytest.approx(2e-4)
    assert (plan.job.data.tokenizer, plan.job.data.sequence_length) == ("preset", 16)  # as long as that run's
    assert planned(tale, data={"sequence_length": 64}).job.data.sequence_length == 64  # its network reads more
    assert plan.memory.params and plan.memory.params < planned(tale, model={"lora_rank": 0}).memory.params
    assert plans.loads(plans.dumps(plan)) == plan


def test_its_last_layer_says_tokens_there_as_here_and_stays(home: Path, tale: Path, pairs: Path) -> None:
    begun(home)
    for path in (tale, pairs):
        (check,) = (one for one in planned(path).checks if one.id == "base-taken-over")
        assert check.facts["head"] is True
        assert "tokens here as there" in say_check(check.id, check.title, check.facts).meaning


def test_chats_are_written_in_the_template_of_the_folder_or_in_what_it_has_answered_in(home: Path, pairs: Path) -> None:
    begun(home, template="chatml")
    assert planned(pairs).job.data.chat_template == "chatml"
    begun(home, run_name="asks-cd34", chats="plain")
    assert planned(pairs, model={"preset": "run:asks-cd34"}).job.data.chat_template == "plain"


def test_an_unknown_template_is_refused_as_it_was_of_the_folder(home: Path, pairs: Path) -> None:
    begun(home, template="?")
    with pytest.raises(JobError) as caught:
        planned(pairs)
    assert caught.value.id == "job-template-unknown"
    assert "data.chat_template = “plain”" in say(caught.value).action
    assert planned(pairs, data={"chat_template": "plain"}).job.data.chat_template == "plain"


def test_another_model_is_one_press_away(home: Path, tale: Path) -> None:
    begun(home)
    (check,) = planned(tale, "gpt-nano").blocking
    assert (check.id, check.fix) == ("base-of-another-model", {"model.name": MODEL, "model.preset": PRESET})


@pytest.mark.parametrize(
    ("status", "id"), [("", "base-still-trains"), ("failed", "base-without-result"), ("finished", None)]
)
def test_a_run_has_to_have_ended_with_a_result(home: Path, tale: Path, status: str, id: str | None) -> None:
    run(home, *tuned("qwen2", home), status=status)
    plan = planned(tale)
    assert ids(plan) == ([id] if id else [])


def test_a_run_that_was_deleted_is_named_with_what_brings_it_back(home: Path, tale: Path) -> None:
    folder = begun(home)
    (home / "trash").mkdir()
    folder.rename(home / "trash" / RUN)
    (check,) = planned(tale).blocking
    assert check.id == "base-in-trash"
    assert "--undo" in say_check(check.id, check.title, check.facts).action
    (home / "trash" / RUN).rename(home / "elsewhere")
    assert ids(planned(tale)) == ["base-missing"]


def test_an_older_result_says_what_to_do_instead(home: Path, tale: Path) -> None:
    tree, files = tuned("qwen2", home)
    del tree["network"]
    run(home, tree, files)
    (check,) = planned(tale).blocking
    assert check.id == "base-not-begun-from"
    assert "--as huggingface" in say_check(check.id, check.title, check.facts).action


def test_of_an_imported_run_nothing_is_believed_that_its_files_do_not_hold(home: Path, tale: Path) -> None:
    tree, files = tuned("qwen2", home)
    tree["network"]["config"]["num_hidden_layers"] = 300
    run(home, tree, files)
    assert ids(planned(tale)) == ["base-damaged"]


def test_it_goes_to_a_rented_machine_that_has_room_for_it(home: Path, tale: Path) -> None:
    """A result of 4.5 billion weights is put together twice, beside the base that is opened whole: 54 GB in float32,
    where a machine of one v5e chip has 48 GiB of memory."""
    begun(home)
    where = {"where": {"place": "cloud", "accelerator": "v5litepod-1"}, "limits": {"money_usd": 50}}
    plan = planned(tale, **where)
    assert plan.preset_bytes > 0 and not [one for one in ids(plan) if one.startswith(("base-", "preset-"))]
    large = {"flops": 1e9, "model_flops": 1e9, "convolutions": False, "precision": "bfloat16", "widest": 10}
    large |= {"activation_bytes": 1e6, "evaluation_bytes": 1e6, "params": 1_000_000}
    assert "preset-needs-host" in ids(planned(tale, counted=large | {"frozen": 4_500_000_000}, **where))
    assert "preset-needs-disk" in ids(planned(tale, counted=large | {"frozen": 7_000_000_000}, **where))
    assert "starter-not-in-notebook" in ids(planned(tale, where={"place": "colab"}))


def test_a_chain_on_the_same_chats_keeps_the_same_aside(home: Path, pairs: Path) -> None:
    """Whichever of the runs before has learned from them."""
    begun(home, run_name="first-aa11", chats="plain")
    first = planned(pairs, model={"preset": "run:first-aa11"}, training={"seed": 7})
    (home / "runs" / "first-aa11" / "plan.json").write_bytes(
        plans.dumps(replace(first, job=first.job.with_values({"model.preset": "/gone"}), run="first-aa11"))
    )
    second = planned(pairs, model={"preset": "run:first-aa11"})
    assert second.job.training.seed == 7
    folder = begun(home, chats="plain")
    (folder / "plan.json").write_bytes(plans.dumps(replace(second, run=RUN)))
    assert planned(pairs).job.training.seed == 7
    (check,) = (one for one in planned(pairs, training={"seed": 8}).checks if one.id == "base-saw-unseen")
    assert check.fix == {"training.seed": 7}

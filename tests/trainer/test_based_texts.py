"""A fine-tuned language model is what the next training begins from: a text first, then answers, then again.

The home of all is the test's folder. What is taken over to the bit, with which tokenizer and chat template, what a
copy holds, and what becomes of a chain whose folder or whose runs are gone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes import presets
from tests.fakes.presets import decoder
from tests.trainer.in_engine import engine_python
from tests.trainer.test_adapted_texts import LINE
from tests.trainer.test_based import train
from tests.trainer.test_instruction import ANSWER, CHATML
from tests.trainer.test_starting import newest, tensors
from tests.trainer.training import Training, answers, curve, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.local import formats
from tpu_studio.wire import exports
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import decoder as decoders
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

pytestmark = [pytest.mark.engine, pytest.mark.slow]
BASE = "tale-ab12"
STILL = {"steps": 1, "learning_rate": 1e-9, "evaluate_every": 1, "checkpoint_every": 1}
LEARNS = {"steps": 40, "learning_rate": 0.01, "evaluate_every": 10, "checkpoint_every": 10}


def tale(path: Path) -> Path:
    path.write_text("".join(LINE.format(number, number % 7) for number in range(600)), encoding="utf-8")
    return path


def pairs(path: Path) -> Path:
    rows = [{"prompt": f"Is {n} quick?", "completion": ANSWER if n % 3 else f"{ANSWER} Or not."} for n in range(90)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def planned(run: str, preset: str, data: Path, rank: int = 4, template: str = "auto", **training: Any) -> Plan:
    tree = {
        "name": "tale",
        "model": {"name": "pretrained-lm", "preset": preset, "lora_rank": rank},
        "data": {"kind": "text", "path": str(data), "sequence_length": 48 if data.suffix == ".jsonl" else 16}
        | {"chat_template": template},
        "training": {"framework": "jax", "precision": "float32"} | training,
    }
    job = parse(tree)
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED), 0.0).plan
    assert not plan.blocking, plan.blocking
    return plans.from_json({**plan.to_json(), "run": run})


def trained(home: Path, run: str, preset: str, data: Path, rank: int = 4, **training: Any) -> Training:
    return train(put(home / "runs" / run, planned(run, preset, data, rank, **training)))


def card(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result" / "model.json").read_text())
    return found


def last(training: Training, metric: str = "val_loss") -> float:
    seen: dict[int, float] = curve(training, name=metric)
    return seen[max(seen)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a Qwen2 that has learned a tale by LoRA; its folder is still there."""
    home = tmp_path_factory.mktemp("home")
    folder = decoder("qwen2", home)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML}))
    (folder / "LICENSE").write_text("of the base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPU_STUDIO_HOME", str(home))
        trained(home, BASE, str(folder), tale(home / "tale.txt"), **LEARNS)
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    plan = tmp_path / "runs" / BASE / "plan.json"
    plan.write_text(plan.read_text().replace(str(made), str(tmp_path)))
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    yield tmp_path


@pytest.mark.parametrize(
    ("framework", "rank"), [pytest.param("tensorflow", 2, marks=pytest.mark.thorough), ("jax", 4), ("jax", 0)]
)
def test_it_begins_where_the_other_run_ended_though_the_folder_is_gone(home: Path, framework: str, rank: int) -> None:
    """On the same data, without a step worth the name, the loss on what is kept aside is the same one."""
    before = reading.read(home / "qwen2")
    shutil.rmtree(home / "qwen2")
    base = reading.of(f"run:{BASE}", "")
    assert decoders.describe(base.config) == decoders.describe(before.config)
    assert (base.vocabulary, base.longest, base.template) == (before.vocabulary, before.longest, "chatml")
    first = card(home / "runs" / BASE)
    more: dict[str, Any] = STILL | {"framework": framework}
    again = trained(home, "again-cd34", f"run:{BASE}", home / "tale.txt", rank, **more)
    assert last(again) == pytest.approx(first["trained"]["final"]["val_loss"], rel=1e-5)
    second = card(again.run)
    assert second["network"] == first["network"] and second["began_from"]["run"] == BASE
    assert second["data"]["tokenizer_sha256"] == first["data"]["tokenizer_sha256"]
    kept = {name.rpartition("/")[2] for name in tensors(newest(again.run)[2] / "state.safetensors")}
    assert kept == {"lora_kernel_a", "lora_kernel_b"} if rank else {"kernel", "embeddings"} <= kept


OTHERS = [one for one in presets.decoders() if one not in ("qwen2", "gpt2")]


@pytest.mark.parametrize("name", ["gpt2", *(pytest.param(one, marks=pytest.mark.thorough) for one in OTHERS)])
def test_each_network_is_begun_from_again(home: Path, name: str) -> None:
    """Learned places, gates, tied tables, windows and norms of one's own: what its card says builds the same."""
    first = trained(home, "one", str(decoder(name, home)), home / "tale.txt", 4, **LEARNS | {"steps": 10}).run
    shutil.rmtree(home / name)
    again = trained(home, "two", "run:one", home / "tale.txt", 4, **STILL)
    assert last(again) == pytest.approx(card(first)["trained"]["final"]["val_loss"], rel=1e-5)


def test_a_chain_of_text_answers_and_answers_again(home: Path) -> None:
    """Each stage has its own rank; the last goes back into a folder of the first's files, and answers as it does."""
    second = trained(home, "asks-cd34", f"run:{BASE}", pairs(home / "pairs.jsonl"), 2, **LEARNS)
    plan = plans.read(second.run)
    assert (plan.task, plan.job.data.chat_template) == ("instruction", "chatml")
    losses = curve(second, name="val_loss")
    assert last(second) < losses[min(losses)]
    third = trained(home, "more-ef56", "run:asks-cd34", home / "pairs.jsonl", 0, **STILL).run
    assert card(third)["trained"]["final"]["val_loss"] == pytest.approx(last(second), rel=1e-5)
    question = ("--temperature", "0", "--tokens", "6", "--prompt", "Is 17 quick?")
    told = answers(second.run, *question)["answers"][0]["text"]
    assert answers(third, *question)["answers"][0]["text"] == told
    assert answers(third, "--before", *question)["answers"][0]["text"] == told
    assert answers(second.run, "--before", *question)["answers"][0]["text"] != told

    written = formats.write(engine_python(), third, exports.by_id("huggingface"), home / "out")
    assert (written.checked, written.difference < 1e-4) == ("folder", True)
    assert (home / "out" / "LICENSE").read_text() == "of the base"
    assert reading.read(home / "out").template == "chatml"
    for gone, said in ((home / "runs" / BASE, BASE), (home / "runs" / "asks-cd34", "asks-cd34")):
        shutil.rmtree(gone)
        with pytest.raises(StudioError) as refused:
            formats.write(engine_python(), third, exports.by_id("huggingface"), home / "other")
        assert refused.value.id == "export-unsupported" and said in str(refused.value.facts["raw"])


def test_what_a_run_has_answered_in_goes_along_into_the_folder_of_a_later_one(home: Path) -> None:
    """Of a folder whose template is not known the person agreed to plain headings; a text is learned behind that."""
    (home / "qwen2" / "tokenizer_config.json").write_text('{"chat_template": "{{ its own }}"}')
    data, few = pairs(home / "pairs.jsonl"), LEARNS | {"steps": 10}
    asks = planned("asks-cd34", str(home / "qwen2"), data, 4, template="plain", **few)
    train(put(home / "runs" / "asks-cd34", asks))
    text = trained(home, "more-ef56", "run:asks-cd34", home / "tale.txt", 4, **few).run
    assert card(text)["network"]["template"] == "plain" and "chat_template" not in card(text)["data"]
    formats.write(engine_python(), text, exports.by_id("huggingface"), home / "out")
    assert reading.read(home / "out").template == "plain"
    about = (home / "out" / "README.md").read_text()
    assert "trained it on a text" in about and str(home) not in about


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_killed_it_goes_on_bit_for_bit(home: Path, framework: str) -> None:
    few: dict[str, Any] = {"steps": 12, "evaluate_every": 3, "checkpoint_every": 3, "framework": framework}
    plan = planned("any", f"run:{BASE}", home / "tale.txt", **few)
    whole = train(put(home / "runs" / "whole", plan))
    run = put(home / "runs" / "killed", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 6)
        killed.kill()
    resumed = train(run, 2)
    for metric in ("loss", "val_loss"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric
    assert newest(run)[1]["base"] == plan.preset_sha256


def test_a_machine_that_was_brought_the_result_begins_from_it_there(home: Path) -> None:
    run = put(home / "runs" / "new-0000", planned("new-0000", f"run:{BASE}", home / "tale.txt", **STILL))
    brought = home / "brought"
    brought.mkdir()
    for name in reading.of(f"run:{BASE}", "").files:
        shutil.copy(home / "runs" / BASE / "result" / name, brought)
    shutil.rmtree(home / "runs" / BASE)
    shutil.rmtree(home / "qwen2")
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}, options=("--preset", str(brought))) as training:
        assert training.outcome()["status"] == "finished", training.errors()[-2000:]
    assert card(run)["network"]["config"]["model_type"] == "qwen2"


def test_a_base_that_changed_since_the_plan_trains_nothing(home: Path) -> None:
    run = put(home / "runs" / "new-0000", planned("new-0000", f"run:{BASE}", home / "tale.txt", **STILL))
    told = home / "runs" / BASE / "result" / "model.json"
    told.write_text(told.read_text() + " ")
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", "base-changed")


def test_a_base_that_was_deleted_is_said_by_its_name_and_needed_for_the_result(home: Path) -> None:
    """Under LoRA the result is put together from the base's own numbers, so it is read once more at the end; what was
    learned lies in the copies, and the run is resumed when the base is back."""
    run = put(home / "runs" / "new-0000", planned("new-0000", f"run:{BASE}", home / "tale.txt", **LEARNS))
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as training:
        training.until(lambda event: event["kind"] == "metric")
        (home / "runs" / BASE).rename(home / "kept")
        outcome = training.outcome()
    assert outcome["facts"].get("error") == "base-missing" and outcome["facts"]["base"] == BASE, outcome
    with Training(run, 2, {"TPU_STUDIO_HOME": str(home)}) as training:
        assert training.outcome()["facts"]["error"] == "base-missing"
    (home / "kept").rename(home / "runs" / BASE)
    assert np.isfinite(card(train(run, 3).run)["trained"]["final"]["val_loss"])

"""Whether the model before training can be asked beside the one that has learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes import plans
from tpu_studio.viewmodels import trybefore
from tpu_studio.wire import hub, tasks
from tpu_studio.wire.job import parse_resolved
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import result_folder

MEMORY = 16 * 10**9
WRITES = next(task.id for task in tasks.all_tasks() if task.has_tokens and not task.has_chats)
SORTS = next(task.id for task in tasks.all_tasks() if task.has_classes)


def plan(preset: str) -> Plan:
    model = {"name": "pretrained-lm", "preset": preset}
    training = {"epochs": 2, "global_batch": 8}
    tree = {"format": 1, "name": "tale", "model": model, "data": {"kind": "text", "path": "/t.txt"}}
    job = parse_resolved({**tree, "training": training})
    return replace(plans.plan(), job=job, task=WRITES, preset_sha256="ab" * 32)


@pytest.fixture
def run(home: Path) -> Path:
    folder = home / "runs" / "tale-ab12"
    result_folder(folder).mkdir(parents=True)
    (result_folder(folder) / "model.keras").write_bytes(b"x" * 1000)
    return folder


def told(plan: Plan, run: Path, *, imported: bool = False, memory: int = MEMORY) -> str:
    return trybefore.problem(plan, run, imported=imported, memory_bytes=memory)


def test_it_is_offered_for_language_models_that_began_from_weights_that_the_plan_knows(tmp_path: Path) -> None:
    known = plan(str(tmp_path))
    assert trybefore.is_offered(known)
    assert not trybefore.is_offered(replace(known, preset_sha256=""))
    assert not trybefore.is_offered(replace(known, task=SORTS))
    assert not trybefore.is_offered(replace(plan("none"), task=WRITES))


def test_a_folder_that_is_there_can_be_asked_and_one_that_is_gone_is_named(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "smollm"
    folder.mkdir()
    assert told(plan(str(folder)), run) == ""
    folder.rmdir()
    assert told(plan(str(folder)), run) == "What it began from, “smollm”, is not on this computer (any more)."
    assert "run tale-xy99" in told(plan("run:tale-xy99"), run)


@pytest.mark.parametrize("path", ["//host/share/model", "smb://host/model", r"\\host\share\model"])
def test_no_share_is_looked_into(run: Path, path: str) -> None:
    assert told(plan(path), run) != ""


def test_a_path_in_a_plan_that_was_brought_here_is_not_followed_and_a_name_is(run: Path, tmp_path: Path) -> None:
    assert "path of another computer" in told(plan(str(tmp_path)), run, imported=True)
    assert "path of another computer" not in told(plan("run:tale-xy99"), run, imported=True)


def test_a_model_of_the_hub_wants_its_weights(run: Path) -> None:
    folder = hub.folder("hf:Qwen/Qwen2.5-0.5B")
    folder.mkdir(parents=True)
    files = {"config.json": hub.Listed(2, sha1="a" * 40), "model.safetensors": hub.Listed(4, sha256="a" * 64)}
    entry = hub.Entry("Qwen/Qwen2.5-0.5B", "a" * 40, "apache-2.0", False, 0.0, files)
    (folder / hub.FILE).write_bytes(entry.dumps())
    wanted = plan("hf:Qwen/Qwen2.5-0.5B")
    words = "The weights of Qwen/Qwen2.5-0.5B are not on this computer. Models → Download brings them."
    assert told(wanted, run) == told(wanted, run, imported=True) == words
    (folder / "model.safetensors").write_bytes(b"1234")
    assert told(wanted, run) == ""


def test_two_models_that_are_too_much_for_this_computer_are_said_with_both_numbers(run: Path, tmp_path: Path) -> None:
    with (result_folder(run) / "model.keras").open("wb") as file:
        file.truncate(4 * 10**9)
    both = "Both models take about 26.1 GB of memory, and this computer has 16.0 GB."
    assert told(plan(str(tmp_path)), run) == both
    assert told(plan(str(tmp_path)), run, memory=32 * 10**9) == ""

"""The folder that a model begins from travels beside the program: what is read of it, in parts named by content."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.fakes import bases
from tests.fakes.plans import plan
from tests.fakes.presets import decoder, unpacked
from tests.unit.cloud.test_bundle import names_in
from tests.unit.cloud.test_preparing import Box, side
from tpu_studio.cloud import presetparts
from tpu_studio.cloud.bundle import bundle
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.cloud.presetparts import files_of
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading

RUN = "digits-k3f7"


def begins(folder: Path, model: str = "kerashub-backbone") -> Plan:
    made = replace(plan(), framework="jax", accelerator="v5litepod-1", run=RUN)
    seen = reading.read(folder)
    preset = str(folder / "model.keras" if seen.base else folder)
    job = made.job.with_values({"model.name": model, "model.preset": preset})
    return replace(made, job=job, preset_sha256=seen.sha256, preset_bytes=seen.size_bytes)


def written(made: Plan, part_bytes: int) -> dict[str, bytes]:
    """Each file as a machine puts it together."""
    found = {}
    for one in files_of(made, part_bytes=part_bytes):
        out = io.BytesIO()
        for part in one.parts:
            start = out.tell()
            assert part.write(out) == part.sha256 == hashlib.sha256(out.getvalue()[start:]).hexdigest()
            assert out.tell() - start == part.size <= part_bytes
        found[one.name] = out.getvalue()
        assert hashlib.sha256(found[one.name]).hexdigest() == one.sha256
    return found


@pytest.mark.parametrize(("name", "model"), [("qwen2", "pretrained-lm"), ("vit", "kerashub-backbone")])
def test_the_files_that_are_read_travel_whole_and_no_others(tmp_path: Path, name: str, model: str) -> None:
    folder = decoder(name, tmp_path) if model == "pretrained-lm" else unpacked(name, tmp_path)
    (folder / "my diary.txt").write_text("mine")
    (folder / "task.weights.h5").write_bytes(b"its own answers stay here")
    (folder / ".cache").mkdir()
    (folder / "original.safetensors").write_bytes(b"another file of the person's")
    made = begins(folder, model)
    found = written(made, 10_000)
    assert found == {one: (folder / one).read_bytes() for one in reading.read(folder).files}
    assert not {"my diary.txt", "task.weights.h5", "original.safetensors"} & set(found)
    assert not any("preset" in one.split("/") for one in names_in(bundle(made)))  # nor with the program


def test_of_a_run_that_it_begins_from_the_result_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    folder = bases.run(tmp_path) / "result"
    (folder / "report.html").write_text("what stays here")
    made = begins(folder, "small-cnn")
    made = replace(made, job=made.job.with_values({"model.preset": f"run:{bases.RUN}"}))
    found = written(made, 10_000)
    assert found == {one: (folder / one).read_bytes() for one in ("model.json", "model.keras")}
    (folder / "model.json").write_text((folder / "model.json").read_text() + " ")
    with pytest.raises(ModelError, match="base-changed"):
        files_of(made)


def test_of_a_fine_tuned_language_model_its_tokenizer_travels_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is needed there: its network stands in its card."""
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    folder = bases.run(tmp_path, *bases.tuned("qwen2", tmp_path)) / "result"
    (folder / "report.html").write_text("what stays here")
    made = begins(folder, "pretrained-lm")
    found = written(replace(made, job=made.job.with_values({"model.preset": f"run:{bases.RUN}"})), 10_000)
    names = ("model.json", "model.keras", "tokenizer.json")
    assert found == {one: (folder / one).read_bytes() for one in names}
    there = tmp_path / "there"
    there.mkdir()
    for name, data in found.items():
        (there / name).write_bytes(data)
    assert reading.read(there).sha256 == made.preset_sha256


def test_a_folder_that_is_not_the_one_of_the_plan_sends_nothing(tmp_path: Path) -> None:
    folder, box = unpacked("classifier", tmp_path), Box()
    for other in ("0" * 64, ""):
        made = replace(begins(folder), preset_sha256=other)
        with pytest.raises(ModelError, match="preset-changed"):
            Preparation(tmp_path).upload(side(box), made, RUN, lambda done, total: None)
    assert not box.held


@pytest.mark.parametrize("hashed", [False, True])
def test_a_link_that_takes_the_place_of_a_description_brings_no_file_of_mine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: bool
) -> None:
    """After the plan, or, *hashed*, between the last look at the folder and its upload; of the same size and time."""
    folder, secret = unpacked("vit", tmp_path), tmp_path / "id_ed25519"
    secret.write_bytes(b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + b"k" * 400)
    task = folder / "task.json"
    task.write_text('{"class_name": "x"}'.ljust(secret.stat().st_size))
    os.utime(task, ns=(secret.stat().st_mtime_ns,) * 2)
    seen, made = reading.read(folder), begins(folder)
    if hashed:
        monkeypatch.setattr(reading, "read", lambda _: seen)
    task.unlink()
    task.symlink_to(secret)
    with pytest.raises(ModelError, match="preset-links-out"):
        files_of(made)
    task.unlink()
    task.write_bytes(secret.read_bytes())
    with pytest.raises(ModelError, match="preset-changed" if hashed else "preset-unreadable"):
        files_of(made)


def test_what_changes_while_it_is_sent_is_not_sent(tmp_path: Path) -> None:
    folder, box = decoder("qwen2", tmp_path), Box()
    weights, made = folder / "model.safetensors", begins(folder, "pretrained-lm")
    before = weights.read_bytes()

    def change(done: int, total: int) -> None:
        weights.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))

    files = files_of(made)  # read and found right
    change(0, 0)
    with pytest.raises(ModelError, match="preset-changed"):
        files[-1].parts[-1].write(io.BytesIO())
    weights.write_bytes(before)
    with pytest.raises(ModelError, match="preset-changed"):
        Preparation(tmp_path).upload(side(box), made, RUN, change)
    assert not any(name.startswith("data/") and data == before for name, data in box.held.items())


def test_it_is_sent_once_told_as_it_goes_and_named_to_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presetparts, "PART_BYTES", 10_000)
    folder, box, told = decoder("gemma3", tmp_path), Box(), list[tuple[int, int]]()
    made = begins(folder, "pretrained-lm")
    pieces = Preparation(tmp_path).upload(side(box), made, RUN, lambda done, total: told.append((done, total)))
    sent = box.sent
    again = Preparation(tmp_path).upload(side(box), made, RUN, lambda done, total: None)
    assert (again, box.sent) == (pieces, sent) and sent > len(pieces["preset"])
    assert [done for done, _ in told] == sorted(done for done, _ in told) and told[-1][0] == told[-1][1]
    assert told[-1][1] >= sum((folder / one).stat().st_size for one in reading.read(folder).files)
    for one in pieces["preset"]:
        data = b"".join(box.held[part["object"]] for part in one["parts"])
        assert data == (folder / unquote(one["name"])).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (one["sha256"], one["bytes"])
        assert all(part["object"] == f"data/{part['sha256']}.bin" for part in one["parts"])


def test_cancelled_amid_the_reading_nothing_is_sent(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedError

    box = Box()
    with pytest.raises(InterruptedError):
        Preparation(tmp_path).upload(side(box), begins(unpacked("vit", tmp_path)), RUN, stop)
    assert not box.held


def test_after_a_take_over_it_stays_as_it_was_brought(tmp_path: Path) -> None:
    folder, box = decoder("llama", tmp_path), Box()
    made, quiet = begins(folder, "pretrained-lm"), lambda done, total: None
    theirs = Preparation(tmp_path).upload(side(box), made, RUN, quiet)
    before = {name: value for name, value in theirs.items() if name != "preset"}  # of an earlier version
    assert Preparation(tmp_path).with_our_code(side(box), made, RUN, before, quiet) == theirs
    (folder / "config.json").unlink()  # it lies on the other computer
    assert Preparation(tmp_path).with_our_code(side(box), made, RUN, theirs, quiet) == theirs


def test_a_folder_of_more_files_than_a_machine_can_be_told_of_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it went, and then the machine could not be asked for."""
    folder, box = decoder("llama", tmp_path), Box()
    monkeypatch.setattr(presetparts, "MOST_FILES", 6)
    with pytest.raises(ModelError, match="preset-unreadable") as caught:
        Preparation(tmp_path).upload(side(box), begins(folder, "pretrained-lm"), RUN, lambda done, total: None)
    assert "7 files" in str(caught.value.facts["why"]) and not box.held

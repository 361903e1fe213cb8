"""What the notebook's cells call, outside Colab: where the run is kept, the data, what is shown. No training."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.trainer import notebook as nb
from tpu_studio.trainer.notebookview import Course, curve, page
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.runfolder import COMMITTED


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> nb.Notebook:
    monkeypatch.setenv(nb.DRIVE, str(tmp_path / "drive"))
    code = tmp_path / "code"
    code.mkdir()
    (code / "plan.json").write_text("the plan")
    return nb.Notebook(code, tmp_path / "root", {"run": "digits-abcd", "data": None})


def _again(made: nb.Notebook, **config: Any) -> nb.Notebook:
    return nb.Notebook(made.code, made.root, {**made.config, **config})


def test_a_new_run_begins_with_the_frozen_plan(made: nb.Notebook) -> None:
    made.keep(True, 15)
    assert (made.folder / "plan.json").read_text() == "the plan"


def test_what_drive_has_is_brought_back_and_a_half_copied_state_is_not(made: nb.Notebook) -> None:
    made.keep(True, 15)
    assert made.mirror is not None
    for step, whole in (("00000010", True), ("00000020", False)):
        (made.folder / "checkpoints" / step).mkdir(parents=True)
        (made.folder / "checkpoints" / step / "state.safetensors").write_text(step)
        if whole:
            (made.folder / "checkpoints" / step / COMMITTED).touch()
    (made.folder / "events").mkdir()
    (made.folder / "events" / "a0001-w000.jsonl").write_text("{}\n")
    made._mirror()
    other = nb.Notebook(made.code, made.root.with_name("elsewhere"), made.config)
    other.keep(True, 15)
    brought = sorted(path.relative_to(other.folder).as_posix() for path in other.folder.rglob("*") if path.is_file())
    assert brought == [
        "checkpoints/00000010/COMMITTED",
        "checkpoints/00000010/state.safetensors",
        "events/a0001-w000.jsonl",
        "plan.json",
    ]


def test_a_later_model_of_as_many_bytes_takes_the_place_of_the_one_in_drive(made: nb.Notebook) -> None:
    made.keep(True, 15)
    assert made.mirror is not None
    (made.folder / "result").mkdir()
    for model in ("first", "other"):
        (made.folder / "result" / "model.keras").write_text(model)
        made._mirror()
        assert (made.mirror / "result" / "model.keras").read_text() == model


def test_another_plan_in_drive_is_refused(made: nb.Notebook) -> None:
    made.keep(True, 15)
    made._mirror()
    (made.code / "plan.json").write_text("another plan")
    with pytest.raises(nb.Problem, match="another run"):
        nb.Notebook(made.code, made.root.with_name("elsewhere"), made.config).keep(True, 15)


def test_a_run_goes_on_from_its_zip_and_not_from_another(
    made: nb.Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    for path, name in ((good, "digits-abcd/events/a0001-w000.jsonl"), (bad, "digits-abcd/../../outside")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("digits-abcd/plan.json", "the plan")
            archive.writestr(name, "{}\n")
    monkeypatch.setattr(nb, "_uploaded", lambda words: bad)
    with pytest.raises(nb.Problem, match="not a zip of digits-abcd"):
        made.keep(False, 0, from_zip=True)
    monkeypatch.setattr(nb, "_uploaded", lambda words: good)
    made.keep(False, 0, from_zip=True)
    assert (made.folder / "events" / "a0001-w000.jsonl").exists()


def test_the_zip_has_the_latest_state_only(made: nb.Notebook) -> None:
    made.keep(True, 15)
    for step in ("00000010", "00000020"):
        (made.folder / "checkpoints" / step).mkdir(parents=True)
        (made.folder / "checkpoints" / step / COMMITTED).touch()
    with zipfile.ZipFile(made._pack()) as archive:
        assert archive.namelist() == ["digits-abcd/checkpoints/00000020/COMMITTED", "digits-abcd/plan.json"]


def _packed(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


def test_data_comes_out_of_the_notebook_or_out_of_drive(made: nb.Notebook) -> None:
    tar = _packed({"cats/1.png": b"cat"})
    record = {
        "name": "it-data.tar",
        "sha256": hashlib.sha256(tar).hexdigest(),
        "bytes": len(tar),
        "folder": "data",
        "file": "",
        "single": False,
    }
    inside = _again(made, data=record)
    inside.get_data(base64.b64encode(gzip.compress(tar)).decode())
    assert inside.data is not None
    assert (inside.data / "cats" / "1.png").read_bytes() == b"cat"
    drive = nb.Notebook(made.code, made.root.with_name("elsewhere"), {**made.config, "data": record})
    drive.keep(True, 15)
    assert drive.mirror is not None
    drive.mirror.parent.mkdir(parents=True, exist_ok=True)
    (drive.mirror.parent / "it-data.tar").write_bytes(tar)
    drive.get_data()
    assert drive.data is not None
    assert (drive.data / "cats" / "1.png").read_bytes() == b"cat"


def test_other_data_than_the_plans_is_refused(made: nb.Notebook) -> None:
    record = {"name": "t.csv", "sha256": "0" * 64, "bytes": 3, "folder": "t.csv", "file": "", "single": True}
    with pytest.raises(nb.Problem, match=r"t\.csv is not the data of this plan"):
        _again(made, data=record).get_data(base64.b64encode(gzip.compress(b"abc")).decode())


def test_the_course_drops_what_a_later_attempt_begins_anew(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (events / "a0001-w000.jsonl").write_bytes(
        encode(event("target", steps=8)) + encode(event("metric", step=[1, 2, 3], loss=[3.0, 2.0, 9.0])) + b'{"torn'
    )
    (events / "a0002-w000.jsonl").write_bytes(
        encode(event("resume", step=2, attempt=2))
        + encode(event("phase", phase="training"))
        + encode(event("metric", step=[3, 4], loss=[1.5, 1.0]))
        + encode(event("checkpoint", step=4))
    )
    course = Course()
    course.read(tmp_path)
    course.read(tmp_path)
    assert course.losses == {1: 3.0, 2: 2.0, 3: 1.5, 4: 1.0}
    assert (course.words(), course.checkpoints) == ("Training · step 4 of 8 · loss 1", 1)
    shown = page(course, "<run>")
    assert "&lt;run&gt;" in shown
    assert 'points="0.0,4.0 200.0,40.0 400.0,58.0 600.0,76.0"' in shown  # (3 - loss) / 2 of 72, 4 from the top


def test_a_curve_needs_two_finite_points() -> None:
    assert curve({1: 1.0, 2: float("nan")}) == ""
    assert curve({step: 1.0 / step for step in range(1, 5001)}).count(",") == 200 + 1  # and one in its label

"""The large photographs of Learn: all or none, once, and too many at their size to lie in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tpu_studio.domain import jobfile
from tpu_studio.local import photos
from tpu_studio.planner.assumptions import IN_MEMORY_BYTES
from tpu_studio.wire.resources import resource_path


@pytest.fixture
def signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = tmp_path / "signs"
    for name in "01":
        (source / name).mkdir(parents=True)
        Image.new("RGB", (64, 64), "red").save(source / name / f"{name}.jpg")
    monkeypatch.setattr(photos, "resource_path", lambda *parts: source)
    return source


JOB = resource_path("learn", "large-photos.tpujob")


def test_they_lie_beside_a_copy_of_the_job_and_are_made_once(tmp_path: Path, signs: Path) -> None:
    folder = tmp_path / "learn"
    job = photos.lay_out(folder, JOB)
    made = sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*.jpg"))
    assert made == [f"photos/{name}/{name}-{turn}.jpg" for name in "01" for turn in (0, 90)]
    assert job.parent / str(jobfile.load(job).data.path) == folder / "photos"
    for file in signs.rglob("*.jpg"):
        file.unlink()
    photos.lay_out(folder, JOB)  # not made anew
    assert len(list(folder.rglob("*.jpg"))) == 4


def test_what_a_killed_program_left_does_not_count(tmp_path: Path, signs: Path) -> None:
    (tmp_path / "learn" / "photos.part" / "9").mkdir(parents=True)
    assert not photos.are_there(tmp_path / "learn")
    photos.lay_out(tmp_path / "learn", JOB)
    assert sorted(one.name for one in (tmp_path / "learn" / "photos").iterdir()) == ["0", "1"]


@pytest.mark.parametrize("name", ["large-photos.tpujob", "slow.tpujob"])
def test_at_the_size_that_the_jobs_ask_for_they_do_not_fit_into_memory(name: str) -> None:
    side = jobfile.load(resource_path("learn", name)).data.image_size
    count = len(photos.TURNS) * len(list(resource_path("samples", "sign-digits").rglob("*.jpg")))
    assert count * int(side) ** 2 * 3 > 1.2 * IN_MEMORY_BYTES
    assert side < photos.SIDE < 2 * int(side)  # a JPEG is unpacked at half its size where that is enough

"""What travels to the bucket: what the trainer needs, the same bytes each time, and data that arrives unchanged."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tpu_studio.cloud.bundle import bundle, data_pieces
from tpu_studio.data.convert import convert
from tpu_studio.data.fingerprints import fingerprint_of
from tpu_studio.trainer.guardian.vm.unpack import unpack
from tpu_studio.wire import models
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import DataError, ModelError
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.resources import resource_path


def job_of(kind: str, path: Path, **data: Any) -> Job:
    return parse(
        {"format": 1, "name": "x", "model": {"name": "mlp"}, "data": {"kind": kind, "path": str(path), **data}}
    )


def names_in(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        found = {}
        for member in archive:
            file = archive.extractfile(member)
            assert member.isreg() and file is not None
            found[member.name] = file.read()
    return found


# --------------------------------------------------------------------------------------------------------- bundle


def test_the_bundle_holds_the_trainer_and_the_plan_and_nothing_else() -> None:
    made = plan()
    held = names_in(bundle(made))
    assert plans.loads(held["plan.json"]) == plans.loads(plans.dumps(made))
    assert {name.split("/")[1] for name in held if name.startswith("tpu_studio/")} == {
        "__init__.py",
        "wire",
        "data",
        "trainer",
        "resources",
    }
    assert "tpu_studio/trainer/__main__.py" in held and "tpu_studio/resources/samples/digits/digits.csv.gz" in held
    assert all(name.endswith((".py", ".json", ".csv.gz", ".lock.txt")) for name in held)
    assert "model/model.py" not in held


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert bundle(plan()) == bundle(plan())


def test_starter_weights_travel_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path))
    made = plan()
    begins = replace(made, job=made.job.with_values({"model.preset": "starter:efficientnet-lite0"}))
    with pytest.raises(ModelError) as missing:
        bundle(begins)
    assert missing.value.id == "starter-missing"

    starter = models.starter("starter:efficientnet-lite0")
    starter.path.parent.mkdir()
    starter.path.write_bytes(b"torn")
    with pytest.raises(ModelError) as damaged:
        bundle(begins)
    assert damaged.value.id == "starter-damaged"

    whole = replace(starter, sha256=hashlib.sha256(b"torn").hexdigest(), size_bytes=4)
    monkeypatch.setattr(models, "starter", lambda preset: whole)
    held = names_in(bundle(begins))
    assert held["tpu_studio/resources/starter-weights/efficientnet-lite0.safetensors"] == b"torn"
    assert "starter-weights" not in " ".join(names_in(bundle(made)))


def test_a_model_of_ones_own_travels_only_as_it_was_agreed_to(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def build(): ...\n")
    job = parse(
        {"format": 1, "name": "x", "model": {"file": "model.py"}, "data": {"kind": "digits"}}, base=str(tmp_path)
    )
    agreed = hashlib.sha256((tmp_path / "model.py").read_bytes()).hexdigest()
    made = replace(plan(), job=job, consent=agreed)
    assert names_in(bundle(made))["model/model.py"] == b"def build(): ...\n"
    for consent in ("", "0" * 64):
        with pytest.raises(ModelError) as raised:
            bundle(replace(made, consent=consent))
        assert raised.value.id == "model-no-consent"
    (tmp_path / "model.py").unlink()
    with pytest.raises(ModelError):
        bundle(made)


# ----------------------------------------------------------------------------------------------------------- data


def carried(job: Job, there: Path, piece_bytes: int = 64_000_000) -> Path:
    """The data after its way through the pieces, as the machine finds it."""
    for number, piece in enumerate(data_pieces(job, piece_bytes)):
        buffer = io.BytesIO()
        sha256 = piece.write(buffer)
        assert hashlib.sha256(buffer.getvalue()).hexdigest() == sha256
        target = there / piece.folder
        if piece.suffix == ".tar":
            archive = there / f"{number}.tar"
            archive.parent.mkdir(parents=True, exist_ok=True)
            archive.write_bytes(buffer.getvalue())
            unpack(archive, target, sha256, limit_bytes=1 << 30)
            target = target / piece.file if piece.file else target
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(buffer.getvalue())
    return target


@pytest.mark.parametrize(
    ("kind", "path", "more"),
    [
        ("table", ("samples", "diamonds", "diamonds.csv"), {"target": "price"}),
        ("text", ("samples", "shakespeare", "shakespeare.txt"), {}),
        ("images", ("samples", "sign-digits"), {}),
    ],
)
def test_data_arrives_with_the_fingerprint_that_it_was_planned_with(
    kind: str, path: tuple[str, ...], more: dict[str, Any], tmp_path: Path
) -> None:
    job = job_of(kind, resource_path(*path), **more)
    arrived = carried(job, tmp_path / "vm", piece_bytes=200_000)
    assert fingerprint_of(job_of(kind, arrived, **more)) == fingerprint_of(job)


def test_a_file_whose_name_cannot_travel_goes_in_a_tar_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "meine Größen (1).csv"
    path.write_text("a,b\n1,2\n")
    job = job_of("table", path, target="b")
    (piece,) = data_pieces(job)
    assert (piece.folder, piece.file, piece.suffix) == ("data", path.name, ".tar")
    assert fingerprint_of(job_of("table", carried(job, tmp_path / "vm"), target="b")) == fingerprint_of(job)


def test_texts_of_a_folder_keep_their_tree(tmp_path: Path) -> None:
    for name in ("a.txt", "deep/b.md", "deep/er/c.txt", "deep/left.out"):
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_text(name * 50)
    job = job_of("text", tmp_path / "texts")
    arrived = carried(job, tmp_path / "vm", piece_bytes=300)
    assert sorted(one.relative_to(arrived).as_posix() for one in arrived.rglob("*") if one.is_file()) == [
        "a.txt",
        "deep/b.md",
        "deep/er/c.txt",
    ]


@pytest.mark.parametrize("given", ["", "dataset.json", "renamed.json"])
def test_a_data_set_in_shards_brings_its_description_and_its_shards(given: str, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (tmp_path / "words.txt").write_text("the cat sat on the mat\n" * 100)
    convert(job_of("text", tmp_path / "words.txt"), folder, workers=1)
    (folder / "dataset.json").rename(folder / (given or "dataset.json"))
    shards = {path.name for path in folder.glob("*.tfrecord")}
    (folder / "notes.txt").write_text("not needed")
    job = job_of("tfrecord", folder / given if given else folder)
    arrived = carried(job, tmp_path / "vm", piece_bytes=8)
    assert fingerprint_of(job_of("tfrecord", arrived)) == fingerprint_of(job)
    there = arrived if arrived.is_dir() else arrived.parent
    assert {one.name for one in there.iterdir()} == {given or "dataset.json", *shards}


def test_pieces_are_no_larger_than_asked_and_the_same_each_time(tmp_path: Path) -> None:
    job = job_of("images", resource_path("samples", "sign-digits"))
    pieces = data_pieces(job, 100_000)
    assert len(pieces) > 3 and all(piece.size <= 100_000 for piece in pieces)
    assert pieces[0].write(io.BytesIO()) == data_pieces(job, 100_000)[0].write(io.BytesIO())


def test_digits_bring_no_data() -> None:
    assert data_pieces(plan().job) == []


def test_a_file_that_changes_on_the_way_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    (piece,) = data_pieces(job_of("table", path, target="b"))
    for text in ("a,b\n", "a,b\n1,2\n3,4\n"):
        path.write_text(text)
        with pytest.raises(DataError) as raised:
            piece.write(io.BytesIO())
        assert raised.value.id == "data-changed"


@pytest.mark.parametrize("which", ["file", "folder", "alone"])
@pytest.mark.parametrize("late", [False, True])
def test_a_link_that_takes_the_place_of_data_after_it_was_listed_brings_no_file_of_mine(
    which: str, late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """*late*: after the last look at where it leads. Of the same size as what it leads to."""
    texts, private = tmp_path / "texts", tmp_path / "private"
    for folder in (texts / "a", private):
        folder.mkdir(parents=True)
    (private / "one.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----")
    (texts / "a" / "one.txt").write_text("a" * 35)
    target = texts / "a" / "one.txt"
    pieces = data_pieces(job_of("text", target if which == "alone" else texts))
    out = io.BytesIO()
    assert pieces[0].write(out) and b"aaaa" in out.getvalue()

    place, leads = (target.parent, private) if which == "folder" else (target, private / "one.txt")
    if late:
        monkeypatch.setattr("os.path.realpath", os.path.abspath)
    place.rename(tmp_path / "before")
    place.symlink_to(leads)
    with pytest.raises(DataError, match="data-changed"):
        pieces[0].write(out := io.BytesIO())
    assert b"OPENSSH" not in out.getvalue()
    if which == "alone":  # nor its neighbour
        target.unlink()
        (target.parent / "two.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----")
        target.symlink_to("two.txt")
        with pytest.raises(DataError, match="data-changed"):
            pieces[0].write(io.BytesIO())


def test_a_link_within_the_data_and_one_that_is_the_data_are_followed(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("one of these")
    (tmp_path / "texts" / "two.txt").symlink_to("one.txt")
    (tmp_path / "link").symlink_to("texts")
    (tmp_path / "link.txt").symlink_to("texts/one.txt")
    (tmp_path / "texts").chmod(0o711)
    for path, times in ((tmp_path / "link", 2), (tmp_path / "link.txt", 1)):
        (piece,) = data_pieces(job_of("text", path))
        piece.write(out := io.BytesIO())
        assert out.getvalue().count(b"one of these") == times


def test_a_file_that_is_called_an_archive_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_text("a,b\n1,2\n")
    (piece,) = data_pieces(job_of("table", tmp_path / "x.tar", target="b"))
    assert piece.single and not piece.suffix.endswith((".tar", ".gz"))

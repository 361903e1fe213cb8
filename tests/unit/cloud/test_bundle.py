"""What travels to the bucket: what the trainer needs, the same bytes each time, and data that arrives unchanged."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tests.fakes.presets import unpacked
from tpu_studio.cloud.bundle import bundle, data_pieces, model_in
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.cloud.startup import LIMIT_BYTES, environment, guardian_sha256, metadata, one_line, runtime
from tpu_studio.data.convert import convert
from tpu_studio.data.fingerprints import fingerprint_of
from tpu_studio.trainer.guardian.vm import config as vm_config
from tpu_studio.trainer.guardian.vm.unpack import unpack
from tpu_studio.wire import models, presets
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import CloudRefused, DataError, ModelError
from tpu_studio.wire.job import Job, parse, set_values
from tpu_studio.wire.pretrained import reading
from tpu_studio.wire.resources import resource_path
from tpu_studio.workflow.cloudruns.ports import CloudSide, Progress


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


def test_a_folder_of_pretrained_weights_travels_as_it_was_planned_with_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unpacked("classifier", tmp_path)
    made = plan()
    job = made.job.with_values({"model.name": "kerashub-backbone", "model.preset": str(folder)})
    begins = replace(made, job=job, preset_sha256=reading.read(folder).sha256)
    held = names_in(bundle(begins))
    there = "tpu_studio/resources/starter-weights/preset/"
    assert held[f"{there}model.weights.h5"] == (folder / "model.weights.h5").read_bytes()
    assert f"{there}task.weights.h5" not in held  # its own answers stay here

    for name in (name for name in held if name.startswith(there)):  # as the machine finds it
        path = tmp_path / "machine" / Path(name).name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(held[name])
    monkeypatch.setattr(presets, "_BROUGHT", tmp_path / "machine")
    found = reading.read(presets.folder_of(str(folder), ""))
    assert (found.folder, found.sha256) == (tmp_path / "machine", begins.preset_sha256)
    monkeypatch.undo()

    for other in ("0" * 64, ""):
        with pytest.raises(ModelError, match="preset-changed"):
            bundle(replace(begins, preset_sha256=other))
    monkeypatch.setattr(presets, "MOST_BROUGHT", 1000)
    with pytest.raises(ModelError, match="preset-too-large-to-bring"):
        bundle(begins)


@pytest.mark.parametrize("hashed", [False, True])
def test_a_link_that_takes_the_place_of_a_description_brings_no_file_of_mine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: bool
) -> None:
    """After the plan, or, *hashed*, between the last look at the folder and the archive; of the same size and time."""
    folder, secret = unpacked("vit", tmp_path), tmp_path / "id_ed25519"
    secret.write_bytes(b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + b"k" * 400)
    task = folder / "task.json"
    task.write_text('{"class_name": "x"}'.ljust(secret.stat().st_size))
    os.utime(task, ns=(secret.stat().st_mtime_ns,) * 2)
    seen, made = reading.read(folder), plan()
    job = made.job.with_values({"model.name": "kerashub-backbone", "model.preset": str(folder)})
    begins = replace(made, job=job, preset_sha256=seen.sha256)
    assert b"OPENSSH" not in b"".join(names_in(bundle(begins)).values())
    if hashed:
        monkeypatch.setattr(reading, "read", lambda _: seen)
    task.unlink()
    task.symlink_to(secret)
    with pytest.raises(ModelError, match="preset-links-out"):
        bundle(begins)
    task.unlink()
    task.write_bytes(secret.read_bytes())
    with pytest.raises(ModelError, match="preset-changed" if hashed else "preset-unreadable"):
        bundle(begins)


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


# ------------------------------------------------------------------------------------------------------ preparing


class Box:
    """A bucket that remembers what was sent."""

    bucket = "tpu-studio-0123456789ab"

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.sent = 0

    def create(self, name: str, data: bytes) -> bool:
        return self.held.setdefault(name, data) == data

    def read(self, name: str, start: int = 0) -> bytes | None:
        return self.held.get(name)

    def upload(self, path: Path, name: str, progress: Progress | None = None) -> None:
        if name not in self.held:
            self.held[name] = path.read_bytes()
            self.sent += 1
        if progress is not None:
            progress(path.stat().st_size, path.stat().st_size)


def side(box: Any) -> CloudSide:
    nothing: Any = None
    return CloudSide("practice", "p", "r@p", {}, nothing, box, nothing, nothing, {})


def test_all_is_brought_once_and_told_as_it_goes(tmp_path: Path) -> None:
    box, told = Box(), list[tuple[int, int]]()
    job = job_of("table", resource_path("samples", "diamonds", "diamonds.csv"), target="price")
    made = replace(plan(), job=job, framework="jax", accelerator="v5litepod-1", run="diamonds-k3f7")
    preparing = Preparation(tmp_path)
    pieces = preparing.upload(side(box), made, "diamonds-k3f7", lambda done, total: told.append((done, total)))
    assert preparing.upload(side(box), made, "diamonds-k3f7", lambda done, total: None) == pieces
    assert box.sent == 1 and not list(tmp_path.iterdir())
    assert told == sorted(told) and told[-1][0] == told[-1][1] > 500_000
    assert pieces["environment"]["framework"] == "jax" and pieces["runtime"] == "v2-alpha-tpuv5-lite"
    assert pieces["data"][0]["as"] == "diamonds.csv"
    for one in (pieces["bundle"], *pieces["data"]):
        data = box.held[one["object"]]
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (one["sha256"], one["bytes"])
    assert plans.loads(box.held["runs/diamonds-k3f7/plan.json"]) == plans.loads(plans.dumps(made))


def test_a_machine_of_compute_engine_is_brought_its_installer(tmp_path: Path) -> None:
    wheel = tmp_path / "uv.whl"
    wheel.write_bytes(b"a wheel" * 1000)
    box, asked = Box(), list[Any]()
    preparing = Preparation(tmp_path, lambda wanted: (asked.append(wanted), wheel)[1])
    told: list[tuple[int, int]] = []
    there = set_values(plan().job, {"where.backend": "compute-engine"})
    for place, job, brought in (("cloud", there, True), ("cloud", plan().job, False), ("practice", there, False)):
        made = replace(plan(), job=job, place=place, accelerator="v6e-1", run="digits-k3f7")
        pieces = preparing.upload(side(box), made, "digits-k3f7", lambda done, total: told.append((done, total)))
        assert ("installer" in pieces) == brought
        assert told[-1][0] == told[-1][1]
    ((wanted,), name) = (asked, f"data/{asked[0]['sha256']}.whl")
    assert (wanted["name"], wanted["platform"]) == ("uv", "manylinux_2_17_x86_64")
    assert box.held[name] == wheel.read_bytes()


def test_what_another_desktop_prepared_gets_our_program_and_keeps_its_data(tmp_path: Path) -> None:
    box, made = Box(), replace(plan(), framework="jax", accelerator="v5litepod-1", run="digits-k3f7")
    ours = Preparation(tmp_path).upload(side(box), made, "digits-k3f7", lambda done, total: None)
    data = [{"object": "data/x.tar", "sha256": "0" * 64, "bytes": 1, "as": "data"}]
    theirs = {
        "bundle": {"object": "runs/digits-k3f7/job/evil.tar.gz", "sha256": "1" * 64, "bytes": 1},
        "data": data,
        "environment": {"lock": "evil"},
        "installer": {"object": "evil.whl", "sha256": "2" * 64, "bytes": 1},
        "guardian_sha256": "3" * 64,
        "trust_code": True,
    }
    told = Preparation(tmp_path).with_our_code(side(box), made, "digits-k3f7", theirs, lambda done, total: None)
    assert told == {**ours, "data": data}


def test_a_model_file_that_lies_on_another_computer_comes_from_the_bundle_by_its_sha256(tmp_path: Path) -> None:
    code = b"def build_model(job): ...\n"
    (there := tmp_path / "there" / "model.py").parent.mkdir()
    there.write_bytes(code)
    job = set_values(plan().job, {"model.file": str(there)})
    made = replace(plan(), job=job, framework="jax", accelerator="v5litepod-1", run="digits-k3f7")
    made = replace(made, consent=hashlib.sha256(code).hexdigest())
    box, quiet = Box(), lambda done, total: None
    theirs = Preparation(tmp_path).upload(side(box), made, "digits-k3f7", quiet)
    there.unlink()
    told = Preparation(tmp_path).with_our_code(side(box), made, "digits-k3f7", theirs, quiet)
    assert names_in(box.held[told["bundle"]["object"]])["model/model.py"] == code
    other = bundle(replace(made, consent=hashlib.sha256(b"import os").hexdigest()), b"import os")
    for held, id in ((other, "model-no-consent"), (b"\x1f\x8bjunk", "model-file-missing")):
        box.held[theirs["bundle"]["object"]] = held
        with pytest.raises(ModelError) as refused:
            Preparation(tmp_path).with_our_code(side(box), made, "digits-k3f7", theirs, quiet)
        assert refused.value.id == id
    assert model_in(gzip.compress(bytes(80_000_000))) is None


def test_what_progress_raises_cancels(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Preparation(tmp_path).upload(side(Box()), replace(plan(), accelerator="v6e-1"), "digits-k3f7", stop)


# ------------------------------------------------------------------------------------------------------- metadata

CONFIG: dict[str, Any] = {
    "format": 1,
    "run": "digits-k3f7",
    "attempt": 1,
    "try": 1,
    "name": "ts-digits-k3f7-a1-t1",
    "install": "i",
    "backend": "tpu",
    "resource": "v2/projects/P/locations/Z/queuedResources/ts-digits-k3f7-a1-t1?force=true",
    "node": "v2/projects/P/locations/Z/nodes/ts-digits-k3f7-a1-t1",
    "project": "P",
    "zone": "Z",
    "region": "R",
    "workers": 1,
    "chips": 1,
    "bucket": "tpu-studio-0123456789ab",
    "prefix": "runs/digits-k3f7/",
    "endpoints": dict.fromkeys(("storage", "tpu", "compute", "tasks", "resourcemanager"), "https://x.googleapis.com"),
    "outside_stops": None,
    "lease_s": 3600,
    "usd_per_hour": 1.2,
    "spent_usd": 0.0,
    "money_usd": 5.0,
    "idle_minutes": 15,
    "silence_s": 900,
    "trust_code": False,
}


def finished(**more: Any) -> dict[str, Any]:
    box = Box()
    made = replace(plan(), framework="jax", accelerator="v6e-1", run="digits-k3f7")
    return {**CONFIG, **Preparation().upload(side(box), made, "digits-k3f7", lambda done, total: None), **more}


def test_the_machine_reads_the_config_that_the_desktop_wrote() -> None:
    made = metadata(finished(), 1_800_000_000.4)
    assert set(made) == {"startup-script", "shutdown-script", "ts-guardian", "ts-config", "ts-deadline"}
    assert made["ts-deadline"] == "1800000000"
    assert all(len(value.encode()) <= LIMIT_BYTES for value in made.values())
    read = vm_config.load(made["ts-config"])
    assert (read.name, read.environment.framework) == ("ts-digits-k3f7-a1-t1", "jax")
    assert "\n" not in made["ts-config"] and json.loads(made["ts-config"])["guardian_sha256"] == guardian_sha256()


def test_a_program_that_changed_after_preparing_is_not_started() -> None:
    with pytest.raises(CloudRefused):
        metadata(finished(guardian_sha256="0" * 64), 1.0)


def test_what_the_shell_could_misread_is_refused() -> None:
    for value in ('a"b', "a\\b", "a\nb"):
        with pytest.raises(CloudRefused):
            one_line({"run": value})


def test_every_pair_that_the_catalogue_allows_has_an_environment() -> None:
    assert environment("jax", "v6e")["lock"] == "jax" and environment("tensorflow", "v5e")["lock"] == "tensorflow"
    assert re.fullmatch("[0-9a-f]{64}", environment("jax", "v6e")["uv"]["sha256"])
    assert runtime("jax", "v5e") == "v2-alpha-tpuv5-lite" and runtime("jax", "tpu7x") == ""
    with pytest.raises(CloudRefused):
        environment("tensorflow", "tpu7x")


@pytest.mark.parametrize("table", ["vm.json", "colab.json"])
def test_what_a_machine_installs_can_write_all_of_a_result(table: str) -> None:
    """Each result has TensorFlow's format beside Keras's, also after JAX; the engine has the versions seen together."""
    locked = locked_files(resource_path("engine", "lock.txt").read_text("utf-8"))[0]
    for one in json.loads(resource_path("catalogue", table).read_text("utf-8"))["environments"]:
        pins = locked_files(resource_path("vm", f"{one['lock']}.lock.txt").read_text("utf-8"))[0]
        assert pins.keys() & {"tensorflow-cpu", "tensorflow-tpu"}, one["framework"]
        if one["framework"] == "jax":
            there = pins.keys() & locked.keys()
            assert "tensorflow-cpu" in there and {name: locked[name] for name in there} == {n: pins[n] for n in there}


def locked_files(text: str) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Versions, and the sha256 of each file, by package. Nothing else may stand in a lock but comments."""
    versions, hashes, name = dict[str, str](), dict[str, set[str]](), ""
    for line in text.splitlines():
        if found := re.fullmatch(r"([a-z0-9-]+)==([\w.]+) \\", line):
            name = found[1]
            versions[name], hashes[name] = found[2], set()
        elif found := re.fullmatch(r"    --hash=sha256:([0-9a-f]{64})( \\)?", line):
            hashes[name].add(found[1])
        else:
            assert line.startswith("#"), line
    return versions, hashes


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_each_file_that_a_machine_installs_is_locked_by_its_hash(framework: str) -> None:
    """With all that comes along; where the engine has the same version, the index told both the same files."""
    versions, hashes = locked_files(resource_path("vm", f"{framework}.lock.txt").read_text("utf-8"))
    wanted = resource_path("vm", f"{framework}.wanted.txt").read_text("utf-8")
    named = dict(re.findall(r"^([a-z0-9-]+)(?:\[tpu\])?==(\S+)$", wanted, re.M))
    assert named.items() <= versions.items() and {"keras", "libtpu", "protobuf", "typing-extensions"} <= versions.keys()
    assert all(hashes.values())
    engine_versions, engine_hashes = locked_files(resource_path("engine", "lock.txt").read_text("utf-8"))
    common = {name for name in versions if engine_versions.get(name) == versions[name]}
    assert len(common) > 20
    assert {name: hashes[name] for name in common} == {name: engine_hashes[name] for name in common}


def test_the_locks_travel_with_the_run() -> None:
    members = names_in(bundle(plan()))
    for name in ("jax", "tensorflow"):
        carried = members[f"tpu_studio/resources/vm/{name}.lock.txt"]
        assert carried == resource_path("vm", f"{name}.lock.txt").read_bytes()

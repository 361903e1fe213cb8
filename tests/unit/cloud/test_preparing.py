"""What a machine is brought before it is rented, and what it is told: program, data, config, what it may install."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tests.unit.cloud.test_bundle import job_of, names_in
from tpu_studio.cloud.bundle import bundle, model_in
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.cloud.startup import LIMIT_BYTES, environment, guardian_sha256, metadata, one_line, runtime
from tpu_studio.trainer.guardian.vm import config as vm_config
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import CloudRefused, ModelError
from tpu_studio.wire.job import set_values
from tpu_studio.wire.resources import resource_path
from tpu_studio.workflow.cloudruns.ports import CloudSide, Progress

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


def test_an_archive_of_others_is_read_by_its_short_names_alone() -> None:
    """A header of digits kept the standard library for a quarter of a minute, and every thread with it."""
    for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.LNKTYPE):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
            head = tarfile.TarInfo("././@PaxHeader")
            head.type, head.size = kind, 4_000_000
            archive.addfile(head, io.BytesIO(b"1" * 4_000_000))
            own = tarfile.TarInfo("model/model.py")
            own.size = 3
            archive.addfile(own, io.BytesIO(b"own"))
        assert model_in(gzip.compress(raw.getvalue(), 1)) is None
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name in ("a.py", "model/model.py"):
            entry = tarfile.TarInfo(name)
            entry.size = 700
            archive.addfile(entry, io.BytesIO(name.encode() * 700))
    whole = raw.getvalue()
    assert model_in(gzip.compress(whole)) == (b"model/model.py" * 700)[:700]
    assert model_in(gzip.compress(whole[:1900])) is None  # cut short


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

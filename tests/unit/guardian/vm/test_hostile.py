"""What a machine refuses: configs, archives and objects that are not what was agreed."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.guardian.vm.cloud import BUCKET, LOCKED, PREFIX, TOKEN, Cloud, Vm
from tpu_studio.trainer.guardian.vm import web
from tpu_studio.trainer.guardian.vm.config import LIMIT_BYTES, BadConfig, load
from tpu_studio.trainer.guardian.vm.unpack import BadArchive, is_unpacked, unpack

Machine = Callable[..., Vm]


def test_what_was_agreed_is_taken(cloud: Cloud) -> None:
    config = load(json.dumps(cloud.config()))
    assert config.resource == f"{cloud.url}/v2/projects/p/locations/us-west4-a/queuedResources/{config.name}?force=true"
    assert config.proof == f"{cloud.url}/resources/v3/projects/p:testIamPermissions"


def changed(tree: dict[str, Any], path: str, value: Any) -> str:
    *folders, last = path.split(".")
    at = tree
    for name in folders:
        at = at[name]
    at[last] = value
    return json.dumps(tree)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", 2),
        ("name", "ts-../../etc"),
        ("name", "somebody-elses"),
        ("backend", "aws"),
        ("resource", "v2/projects/p/locations/z/queuedResources/another-machine?force=true"),
        ("resource", "v2/projects/p/locations/z/queuedResources/*?force=true"),
        ("prefix", "runs/../other/"),
        ("prefix", "data/"),
        ("bucket", "b/o/../x"),
        ("endpoints.storage", "http://evil.example"),
        ("endpoints.tpu", "file:///etc/passwd"),
        ("endpoints.resourcemanager", "http://evil.example"),
        ("endpoints.tasks", "https://user:word@cloudtasks.googleapis.com"),
        ("lease_s", "inf"),
        ("lease_s", -1),
        ("lease_s", 1e12),
        ("usd_per_hour", True),
        ("attempt", 0),
        ("bundle.object", "runs/another/job/bundle.tar.gz"),
        ("bundle.sha256", "abc"),
        ("bundle.bytes", -5),
        ("data", [{"object": "data/../../x", "sha256": "0" * 64, "bytes": 1, "as": "data"}]),
        ("data", [{"object": "data/x.tar", "sha256": "0" * 64, "bytes": 1, "as": "../run"}]),
        ("data", [{"object": "data/x.tar", "sha256": "0" * 64, "bytes": 1, "as": "d", "file": "../x"}]),
        ("environment.lock", "../../../etc/jax"),
        ("environment.lock", ""),
        ("environment.uv", {"version": "0.13.9 --index-url=http://evil.example", "sha256": "0" * 64}),
        ("environment.uv", {"version": "0.13.9", "sha256": ""}),
        ("environment.python", "3.12; rm -rf /"),
        ("outside_stops.queue", "projects/p/locations/r/queues/x/tasks/y"),
        ("installer", {"object": "data/../x.whl", "sha256": "0" * 64, "bytes": 1}),
        ("installer", {"object": "data/x.whl", "sha256": "0", "bytes": 1}),
        ("installer", "data/x.whl"),
        ("environment", None),
        ("endpoints", []),
    ],
)
def test_a_config_that_is_not_as_agreed_is_refused(cloud: Cloud, path: str, value: Any) -> None:
    text = changed(cloud.config(), path, value)
    with pytest.raises(BadConfig):
        load(text)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, '{"format":1}', " " * (LIMIT_BYTES + 1)])
def test_what_is_no_config_at_all_is_refused(text: str) -> None:
    with pytest.raises(BadConfig):
        load(text)


def archive(path: Path, *members: tuple[str, bytes | None, bytes]) -> Path:
    """Members: name, content, type."""
    with tarfile.open(path, "w:gz") as tar:
        for name, data, kind in members:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            entry.size = len(data or b"")
            tar.addfile(entry, io.BytesIO(data or b""))
    return path


@pytest.mark.parametrize(
    "bad",
    [
        ("../outside", b"x", tarfile.REGTYPE),
        ("/absolute", b"x", tarfile.REGTYPE),
        ("a/../../outside", b"x", tarfile.REGTYPE),
        ("link", None, tarfile.SYMTYPE),
        ("hard", None, tarfile.LNKTYPE),
        ("device", None, tarfile.CHRTYPE),
        ("pipe", None, tarfile.FIFOTYPE),
        ("good", b"twice", tarfile.REGTYPE),
        ("good/below-a-file", b"x", tarfile.REGTYPE),
        ("back\\slash", b"x", tarfile.REGTYPE),
    ],
)
def test_an_archive_that_reaches_out_is_refused(tmp_path: Path, bad: tuple[str, bytes | None, bytes]) -> None:
    made = archive(tmp_path / "a.tar.gz", ("good", b"x", tarfile.REGTYPE), bad)
    folder = tmp_path / "in" / "code"
    with pytest.raises(BadArchive):
        unpack(made, folder, "sum", limit_bytes=1 << 20)
    assert not is_unpacked(folder, "sum")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "in"]
    assert not (tmp_path / "in" / "outside").exists()


def test_an_archive_that_unpacks_to_more_than_agreed_is_refused(tmp_path: Path) -> None:
    made = archive(tmp_path / "a.tar.gz", ("zeros", b"\0" * (1 << 20), tarfile.REGTYPE))
    with pytest.raises(BadArchive):
        unpack(made, tmp_path / "code", "sum", limit_bytes=1 << 16)


@pytest.mark.parametrize("mtime", [1e300, 2**70])
def test_an_archive_of_a_time_that_cannot_be_is_refused(tmp_path: Path, mtime: float) -> None:
    """The guardian fell over it: what is compiled may fail in any way but that one."""
    with tarfile.open(tmp_path / "a.tar", "w:") as tar:
        member = tarfile.TarInfo("a-cache")
        member.mtime = mtime  # type: ignore[assignment]
        tar.addfile(member)
    with pytest.raises(BadArchive):
        unpack(tmp_path / "a.tar", tmp_path / "compiled", "sum", limit_bytes=1 << 16)


@pytest.mark.parametrize("packer", ["xz", "bz2"])
def test_an_archive_that_is_packed_as_ours_never_are_is_refused(tmp_path: Path, packer: str) -> None:
    """A damaged one of them raises what nobody expects."""
    with tarfile.open(tmp_path / "a.tar", f"w:{packer}") as tar:  # type: ignore[call-overload]
        tar.addfile(tarfile.TarInfo("a-cache"))
    with pytest.raises(BadArchive):
        unpack(tmp_path / "a.tar", tmp_path / "compiled", "sum", limit_bytes=1 << 16)


def test_several_archives_fill_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for name in ("one", "two"):
        unpack(archive(tmp_path / name, (f"x/{name}", b"1", tarfile.REGTYPE)), folder, name, limit_bytes=1 << 20)
    assert sorted(path.name for path in (folder / "x").iterdir()) == ["one", "two"]
    assert is_unpacked(folder, "one")
    assert is_unpacked(folder, "two")


def test_torn_archives_are_refused(tmp_path: Path) -> None:
    made = archive(tmp_path / "a.tar.gz", ("zeros", bytes(range(256)) * 400, tarfile.REGTYPE))
    made.write_bytes(made.read_bytes()[:200])
    with pytest.raises(BadArchive):
        unpack(made, tmp_path / "code", "sum", limit_bytes=1 << 20)


def test_a_bundle_with_another_sum_runs_nothing(cloud: Cloud, machine: Machine) -> None:
    config = cloud.config()
    cloud.objects[config["bundle"]["object"]] = bytes(config["bundle"]["bytes"])
    machine().boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "data-changed"
    assert not cloud.said("metric")


def test_a_bundle_that_reaches_out_runs_nothing(cloud: Cloud, machine: Machine) -> None:
    cloud.config(cloud.bundle((tarfile.TarInfo("../../escaped"), b"x")))
    vm = machine().boot()
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "data-broken"
    assert not list(vm.root.parent.rglob("escaped"))


def test_data_comes_in_pieces_resumes_and_reaches_the_trainer(cloud: Cloud, machine: Machine, tmp_path: Path) -> None:
    pieces = []
    for name in ("one", "two"):
        data = archive(tmp_path / f"{name}.tar", (f"{name}.csv", name.encode() * 99, tarfile.REGTYPE)).read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        cloud.objects[f"data/{sha}.tar"] = data
        pieces.append({"object": f"data/{sha}.tar", "sha256": sha, "bytes": len(data), "as": "data"})
    cloud.config(data=pieces)
    left = [2]

    def rule(method: str, path: str) -> int | None:
        if "/o/data%2F" in path and left[0]:
            left[0] -= 1
            return 503
        return None

    cloud.rules.append(rule)
    vm = machine().boot()
    vm.to_its_deletion()
    folder = vm.root / "ts-digits-k3f7-a1-t1" / "data" / "data"
    assert sorted(path.name for path in folder.iterdir()) == ["one.csv", "two.csv"]
    assert cloud.said("end")[0]["reason"] == "completed"


def test_an_environment_that_cannot_be_made_is_said_with_the_installers_own_words(
    cloud: Cloud, machine: Machine
) -> None:
    cloud.config(environment={"framework": "jax", "python": "3.11", **LOCKED})
    vm = machine()
    (vm.root / "ready.json").write_text('{"python": "/no/such/python"}')
    vm.boot().to_its_deletion()
    end = cloud.said("end")[0]
    assert (end["status"], end["reason"]) == ("failed", "environment-failed")
    assert "/no/such/python" in end["facts"]["raw"]


def test_a_large_result_goes_up_in_a_session_that_survives_cuts(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine("--steps 10")
    result = vm.root / "ts-digits-k3f7-a1-t1" / "run" / "result" / "big.bin"
    result.parent.mkdir(parents=True)
    content = bytes(range(256)) * (70 << 10)
    result.write_bytes(content)
    cuts = [3]

    def rule(method: str, path: str) -> str | None:
        if path.startswith("/session/") and cuts[0]:
            cuts[0] -= 1
            return "cut" if cuts[0] % 2 else "apply-then-cut"
        return None

    cloud.rules.append(rule)
    vm.boot().to_its_deletion()
    assert cloud.objects[f"{PREFIX}result/big.bin"] == content


@pytest.mark.parametrize(
    "ledger",
    [
        b'{"usd":NaN,"elapsed_s":NaN}',
        b'{"usd":1e999,"elapsed_s":1e999}',
        b'{"usd":-500,"elapsed_s":-1e9}',
        b'{"usd":' + b"9" * 400 + b"}",
        b"[" * 100_000,
        b'{"usd":1e300}',
        b'["usd"]',
        b"\xff\x00",
        b"x" * 1_000_000,
    ],
)
def test_a_ledger_that_cannot_be_leaves_the_figure_of_the_launch(cloud: Cloud, machine: Machine, ledger: bytes) -> None:
    cloud.put("ledger/a0001.json", ledger)
    cloud.config(attempt=2, spent_usd=0.75)
    machine("--steps 3").boot().to_its_deletion()
    end = cloud.said("end", 2)[0]
    assert (end["status"], end["reason"]) == ("finished", "completed")
    assert all(one["usd"] >= 0.75 for one in cloud.said("money", 2))


def test_strange_names_among_the_ranges_and_copies_are_left_alone(cloud: Cloud, machine: Machine) -> None:
    for name in (
        "events/a0001-w000/zzz.jsonl",
        "events/a0001-w000/\u00b2.jsonl",
        "events/a0001-w000/1e3.jsonl",
        "events/a0001-w001/000000000000.jsonl",
        "events/a0009-w000/000000000000.jsonl",
        "checkpoints/\u00b2/COMMITTED",
        "checkpoints/../COMMITTED",
        "checkpoints/x/COMMITTED",
        "control/zzz.json",
        "control/000009.json",
    ):
        cloud.put(name, b"{}\n")
    cloud.config()
    machine("--steps 3").boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"


def test_a_control_nobody_can_obey_stops_no_training(cloud: Cloud, machine: Machine) -> None:
    cloud.put("control/000001.json", b"[" * 100_000)
    cloud.put("control/000002.json", b'{"verb":"stop","attempt":[]}')
    cloud.put("control/000003.json", b'{"verb":"limits","hours":' + b"9" * 400 + b"}")
    cloud.config()
    machine("--steps 3").boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"


def test_an_answer_longer_than_anything_asked_for_is_not_held(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "BODY_AT_MOST", 1000)
    cloud.put("control/000001.json", b"x" * 5_000)
    url = f"{cloud.url}/storage/v1/b/{BUCKET}/o/{PREFIX.replace('/', '%2F')}control%2F000001.json?alt=media"
    with pytest.raises(web.TooLong):
        web.Web().call("GET", url, {"Authorization": f"Bearer {TOKEN}"})

"""The folder that a model begins from comes in parts: joined, checked, gone on with after a cut, before training."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.unit.guardian.vm.cloud import Cloud, Vm
from tpu_studio.trainer.guardian.vm import fetching
from tpu_studio.trainer.guardian.vm.bucket import WrongContent
from tpu_studio.trainer.guardian.vm.config import BadConfig, Piece, load
from tpu_studio.trainer.guardian.vm.fetching import Fetching

Machine = Callable[..., Vm]
WEIGHTS = random.Random(1).randbytes(25_000)
FILES = {"config.json": b'{"model_type": "llama"}', "model.safetensors": WEIGHTS, "Gewichte №1 + 50 %.bin": b"x" * 9}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def brought(cloud: Cloud, each: int = 10_000) -> list[dict[str, Any]]:
    """FILES in the bucket, and what ts-config says of them."""
    from urllib.parse import quote

    told = []
    for name, data in FILES.items():
        parts = []
        for start in range(0, len(data), each):
            part = data[start : start + each]
            cloud.objects[f"data/{sha(part)}.bin"] = part
            parts.append({"object": f"data/{sha(part)}.bin", "sha256": sha(part), "bytes": len(part)})
        told.append({"name": quote(name, safe=""), "sha256": sha(data), "bytes": len(data), "parts": parts})
    return told


def folder_of(vm: Vm) -> Path:
    return vm.root / "ts-digits-k3f7-a1-t1" / "preset"


def test_it_is_there_whole_before_the_trainer_starts_whatever_was_cut(cloud: Cloud, machine: Machine) -> None:
    cloud.config(preset=brought(cloud))
    cuts = [3]

    def rule(method: str, path: str) -> int | str | None:
        if "/o/data%2F" in path and cuts[0]:
            cuts[0] -= 1
            return "cut" if cuts[0] % 2 else 503
        return None

    cloud.rules.append(rule)
    vm = machine().boot()
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"
    assert {path.name: path.read_bytes() for path in folder_of(vm).iterdir()} == FILES
    assert not list((vm.root / "ts-digits-k3f7-a1-t1" / "fetched").iterdir())
    said = [one for one in cloud.said("phase") if one["detail"] == "weights" and "done_bytes" in one]
    told = [(one["done_bytes"], one["total_bytes"]) for one in said]
    assert told == sorted(told) and told[-1] == (25_032, 25_032)


@pytest.mark.parametrize("wrong", ["a part", "the whole"])
def test_what_is_not_what_was_agreed_trains_nothing(cloud: Cloud, machine: Machine, wrong: str) -> None:
    told = brought(cloud)
    if wrong == "a part":
        cloud.objects[told[1]["parts"][1]["object"]] = bytes(10_000)
    else:
        told[1]["parts"].reverse()
    cloud.config(preset=told)
    machine().boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "data-changed" and not cloud.said("metric")


class Calls(NamedTuple):
    fetching: Fetching
    asked: list[str]


@pytest.fixture
def here(cloud: Cloud, tmp_path: Path) -> Calls:
    """On this computer, without a machine."""
    asked: list[str] = []

    class Bucket:
        def download(self, piece: Piece, path: Path, progress: Any) -> None:
            asked.append(piece.object)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(cloud.objects[piece.object])
            progress(piece.bytes, piece.bytes)

    bucket: Any = Bucket()
    return Calls(Fetching(bucket, tmp_path, lambda what, done, total: None, lambda: False), asked)


def test_killed_amid_it_goes_on_with_the_part_that_is_missing(cloud: Cloud, here: Calls, tmp_path: Path) -> None:
    files = load(json.dumps(cloud.config(preset=brought(cloud)))).preset
    making = tmp_path / "fetched" / f"{sha(WEIGHTS)}.joined"
    making.parent.mkdir()
    making.write_bytes(WEIGHTS[:14_000])  # the first part, and some of the second
    here.fetching.preset(files)
    first, second, third = (part.object for part in files[1].parts)
    assert first not in here.asked and {second, third} <= set(here.asked)
    assert {path.name: path.read_bytes() for path in (tmp_path / "preset").iterdir()} == FILES
    here.asked.clear()
    here.fetching.preset(files)
    assert here.asked == []


def test_what_a_crash_has_left_damaged_is_fetched_anew(cloud: Cloud, here: Calls, tmp_path: Path) -> None:
    files = load(json.dumps(cloud.config(preset=brought(cloud)))).preset
    making = tmp_path / "fetched" / f"{sha(WEIGHTS)}.joined"
    making.parent.mkdir()
    making.write_bytes(bytes(10_000))
    here.fetching.preset(files)
    assert (tmp_path / "preset" / "model.safetensors").read_bytes() == WEIGHTS


def test_parts_that_make_another_file_are_refused(cloud: Cloud, here: Calls, tmp_path: Path) -> None:
    told = brought(cloud)
    told[1]["sha256"] = sha(b"another")
    with pytest.raises(WrongContent):
        here.fetching.preset(load(json.dumps(cloud.config(preset=told))).preset)
    assert not (tmp_path / "preset" / "model.safetensors").exists()


def test_a_disk_without_room_is_told_before_anything_is_fetched(
    cloud: Cloud, here: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda path: Usage(sum(map(len, FILES.values()))))
    with pytest.raises(OSError, match=r"needs 35032 bytes, 25032 are free"):
        here.fetching.preset(load(json.dumps(cloud.config(preset=brought(cloud)))).preset)
    assert here.asked == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ".."),
        ("name", "%2E%2E"),
        ("name", "..%2Fescaped"),
        ("name", "a%5Cb"),
        ("name", "a%00b"),
        ("name", "a b"),
        ("name", "%ff"),
        ("name", "%FF"),
        ("name", ""),
        ("name", "a" * 300),
        ("sha256", "0"),
        ("bytes", 1),
        ("bytes", -1),
        ("parts", None),
        ("parts", [{"object": "../x", "sha256": "0" * 64, "bytes": 23}]),
    ],
)
def test_a_folder_that_is_not_described_as_agreed_is_refused(cloud: Cloud, field: str, value: object) -> None:
    told = brought(cloud)
    told[0][field] = value
    with pytest.raises(BadConfig):
        load(json.dumps(cloud.config(preset=told)))


def test_a_file_that_is_named_twice_is_refused(cloud: Cloud) -> None:
    told = brought(cloud)
    with pytest.raises(BadConfig):
        load(json.dumps(cloud.config(preset=[*told, {**told[1], "name": told[0]["name"]}])))

"""Compiled programs go up after the first compile and come down on the next machine; none of it can fail a run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.trainer import PROGRAM
from tests.unit.guardian.vm.cloud import PREFIX, Cloud, Vm
from tpu_studio.trainer.guardian.vm.bucket import WrongContent
from tpu_studio.trainer.guardian.vm.compiled import ROOM_BYTES, CompiledPrograms
from tpu_studio.trainer.guardian.vm.config import BadConfig, Piece, load
from tpu_studio.wire import compiled

Machine = Callable[..., Vm]
KEY = "5e" * 32
ENTRY = "jit_step-0123456789abcdef-cache"


def told(cloud: Cloud, id: str, attempt: int = 1) -> list[dict[str, Any]]:
    return [event["facts"] for event in cloud.said("notice", attempt) if event["id"] == id]


def carried(cloud: Cloud, machine: Machine, go_on: Path) -> dict[str, Any]:
    """What a first machine told of the program that it compiled."""
    cloud.config(compiled_key=KEY)
    vm = machine(f"--compiles --steps 20 --at 3:hold={go_on}").boot()
    cloud.wait(lambda: told(cloud, "compiled-carried"))
    go_on.touch()
    vm.to_its_deletion()
    return told(cloud, "compiled-carried")[0]


def test_what_one_machine_has_compiled_the_next_one_finds(cloud: Cloud, machine: Machine, tmp_path: Path) -> None:
    facts = carried(cloud, machine, tmp_path / "go-on")
    piece = compiled.piece_of(facts, PREFIX)
    assert piece is not None
    packed = cloud.objects[facts["object"]]
    assert compiled.is_sealed(KEY, piece, facts["seal"])
    assert hashlib.sha256(packed).hexdigest() == facts["sha256"] and len(packed) == facts["bytes"]
    assert PROGRAM in packed and facts["programs"] == 1

    cloud.deletes.clear()
    cloud.config(attempt=2, compiled=piece)
    machine("--compiles --steps 30", disk="second").boot().to_its_deletion()
    assert told(cloud, "compiled-before", 2) == [{"programs": 1, "saved_s": 40.0}]
    assert told(cloud, "compiled-carried", 2) == []  # there is nothing new
    assert cloud.said("end", 2)[0]["reason"] == "completed"


@pytest.mark.parametrize("harm", ["replaced", "shorter", "longer", "gone", "refused", "no archive"])
def test_programs_that_are_not_those_agreed_on_are_compiled_again(cloud: Cloud, machine: Machine, harm: str) -> None:
    data = b"no archive" if harm == "no archive" else b"evil"
    sha256 = hashlib.sha256(b"good" if harm == "replaced" else data).hexdigest()
    name = compiled.object_name(PREFIX, sha256)
    if harm != "gone":
        cloud.objects[name] = data
    if harm == "refused":
        cloud.rules.append(lambda method, path: 403 if "compiled" in path and method == "GET" else None)
    size = len(data) + {"shorter": 1, "longer": -1}.get(harm, 0)  # of the one agreed on
    cloud.config(compiled={"object": name, "sha256": sha256, "bytes": size})
    vm = machine("--compiles --steps 20").boot()
    vm.to_its_deletion()
    assert told(cloud, "compiled-unused")
    assert told(cloud, "compiled-before") == []
    assert cloud.said("end")[0]["reason"] == "completed"
    asked = [path for method, path in cloud.calls if method == "GET" and "compiled" in path]
    assert len(asked) == 1  # no minute of the machine's goes into asking again for what cannot come
    assert sorted(path.name for path in vm.root.rglob("*-cache")) == [ENTRY]  # its own


@pytest.mark.parametrize(
    "change",
    [
        {"object": "data/" + "ab" * 32 + ".tar"},
        {"object": "runs/x/job/" + "ab" * 32 + ".tar"},
        {"object": "runs/x/../y/compiled/" + "ab" * 32 + ".tar"},
        {"sha256": "cd" * 32},
        {"bytes": compiled.MOST_BYTES + 1},
        {"bytes": True},
    ],
)
def test_a_config_that_names_other_objects_is_not_obeyed(cloud: Cloud, change: dict[str, Any]) -> None:
    piece = {"object": compiled.object_name("runs/x/", "ab" * 32), "sha256": "ab" * 32, "bytes": 9}
    cloud.config(compiled=piece)
    config = load(cloud.metadata["ts-config"])
    assert config.compiled is not None and config.compiled.object == piece["object"]
    cloud.config(compiled=piece | change)
    with pytest.raises(BadConfig):
        load(cloud.metadata["ts-config"])


class Box:
    """A bucket in memory."""

    def __init__(self) -> None:
        self.sent: dict[str, bytes] = {}
        self.fails: OSError | None = None

    def upload(self, path: Path, name: str) -> None:
        if self.fails:
            raise self.fails
        self.sent[name] = path.read_bytes()

    def download(self, piece: Piece, path: Path, progress: Any) -> None:
        raise WrongContent(piece.object)


class Programs:
    """`CompiledPrograms` of a folder, with what was told."""

    def __init__(self, folder: Path, free: int = 1 << 40) -> None:
        self.box, self.notices = Box(), list[tuple[str, dict[str, Any]]]()
        self.folder = folder
        self.one = CompiledPrograms(self.box, PREFIX, folder, self.tell, lambda path: free)  # type: ignore[arg-type]

    def tell(self, id: str, level: str = "warning", **facts: Any) -> None:
        assert level == "info"
        self.notices.append((id, facts))

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.one.carry()


def test_an_entry_that_is_still_being_written_is_not_carried(tmp_path: Path) -> None:
    programs = Programs(tmp_path / "compiled")
    assert programs.one.prepare(None, "jax", lambda: None)["JAX_COMPILATION_CACHE_DIR"] == str(programs.folder)
    entry = programs.folder / ENTRY
    for size in range(1, 6):  # it grows
        entry.write_bytes(b"x" * size)
        programs.turns(3)
    assert programs.box.sent == {}
    programs.turns(3)
    assert len(programs.box.sent) == 1
    programs.turns(9)
    assert len(programs.box.sent) == 1  # nothing new
    (programs.folder / "jit_evaluate-ab-cache").write_bytes(b"more")
    programs.turns(6)
    assert [facts["programs"] for _, facts in programs.notices] == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["compiled"]  # no archive stays


def test_nearly_no_disk_left_it_is_done_without(tmp_path: Path) -> None:
    programs = Programs(tmp_path / "compiled", free=ROOM_BYTES)
    piece = Piece(compiled.object_name(PREFIX, "ab" * 32), "ab" * 32, 9)
    assert programs.one.prepare(piece, "jax", lambda: None) == {}
    assert [id for id, _ in programs.notices] == ["compiled-unused"]


def test_more_than_the_most_is_told_once_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MOST_BYTES", 100)
    programs = Programs(tmp_path / "compiled")
    programs.one.prepare(None, "jax", lambda: None)
    (programs.folder / ENTRY).write_bytes(b"x" * 101)
    programs.turns(30)
    assert programs.notices == [("compiled-not-carried", {"most_bytes": 100})]
    assert programs.box.sent == {}


def test_a_full_disk_is_told_once_and_fails_nothing(tmp_path: Path) -> None:
    programs = Programs(tmp_path / "compiled")
    programs.one.prepare(None, "jax", lambda: None)
    (programs.folder / ENTRY).write_bytes(b"x")
    programs.box.fails = OSError(28, "No space left on device")
    programs.turns(30)
    assert [id for id, _ in programs.notices] == ["compiled-not-carried"]
    assert "No space left" in programs.notices[0][1]["raw"]


def test_a_framework_that_keeps_none_is_told_no_folder(tmp_path: Path) -> None:
    assert Programs(tmp_path / "compiled").one.prepare(None, "tensorflow", lambda: None) == {}

"""Installing, repairing and removing the training engine, with a system Python whose pip says what pip says."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.system_python import lock_text, make_python, wheel_bytes
from tpu_studio.local.engine import Engine, EngineSpec, Progress, engine_root, packages_for
from tpu_studio.wire import exports
from tpu_studio.wire.errors import NotReady, StudioError

PACKAGES = {"alpha": "1.0", "beta": "2.0", "pip": "26.3"}


@pytest.fixture
def spec(tmp_path: Path) -> EngineSpec:
    lock, test = tmp_path / "lock.txt", tmp_path / "self_test.py"
    lock.write_text(lock_text(PACKAGES), encoding="utf-8")
    test.touch()
    return EngineSpec(lock, test, needed_bytes=1000, python=str(make_python(tmp_path / "system" / "python3.11")))


@pytest.fixture
def engine(tmp_path: Path, spec: EngineSpec) -> Engine:
    return Engine(tmp_path / "engine", spec)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = tmp_path / "commands.log"
    monkeypatch.setenv("FAKE_LOG", str(log))
    return log


def install(engine: Engine, **more: Path) -> list[Progress]:
    told: list[Progress] = []
    engine.install(told.append, lambda: False, **more)
    return told


def test_a_new_engine_is_missing_and_its_python_is_refused(engine: Engine):
    assert engine.state().status == "missing"
    with pytest.raises(NotReady) as refused:
        engine.python()
    assert refused.value.id == "engine-not-ready"


def test_an_installed_engine_is_ready_and_tells_versions_size_and_python(engine: Engine):
    install(engine)

    state = engine.state()
    assert state.is_ready
    assert state.versions == PACKAGES
    assert state.python == "3.11.9"
    assert state.size_bytes > 0
    assert state.tested["seconds"] == {"alpha": 0.1, "beta": 0.2}
    assert engine.python() == engine.root / "main" / "bin" / "python"


def test_progress_counts_packages_and_bytes_and_never_runs_backwards(engine: Engine):
    told = install(engine)

    whole = sum(len(wheel_bytes(name)) for name in PACKAGES)
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    downloaded = [progress for progress in told if progress.step == "downloading"]
    assert {progress.bytes_total for progress in downloaded} == {whole}
    assert downloaded[-1].bytes == whole
    assert [progress.name for progress in told if progress.step == "testing"] == ["", "alpha", "beta"]


def test_installing_a_ready_engine_does_nothing(engine: Engine, commands: Path):
    install(engine)
    commands.unlink()

    assert install(engine) == []
    assert not commands.exists()


def test_a_finished_install_keeps_no_wheels_and_no_temporary_files(engine: Engine):
    install(engine)

    assert {path.name for path in engine.root.iterdir()} == {".lock", "engine.json", "install.log", "main"}


@pytest.mark.parametrize("where", ["hang-in-download", "hang-in-install"])
def test_a_cancelled_install_leaves_no_engine_and_no_process(
    where: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_FAULT", where)
    step = "downloading" if where == "hang-in-download" else "installing"
    told: list[Progress] = []

    with pytest.raises(StudioError) as cancelled:
        engine.install(told.append, lambda: bool(told) and (told[-1].step, told[-1].name) == (step, "beta"))

    assert cancelled.value.id == "engine-cancelled"
    assert engine.state().status == "missing"
    assert not (engine.root / "main").exists()
    assert not running_in(engine.root)


def test_an_install_goes_on_from_the_files_fetched_before(
    engine: Engine, commands: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_FAULT", "self-test")
    with pytest.raises(NotReady):
        install(engine)
    (engine.root / "wheels" / "beta-2.0-py3-none-any.whl").write_bytes(b"torn")
    commands.unlink()
    monkeypatch.delenv("FAKE_FAULT")

    told = install(engine)

    assert engine.state().is_ready
    downloads = [line for line in commands.read_text().splitlines() if " download " in line]
    assert len(downloads) == 1  # beta, whose file was torn
    assert next(progress.name for progress in told if progress.step == "downloading") == "beta"


@pytest.mark.parametrize(
    ("fault", "id", "facts"),
    [
        ("offline", "engine-offline", {"packages": 3, "download_bytes": sum(len(wheel_bytes(n)) for n in PACKAGES)}),
        ("full-disk", "engine-no-disk", {"needed_bytes": 1000}),
        ("missing", "engine-install-failed", {"problem": "missing-file", "package": "beta==2.0"}),
        ("self-test", "engine-self-test-failed", {"part": "beta"}),
        ("no-venv", "engine-no-venv", {"package": "python3.11-venv"}),
        ("old", "engine-no-python", {"versions": ["3.11"]}),
    ],
)
def test_each_failure_has_its_own_id_and_leaves_no_engine(
    fault: str, id: str, facts: dict[str, object], engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_FAULT", fault)

    with pytest.raises(NotReady) as failed:
        install(engine)

    assert failed.value.id == id
    assert failed.value.facts.items() >= facts.items()
    assert engine.state().status == "missing"


def test_a_network_that_does_not_answer_is_told_while_pip_tries_again(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_FAULT", "offline")
    told: list[Progress] = []

    with pytest.raises(NotReady):
        engine.install(told.append, lambda: False)

    assert told[-1].retrying


def test_a_damaged_file_in_pips_cache_is_fetched_anew(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_FAULT", "damaged-once")

    install(engine)

    assert engine.state().is_ready


def test_a_folder_of_wheels_replaces_the_network(engine: Engine, commands: Path, tmp_path: Path):
    install(engine, wheels=tmp_path)

    told = commands.read_text()
    assert " download " not in told
    assert "--no-index" in told
    assert f"--find-links {tmp_path} " in told


def test_too_little_room_is_told_before_anything_is_fetched(engine: Engine, spec: EngineSpec, commands: Path):
    crowded = Engine(engine.root, replace(spec, needed_bytes=1 << 60))

    with pytest.raises(NotReady) as refused:
        install(crowded)

    assert refused.value.id == "engine-no-disk"
    assert refused.value.facts["needed_bytes"] == 1 << 60
    assert 0 < refused.value.facts["free_bytes"] < 1 << 60
    assert "-m venv" not in commands.read_text()


def test_an_unwritable_folder_is_named(spec: EngineSpec, tmp_path: Path):
    (tmp_path / "file").touch()

    with pytest.raises(NotReady) as refused:
        install(Engine(tmp_path / "file" / "engine", spec))

    assert refused.value.id == "engine-folder-unwritable"


def test_two_installers_do_not_write_at_once(engine: Engine):
    engine.root.mkdir()
    with open(engine.root / ".lock", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        assert engine.state().status == "installing"
        with pytest.raises(NotReady) as refused:
            install(engine)

    assert refused.value.id == "engine-busy"
    assert engine.state().status == "missing"


def test_an_installer_that_died_leaves_an_engine_that_does_not_count(engine: Engine):
    install(engine)
    (engine.root / "engine.json").unlink()

    state = engine.state()
    assert (state.status, state.problem) == ("broken", "unfinished")


def test_a_whole_environment_that_was_never_tested_is_tested_and_counts(engine: Engine, commands: Path):
    install(engine)
    (engine.root / "engine.json").unlink()
    commands.unlink()

    install(engine)

    assert engine.state().is_ready
    assert not [line for line in commands.read_text().splitlines() if " pip " in line]


def test_another_lock_makes_the_engine_outdated_until_it_is_installed_anew(engine: Engine, spec: EngineSpec):
    install(engine)
    spec.lock.write_text(lock_text({**PACKAGES, "beta": "2.1"}), encoding="utf-8")

    assert engine.state().status == "outdated"
    install(engine)
    assert engine.state().is_ready
    assert engine.state().versions["beta"] == "2.1"


def test_packages_that_the_engine_reads_need_its_python(engine: Engine, spec: EngineSpec, tmp_path: Path):
    install(engine)
    beside = replace(spec, name="onnx-exporter", read_by_engine=True, minor=engine.paths.minor)
    install(found := Engine(engine.root / "onnx-exporter", beside))
    assert engine.paths.minor == "3.11" and found.state().is_ready

    newer = Engine(found.root, replace(beside, minor="3.12"))  # the engine was made anew with another Python
    assert (newer.state().status, newer.state().problem) == ("outdated", "python-other")
    with pytest.raises(NotReady) as refused:
        newer.python()
    assert refused.value.id == "onnx-exporter-not-ready"
    with pytest.raises(NotReady) as without:  # which of this system is the engine's is not known
        install(Engine(tmp_path / "none" / "onnx-exporter", replace(beside, minor="")))
    assert without.value.id == "engine-not-ready"


def test_where_packages_lie_is_told_once_engine_and_packages_are_there(tmp_path: Path):
    assert packages_for(tmp_path, exports.by_id("litert")) is None
    with pytest.raises(NotReady) as refused:
        packages_for(tmp_path, exports.by_id("onnx"))
    assert refused.value.id == "engine-not-ready"


def test_an_update_that_fails_leaves_the_old_engine_in_its_place(
    engine: Engine, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
):
    install(engine)
    spec.lock.write_text(lock_text({**PACKAGES, "beta": "2.1"}), encoding="utf-8")
    monkeypatch.setenv("FAKE_FAULT", "offline")

    with pytest.raises(NotReady):
        install(engine)

    assert engine.state().status == "outdated"
    assert engine.state().versions == PACKAGES


def test_an_update_that_was_killed_is_undone_by_the_next_installer(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    install(engine)
    os.replace(engine.root / "engine.json", engine.root / "main" / "engine.json")
    os.replace(engine.root / "main", engine.root / "main.previous")
    (engine.root / "main").mkdir()

    install(engine)

    assert engine.state().is_ready
    assert not (engine.root / "main.previous").exists()


def test_a_python_that_the_system_has_removed_is_seen_without_starting_it(engine: Engine):
    install(engine)
    python = engine.root / "main" / "bin" / "python"
    python.unlink()
    python.symlink_to(engine.root / "gone" / "python3.11")

    state = engine.state()
    assert (state.status, state.problem) == ("broken", "python-gone")
    assert state.detail.endswith("gone/python3.11")


def test_a_record_that_cannot_be_read_is_broken_not_a_crash(engine: Engine):
    install(engine)
    record = engine.root / "engine.json"
    told = json.loads(record.read_text(encoding="utf-8"))
    for odd in ("{", "[" * 100_000, json.dumps({**told, "size_bytes": "HERE"}).replace('"HERE"', "1e999")):
        record.write_text(odd, encoding="utf-8")
        assert engine.state().problem == "record-unreadable"


def test_another_version_of_a_package_than_the_tested_one_is_seen_and_named(engine: Engine):
    install(engine)
    site = engine.root / "main" / "lib" / "python3.11" / "site-packages"
    info = next(site.glob("beta-*.dist-info"))
    version = info.name.removesuffix(".dist-info").partition("-")[2]
    shutil.copytree(info, site / "beta-9.9.dist-info")  # both: which one Python takes is chance

    state = engine.state()
    assert (state.status, state.problem) == ("broken", "package-other")
    assert state.detail == f"beta {version} and 9.9 instead of {version}"
    shutil.rmtree(info)
    assert engine.state().detail == f"beta 9.9 instead of {version}"


def test_a_compiler_library_that_was_replaced_by_hand_or_deleted_is_seen(engine: Engine):
    install(engine)
    site = engine.root / "main" / "lib" / "python3.11" / "site-packages"
    (site / "libtpu-1.dist-info").mkdir()
    (site / "libtpu-1.dist-info" / "RECORD").write_text("libtpu/__init__.py,,9\nlibtpu/libtpu.so,sha256=x,5\n")
    (site / "libtpu").mkdir()
    library = site / "libtpu" / "libtpu.so"
    library.write_bytes(b"12345")
    assert engine.state().is_ready
    library.write_bytes(b"another")
    assert (engine.state().problem, engine.state().detail) == ("library-changed", "libtpu.so")
    library.unlink()
    assert engine.state().problem == "library-changed"


def test_repair_replaces_the_damaged_package_only(engine: Engine, commands: Path):
    install(engine)
    changed = engine.root / "main" / "lib" / "python3.11" / "site-packages" / "beta" / "__init__.py"
    changed.write_text("whole = False\n", encoding="utf-8")
    commands.unlink()

    assert engine.repair(lambda _: None, lambda: False) == ["beta"]

    assert engine.state().is_ready
    assert changed.read_text(encoding="utf-8") == "whole = True\n"
    assert "venv" not in commands.read_text()


def test_repair_of_a_sound_engine_replaces_nothing_and_tests_it(engine: Engine, commands: Path):
    install(engine)
    commands.unlink()

    assert engine.repair(lambda _: None, lambda: False) == []

    assert engine.state().is_ready
    assert " pip " not in commands.read_text()


def test_repair_builds_anew_what_has_lost_its_python(engine: Engine):
    install(engine)
    (engine.root / "main" / "bin" / "python").unlink()

    assert engine.repair(lambda _: None, lambda: False) == sorted(PACKAGES)

    assert engine.state().is_ready


def test_a_trainer_at_work_keeps_its_engine(engine: Engine):
    install(engine)
    program = [str(engine.python()), "-c", "echo up; read line"]
    with subprocess.Popen(program, executable="/bin/sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout is not None
        trainer.stdout.readline()
        with pytest.raises(NotReady) as refused:
            engine.remove()
    assert refused.value.id == "engine-in-use"
    assert refused.value.facts["processes"] == [trainer.pid]

    engine.remove()
    assert engine.state().status == "missing"


def test_removing_leaves_nothing_but_the_lock_file(engine: Engine):
    install(engine)

    engine.remove()

    assert [path.name for path in engine.root.iterdir()] == [".lock"]


def test_the_state_is_plain_json(engine: Engine):
    install(engine)

    assert json.loads(json.dumps(engine.state().to_json()))["status"] == "ready"


def test_the_root_is_moved_by_its_own_variable_then_by_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "elsewhere"))
    assert engine_root() == tmp_path / "elsewhere"
    monkeypatch.delenv("TPU_STUDIO_ENGINE")
    assert engine_root() == tmp_path / "home" / "engine"


def running_in(root: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(root) in entry.read_bytes():
                found.append(entry.parent.name)
        except OSError:
            continue
    return found

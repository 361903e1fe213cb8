"""Unit tests need no Qt: a test here that imports it, or asks for a Qt fixture, is in the wrong folder."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
QT_FIXTURES = {"qtbot", "qapp", "qtmodeltester"}
QT_MODULES = ("PySide6", "pyqtgraph", "tpu_studio.gui", "tpu_studio.app")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not isinstance(item, pytest.Function) or HERE not in item.path.parents:
            continue
        wanted = QT_FIXTURES & set(item.fixturenames)
        imported = {
            name
            for name, value in vars(item.module).items()
            if (getattr(value, "__module__", None) or getattr(value, "__name__", "")).startswith(QT_MODULES)
        }
        if wanted or imported:
            names = ", ".join(sorted(wanted | imported))
            raise pytest.UsageError(f"{item.nodeid} uses Qt ({names}); it belongs in tests/gui")

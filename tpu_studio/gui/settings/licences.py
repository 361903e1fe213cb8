"""The licences of the app and of what is shipped with it: texts from their files, versions from the installation."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.wire.resources import resource_path

_PACKAGES = (
    ("PySide6-Essentials", "LGPL-3.0"),
    ("pyqtgraph", "MIT"),
    ("numpy", "BSD-3-Clause"),
    ("tomlkit", "MIT"),
    ("pillow", "MIT-CMU"),
    ("google-crc32c", "Apache-2.0"),
    ("orjson", "MPL-2.0 and Apache-2.0 or MIT"),
)
_SHIPPED = (
    ("Inter, the font", "fonts", "Inter-LICENSE.txt"),
    ("JetBrains Mono, the font", "fonts", "JetBrainsMono-LICENSE.txt"),
    ("Lucide, the icons", "icons", "LICENSE.txt"),
)


def open_licences(over: QWidget) -> Sheet:
    sheet = Sheet(
        over, "Licences", "TPU Studio is free software under the Apache License 2.0 and stands on these:", width=720
    )
    text = QPlainTextEdit()
    text.setReadOnly(True)
    text.setFont(fonts.font("mono"))
    text.setPlainText(licence_text())
    text.setAccessibleName("Licence texts")
    text.setTabStopDistance(QFontMetricsF(text.font()).horizontalAdvance(" ") * 4)
    sheet.body.addWidget(Tall(text, lambda _: px(340)), 1)
    sheet.answer("Close", kind="primary", safe=True)
    sheet.open()
    return sheet


def licence_text() -> str:
    parts = ["Libraries", ""]
    for name, licence in _PACKAGES:
        parts.append(f"  {name} {_version(name)}: {licence}")
    for title, *where in _SHIPPED:
        parts += ["", "", title, "-" * len(title), "", _read(resource_path(*where))]
    return "\n".join(parts)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(built in)"


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace").strip()

"""The licences of the app, of all that is shipped with it, and of what it fetches for the engine and rented machines.

The packages stand in ``licences.json``, which `tools/lock_packages.py` makes from their own metadata; texts come from
their files (those of the packages lie beside them, in a package for Linux under /usr/share/doc/tpu-studio/licences).
"""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.wire.resources import resource_path

_SETS = (
    ("app", "Libraries in TPU Studio (Python itself: PSF-2.0)"),
    ("engine", "Fetched for the training engine, when it is first needed"),
    ("machines", "Fetched by a rented machine, or a notebook in Colab"),
)
_SHIPPED = (
    ("Inter, the font", "fonts", "Inter-LICENSE.txt"),
    ("JetBrains Mono, the font", "fonts", "JetBrainsMono-LICENSE.txt"),
    ("Lucide, the icons (ISC AND MIT)", "icons", "LICENSE.txt"),
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
    parts = ["TPU Studio", "----------", "", _notice()]
    tree = json.loads(resource_path("licences.json").read_text("utf-8"))["sets"]
    for key, title in _SETS:
        parts += ["", "", title, "-" * len(title), ""]
        parts += [f"  {name} {version}: {licence}" for name, version, licence in tree[key]]
    for title, *where in _SHIPPED:
        parts += ["", "", title, "-" * len(title), "", _read(resource_path(*where))]
    return "\n".join(parts)


def _notice() -> str:
    return (
        "Copyright 2026 the TPU Studio authors. Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"
        "Descriptions of Google's interfaces: Google LLC, Apache License 2.0. Lists of roles: Ian Mckay, MIT License."
    )


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace").strip()

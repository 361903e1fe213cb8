"""A process of its own that writes a plan as a PDF, for the command line, which never loads Qt, and for the window,
which need not wait: ``tpu-studio --plan-pdf PLAN.json OUT.pdf``. Exit code 0, or 1 with the reason on stderr.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(plan: Path, file: Path) -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtGui import QGuiApplication

    from tpu_studio.gui.kit import fonts
    from tpu_studio.gui.plan import pdf
    from tpu_studio.wire import plan as plans

    application = QGuiApplication(sys.argv[:1])
    fonts.load()
    try:
        pdf.write(plans.from_json(json.loads(plan.read_bytes())), file)
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        return 1
    del application
    return 0

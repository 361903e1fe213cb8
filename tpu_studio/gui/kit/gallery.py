"""Photographs of everything in the kit: ``python -m tpu_studio.gui.kit.gallery --out DIR``.

Sheets: controls, states, rows, and a run page with plots, each in light and dark, at 1x and 2x, with 150% text, in
high contrast. 2x needs its own process (Qt reads the factor at its start), so the gallery starts itself again for each.
The figures in it are invented.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tpu_studio.wire import ownpython

SHOTS = (
    ("light", "1", "1.0", "normal"),
    ("dark", "1", "1.0", "normal"),
    ("light", "2", "1.0", "normal"),
    ("dark", "2", "1.0", "normal"),
    ("light", "1", "1.5", "normal"),
    ("dark", "1", "1.5", "normal"),
    ("light", "1", "1.0", "high"),
    ("dark", "1", "1.0", "high"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tpu_studio.gui.kit.gallery", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the pictures")
    parser.add_argument("--only", default="", help="one sheet: controls, states, rows, run")
    parser.add_argument("--shot", nargs=4, metavar=("MODE", "FACTOR", "TEXT", "CONTRAST"), help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.shot:
        mode, factor, text, contrast = asked.shot
        _photograph(asked.out, asked.only, mode, factor, float(text), contrast)
        return 0
    for shot in SHOTS:
        environment = ownpython.environment() | {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": shot[1]}
        words = ["--out", str(asked.out.absolute()), "--only", asked.only, "--shot", *shot]
        command = ownpython.module(sys.executable, "tpu_studio.gui.kit.gallery", *words)
        subprocess.run(command, cwd=ownpython.NEUTRAL_FOLDER, env=environment, check=True)
    return 0


def _photograph(out: Path, only: str, mode: str, factor: str, text: float, contrast: str) -> None:
    from PySide6.QtWidgets import QApplication, QWidget

    from tpu_studio.gui.kit import gallery_run, gallery_sheets, theme

    app = QApplication([])
    theme.install(
        app,
        mode="dark" if mode == "dark" else "light",
        text_scale=text,
        contrast="high" if contrast == "high" else "normal",
    )
    sheets: dict[str, Callable[[], QWidget]] = {
        "controls": gallery_sheets.controls,
        "rows": gallery_sheets.rows,
        "states": gallery_sheets.states,
        "run": gallery_run.run_page,
    }
    for name, make in sheets.items():
        if only in ("", name):
            sheet = make()
            sheet.show()
            for _ in range(4):
                app.processEvents()
            gallery_sheets.settle(sheet)
            app.processEvents()
            gallery_sheets.settle(sheet)
            suffix = (
                ("@2x" if factor == "2" else "")
                + ("-150" if text == 1.5 else "")
                + ("-contrast" if contrast == "high" else "")
            )
            sheet.grab().save(str(out / f"{name}-{mode}{suffix}.png"))
            sheet.close()


if __name__ == "__main__":
    sys.exit(main())

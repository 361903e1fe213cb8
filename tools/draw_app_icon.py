"""Draw the app's icon from its code: resources/icons/app.svg and app-16.png … app-256.png.

Run after changing `tpu_studio/gui/kit/brand.py`: ``QT_QPA_PLATFORM=offscreen python tools/draw_app_icon.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIDES = (16, 24, 32, 48, 64, 128, 256)


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from PySide6.QtGui import QGuiApplication

    from tpu_studio.gui.kit.brand import mark_pixmap, mark_svg

    app = QGuiApplication(sys.argv)
    folder = ROOT / "resources" / "icons"
    (folder / "app.svg").write_text(mark_svg(), encoding="utf-8")
    for side in SIDES:
        path = folder / f"app-{side}.png"
        if not mark_pixmap(side).save(str(path), "PNG"):
            print(f"could not write {path}")
            return 1
    del app
    print(f"drew app.svg and {len(SIDES)} sizes in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

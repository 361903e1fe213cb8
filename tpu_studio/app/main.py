"""`main(argv)`: the window's program. `tpu-studio [FILE.tpujob | RUN FOLDER]`.

Home is on screen before anything heavy is imported; what works behind it is built on the background loop right after
the first picture (`compose`), and the pages' imports follow. One window for each TPU_STUDIO_HOME.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from PySide6.QtCore import QCoreApplication, QTimer, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

NO_DISPLAY = (
    "There is no screen here to open the window on (neither DISPLAY nor WAYLAND_DISPLAY is set). "
    "Everything also works without a window: see tpu-studio --help, for example tpu-studio run FILE.tpujob."
)


def main(argv: Sequence[str]) -> int:
    """Open the window, or hand *argv*'s file to the one that is open. *argv* is without the program's name."""
    from tpu_studio.app import single
    from tpu_studio.wire.homes import home_folder

    if not can_show():
        print(NO_DISPLAY, file=sys.stderr)  # noqa: T201  there is no window to say it in
        return 2
    path = _absolute(argv[0]) if argv else ""
    home = home_folder()
    QCoreApplication.setApplicationName("TPU Studio")
    QCoreApplication.setOrganizationName("tpu-studio")
    QGuiApplication.setDesktopFileName("tpu-studio")
    app = QApplication.instance() or QApplication(["tpu-studio"])  # the name that desktops know its windows by
    assert isinstance(app, QApplication)
    answer = single.hand_over(home, path)
    if answer is single.Answer.TAKEN:
        return 0
    gc.disable()  # all that is made up to the first picture stays
    from tpu_studio.app import warming
    from tpu_studio.app.signals import SignalWatch
    from tpu_studio.app.studio import Studio

    first = single.become_first(home, app) if answer is single.Answer.NOBODY else None
    studio = Studio(app, home)
    studio.show(path)
    if first is not None:
        first.listen_with(studio.opened_again)
    watch = SignalWatch(app.quit, app)
    sys.setswitchinterval(warming.SWITCH_S)
    QTimer.singleShot(0, app, _collect_again)
    code = app.exec()
    if first is not None:
        first.close()
    clean = studio.end()
    del studio, watch  # widgets before the application: the other way round Qt crashes on the way out
    if not clean:
        _leave_now(code)
    return int(code)


def _collect_again() -> None:
    gc.freeze()
    gc.enable()


def _leave_now(code: int) -> NoReturn:
    """End although a thread is in a blocking call that nobody needs any more; runs live in processes of their own."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def can_show() -> bool:
    """Whether there is a screen to show a window on; Qt would end the process without one."""
    if sys.platform in ("win32", "darwin") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _absolute(path: str) -> str:
    if path.startswith("file:"):
        path = QUrl(path).toLocalFile()
    return str(Path(path).expanduser().absolute())

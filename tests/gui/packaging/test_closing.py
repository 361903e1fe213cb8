"""Closing the window ends the program, whatever is still going on behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from PySide6.QtCore import QTimer
from tpu_studio.app import studio
from tpu_studio.app.main import main
from tpu_studio.gui.bridge import QtTasks
stop = QtTasks.stop
QtTasks.stop = lambda self: stop(self, 0.5)
before = studio.Studio.after_first_picture
def painted(self):
    before(self)
    self.tasks.submit(lambda: time.sleep(120))
    QTimer.singleShot(300, self.app.quit)
studio.Studio.after_first_picture = painted
sys.exit(main([]))
"""


@pytest.mark.slow
def test_a_call_that_does_not_come_back_does_not_keep_the_program_alive(home: Path):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "TPU_STUDIO_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, timeout=110, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""Start to the first painted window, warm, against a minimal PySide6 window. Five starts each, interleaved.

    python benchmarks/bench_start.py

Time runs from the start of the process to the end of the first paint. Offscreen without a display, else on it
(`xvfb-run -a`). The home folder is empty but for its runs' index, as after a first start.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apart

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5
GOAL_S = 0.5
GOAL_RATIO = 4.0

MINIMAL = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel
class Window(QLabel):
    def paintEvent(self, event):
        super().paintEvent(event)
        QTimer.singleShot(0, painted)
def painted():
    print("painted", flush=True)
    app.quit()
app = QApplication(sys.argv)
window = Window("Hello")
window.resize(1440, 900)
window.show()
app.exec()
"""

OURS = """
import sys
from tpu_studio.app import studio
from tpu_studio.app.main import main
def painted(self):
    print("painted", flush=True)
    self.window.close()
    self.app.quit()
studio.Studio.after_first_picture = painted
sys.exit(main([]))
"""


def run() -> list[dict[str, object]]:
    """The figures for `benchmarks/run.py`."""
    environment = apart.environment()
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as compiled:
        environment |= {"TPU_STUDIO_HOME": home, "PYTHONPYCACHEPREFIX": compiled}
        for program in (MINIMAL, OURS):  # warm: compiled files and the disk's cache
            started(program, environment)
        ours, peer = [], []
        for _ in range(ROUNDS):
            peer.append(started(MINIMAL, environment))
            ours.append(started(OURS, environment))
    mine, theirs = statistics.median(ours), statistics.median(peer)
    ratio = mine / theirs
    return [
        {
            "name": "start to first painted window",
            "ours": round(mine, 3),
            "peer": round(theirs, 3),
            "unit": "s",
            "ratio": round(ratio, 2),
            "goal": f"at most {GOAL_S} s and {GOAL_RATIO:g}× a minimal window",
            "passed": mine <= GOAL_S and ratio <= GOAL_RATIO,
        }
    ]


def started(program: str, environment: dict[str, str]) -> float:
    """Seconds until *program* says that it has painted; it must then end well."""
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    taken = time.perf_counter() - begun
    process.stdout.close()
    code = process.wait(30)
    if line.strip() != "painted" or code:
        raise RuntimeError(f"the window did not open: it said {line!r} and ended with {code}")
    return taken


if __name__ == "__main__":
    for figure in run():
        print(figure)

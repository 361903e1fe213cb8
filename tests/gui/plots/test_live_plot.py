"""What live data may not do to a plot, nor plots to the window."""

import gc
import sys
import time

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer

from tests.gui.plots.shown import WAITS, falling, loss, shown
from tpu_studio.domain.pyramid import Pyramid
from tpu_studio.gui.plots import cadence as cadence_module
from tpu_studio.gui.plots.cadence import cadence
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import PLAIN, STEPS
from tpu_studio.gui.plots.source import Curve
from tpu_studio.wire.jsonfile import without_collecting


def test_hidden_plots_are_not_read(qtbot):
    class Counting(Pyramid):
        reads = 0

        def window(self, *arguments):
            Counting.reads += 1
            return super().window(*arguments)

    source = Counting()
    source.append([0.0, 1.0], [1.0, 2.0])
    plot = loss(qtbot, Curve("a", "training", source))
    plot.window().hide()
    Counting.reads = 0
    plot.touch()
    cadence()._beat()
    assert Counting.reads == 0
    plot.window().show()
    qtbot.waitUntil(lambda: Counting.reads > 0)


def test_plots_repaint_at_most_four_times_a_second_however_fast_data_comes(qtbot, monkeypatch):
    plot = loss(qtbot)
    done = []
    refresh = type(plot.canvas).refresh
    monkeypatch.setattr(type(plot.canvas), "refresh", lambda self: done.append(time.monotonic()) or refresh(self))

    def pour():
        plot.touch()
        return len(done) >= 5

    qtbot.waitUntil(pour)
    assert min(np.diff(done)) > 0.2


def test_slow_painting_slows_the_beat_and_fast_painting_speeds_it_up(qtbot):
    class Slow:
        seconds = 0.5

        def isVisible(self):
            return True

        def refresh(self):
            return self.seconds

    it, slow = cadence_module.Cadence(), Slow()
    it.want(slow)
    it._beat()
    assert it.interval_ms == 1500
    slow.seconds = 0.001
    it.want(slow)
    it._beat()
    assert it.interval_ms == 250


def test_between_two_plots_the_window_lives_on(qtbot):
    """A page of plots never holds the window up for longer than one of them takes."""
    seen = []

    class Drawing:
        def isVisible(self):
            return True

        def refresh(self):
            seen.append(self)
            return 0.001

    it, plots = cadence_module.Cadence(), [Drawing() for _ in range(4)]
    for plot in plots:
        it.want(plot)
    QTimer.singleShot(0, lambda: seen.append("the window"))
    qtbot.waitUntil(lambda: len(seen) == 5)
    assert "the window" in seen[:-1]
    assert [one for one in seen if one != "the window"] == plots


def test_what_a_person_asks_for_is_drawn_without_waiting_for_the_beat(qtbot):
    plot = loss(qtbot)
    cadence().want(plot.canvas)
    cadence()._beat()
    plot.set_curves([Curve("b", "other", falling())])
    assert cadence()._timer.remainingTime() == 0
    plot.touch()
    qtbot.waitUntil(lambda: plot.legend.accessibleName().startswith("other"))


def test_a_changed_plot_is_painted_once(qtbot):
    """A scene that changes while it is painted is painted again: twice the work at every beat."""
    source = Pyramid()
    source.append([0.0, 1.0], [1.0, 2.0])
    plot = loss(qtbot, Curve("a", "training", source, kind="noisy"))
    for _ in range(3):
        QCoreApplication.processEvents()
    cadence().forget(plot.canvas)
    painted = Paints(plot.canvas.viewport())
    source.append([500.0, 1000.0], [7.0, 9.0])
    plot.canvas.refresh()
    for _ in range(5):
        QCoreApplication.processEvents()
    assert painted.count == 1


class Paints(QObject):
    """Counts the paintings of a widget."""

    def __init__(self, widget):
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched, event):
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_a_thousand_live_frames_lose_no_reference_to_none(qtbot):
    """PySide6 6.12.0 aborts here after some 200 frames. pyqtgraph keeps about one reference per setData: harmless."""
    source = Pyramid()
    plot = Plot("Loss", STEPS, PLAIN, waits_for=WAITS)
    plot.set_curves([Curve("a", "training", source, kind="noisy")])
    source.append([0.0], [1.0])
    shown(qtbot, plot, 320, 220)
    frames = 1000
    gc.collect()
    with without_collecting():  # what other tests have left holds thousands of them
        before = sys.getrefcount(None)
        for index in range(frames):
            source.append([index + 1.0], [np.cos(index / 9)])
            plot.canvas.refresh()
            plot.canvas.viewport().repaint()
        change = sys.getrefcount(None) - before
    assert -frames < change < 6 * frames  # 6.12.0 loses ten a frame

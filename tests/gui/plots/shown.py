"""Plots in a window, for tests."""

import numpy as np
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import PLAIN, TIME
from tpu_studio.gui.plots.source import Curve
from tpu_studio.gui.plots.specimen import curve_of

WAITS = "Waits for the first step, in about a minute."


def falling(points=400, end=600.0):
    x = np.linspace(0, end, points)
    return curve_of(x, 3 * np.exp(-x / 150) + 0.2)


def shown(qtbot, plot, width=640, height=360):
    window = QWidget()
    window.resize(width, height)
    QVBoxLayout(window).addWidget(plot)
    qtbot.addWidget(window)
    qtbot.kept = window
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    plot.canvas.refresh()
    plot.canvas.refresh()
    return window


def loss(qtbot, *curves, **options):
    plot = Plot("Loss", TIME, PLAIN, waits_for=WAITS, log=True, **options)
    plot.set_curves(curves or [Curve("training", "training", falling(), kind="noisy")])
    shown(qtbot, plot)
    return plot

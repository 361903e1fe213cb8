"""Four plots with invented curves, for the gallery and the tests: loss, accuracy, speed and cost of a half done run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tpu_studio.domain.pyramid import Pyramid
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import COUNT, MONEY, PERCENT, PLAIN, TIME
from tpu_studio.gui.plots.source import Curve, Forecast, Limit

_WAITS = "Waits for the first step, in about a minute."


def curve_of(x: npt.ArrayLike, y: npt.ArrayLike) -> Pyramid:
    pyramid = Pyramid()
    pyramid.append(x, y)
    return pyramid


def specimen_plots(points: int = 1200) -> dict[str, Plot]:
    chance = np.random.default_rng(3)
    x = np.linspace(1, 18.6 * 60, points)
    falling = 0.4 + 2.95 * np.exp(-x / 260)
    checks = np.arange(1, 16) * 72.0
    loss = Plot("Loss", TIME, PLAIN, waits_for=_WAITS, log=True, explain=True)
    loss.set_curves(
        [
            Curve("training", "training", curve_of(x, falling * (1 + chance.normal(0, 0.05, points))), "s1", "noisy"),
            Curve(
                "unseen",
                "validation",
                curve_of(checks, 0.5 + 2.9 * np.exp(-checks / 250) + chance.normal(0, 0.01, 15)),
                "s2",
                "points",
            ),
        ]
    )
    accuracy = Plot("Accuracy", TIME, PERCENT, waits_for=_WAITS, y_top=1.0, explain=True)
    accuracy.set_curves(
        [
            Curve("training", "training", curve_of(x, 0.93 * (1 - np.exp(-x / 280)))),
            Curve("unseen", "validation", curve_of(checks, 0.87 * (1 - np.exp(-checks / 300))), "s2", "points"),
        ]
    )
    speed = Plot("Speed", TIME, COUNT, waits_for=_WAITS)
    dip = np.where((x > 600) & (x < 640), 0.75, 1.0)
    rate = np.minimum(3200, 600 + x * 45) * (1 + chance.normal(0, 0.012, points)) * dip
    speed.set_curves([Curve("speed", "pictures/s", curve_of(x, rate), "s3", "noisy", fill=True)])
    speed.set_limits([Limit(4824, "this TPU can do 4,824")])
    speed.legend.hide()
    speed.set_badge(Pill("Input-bound 34%", "warn", icon="hourglass"))
    speed.set_finding("The TPU waits for pictures a third of the time.", "Fix it")
    cost = Plot("Cost", TIME, MONEY, waits_for=_WAITS, explain=True)
    spent = curve_of(x * 1.4, x * 1.84 / (18.6 * 60))
    cost.set_curves([Curve("spent", "spent", spent, fill=True)])
    cost.set_limits([Limit(5, "stops at $5.00", "bad", below=True)])
    cost.set_forecast(Forecast(18.6 * 60 * 1.4, 1.84, 40 * 60, 2.5, 2.75, 3.0, "$2.50 – 3.00"))
    return {"curve": loss, "quality": accuracy, "speed": speed, "cost": cost}

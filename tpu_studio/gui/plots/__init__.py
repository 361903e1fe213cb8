"""Plots of live and finished runs. Importing this package is cheap; `plot` and `canvas` load pyqtgraph and numpy, so
pages import them when they are first shown, never at the start of the app.

    source      CurveSource (Protocol): window(x_min, x_max, buckets) -> (x, low, high); last() -> (x, y) | None.
                Optional extras: trend(x_min, x_max, buckets) -> (x, mean). `domain.pyramid.Pyramid` has all of it;
                RunCurve(curve, axis="step"|"time", origin=0.0, y_factor=1.0) adapts a run's curve from the store.
                Curve(key, name, source, tone="s1", kind="noisy"|"line"|"points", fill=False, end_label=False,
                    ended=False)
                Limit(value, words, tone="text_2", below=False); Gap(x, why)
                Forecast(x, y, x_end, low, middle, high, words)
    along       the axes of a run (time, steps, epochs, examples, cost): SCALES, along(curve, axis, course)
    scale       Scale objects for axes: TIME (seconds), STEPS, EPOCHS, EXAMPLES, PERCENT (0 to 1), MONEY, PLAIN, COUNT
    plot        Plot(title, x, y, *, waits_for, y_top=None, include_zero=True, log=False, explain=False):
                    set_curves([Curve]), touch() after new points, set_limits, set_forecast, set_gaps,
                    set_badge(widget), set_finding(sentence, action=""); signals help_asked, finding_acted, moved_away
    cadence     repaints at most 4 times a second, only what is visible and changed, slower when painting is slow
"""

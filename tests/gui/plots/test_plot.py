"""A plot as a person uses it: mouse, keyboard, screen reader."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPixmap, QWheelEvent

from tests.gui.plots.shown import WAITS, falling, loss, shown
from tpu_studio.domain.course import AXES, Course
from tpu_studio.domain.pyramid import Pyramid
from tpu_studio.domain.spending import Spending
from tpu_studio.gui.kit.notice import Notice
from tpu_studio.gui.kit.table import Table
from tpu_studio.gui.plots import marks
from tpu_studio.gui.plots.along import along
from tpu_studio.gui.plots.canvas import PlotCanvas
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import MONEY, TIME
from tpu_studio.gui.plots.source import Curve, Forecast, Gap, Limit, RunCurve
from tpu_studio.gui.plots.specimen import curve_of, specimen_plots

Key = Qt.Key


def test_an_empty_plot_says_what_it_waits_for(qtbot):
    plot = loss(qtbot, Curve("training", "training", Pyramid()))
    assert plot.canvas.frame is None
    assert plot.canvas.accessibleName() == f"Loss. {WAITS}"
    assert plot.legend.accessibleName() == ""


def test_a_plot_is_one_sentence_to_a_screen_reader(qtbot):
    plot = loss(qtbot, Curve("unseen", "validation", curve_of([60, 120], [2.0, 1.0]), kind="points"))
    plot.set_limits([Limit(0.5, "the goal")])
    plot.canvas.refresh()
    assert plot.summary() == ("Loss: validation 1.00 at 2 min, from 2.00, lowest 1.00, highest 2.00; the goal.")


def test_the_legend_carries_the_current_values(qtbot):
    x = np.arange(50.0)
    plot = loss(
        qtbot,
        Curve("a", "training", curve_of(x, 50.0 - x)),
        Curve("b", "validation", curve_of([40], [0.54]), kind="points"),
    )
    assert plot.legend.accessibleName() == "training 1.00, validation 0.540"


def test_what_the_page_says_elsewhere_the_legend_says_too_and_a_value_off_a_smoothed_line_is_called_so(qtbot):
    x = np.arange(100.0)
    plot = loss(qtbot, Curve("loss", "training", curve_of(x, 2.0 + (-1.0) ** x), kind="noisy"))
    plot.set_values({"loss": 1.0})
    assert plot.legend.accessibleName() == "training 1.00"
    assert plot.summary().endswith("lowest 1.00, highest 3.00.")
    assert [line.name for line in plot.canvas.reading(50.0)[0]] == ["training, smoothed"]
    assert plot.rows()[0] == ["Time", "training, smoothed"]
    plot.set_smoothing(0.0)
    plot.canvas.refresh()
    assert [line.name for line in plot.canvas.reading(50.0)[0]] == ["training"]


def test_arrow_keys_move_the_crosshair_and_its_card_reads_every_line(qtbot):
    plot = loss(
        qtbot,
        Curve("a", "line", curve_of([0, 100, 200], [1.0, 2.0, 3.0])),
        Curve("b", "checks", curve_of([50, 150], [7.0, 8.0]), kind="points"),
        Curve("c", "short", curve_of([0, 60], [1.0, 4.0]), ended=True),
    )
    canvas = plot.canvas
    canvas.setFocus()
    qtbot.keyClick(canvas, Key.Key_Left)
    assert canvas.crosshair < 200
    canvas.point_at(100.0)
    lines, foot = canvas.reading(100.0)
    assert [(line.name, line.value) for line in lines] == [
        ("line", "2.00"),
        ("checks", "7.00"),
        ("short", "done, 4.00"),
    ]
    assert foot == ""
    qtbot.keyClick(canvas, Key.Key_Right)
    assert canvas.crosshair > 100.0
    qtbot.keyClick(canvas, Key.Key_Escape)
    assert canvas.crosshair is None


def drag(qtbot, canvas, start, end):
    qtbot.mousePress(canvas.viewport(), Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(canvas.viewport(), end)
    qtbot.mouseRelease(canvas.viewport(), Qt.MouseButton.LeftButton, pos=end)
    canvas.refresh()


def test_drag_zooms_across_and_home_comes_back(qtbot):
    plot = loss(qtbot)
    canvas, box = plot.canvas, plot.canvas.frame.box
    whole = canvas.frame.view
    middle = int(box.center().y())
    drag(qtbot, canvas, QPoint(int(box.left() + box.width() * 0.25), middle), QPoint(int(box.center().x()), middle))
    view = canvas.frame.view
    assert view.x_low == pytest.approx(whole.x_high * 0.25, rel=0.05)
    assert view.x_high == pytest.approx(whole.x_high * 0.5, rel=0.05)
    assert view.y_high < whole.y_high  # the height fits what is seen
    assert plot.findChild(type(plot._follow), options=Qt.FindChildOption.FindChildrenRecursively) is not None
    assert plot._follow.isVisible()
    canvas.setFocus()
    qtbot.keyClick(canvas, Key.Key_Home)
    canvas.refresh()
    assert canvas.frame.view.x_high == whole.x_high
    assert not plot._follow.isVisible()


def test_a_click_is_no_zoom_and_a_double_click_shows_all(qtbot):
    plot = loss(qtbot)
    canvas = plot.canvas
    spot = canvas.frame.box.center().toPoint()
    drag(qtbot, canvas, spot, spot + QPoint(3, 0))
    assert canvas.following
    canvas.zoom_to(100, 200)
    assert not canvas.following
    qtbot.mouseDClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert canvas.following


def test_keys_zoom_too(qtbot):
    plot = loss(qtbot)
    plot.canvas.setFocus()
    plot.canvas.point_at(300.0)
    qtbot.keyClick(plot.canvas, Key.Key_Plus)
    plot.canvas.refresh()
    view = plot.canvas.frame.view
    assert (view.x_low + view.x_high) / 2 == pytest.approx(300.0)


def test_zoomed_the_view_moves_along_but_not_beyond_the_ends(qtbot):
    canvas = loss(qtbot).canvas
    whole = canvas.frame.view
    canvas.setFocus()
    qtbot.keyClick(canvas, Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.following  # everything is seen: there is nowhere to go
    canvas.zoom_to(100, 200)
    canvas.refresh()
    qtbot.keyClick(canvas, Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    canvas.refresh()
    assert (canvas.frame.view.x_low, canvas.frame.view.x_high) == pytest.approx((110, 210))
    for _ in range(100):
        qtbot.keyClick(canvas, Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    canvas.refresh()
    assert (canvas.frame.view.x_low, canvas.frame.view.x_high) == pytest.approx((whole.x_low, whole.x_low + 100))
    for _ in range(5):
        qtbot.keyClick(canvas, Key.Key_Minus)
    assert canvas.following


def wheel(canvas: PlotCanvas, turned: QPoint, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> bool:
    """Whether the plot takes it, so that the page does not scroll."""
    at = canvas.frame.box.center()
    nothing, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(at, canvas.mapToGlobal(at), QPoint(), turned, nothing, modifiers, phase, False)
    canvas.wheelEvent(event)
    return event.isAccepted()


def test_the_wheel_scrolls_the_page_and_with_ctrl_zooms_where_it_points(qtbot):
    canvas = loss(qtbot).canvas
    whole, middle = canvas.frame.view, canvas.frame.x_at(canvas.frame.box.center().x())
    assert not wheel(canvas, QPoint(0, 120)) and not wheel(canvas, QPoint(120, 0))
    assert canvas.following
    assert wheel(canvas, QPoint(0, 240), Qt.KeyboardModifier.ControlModifier)
    canvas.refresh()
    view = canvas.frame.view
    assert view.x_high - view.x_low == pytest.approx((whole.x_high - whole.x_low) / 2)
    assert (view.x_low + view.x_high) / 2 == pytest.approx(middle)
    assert not wheel(canvas, QPoint(0, 120))
    assert wheel(canvas, QPoint(-120, 0))
    canvas.refresh()
    assert canvas.frame.view.x_low == pytest.approx(view.x_low + (view.x_high - view.x_low) / 10)


def test_new_points_never_move_the_view_under_the_hand(qtbot):
    source = falling()
    plot = loss(qtbot, Curve("a", "training", source, kind="noisy"))
    plot.canvas.zoom_to(100, 200)
    plot.canvas.refresh()
    before = plot.canvas.frame.view
    source.append([700.0, 5000.0], [900.0, 1e6])
    plot.canvas.refresh()
    assert plot.canvas.frame.view == before


def test_live_the_view_follows_in_steps(qtbot):
    source = falling(end=600.0)
    plot = loss(qtbot, Curve("a", "training", source))
    first = plot.canvas.frame.view.x_high
    source.append([601.0], [0.2])
    plot.canvas.refresh()
    second = plot.canvas.frame.view.x_high
    source.append([620.0], [0.2])
    plot.canvas.refresh()
    assert first < second == plot.canvas.frame.view.x_high


def test_a_gap_is_a_gap_with_its_reason(qtbot):
    x = np.arange(300.0)
    y = np.ones(300)
    y[150] = np.nan
    plot = loss(qtbot, Curve("a", "training", curve_of(x, y), kind="noisy"))
    plot.set_gaps([Gap(150.0, "restarted after the TPU was taken back")])
    drawn = plot.canvas.drawn[0]
    assert np.isnan(drawn.y).sum() == 1
    assert drawn.value_at(150.2) is None
    lines, foot = plot.canvas.reading(150.0)
    assert lines[0].value == "–"
    assert foot == "restarted after the TPU was taken back"


@pytest.mark.parametrize("level", [0.02, 0.05, 1.0])
def test_the_words_of_a_gap_stand_where_no_line_runs(qtbot, level):
    """Between two measured points too: the curve of unseen data has few of them."""
    frame_holder = Curve("a", "training", curve_of([0.0, 150.0, 300.0], [0.0, 0.5, 1.0]), kind="line")
    few = Curve("b", "validation", curve_of([0.0, 300.0], [level, level]), kind="points")
    canvas = loss(qtbot, frame_holder, few).canvas
    picture = QPixmap(canvas.size())
    painter = QPainter(picture)
    box = marks.gap(painter, canvas.frame, Gap(150.0, "attempt 2", "attempt 2"), canvas.drawn)
    painter.end()
    assert canvas.frame.box.contains(box)
    for drawn in canvas.drawn:
        for x in np.linspace(box.left(), box.right(), 30):
            y = canvas.frame.px_y(drawn.value_at(canvas.frame.x_at(float(x))))
            assert not box.top() < y < box.bottom(), drawn.curve.name


def test_one_wild_value_does_not_flatten_the_rest(qtbot):
    x = np.arange(2000.0)
    y = np.ones(2000)
    y[3] = 1e6
    plot = loss(qtbot, Curve("a", "training", curve_of(x, y), kind="noisy"))
    plot.set_smoothing(0)
    plot.canvas.refresh()
    assert plot.canvas.frame.view.y_high > 1
    drawn = plot.canvas.drawn[0]
    assert np.nanmax(drawn.high) == 1e6  # it is drawn all the same


def test_a_logarithmic_axis_on_request(qtbot):
    plot = loss(qtbot, Curve("a", "training", curve_of(np.arange(100.0), np.geomspace(1000, 0.01, 100))))
    assert not plot.canvas.frame.view.log
    plot.set_log(True)
    plot.canvas.refresh()
    frame = plot.canvas.frame
    assert frame.view.log
    gaps = np.diff([frame.px_y(tick) for tick in frame.view.y_ticks])
    np.testing.assert_allclose(gaps, gaps[0])


def test_zero_and_less_are_gaps_on_a_logarithmic_axis(qtbot):
    plot = loss(qtbot, Curve("a", "training", curve_of([0, 1, 2, 3], [1.0, 0.0, -1.0, 10.0])))
    plot.set_log(True)
    plot.canvas.refresh()
    plot.grab()


def test_end_words_of_the_axis_are_not_clipped(qtbot, kit):
    for scale in (1.0, 1.5):
        kit.set_text_scale(scale)
        plot = loss(qtbot)
        shot = plot.canvas.grab().toImage()
        right = [shot.pixelColor(shot.width() - 1, y) for y in range(shot.height())]
        assert len({colour.name() for colour in right}) == 1


def test_limit_and_forecast_lie_inside_the_view(qtbot):
    plot = Plot("Cost", TIME, MONEY, waits_for=WAITS)
    plot.set_curves([Curve("spent", "spent", curve_of([0, 1560], [0, 1.84]), fill=True)])
    plot.set_limits([Limit(5.0, "stops at $5.00", "bad", below=True)])
    plot.set_forecast(Forecast(1560, 1.84, 2400, 2.5, 2.75, 3.0, "$2.50 – 3.00"))
    shown(qtbot, plot)
    view = plot.canvas.frame.view
    assert view.y_high > 5
    assert view.x_ticks[-1] == 2400
    assert plot.legend.accessibleName() == "spent $1.84, forecast"


def test_show_as_table_has_heads_rows_and_copies(qtbot):
    plot = loss(qtbot, Curve("a", "training", curve_of(np.arange(0.0, 600, 60), np.arange(10.0))))
    heads, rows = plot.rows()
    assert heads == ["Time", "training"]
    assert len(rows) == 10
    assert rows[1] == ["1 min", "1.00"]
    plot.show_table()
    table = plot.window().findChild(Table)
    dialog = table.window()
    dialog.copy()
    assert QGuiApplication.clipboard().text().splitlines()[0] == "Time\ttraining"
    dialog.accept()


def test_a_metric_that_is_named_like_a_formula_is_none_in_what_is_copied(qtbot):
    plot = loss(qtbot, Curve("a", "=cmd()\t+1", curve_of(np.arange(0.0, 600, 60), np.arange(10.0))))
    plot.show_table()
    dialog = plot.window().findChild(Table).window()
    dialog.copy()
    assert QGuiApplication.clipboard().text().splitlines()[0] == "Time\t'=cmd() +1"
    dialog.accept()


def test_a_long_curve_is_a_short_table(qtbot):
    assert len(loss(qtbot, Curve("a", "training", falling(50_000))).rows(100)[1]) <= 100


def test_save_picture_writes_a_png_of_twice_the_size(qtbot, tmp_path):
    from PySide6.QtGui import QImage

    plot = loss(qtbot)
    plot.save_picture(tmp_path / "loss.png")
    image = QImage(str(tmp_path / "loss.png"))
    assert image.width() > 2 * plot.canvas.width()
    with pytest.raises(OSError):
        plot.save_picture(tmp_path / "missing" / "loss.png")
    with pytest.raises(OSError, match="it is a folder"):
        plot.save_picture(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["loss.png"]


def test_a_picture_that_cannot_be_saved_says_why_and_offers_another_place(qtbot, tmp_path, monkeypatch):
    plot = loss(qtbot)
    asked = []
    monkeypatch.setattr(plot, "_ask_where", lambda: asked.append(True))
    (tmp_path / "file").write_text("not a folder")
    plot._save(tmp_path / "file" / "loss.png")
    [notice] = plot.window().findChildren(Notice)
    assert notice.isVisible()
    assert "loss.png" in notice.accessibleName()
    assert "no such folder" in notice.accessibleName()
    notice.button.click()
    assert asked


def test_the_menu_offers_smoothing_only_for_noise_and_log_only_where_it_makes_sense(qtbot):
    noisy = loss(qtbot)
    words = [action.text() for action in noisy.menu().actions()]
    assert "Logarithmic axis" in words
    assert "Show as table" in words
    assert noisy.menu().actions()[0].defaultWidget() is not None
    plain = Plot("Cost", TIME, MONEY, waits_for=WAITS)
    plain.set_curves([Curve("a", "spent", falling())])
    shown(qtbot, plain)
    assert "Logarithmic axis" not in [action.text() for action in plain.menu().actions()]
    assert all(not hasattr(action, "defaultWidget") for action in plain.menu().actions())


def test_curves_keep_their_items_when_set_anew(qtbot):
    plot = loss(qtbot)
    before = plot.canvas.drawn[0]
    plot.set_curves([Curve("training", "training", falling(), kind="noisy"), Curve("b", "other", falling())])
    assert plot.canvas.drawn[0] is before
    plot.set_curves([])
    plot.canvas.refresh()
    assert plot.canvas.frame is None


def test_a_run_curve_is_seen_by_step_or_by_time_since_its_start():
    class Stored:
        def window(self, x_min, x_max, buckets, axis="step"):
            xs = np.array([1.0, 2.0]) if axis == "step" else np.array([1000.0, 1010.0])
            return xs, np.array([0.5, 0.25]), np.array([0.5, 0.25])

        def last(self):
            return 2, 1010.0, 0.25

    by_step, by_time = RunCurve(Stored()), RunCurve(Stored(), "time", origin=1000.0, y_factor=2.0)
    assert by_step.last() == (2.0, 0.25)
    assert by_time.last() == (10.0, 0.5)
    assert by_time.window(0, 100, 10)[0].tolist() == [0.0, 10.0]


def test_what_is_cut_out_of_the_axis_leaves_no_hole_in_a_run_curve():
    class Stored:
        def window(self, x_min, x_max, buckets, axis="step"):
            t = np.array([100.0, 110.0, 3715.0, 3720.0])
            seen = (t >= x_min) & (t <= x_max)
            return t[seen], t[seen], t[seen]

        def last(self):
            return 4, 3720.0, 0.5

        def bounds(self, axis="step"):
            return 100.0, 3720.0

    along = RunCurve(Stored(), "time", 100.0, cuts=((110.0, 3710.0),))  # an hour in which nothing was trained
    assert along.window(0, 30, 100)[0].tolist() == [0, 10, 15, 20]
    assert along.window(12, 16, 100)[0].tolist() == [15]
    assert (along.start(), along.last()) == (0, (20, 0.5))


def test_of_a_million_points_the_plot_takes_no_more_than_it_has_room_for(qtbot, monkeypatch):
    """How quick that is, `make bench` tells."""
    chance = np.random.default_rng(2)
    x = np.linspace(0, 600, 1_000_000)
    points = curve_of(x, 1 + chance.normal(0, 0.2, len(x)))
    window, taken = points.window, []

    def counted(*bounds):
        found = window(*bounds)
        taken.append(len(found[0]))
        return found

    monkeypatch.setattr(points, "window", counted, raising=False)
    plot = loss(qtbot, Curve("a", "training", points, kind="noisy"))
    plot.canvas.refresh()
    plot.canvas.viewport().repaint()
    assert taken and max(taken) <= 4 * plot.canvas.width()


def test_names_at_line_ends_lie_on_no_line_and_not_on_each_other(qtbot):
    x = np.linspace(0, 600, 300)
    up = Curve("a", "flowers-vit-3", curve_of(x, 0.8 * (1 - np.exp(-x / 150))), end_label=True)
    near = Curve("b", "flowers-vit-2", curve_of(x, 0.79 * (1 - np.exp(-x / 150))), "s2", end_label=True)
    short = Curve("c", "flowers-resnet-1", curve_of(x[:100], 0.7 * (1 - np.exp(-x[:100] / 60))), "s3", end_label=True)
    canvas = loss(qtbot, up, near, short).canvas
    boxes = [label.box for label in canvas.end_labels]
    assert len(boxes) == 3
    lines = [canvas.frame.places(drawn) for drawn in canvas.drawn]
    assert [marks._hidden(box, lines) for box in boxes] == [0, 0, 0]
    assert not any(a.intersects(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


@pytest.mark.parametrize("ends", [0.5, 1.0])
def test_twenty_names_at_one_place_are_laid_apart_inside_the_plot(qtbot, ends):
    """Of lines that end beside one another each name stands alone; those far from their line are led to it."""
    x = np.linspace(0, 600, 50)
    many = [
        Curve(str(n), f"run number {n}", curve_of(x * ends, 0.9 - 0.001 * n + 0 * x), f"s{n % 6 + 1}", end_label=True)
        for n in range(20)
    ]
    plot = loss(qtbot, *many, Curve("far", "training", falling()))
    plot.resize(640, 420)
    canvas = plot.canvas
    canvas.refresh()
    labels = canvas.end_labels
    boxes = [label.box for label in labels]
    assert len(labels) == 20 and any(label.led for label in labels)
    assert not any(a.intersects(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    assert all(canvas.frame.box.adjusted(0, -canvas.frame.box.top(), 5, 1).contains(box) for box in boxes)


def test_a_long_name_at_a_lines_end_is_shortened_and_its_value_is_not(qtbot):
    long = Curve("a", "a run with a name without end " * 4, curve_of([0, 600], [0.5, 0.5]), end_label=True)
    canvas = loss(qtbot, long).canvas
    [label] = canvas.end_labels
    assert label.value == "0.500" and label.box.width() < canvas.frame.box.width() / 2


def test_a_long_name_is_shortened_further_where_it_would_lie_on_a_line(qtbot):
    """Curves that leave no room for half a plot of words leave some for a quarter."""
    x = np.linspace(0, 600, 300)
    name = "a name as long as a name of a run can be, and some more of it"
    spikes = Curve("a", name, curve_of(x, ((x % 200) < 4).astype(float)), end_label=True)
    plot = loss(qtbot, spikes, Curve("b", "training", curve_of(x, 1 + 0 * x), "s2"))
    plot.resize(640, 170)
    plot.canvas.refresh()
    [label] = plot.canvas.end_labels
    lines = [plot.canvas.frame.places(drawn) for drawn in plot.canvas.drawn]
    assert label.box.width() <= 0.26 * plot.canvas.frame.box.width() and marks._hidden(label.box, lines) == 0


def test_the_axes_of_a_run_are_time_steps_epochs_examples_and_cost():
    class Stored:
        version = 1

        def __init__(self, values):
            self.values = values

        def __len__(self):
            return 3

        def window(self, x_min, x_max, buckets, axis="step"):
            at = np.array([1.0, 2.0, 4.0]) if axis == "step" else np.array([1000.0, 1010.0, 1030.0])
            values, seen = np.array(self.values), (at >= x_min) & (at <= x_max)
            return at[seen], values[seen], values[seen]

        def last(self):
            return 4, 1030.0, self.values[-1]

        def bounds(self, axis="step"):
            return (1.0, 4.0) if axis == "step" else (1000.0, 1030.0)

    curve, dollars = Stored([0.5, 0.25, 0.125]), Spending(Stored([0.10, 0.20, 0.50]))
    course = Course(1000.0, (), steps_per_epoch=2.0, batch=32, spent=dollars)
    ends = {axis: along(curve, axis, course).last() for axis in AXES}
    assert ends == {
        "time": (30.0, 0.125),
        "step": (4.0, 0.125),
        "epoch": (2.0, 0.125),
        "examples": (128.0, 0.125),
        "cost": (0.5, 0.125),
    }
    by_cost = along(curve, "cost", course)
    assert by_cost.window(0.0, 1.0, 10)[0].tolist() == [0.1, 0.2, 0.5]
    assert by_cost.start() == 0.1
    with pytest.raises(ValueError, match="spent"):
        along(curve, "cost", Course())


@pytest.mark.slow
def test_the_specimen_plots_draw_in_both_themes(qtbot, kit):
    for mode in ("light", "dark"):
        kit.set_mode(mode)
        for plot in specimen_plots(300).values():
            shown(qtbot, plot)
            assert not plot.grab().isNull()

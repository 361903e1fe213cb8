"""What a column's values are told as."""

import pytest
from PySide6.QtGui import QColor

from tpu_studio.data.looked import ColumnLook, Look
from tpu_studio.gui.plan.preview import Pictures, Preview, values_of
from tpu_studio.viewmodels.thumbnails import Thumbnail
from tpu_studio.wire import tasks


def test_years_and_codes_are_told_as_they_stand_in_the_data():
    """Nobody writes the year 1,900; how many are missing is a count."""
    column = ColumnLook(name="year", kind="number", missing=1200, distinct=9, minimum=1900.0, maximum=20_241_231.0)
    assert values_of(column) == "1900 – 20241231 · 1,200 missing"


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(20.0, 299.0, "20 – 299"), (0.2, 5.01, "0.2 – 5.01"), (0.0, 10.0, "0 – 10"), (-3.0, 18_823.0, "-3 – 18823")],
)
def test_a_column_of_whole_numbers_has_whole_ends(low, high, told):
    column = ColumnLook(name="n", kind="number", missing=2, distinct=9, minimum=low, maximum=high)
    assert values_of(column) == f"{told} · 2 missing"


def test_ten_classes_have_ten_pictures_each_with_its_name(qapp, qtbot):
    row = Pictures()
    qtbot.addWidget(row)
    row.resize(560, row.height())
    row.show()
    red = bytes((255, 0, 0)) * 64
    row.set_pictures(tuple(Thumbnail(f"class {n}", 8, 8, red) for n in range(12)))
    assert 10 * row.side + 9 * 6 <= row.width()
    seen = row.grab().toImage()
    ratio = seen.devicePixelRatio()
    colours = [QColor(seen.pixel(round(x * ratio), round(20 * ratio))) for x in range(row.width())]
    red_at = [one.red() > 200 and one.green() < 60 for one in colours]
    assert sum(now and not then for then, now in zip([False, *red_at], red_at, strict=False)) == 10
    under = [seen.pixel(x, y) for x in range(seen.width()) for y in range(round((row.side + 3) * ratio), seen.height())]
    assert len(set(under)) > 2  # words stand there
    row.resize(120, row.height())  # as many as fit, and not smaller than can be seen
    assert row.side == 36


def test_of_labels_how_many_pictures_have_each_is_shown_as_of_classes(qapp, qtbot):
    preview = Preview()
    qtbot.addWidget(preview)
    preview.show()
    labels = tuple((f"label {number}", 10 * number) for number in range(12))
    task = next(one.id for one in tasks.all_tasks() if one.has_labels)
    preview.draw(Look("images", task, classes=labels, outputs=12), ())
    assert preview.balance.isVisible()
    assert preview.balance.accessibleName().startswith("Labels: label 0 0, label 1 10")

"""Which pictures of a data set are shown."""

from __future__ import annotations

import numpy as np

from tpu_studio.data.shown import to_show


def test_each_class_is_shown_also_where_none_of_it_is_kept_aside() -> None:
    labels = np.array([0, 1, 2] * 20)
    kept = np.array([label != 2 for label in labels])  # of the last class nothing is kept aside
    shown = to_show(labels, kept, at_most=8)
    assert sorted(labels[shown].tolist()) == [0, 0, 0, 0, 1, 1, 1, 2]
    assert [bool(kept[row]) for row in shown].count(False) == 1  # else they are an honest test


def test_those_kept_aside_come_first_and_the_classes_in_turn() -> None:
    labels, kept = np.array([0, 0, 0, 1, 1, 1]), np.array([False, True, True, False, False, True])
    assert to_show(labels, kept) == [1, 5, 2, 3, 0, 4]
    assert to_show(labels, kept, without={1, 5}) == [2, 3, 0, 4]

"""Which pictures of a data set are shown, and what is not shown of its texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tpu_studio.data.look import look
from tpu_studio.data.shown import to_show
from tpu_studio.wire.job import parse


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


KEY, WORDS = "postgres://admin:hunter2secret@db.example.com/prod", "x y " * 200


@pytest.mark.parametrize("shown", [24, 28, len(KEY)])
@pytest.mark.parametrize("names", ["text label", "prompt completion", ""])
def test_a_key_across_the_edge_of_what_is_shown_of_a_text_is_cut_out(tmp_path: Path, names: str, shown: int) -> None:
    """Texts were shortened first: what was left of the key looked like none."""
    text = WORDS[: (300 if names else 500) - shown] + KEY + " and more of it"
    path = tmp_path / ("t.jsonl" if names else "t.txt")
    answers = ["a", "b"] if "label" in names else [text]
    lines = [
        dict(zip(names.split(), (text, answers[n % len(answers)]), strict=True)) for n in range(60 if names else 0)
    ]
    path.write_text("\n".join(map(json.dumps, lines)) or text * 20)
    model = {"name": "text-classifier" if "label" in names else "pretrained-lm"}
    told = json.dumps(look(parse({"model": model, "data": {"kind": "text", "path": str(path)}})).preview)
    assert "x y x y" in told and "hunter" not in told

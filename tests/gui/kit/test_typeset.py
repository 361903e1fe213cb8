"""How words and numbers are set: a unit stays with its number, and what is below zero has a minus."""

from __future__ import annotations

import pytest

from tpu_studio.gui.kit import fonts, paint


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("about 5 min 30 s with its start", "about 5_min_30_s with its start"),
        ("3 h 12, or 2 days 4 h", "3_h_12, or 2_days 4_h"),
        ("951 MB of 25.3 GB", "951_MB of 25.3_GB"),
        ("8 steps", "8 steps"),
        ("loss -10.2, from -0.5 to (-3)", "loss \u221210.2, from \u22120.5 to (\u22123)"),
        ("us-west4-a, ts-old-1, 1e-5, 2026-11-27, 3-4, /a/b-3, --seed", None),
    ],
)
def test_what_is_drawn(text: str, drawn: str | None):
    assert paint.typeset(text).replace("\u00a0", "_") == (text if drawn is None else drawn)


def test_no_line_ends_between_a_number_and_its_unit(kit):
    text, font = "v5e would need about 5 min 30 s with its start", fonts.font("body")
    for width in range(40, 400, 3):
        layout, _, _ = paint.lay_out(text, font, width)
        lines = [layout.lineAt(at) for at in range(layout.lineCount())]
        ends = {text[: line.textStart() + line.textLength()].rstrip() for line in lines}
        if width > paint.text_width(font, "5 min 30 s"):
            assert not [end for end in ends if end.endswith(("5", "5 min", "5 min 30"))]

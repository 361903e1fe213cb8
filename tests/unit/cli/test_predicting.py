"""``predict``: what is asked is sent as it was typed, and what was not understood is told beside the answer."""

from __future__ import annotations

import json

from tpu_studio.cli.predicting import _as_text, _row


def test_a_row_is_sent_as_it_was_typed_for_the_table_knows_what_a_comma_is() -> None:
    assert json.loads(_row(["size=7,5", "kind=1"])[0]) == {"size": "7,5", "kind": "1"}


def test_what_was_not_understood_stands_beside_its_answer_only() -> None:
    answers = [
        {"item": "new.csv:1", "value": 7.0, "unread": [["size", "big"]]},
        {"item": "new.csv:2", "value": 8.0},
    ]
    first, second = _as_text(answers).splitlines()
    assert first.endswith("Not understood, so left out: size “big”.")
    assert "Not understood" not in second
    sorts = [{"item": "x", "classes": [{"name": "no", "probability": 0.75}], "unread": [["plan", "gold"]]}]
    assert _as_text(sorts).endswith("75%  Not understood, so left out: plan “gold”.")

"""``predict``: what is asked is sent as it was typed, and what was not understood is told beside the answer."""

from __future__ import annotations

import json
import os
from pathlib import Path

import arro3.core as arrow
import arro3.io as arrow_io
import pytest

from tpu_studio.cli.predicting import _as_given, _as_text, _readable, _row
from tpu_studio.wire.errors import DataError


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


def test_of_several_labels_all_that_are_said_are_told_and_of_none_the_likeliest() -> None:
    def of(item: str, **shares: float) -> dict[str, object]:
        labels = [{"name": name, "probability": share, "yes": share >= 0.5} for name, share in shares.items()]
        return {"item": item, "labels": labels}

    told = _as_text([of("a.jpg", beach=0.9, dog=0.51, cat=0.1) | {"label": "beach"}, of("b.jpg", dog=0.4, cat=0.1)])
    first, second = (line.split("  ") for line in told.splitlines())
    assert [cell.strip() for cell in first if cell] == ["a.jpg", "beach, dog", "90%, 51%", "in the data: beach"]
    assert [cell.strip() for cell in second if cell.strip()] == ["b.jpg", "none", "dog 40%"]


def test_a_parquet_file_is_asked_about_as_its_rows_and_answered_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine has nothing to read it with."""
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    column = arrow.Array([1, 2], arrow.DataType.int64())
    arrow_io.write_parquet(arrow.Table.from_pydict({"size": column}), tmp_path / "new.parquet")
    rows = _readable(str(tmp_path / "new.parquet"))
    assert Path(rows).read_text() == '["size"]\n["1"]\n["2"]\n'
    given = {rows: "new.parquet", "other.csv": "other.csv"}
    items = [f"{rows}:2", "other.csv:1", '{"size": 3}']
    assert [_as_given(item, given) for item in items] == ["new.parquet:2", "other.csv:1", '{"size": 3}']
    for item in (*items[1:], '{"size": ' + "9" * 5000 + "}"):
        assert _readable(item) == item


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.parquet")
    with pytest.raises(DataError) as caught:
        _readable(str(tmp_path / "x.parquet"))
    assert caught.value.id == "data-not-a-file"
    assert _readable('{"size": ' + "9" * 5000 + "}")[:8] == '{"size":'


def test_an_answer_of_a_long_name_is_shown_by_its_begin() -> None:
    """Each row was as wide as the widest answer: a hundred of them were a hundred megabytes."""
    path = "/" + "folder/" * 60 + "a.png"
    answers = [{"item": path, "classes": [{"name": "x" * 1_000_000, "probability": 1.0}]}]
    (line,) = _as_text(answers).splitlines()
    assert line.startswith(path) and "x…" in line and len(line) < len(path) + 220

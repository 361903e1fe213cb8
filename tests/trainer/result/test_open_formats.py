"""metrics.csv and TensorBoard files: read back by readers that are not ours, and quick for a million steps."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import google_crc32c
import numpy as np
import pytest

from tests.trainer.in_engine import run_in_engine
from tpu_studio.trainer.result import table, tensorboard
from tpu_studio.trainer.result.points import Points


def some_points(count: int) -> Points:
    steps = np.arange(1, count + 1)
    checked = steps % 10 == 0
    loss, val = 1.0 / steps, np.where(checked, 2.0 / steps, np.nan)
    return Points(
        steps,
        1.7e9 + steps * 0.01,
        {"loss": loss, "val_loss": val},
        {"loss": np.ones(count, bool), "val_loss": checked},
    )


def test_metrics_csv_has_a_row_a_step_and_empty_cells_where_nothing_was_measured(tmp_path: Path) -> None:
    table.write_csv(tmp_path / "metrics.csv", some_points(20))
    with open(tmp_path / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    assert rows[0] == {"step": "1", "loss": "1.0", "val_loss": ""}
    assert float(rows[9]["val_loss"]) == 0.2


def test_metrics_csv_of_a_run_without_points_is_only_a_head(tmp_path: Path) -> None:
    empty = Points(np.empty(0, np.int64), np.empty(0), {}, {})
    table.write_csv(tmp_path / "metrics.csv", empty)
    assert (tmp_path / "metrics.csv").read_text() == "step\n"


def test_checksums_agree_with_googles_own() -> None:
    rows = np.random.default_rng(0).integers(0, 256, (50, 37)).astype(np.uint8)
    assert tensorboard.crc32c(rows).tolist() == [google_crc32c.value(row.tobytes()) for row in rows]
    assert google_crc32c.value(b"123456789") == 0xE3069283  # the published check value of CRC-32C


def test_records_are_framed_as_tfrecord(tmp_path: Path) -> None:
    data = tensorboard.write_events(tmp_path, some_points(30)).read_bytes()
    at, records = 0, 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        at, records = at + 16 + length, records + 1
    assert (at, records) == (len(data), 31)  # one for the version, one a step


@pytest.mark.engine
def test_tensorflow_reads_every_point_of_every_metric_and_finds_every_checksum_right(tmp_path: Path) -> None:
    tensorboard.write_events(tmp_path, some_points(3000))
    found = run_in_engine(Path(__file__).with_name("program_events.py"), str(tmp_path))
    assert found["tags"] == ["loss", "val_loss"]
    assert found["counts"] == {"loss": 3000, "val_loss": 300}
    assert found["first"] == [1700000000.01, 1, 1.0]
    assert found["last"] == pytest.approx([1700000030.0, 3000, 1 / 3000])
    assert found["records"] == 3001
    assert found["tensorboard"] in (None, found["counts"])  # None: this engine has no TensorBoard


def test_a_hundred_thousand_steps_are_all_written(tmp_path: Path) -> None:
    table.write_csv(tmp_path / "metrics.csv", some_points(100_000))
    with (tmp_path / "metrics.csv").open() as file:
        assert sum(1 for _ in file) == 100_001

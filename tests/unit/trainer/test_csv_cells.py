"""Names out of somebody's data in a table for a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tpu_studio.trainer.result.points import Points
from tpu_studio.trainer.result.table import write_csv
from tpu_studio.wire.spreadsheets import cell


@pytest.mark.parametrize(
    "name",
    [
        '=HYPERLINK("http://x")',
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff20SUM(A1)",
    ],
)
def test_no_spreadsheet_takes_a_name_for_a_formula(tmp_path: Path, name: str) -> None:
    values, there = np.array([0.5]), np.array([True])
    write_csv(tmp_path / "m.csv", Points(np.array([1]), values, {name: values}, {name: there}))
    head = (tmp_path / "m.csv").read_bytes().decode().split(",", 1)[1]
    assert head.lstrip('"').startswith("'")
    assert cell("cats & dogs") == "cats & dogs"
    assert cell("\x1b[2J=1") == "'=1"

"""`tpu-studio estimate`: one JSON object on stdout, words on stderr, exit code 2 for what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tpu_studio.cli.main import main
from tpu_studio.wire.resources import resource_path


def written(tmp_path: Path, record: object) -> str:
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(record), "utf-8")
    return str(path)


def test_a_measured_row_is_a_workload_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    row = json.loads(resource_path("catalogue", "calibration.json").read_text("utf-8"))["rows"][2]
    assert main(["estimate", written(tmp_path, row), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    for key in ("units_per_s", "mfu"):
        assert answer[key]["low"] <= answer[key]["expected"] <= answer[key]["high"]
    assert answer["limited_by"] in ("compute", "memory", "network", "input", "overhead")
    assert answer["mfu"]["low"] <= row["mfu_vs_bf16_peak"] <= answer["mfu"]["high"]


def test_nothing_but_unknowns_is_answered_with_notices(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["estimate", written(tmp_path, {"generation": "v99", "family": None}), "--json"]) == 0
    told = capsys.readouterr()
    assert "workload-generation-unknown" in [notice["id"] for notice in json.loads(told.out)["notices"]]
    assert "There is no TPU generation “v99”" in told.err


def test_people_get_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["estimate", written(tmp_path, {"generation": "v6e", "chips": 8, "family": "resnet"})]) == 0
    out = capsys.readouterr().out
    assert "images/s" in out
    assert "limited by" in out


@pytest.mark.parametrize("record", [{"chips": -1}, [], 3, {"params": "NaN"}])
def test_what_cannot_be_is_exit_code_two_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], record: object):
    assert main(["estimate", written(tmp_path, record), "--json"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["title"]
    assert "Traceback" not in told.err

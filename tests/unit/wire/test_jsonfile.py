"""JSON files from others: one door, one sentence that names the file."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tpu_studio.data.described import NAME, read_dataset
from tpu_studio.trainer.result import happenings, points
from tpu_studio.trainer.result.files import read_card
from tpu_studio.wire import plan
from tpu_studio.wire.claims import read_claim
from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import DataError, RunError
from tpu_studio.wire.jsonfile import BRACKETS, DEEPEST, VALUES, NotJson, parse_json, read_json
from tpu_studio.wire.runfolder import control_file, model_from_before

ROOT = Path(__file__).resolve().parents[3]
ENDLESS = ["[" * 100_000, '{"a":' * 100_000, "[" * 500 + "]" * 500, '{"a":' * 200 + "1" + "}" * 200]


@pytest.mark.parametrize("text", ENDLESS)
def test_a_file_nested_for_ever_is_refused_in_one_sentence_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "claim.json").write_text(text)
    with pytest.raises(NotJson) as caught:
        read_json(tmp_path / "claim.json")
    assert str(caught.value) == f"claim.json nests deeper than {DEEPEST} levels."


def test_a_file_too_large_a_pipe_and_no_json_are_refused_with_their_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{} " * 10)
    with pytest.raises(NotJson, match=r"^x\.json is not read: it has 30 bytes"):
        read_json(tmp_path / "x.json", 10)
    with pytest.raises(NotJson, match=r"^x\.json is no JSON: Extra data"):
        read_json(tmp_path / "x.json")
    with pytest.raises(NotJson, match="is no plain file"):
        read_json(tmp_path)
    with pytest.raises(NotJson, match=r"^y is no JSON"):
        parse_json(b"\xff\xfe\xff", "y")
    with pytest.raises(NotJson):
        parse_json("9" * 5000, "y")


def test_what_nests_as_deep_as_it_may_is_read(tmp_path: Path) -> None:
    tree = json.loads("[" * DEEPEST + "]" * DEEPEST)
    assert parse_json(json.dumps(tree), "x") == tree


@pytest.mark.parametrize("piece", ["[]", "{}", "[" * 99 + "]" * 99])
def test_a_file_of_nothing_but_brackets_is_refused_before_anything_is_made_of_it(piece: str) -> None:
    """16 MB of them took ten seconds, and gigabytes."""
    with pytest.raises(NotJson, match=rf"^x is no JSON: it has more than {BRACKETS:,} lists and objects"):
        parse_json("[" + ",".join([piece] * (1 + BRACKETS // max(1, piece.count("[")))) + "]", "x")


def test_a_file_of_values_without_end_is_refused_before_anything_is_made_of_it() -> None:
    """64 MB of short ones took a gigabyte and a half."""
    with pytest.raises(NotJson, match=rf"^x is no JSON: it has more than {VALUES:,} values"):
        parse_json(b"[" + b"7," * VALUES + b"7,7]", "x")


@pytest.mark.parametrize("text", ENDLESS)
def test_no_reader_of_a_run_folder_or_of_converted_data_is_moved_by_it(tmp_path: Path, text: str) -> None:
    def put(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    put(NAME)
    with pytest.raises(DataError, match="data-not-a-dataset") as data:
        read_dataset(tmp_path)
    assert data.value.facts["path"].endswith(NAME)
    put("plan.json")
    with pytest.raises(RunError, match="plan-unreadable"):
        plan.read(tmp_path)
    put("model.json")
    with pytest.raises(RunError, match="result-unreadable"):
        read_card(tmp_path)
    (tmp_path / "result").mkdir()
    put("result/model.keras")
    put("result/model.json")
    assert model_from_before(tmp_path) == {}
    assert read_claim(put("claims/a0001.json")) is None
    put(control_file(tmp_path, 1).relative_to(tmp_path).as_posix())
    assert [control["verb"] for control in Controls(tmp_path).read()] == ["unreadable"]
    line = '{"kind":"resume","kind2":"metric","x":' + text
    put("events/a0001-w0.jsonl").write_text(line + "\n")
    happenings.read(tmp_path)
    points.read(tmp_path)


def test_a_card_with_endless_steps_promises_no_model_from_before(tmp_path: Path) -> None:
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "model.keras").write_bytes(b"x")
    (tmp_path / "result" / "model.json").write_text('{"trained":{"steps":1e999}}')
    assert model_from_before(tmp_path) == {}


OWN = {
    # files that this program writes for itself, outside every run's folder, or that it brings along
    "app/planpdf.py": "a file made for that process",
    "app/selftest_parts.py": "of the package",
    "practice/daemon.py": "of the practice cloud",
    "practice/machines/clockline.py": "of the practice cloud",
    "practice/machines/machine.py": "of the practice cloud",
    "trainer/check/program.py": "a question of this program",
    "trainer/guardian/vm/environment.py": "of the machine",
    "trainer/guardian/vm/main.py": "of the machine",
}


def test_no_other_door_parses_the_bytes_of_a_file() -> None:
    """`json.loads(….read_bytes())` and `.read_text()` only on resources, and in the files named above."""
    found = set()
    package = ROOT / "tpu_studio"
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.loads", "json.load", "orjson.loads"):
                told = ast.unparse(node.args[0])
                if (".read_" in told and "resource_path" not in told) or ast.unparse(node.func) == "json.load":
                    found.add(path.relative_to(package).as_posix())
    assert sorted(found - OWN.keys()) == []
    assert sorted(OWN.keys() - found) == []

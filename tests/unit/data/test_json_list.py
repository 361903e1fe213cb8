"""A JSON file that is one list of objects is read as the same rows in JSON lines are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import job
from tpu_studio.data import columnar, jsonlist, tablefile
from tpu_studio.data.chatlayout import are_in
from tpu_studio.data.guess import guess
from tpu_studio.data.look import look
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.wire.errors import DataError

ROWS: list[dict[str, Any]] = [
    {"instruction": f"Say {number} in words.", "input": "", "output": f"It is “{number}”.\nReally."}
    for number in range(40)
]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))


def written(path: Path, rows: object, **more: Any) -> Path:
    path.write_text(json.dumps(rows, **more), more.pop("encoding", "utf-8"))
    return path


def lines(path: Path) -> list[str]:
    return columnar.rows_of(path, Watch()).file.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    "style", [{}, {"indent": 4}, {"separators": (",", ":")}, {"indent": "\t", "ensure_ascii": False}], ids=str
)
def test_each_object_becomes_a_line(tmp_path: Path, style: dict[str, Any]) -> None:
    path = written(tmp_path / "alpaca_data.json", ROWS, **style)
    assert jsonlist.is_one(path) and columnar.is_written_out(path)
    assert [json.loads(line) for line in lines(path)] == ROWS


def test_it_is_known_as_questions_with_answers_and_learned_from(tmp_path: Path) -> None:
    path = written(tmp_path / "alpaca_data.json", ROWS, indent=2)
    assert are_in(path, lines=True)
    assert guess(path)["data.kind"] == "text"
    table = written(
        tmp_path / "measures.json", [{"a": n, "b": n * 0.5, "kind": "xy"[n % 2]} for n in range(30)], indent=1
    )
    seen = look(job("mlp", "table", data={"path": str(table), "target": "kind"}))
    assert seen.examples == 30 and seen.rows_file.endswith("measures.json.jsonl")


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    path.write_text('[{"a": 1e400, "b": 0.10, "c": 12345678901234567890, "a2": "x\\ny"}\r\n,\n{"a": -0.0}]')
    assert lines(path)[0] == '{"a": 1e400, "b": 0.10, "c": 12345678901234567890, "a2": "x\\ny"}'


def test_pieces_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    for _ in range(40):
        rows = [
            {"t": "".join(chance.choices('a"\\\n{}[],é🙂', k=chance.randrange(30)))}
            for _ in range(chance.randrange(1, 12))
        ]
        path = written(tmp_path / "p.json", rows, indent=chance.choice([None, 1]), ensure_ascii=chance.random() < 0.5)
        monkeypatch.setattr(jsonlist, "_PIECE", chance.randrange(1, 40))
        with open(path, encoding="utf-8") as file:
            if file.read(1) and jsonlist._PIECE >= 2:
                file.seek(0)
                assert [json.loads(line) for line in jsonlist._objects(path, file, Watch())] == rows


@pytest.mark.parametrize(
    ("text", "line", "rows"),
    [
        ('[{"a": 1},\n{"a": 2},\n{"a": ', 3, 2),
        ('[{"a": 1}\n', 2, 1),
        ('[{"a": 1},\n\n{a: 2}]', 3, 1),
        ('[{"a": ' + "[" * 100_000 + "]" * 100_000 + "}]", 1, 0),
    ],
    ids=["cut", "not-closed", "no-json", "deep"],
)
def test_where_it_breaks_is_said_and_nothing_is_left(tmp_path: Path, text: str, line: int, rows: int) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        lines(path)
    assert raised.value.id == "data-json-list-broken"
    assert (raised.value.facts["line"], raised.value.facts["rows"]) == (line, rows)
    assert not [one for one in (tmp_path / "home" / "tables").rglob("*") if one.is_file()]


def test_an_object_without_end_takes_little(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text('[{"a": "' + "x" * 12_000_000)
    with pytest.raises(DataError) as raised:
        lines(path)
    assert raised.value.id == "data-json-list-broken"


def test_it_hears_a_cancel(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", ROWS)
    with pytest.raises(Cancelled):
        columnar.rows_of(path, Watch(cancelled=lambda: True))


@pytest.mark.parametrize("text", ["", "[", "[]", "[1, 2]", '["a", "b"]\n[1, 2]\n', '{"a": 1}\n', "\x00\x01", "[[{}]]"])
def test_others_are_no_such_list(tmp_path: Path, text: str) -> None:
    path = tmp_path / "o.json"
    path.write_text(text)
    assert not jsonlist.is_one(path)


def test_utf_16_and_a_mark_at_the_begin_are_read(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-8-sig"):
        path = tmp_path / f"{encoding}.json"
        path.write_bytes(json.dumps(ROWS, ensure_ascii=False).encode(encoding))
        assert [json.loads(line) for line in lines(path)] == ROWS


def test_the_same_table_is_read_alike_from_both(tmp_path: Path) -> None:
    rows = [{"a": str(n), "b": "yes" if n % 3 else "no"} for n in range(50)]
    one = written(tmp_path / "one.json", rows, indent=1)
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(map(json.dumps, rows)))
    first, second = (tablefile.opened(path, Watch()) for path in (one, other))
    assert first.names == second.names
    assert first.sample(Watch()).rows == second.sample(Watch()).rows


def test_a_list_of_other_values_is_refused_where_they_begin_to_be_many(tmp_path: Path) -> None:
    """Ten million numbers behind fifty objects were written out, read one by one, and then refused."""
    some = written(tmp_path / "some.json", [*ROWS, None, *ROWS])
    assert lines(some)[40] == "null"
    path = tmp_path / "many.json"
    path.write_text("[" + json.dumps(ROWS)[1:-1] + ",\n0" * 10_000 + "]")
    with pytest.raises(DataError) as told:
        columnar.rows_of(path, Watch())
    assert told.value.id == "data-json-list-broken"
    assert (told.value.facts["line"], told.value.facts["rows"]) == (1002, 1040)

"""Tables in JSON lines: what is read is what the same table gives as CSV; what is not said so, with line and name."""

from __future__ import annotations

import csv
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tpu_studio.data import jsonlines, stretches
from tpu_studio.data.convert import convert
from tpu_studio.data.guess import guess, guess_job
from tpu_studio.data.look import Look, look
from tpu_studio.data.opened import Opened
from tpu_studio.data.predicting import encode_inputs, inputs_in
from tpu_studio.data.rows import RowTally
from tpu_studio.data.sources import open_data
from tpu_studio.data.watching import Watch
from tpu_studio.domain.sentences import say, say_finding
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import parse

Row = dict[str, Any]


def job_at(path: Path, **data: Any) -> Any:
    return parse({"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path), **data}})


def flats(count: int = 60) -> list[Row]:
    return [
        {
            "area": 20 + n * 37 % 101,
            "zone": "abc"[n % 3],
            "new": n % 2 == 0,
            "built": f"20{n % 20:02d}-03-01",
            "price": n * n + 1000,
        }
        for n in range(count)
    ]


def as_lines(path: Path, rows: list[Row], *more: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in [*map(json.dumps, rows), *more]), encoding="utf-8")
    return path


def as_csv(path: Path, rows: list[Row]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def both(path: Path, **data: Any) -> Look:
    seen, opened = look(job_at(path, **data)), open_data(job_at(path, **data))
    assert len(opened.train) + len(opened.validation) == seen.examples
    assert opened.train.spec["x"][0] == seen.input_shape
    assert opened.broken_count == seen.broken_count
    assert Look.from_json(json.loads(json.dumps(seen.to_json()))) == seen
    return seen


def refused(path: Path, **data: Any) -> DataError:
    with pytest.raises(DataError) as by_look:
        look(job_at(path, **data))
    with pytest.raises(DataError) as by_opening:
        open_data(job_at(path, **data))
    assert by_look.value.id == by_opening.value.id
    assert say(by_look.value).title
    return by_look.value


def named(seen: Look) -> list[tuple[str, str]]:
    return [(one.item, one.why) for one in seen.broken]


def assert_same(one: Opened, other: Opened) -> None:
    """Bit for bit, with all that predict needs later."""
    assert one.description == other.description
    for mine, theirs in ((one.train, other.train), (one.validation, other.validation)):
        assert len(mine) == len(theirs)
        given = theirs.batch(np.arange(len(theirs)))
        for name, array in mine.batch(np.arange(len(mine))).items():
            assert array.tobytes() == given[name].tobytes() and array.dtype == given[name].dtype


CELL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(-1e30, 1e30),
    st.sampled_from(["red", "green", "n/a", "1,5", "2024-02-03", "süß, „gut“", 'a "quote"', "two\nlines"]),
)
LANES = st.sampled_from([CELL, st.integers(0, 5), st.floats(-100, 100), st.sampled_from(["x", "y", "z"])])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), task=st.sampled_from(["auto", "classification", "regression"]))
def test_a_table_gives_the_same_bits_as_csv_and_as_json_lines(tmp_path: Path, data: Any, task: str) -> None:
    lanes = [data.draw(LANES) for _ in range(data.draw(st.integers(1, 4)))]
    target = st.integers(0, 2) if task == "classification" else st.floats(-1e6, 1e6)
    count = data.draw(st.integers(15, 40))
    rows = [
        {**{f"name {place}": data.draw(lane) for place, lane in enumerate(lanes)}, "y": data.draw(target)}
        for _ in range(count)
    ]
    lists = tmp_path / "lists.jsonl"
    lists.write_text("\n".join(map(json.dumps, [list(rows[0]), *(list(row.values()) for row in rows)])))
    paths = (as_csv(tmp_path / "t.csv", rows), as_lines(tmp_path / "t.jsonl", rows), lists)
    found: list[Opened | str] = []
    for path in paths:
        try:
            found.append(open_data(job_at(path, target="y", task=task)))
        except DataError as error:
            found.append(error.id)
    first, *others = found
    for other in others:
        if isinstance(first, str) or isinstance(other, str):
            assert first == other
        else:
            assert_same(first, other)


def test_a_look_at_both_says_the_same(tmp_path: Path) -> None:
    one, other = both(as_lines(tmp_path / "flats.jsonl", flats())), both(as_csv(tmp_path / "flats.csv", flats()))
    assert one.columns == other.columns and one.preview == other.preview and one.findings == other.findings
    assert (one.task, one.target, one.examples) == ("regression", "price", 60)
    assert one.fingerprint != other.fingerprint


def test_it_is_guessed_converted_and_predicted_from_as_csv_is(tmp_path: Path) -> None:
    path = as_lines(tmp_path / "flats.jsonl", flats())
    assert guess(path) == {
        "data.kind": "table",
        "data.path": str(path),
        "data.target": "price",
        "data.task": "regression",
    }
    assert guess_job(path).model.id == "mlp"
    assert sum(convert(job_at(path), tmp_path / "out").examples.values()) == 60
    description = open_data(job_at(path)).description
    new = as_lines(
        tmp_path / "new.ndjson", [{key: row[key] for key in ("zone", "new", "area", "built")} for row in flats(7)]
    )
    same = as_csv(
        tmp_path / "new.csv", [{key: row[key] for key in ("zone", "new", "area", "built")} for row in flats(7)]
    )
    one, other = (encode_inputs(description, inputs_in(description, item))["x"] for item in (new, same))
    assert one.shape[0] == 7 and one.tobytes() == other.tobytes()
    as_lines(new, flats(2), "[]")
    with pytest.raises(DataError, match="data-too-broken"):  # an answer belongs to each line
        inputs_in(description, new)


def test_json_by_its_other_name_and_with_a_mark_is_read(tmp_path: Path) -> None:
    path = as_lines(tmp_path / "flats.json", flats())
    assert guess(path)["data.target"] == "price"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    seen = both(path)
    assert seen.columns[0].name == "area" and (seen.examples, seen.broken_count) == (60, 0)


def test_names_that_a_line_does_not_have_are_empty_cells_in_any_order(tmp_path: Path) -> None:
    rows = [dict(reversed(list(row.items()))) for row in flats()]
    for row in rows[3:9]:
        del row["area"]
    for row in rows[:30]:
        row["late"] = None
    for number, row in enumerate(rows[30:]):
        row["late"] = number % 7
    seen = both(as_lines(tmp_path / "flats.jsonl", rows), target="price")
    told = {column.name: column for column in seen.columns}
    assert (told["area"].missing, told["late"].missing, told["late"].kind) == (6, 30, "number")


def test_what_is_no_row_is_left_out_and_told_with_its_line(tmp_path: Path) -> None:
    bad = [
        '{"area": 1, "area": 2}',
        "[1, 2]",
        '{"area": ',
        "null",
        '"text"',
        "{'a': 1}",
        '{"a": 1} {"b": 2}',
        '"\ud800"',
    ]
    path = tmp_path / "flats.jsonl"
    lines = [*map(json.dumps, flats(90)), *bad[:-1], '{"zone": "a", "price": 5000, "area": "\\ud800"}', "[" * 100_000]
    path.write_text("\n".join(lines))
    seen = both(path, target="price", max_broken_share=0.2)
    assert (seen.examples, seen.broken_count) == (91, 8)
    assert named(seen)[:3] == [("line 91", "name-twice"), ("line 92", "not-json"), ("line 93", "not-json")]
    assert named(seen)[-1] == ("line 99", "not-json")
    error = refused(path)
    assert error.id == "data-too-broken" and "line 91: a name stands twice in it" in say(error).meaning


def test_nested_columns_are_left_out_and_named_and_refused_where_they_are_wanted(tmp_path: Path) -> None:
    rows = [{**row, "tags": None if n < 3 else ["a", n], "meta": {"source": n}} for n, row in enumerate(flats())]
    path = as_lines(tmp_path / "flats.jsonl", rows)
    seen = both(path, target="price")
    told = {finding.facts["column"]: finding for finding in seen.findings if finding.id == "nested-column"}
    assert {name: one.facts["line"] for name, one in told.items()} == {"tags": 4, "meta": 1}
    assert "line 4" in say_finding("nested-column", told["tags"].facts).meaning
    kinds = {column.name: column.kind for column in seen.columns}
    assert (kinds["tags"], kinds["meta"]) == ("ignore", "ignore")
    for data in ({"target": "tags"}, {"target": "price", "columns": {"tags": "category"}}):
        error = refused(path, **data)
        assert (error.id, error.facts["column"], error.facts["line"]) == ("data-nested", "tags", 4)
        assert say(error).title == "Line 4 of “flats.jsonl” holds a list or an object in “tags”"
    assert both(path, target="price", columns={"tags": "ignore", "meta": "ignore"}).findings == tuple(
        one for one in seen.findings if one.id != "nested-column"
    )
    chat = as_lines(tmp_path / "chat.jsonl", [{"messages": [{"role": "user", "content": "Hi"}]}] * 40)
    assert (refused(chat).id, refused(chat).facts["column"]) == ("data-nested", "messages")


@pytest.mark.parametrize("cell", ["1e400", "-1e39", "1" + "0" * 5000])
def test_a_number_that_training_cannot_count_with_is_refused_with_its_line(cell: str, tmp_path: Path) -> None:
    lines = list(map(json.dumps, flats()))
    lines[40] = lines[40].replace('"price": 2600', f'"price": {cell}')
    path = tmp_path / "flats.jsonl"
    path.write_text("\n".join(lines))
    error = refused(path)
    assert (error.id, error.facts["line"], error.facts["column"]) == ("data-number-too-large", 41, "price")


def test_nan_is_an_empty_cell_and_infinity_no_number_as_in_csv(tmp_path: Path) -> None:
    rows = flats()
    rows[5]["area"], rows[6]["area"], rows[7]["area"] = float("nan"), float("inf"), float("-inf")
    path = as_lines(tmp_path / "flats.jsonl", rows)
    assert "NaN" in path.read_text() and "-Infinity" in path.read_text()
    seen = both(path)
    assert next(column for column in seen.columns if column.name == "area").missing == 1
    finding = next(one for one in seen.findings if one.id == "unreadable-cells")
    assert (finding.facts["count"], finding.facts["cell"], finding.facts["row"]) == (2, "Infinity", 7)


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a list of objects, cut": (lambda at: at.write_text(json.dumps(flats())[:-9]), "data-json-list-broken"),
    "a list of lists": (lambda at: at.write_text(json.dumps([[[1]], [[2]]])), "data-not-json-lines"),
    "one object": (lambda at: at.write_text(json.dumps({"data": flats()}, indent=1)), "data-not-json-lines"),
    "prose": (lambda at: at.write_text("Once upon a time.\nTwice.\n" * 30), "data-not-json-lines"),
    "nothing": (lambda at: at.write_text(""), "data-empty"),
    "empty objects": (lambda at: at.write_text("{}\n" * 30), "data-empty"),
    "only names": (lambda at: at.write_text('["a", "b"]\n'), "data-empty"),
    "numbers above the lists": (lambda at: at.write_text("[1, 2]\n[3, 4]\n" * 30), "data-not-json-lines"),
    "one column": (lambda at: as_lines(at, [{"text": "x"}] * 30), "data-one-column"),
    "bytes": (lambda at: at.write_bytes(np.random.default_rng(0).bytes(5000)), "data-not-text"),
    "parquet": (lambda at: at.write_bytes(b"PAR1" + bytes(90)), "data-not-text"),
    "a folder": (lambda at: at.mkdir(), "data-not-a-file"),
    "too few": (lambda at: as_lines(at, flats(4)), "data-too-few"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_is_no_json_lines_is_refused_in_a_sentence(what: str, tmp_path: Path) -> None:
    write, error = UNREADABLE[what]
    write(tmp_path / "t.jsonl")
    assert refused(tmp_path / "t.jsonl").id == error


def test_a_list_of_json_is_told_how_to_be_saved(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps([[one] for one in flats()]))
    with pytest.raises(DataError) as caught:
        guess(tmp_path / "t.json")
    said = say(caught.value)
    assert said.title == "“t.json” is one list of JSON" and "lines=True" in said.action


def test_lists_below_a_list_of_names_must_be_as_long(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [json.dumps([n * 7 % 13, n % 5, "ab"[n % 2]]) for n in range(60)]
    path.write_text("\n".join(['["x", "x", "label"]', *rows, "[1, 2]", '{"x": 1}']))
    seen = both(path)
    assert [column.name for column in seen.columns] == ["x", "x_2", "label"]
    assert named(seen) == [("line 62", "fields"), ("line 63", "not-json-list")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_large_file_is_looked_at_in_stretches_and_read_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoding: str
) -> None:
    rows = [{"x1": n * 17 % 1000, "kind": "abc"[n % 3], "label": n // 10_000} for n in range(20_000)]
    path = as_lines(tmp_path / "t.jsonl", rows, "oops")
    path.write_bytes(path.read_bytes().decode().encode(encoding))
    monkeypatch.setattr(jsonlines, "SMALL", 10_000)
    monkeypatch.setattr(stretches, "SIZE", 4_000)
    seen, opened = look(job_at(path)), open_data(job_at(path))
    assert seen.sampled and seen.examples == pytest.approx(20_000, rel=0.03)
    assert [name for name, _ in seen.classes] == ["0", "1"]  # from its begin and from its end
    assert len(opened.train) + len(opened.validation) == 20_000 and opened.broken_count == 1
    assert opened.train.spec["x"][0] == seen.input_shape
    (broken,) = seen.broken
    assert broken.why == "not-json" and " after byte " in broken.item


def test_nested_cells_beyond_what_was_looked_at_break_their_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows: list[Row] = [{"x1": n * 17 % 1000, "label": n % 2} for n in range(20_000)]
    rows[4500]["x1"] = [1]
    path = as_lines(tmp_path / "t.jsonl", rows)
    monkeypatch.setattr(jsonlines, "SMALL", 10_000)
    monkeypatch.setattr(stretches, "SIZE", 4_000)
    assert [(one.item, one.why) for one in open_data(job_at(path)).broken] == [("line 4501", "nested")]


def test_a_line_of_a_hundred_megabytes_is_passed_over_in_little_memory(tmp_path: Path) -> None:
    path = as_lines(tmp_path / "t.jsonl", flats())
    with open(path, "a") as file:
        file.write('{"zone": "')
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write('"}\n' + json.dumps({"zone": "a", "price": 3}) + "\n")
    tracemalloc.start()
    seen = look(job_at(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 90_000_000  # the encoding is told by 32 MiB, as of CSV
    assert seen.sampled and "cell-too-long" in {one.why for one in seen.broken}
    tally = RowTally()
    rows = list(jsonlines.opened(path, Watch()).read(tally, Watch()))
    assert (len(rows), [(one.item, one.why) for one in tally.broken]) == (61, [("line 61", "cell-too-long")])


def test_names_and_empty_lines_without_end_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({f"c{n}": n for n in range(11_000)}) + "\n" + json.dumps({"a": 1}) + "\n")
    error = refused(path)
    assert (error.id, error.facts["line"]) == ("data-too-many-names", 1)
    monkeypatch.setattr(jsonlines, "_MANY_CELLS", 100_000)
    sparse = [{f"c{n}": n % 7 + line for n in range(300)} for line in range(12)] + [
        {"label": n % 2} for n in range(3000)
    ]
    monkeypatch.setattr(jsonlines, "SAMPLE_CELLS", 50_000)
    with pytest.raises(DataError, match="data-mostly-empty") as caught:
        open_data(job_at(as_lines(path, sparse), target="label"))
    assert caught.value.facts["names"] > 100 and say(caught.value).action

"""Parquet and Arrow files, and folders of them: read as the same table in CSV; what cannot be read is said so."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import arro3.core as arrow
import arro3.io as arrow_io
import numpy as np
import pytest

from tpu_studio.cloud.bundle import data_pieces
from tpu_studio.data import columnar, columnarchild, textlayout
from tpu_studio.data.convert import convert
from tpu_studio.data.fingerprints import check_unchanged, fingerprint_of, stamp_of
from tpu_studio.data.guess import guess
from tpu_studio.data.look import Look, look
from tpu_studio.data.predicting import encode_inputs, inputs_in
from tpu_studio.data.sources import open_data
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.domain.sentences import say, say_finding
from tpu_studio.planner.make import make_plan
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse

Columns = dict[str, arrow.Array]
TEXT, NUMBER = arrow.DataType.string(), arrow.DataType.float64()


@pytest.fixture(autouse=True)
def unbound(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process the bound on memory would stay, and end whatever test here makes something large later."""
    monkeypatch.setattr(columnarchild, "bound_memory", lambda: None)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def column(values: list[Any], kind: arrow.DataType) -> arrow.Array:
    return arrow.Array(values, kind)


def flats(count: int = 60, first: int = 0) -> Columns:
    every = range(first, first + count)
    return {
        "area": column([20 + n * 37 % 101 for n in every], arrow.DataType.int32()),
        "zone": column([None if n % 9 == 0 else "abc"[n % 3] for n in every], TEXT),
        "new": column([n % 2 == 0 for n in every], arrow.DataType.bool()),
        "price": column([n * n + 1000.5 for n in every], NUMBER),
    }


def as_parquet(path: Path, columns: Columns, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrow_io.write_parquet(arrow.Table.from_pydict(columns), path, **options)
    return path


def as_stream(path: Path, columns: Columns) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrow_io.write_ipc_stream(arrow.Table.from_pydict(columns), path)
    return path


def as_csv(path: Path, columns: Columns) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        lanes = [one.to_pylist() for one in columns.values()]
        csv.writer(file).writerows([list(columns), *zip(*lanes, strict=True)])
    return path


def job_at(path: Path, **data: Any) -> Job:
    return parse({"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path), **data}})


def refused(path: Path, **data: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        look(job_at(path, **data))
    assert say(caught.value).title and say(caught.value).action
    return caught.value


def cells_of(columns: Columns, path: Path) -> dict[str, list[Any]]:
    """What the process writes, by name."""
    import orjson

    assert columnarchild.main(path.with_suffix(".rows"), [as_parquet(path, columns)]) == 0
    names, *rows = map(orjson.loads, path.with_suffix(".rows").read_bytes().splitlines())
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def assert_same_bits(one: Job, other: Job) -> None:
    mine, theirs = open_data(one), open_data(other)
    assert mine.description == theirs.description
    for left, right in ((mine.train, theirs.train), (mine.validation, theirs.validation)):
        got = right.batch(np.arange(len(right)))
        for name, array in left.batch(np.arange(len(left))).items():
            assert array.tobytes() == got[name].tobytes()


@pytest.mark.parametrize("codec", ["snappy", "zstd(1)", "gzip(6)", "brotli(1)", "lz4_raw", "uncompressed"])
def test_a_parquet_file_gives_the_same_bits_as_csv(codec: str, tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "flats.parquet", flats(), compression=codec, max_row_group_size=17)
    same = as_csv(tmp_path / "flats.csv", flats())
    for target in ("price", "zone"):
        assert_same_bits(job_at(path, target=target), job_at(same, target=target))
    seen, other = look(job_at(path)), look(job_at(same))
    assert seen.columns == other.columns and seen.preview == other.preview and seen.findings == other.findings


def test_what_is_planned_is_trained_on_and_sent_is_the_file_of_rows(home: Path, tmp_path: Path) -> None:
    """Neither the engine nor a rented machine can read Parquet."""
    path = as_parquet(tmp_path / "flats.parquet", flats())
    job = job_at(path)
    seen = look(job)
    file = Path(seen.rows_file)
    assert file.name == "flats.parquet.jsonl" and file.is_relative_to(home / "tables")
    assert Look.from_json(seen.to_json()) == seen
    plan = make_plan(job, seen, now=0.0)
    assert plan.job.data.path == str(file)
    check_unchanged(plan.job, seen)
    assert stamp_of(plan.job) and fingerprint_of(job) == seen.fingerprint
    (piece,) = data_pieces(plan.job)
    assert piece.single and piece.files[0].path == file
    (home / "runs").mkdir()
    before = file.stat().st_mtime_ns
    look(job)
    assert file.stat().st_mtime_ns == before  # written once
    as_parquet(path, flats(61))
    again = Path(look(job).rows_file)
    assert again != file and not file.exists() and len(list((home / "tables").iterdir())) == 1


def test_it_is_guessed_converted_and_predicted_from_as_csv_is(tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "flats.parquet", flats())
    assert (what_is(path).kind, what_is(path).data_kind) == ("data", "table")
    assert {**guess(path), "data.path": ""} == {
        "data.kind": "table",
        "data.path": "",
        "data.target": "price",
        "data.task": "regression",
    }
    assert sum(convert(job_at(path), tmp_path / "out").examples.values()) == 60
    description = open_data(job_at(path)).description
    one, other = (
        encode_inputs(description, inputs_in(description, item))["x"]
        for item in (as_parquet(tmp_path / "new.parquet", flats(7)), as_csv(tmp_path / "new.csv", flats(7)))
    )
    assert len(one) == 7 and one.tobytes() == other.tobytes()


def texts(count: int = 120) -> Columns:
    words = ("What a splendid day number {}.", "A dull and dreary affair, {} times over.")
    labels = [("bad", "good")[n % 2] for n in range(count)]
    return {"text": column([words[n % 2].format(n) for n in range(count)], TEXT), "label": column(labels, TEXT)}


def test_texts_are_told_apart_from_parquet_and_from_what_datasets_saves(tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "reviews.parquet", texts())
    saved = tmp_path / "saved"
    as_stream(saved / "train" / "data-00000-of-00001.arrow", texts())
    as_stream(saved / "train" / "cache-1f.arrow", texts(3))
    (saved / "dataset_dict.json").write_text('{"splits": ["train"]}')
    for place in (path, saved):
        assert guess(place)["data.kind"] == "text" and textlayout.of_path(place).has_classes
        data = {"kind": "text", "path": str(place), "tokenizer": "bytes"}
        job = parse({"model": {"name": "text-classifier"}, "data": data})
        seen, opened = look(job), open_data(job)
        assert seen.classes == (("bad", 60), ("good", 60)) and Path(seen.rows_file).is_file()
        assert (seen.train, len(opened.train)) == (96, 96) and opened.description["text_column"] == "text"
        assert fingerprint_of(parse({"model": {"name": "mlp"}, "data": {**data, "path": seen.rows_file}}))
        assert len(inputs_in(opened.description, place)) == 120


def test_shards_are_one_table_and_of_splits_the_one_for_training_is_read(tmp_path: Path) -> None:
    """As Hugging Face data sets lie: data/train-00000-of-00003.parquet."""
    for number in range(3):
        as_parquet(tmp_path / "set" / "data" / f"train-0000{number}-of-00003.parquet", flats(20, 20 * number))
    for split in ("test", "validation"):
        as_parquet(tmp_path / "set" / "data" / f"{split}-00000-of-00001.parquet", flats(30))
    (tmp_path / "set" / "README.md").write_text("# A set")
    assert what_is(tmp_path / "set").data_kind == "table"
    assert guess(tmp_path / "set")["data.target"] == "price"
    assert_same_bits(job_at(tmp_path / "set"), job_at(as_csv(tmp_path / "all.csv", flats())))
    finding = next(one for one in look(job_at(tmp_path / "set")).findings if one.id == "other-splits")
    assert finding.facts == {"splits": ["test", "validation"]}
    assert "test, validation" in say_finding(finding.id, finding.facts).meaning

    as_parquet(tmp_path / "set" / "data" / "train-00002-of-00003.parquet", {**texts(20)})
    error = refused(tmp_path / "set")
    assert (error.id, error.facts["shard"]) == ("data-shards-differ", "train-00002-of-00003.parquet")
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty").id == "data-not-a-file"


def test_cells_are_what_csv_would_hold(tmp_path: Path) -> None:
    kinds = arrow.DataType
    columns = {
        "i": column([1, None, -3], kinds.int64()),
        "u": column([2**64 - 1, 0, None], kinds.uint64()),
        "f": column([0.1, float("nan"), float("-inf")], NUMBER),
        "plain": column([1e-7, 0.1, float("nan")], NUMBER),
        "narrow": column([0.1, 1.0, None], kinds.float32()),
        "b": column([True, False, None], kinds.bool()),
        "s": column(["a", 'ü "x"\n', None], TEXT),
        "dec": column(["1.10", None, "-3.00"], TEXT).cast(kinds.decimal128(5, 2)),
        "day": column(["2020-01-02", None, "0001-01-01"], TEXT).cast(kinds.date32()),
        "at": column(["2020-01-02T03:04:05.678900", None, None], TEXT).cast(kinds.timestamp("us")),
        "zoned": column(["2020-01-02T03:04:05+00:00", None, None], TEXT).cast(kinds.timestamp("us", tz="UTC")),
        "raw": column([b"old text", "ü".encode(), None], kinds.binary()),
        "kinds": column(["x", "y", "x"], TEXT).cast(kinds.dictionary(kinds.int32(), TEXT)),
    }
    assert cells_of(columns, tmp_path / "t.parquet") == {
        "i": ["1", None, "-3"],
        "u": ["18446744073709551615", "0", None],
        "f": ["0.1", "nan", "-inf"],
        "plain": ["1e-7", "0.1", None],
        "narrow": ["0.1", "1.0", None],
        "b": ["True", "False", None],
        "s": ["a", 'ü "x"\n', None],
        "dec": ["1.10", None, "-3.00"],
        "day": ["2020-01-02", None, "0001-01-01"],
        "at": ["2020-01-02 03:04:05.678900", None, None],
        "zoned": ["2020-01-02 03:04:05+00:00", None, None],
        "raw": ["old text", "ü", None],
        "kinds": ["x", "y", "x"],
    }


def test_a_split_may_be_called_more_than_its_first_word(tmp_path: Path) -> None:
    """As chats of the Hub are: what is to be tested with is not learned from."""
    for name in ("train_sft", "test_sft"):
        as_parquet(tmp_path / "set" / f"{name}-00000-of-00001.parquet", flats(9))
    found = columnar.rows_of(tmp_path / "set", Watch())
    assert found.left_out == ("test",) and len(found.file.read_text().splitlines()) == 10


def test_nested_columns_and_pictures_are_left_out_and_named(tmp_path: Path) -> None:
    count = 60
    offsets = np.arange(count + 1, dtype=np.int32)
    lists = arrow.list_array(arrow.Array.from_numpy(offsets), column(list(range(count)), arrow.DataType.int64()))
    pictures = arrow.struct_array(
        [column([b"\x89PNG\xff"] * count, arrow.DataType.binary()), column(["a.png"] * count, TEXT)],
        fields=[arrow.Field("bytes", arrow.DataType.binary(), nullable=True), arrow.Field("path", TEXT, nullable=True)],
    )
    raw = column([b"\xff\xfe\x00"] * count, arrow.DataType.binary())
    path = as_parquet(tmp_path / "t.parquet", {**flats(), "tags": lists, "image": pictures, "raw": raw})
    seen = look(job_at(path, target="price"))
    assert {one.facts["column"] for one in seen.findings if one.id == "nested-column"} == {"tags", "image", "raw"}
    assert refused(path, target="image").id == "data-nested"
    assert refused(as_parquet(tmp_path / "p.parquet", {"image": pictures, "tags": lists})).id == "data-nested"


@pytest.mark.parametrize("kind", [arrow.DataType.float32(), arrow.DataType.float16(), NUMBER])
def test_numbers_inside_of_nested_columns_leave_them_nested(tmp_path: Path, kind: arrow.DataType) -> None:
    """With one of 32 bits in it the file was said to be damaged."""
    numbers = column([n / 3 for n in range(60)], NUMBER).cast(kind)
    lists = arrow.list_array(arrow.Array.from_numpy(np.arange(61, dtype=np.int32)), numbers)
    fields = [arrow.Field("score", kind, nullable=True), arrow.Field("who", TEXT, nullable=True)]
    both = arrow.struct_array([numbers, column(["x"] * 60, TEXT)], fields=fields)
    path = as_parquet(tmp_path / "t.parquet", {**flats(), "list": lists, "meta": both})
    seen = look(job_at(path, target="price"))
    assert {one.facts["column"] for one in seen.findings if one.id == "nested-column"} == {"list", "meta"}


def test_lists_without_end_are_not_taken_apart(tmp_path: Path) -> None:
    """Three kilobytes stood for 200,000 lists of a thousand numbers: each was made, and written as none."""
    each, rows = 1_000, 20_000
    numbers = arrow.Array.from_numpy(np.zeros(each * rows, dtype=np.int8))
    lists = arrow.list_array(arrow.Array.from_numpy(np.arange(0, each * rows + 1, each, dtype=np.int32)), numbers)
    turns = arrow.struct_array(
        [column(["user", "assistant", None] * 2, TEXT), column(["a", "b", "c"] * 2, TEXT), lists.slice(0, 6)],
        fields=[arrow.Field(name, kind, nullable=True) for name, kind in PARTS_OF_A_TURN],
    )
    chats = arrow.list_array(arrow.Array.from_numpy(np.array([0, 2, 2, 6], dtype=np.int32)), turns)
    sizes: list[int] = []
    assert columnarchild._cells(Whole(lists), sizes.append) == [columnarchild.NESTED] * rows
    assert sum(sizes) >= 2 * each * rows  # they are unpacked all the same, and there is an end to that
    assert columnarchild._cells(Whole(chats), print) == [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        columnarchild.NESTED,
        [
            {"role": None, "content": "c"},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": None, "content": "c"},
        ],
    ]
    pictures = column([b"\xff" * 1_000_000], arrow.DataType.binary())
    named = pictures.cast(arrow.DataType.dictionary(arrow.DataType.int32(), arrow.DataType.binary()))
    path = as_stream(tmp_path / "t.arrow", {"raw": named.take(arrow.Array.from_numpy(np.zeros(400, dtype=np.int32)))})
    assert refused(path).id == "data-unpacks-large"


def test_numbers_of_32_bits_that_are_named_once_are_as_short(tmp_path: Path) -> None:
    kind = arrow.DataType.dictionary(arrow.DataType.int32(), arrow.DataType.float32())
    numbers = column([0.1, None, 0.1], NUMBER).cast(arrow.DataType.float32()).cast(kind)
    assert cells_of({"a": numbers}, tmp_path / "t.parquet") == {"a": ["0.1", None, "0.1"]}


class Whole:
    """A column that nobody may make a list of."""

    def __init__(self, column: arrow.Array) -> None:
        self._column, self.type, self.null_count = column, column.type, column.null_count
        self.nbytes = column.nbytes

    def __len__(self) -> int:
        return len(self._column)

    def __arrow_c_array__(self, schema: object = None) -> tuple[object, object]:
        return self._column.__arrow_c_array__(schema)


PARTS_OF_A_TURN = [
    ("role", TEXT),
    ("content", TEXT),
    ("calls", arrow.DataType.list(arrow.Field("", arrow.DataType.int8(), nullable=True))),
]
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "of zeros behind its name": lambda data: b"PAR1" + bytes(90),
    "without an end": lambda data: data[:-4],
    "a lying length": lambda data: data[:-8] + b"\xff\xff\xff\x7f" + data[-4:],
    "empty": lambda data: b"",
    "text": lambda data: b"a,b\n1,2\n" * 40,
    "turned over": lambda data: data[:4] + bytes(byte ^ 0x55 for byte in data[4:-8]) + data[-8:],
}


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_damaged_file_is_refused_in_a_sentence_and_leaves_nothing(
    what: str, ending: str, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"t{ending}"
    (as_parquet if ending == ".parquet" else as_stream)(path, flats())
    path.write_bytes(DAMAGE[what](path.read_bytes()))
    assert refused(path).id in ("data-parquet-damaged", "data-unreadable", "data-unpacks-large")  # as its length lies
    assert [one for one in (home / "tables").rglob("*") if one.is_file()] == []


def test_a_file_that_unpacks_without_end_ends_its_process_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One cell of 256 MB that lies in little; here under a lower bound, under which others are read."""
    bomb = tmp_path / "bomb.parquet"
    columns = {"a": column(["x" * 2**28], TEXT), "b": column(["y"], TEXT)}
    as_parquet(bomb, columns, compression="zstd(1)", dictionary_enabled=False, max_statistics_size=64)
    assert bomb.stat().st_size < 10_000_000
    code = (
        "import sys; from pathlib import Path; from tpu_studio.data import columnarchild as child\n"
        "child.MOST_BYTES = 400_000_000; sys.exit(child.main(Path(sys.argv[1]), [Path(sys.argv[2])]))"
    )
    small = as_parquet(tmp_path / "small.parquet", flats())
    argv = [sys.executable, "-I", "-c", code, str(tmp_path / "out")]
    ends = [subprocess.run([*argv, str(one)], capture_output=True, cwd=tmp_path).returncode for one in (small, bomb)]
    assert ends[0] == 0 != ends[1]

    class Ended(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **more: Any) -> None:
            super().__init__([sys.executable, "-I", "-c", "import os; os.abort()"], **more)

    monkeypatch.setattr(columnar.subprocess, "Popen", Ended)
    error = refused(bomb)
    assert error.id == "data-parquet-damaged" and "-6" in str(error.facts["raw"])


def test_without_its_library_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: Any) -> None:
    monkeypatch.setitem(sys.modules, "arro3.io", None)
    assert columnarchild.main(tmp_path / "out", [as_parquet_bytes(tmp_path)]) == 1
    assert '"error": "data-parquet"' in capfd.readouterr().out
    assert "to_csv" in say(DataError("data-parquet", path="t.parquet")).action


def as_parquet_bytes(folder: Path) -> Path:
    (folder / "t.parquet").write_bytes(b"PAR1")
    return folder / "t.parquet"


def test_two_looks_at_once_write_it_twice_and_whole(tmp_path: Path) -> None:
    """As the window's may; under one name each wrote into the other's rows."""
    path = as_parquet(tmp_path / "t.parquet", flats(20_000))
    with ThreadPoolExecutor(2) as looks:
        one, other = looks.map(lambda _: columnar.rows_of(path, Watch()), range(2))
    lines = one.file.read_text().splitlines()
    assert one == other and len(lines) == 20_001 and all(len(json.loads(line)) == 4 for line in lines)


def test_a_look_at_it_is_cancelled(tmp_path: Path, home: Path) -> None:
    path = as_parquet(tmp_path / "t.parquet", flats())
    asked = iter([False, False, False])
    with pytest.raises(Cancelled):
        columnar.rows_of(path, Watch(cancelled=lambda: next(asked, True)))
        columnar.rows_of(as_parquet(tmp_path / "u.parquet", flats()), Watch(cancelled=lambda: True))
    assert not list((home / "tables").rglob("*.part"))


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    outside = as_parquet(tmp_path / "mine.parquet", flats())
    as_parquet(tmp_path / "set" / "train-0.parquet", flats())
    (tmp_path / "set" / "train-1.parquet").symlink_to(outside)
    assert refused(tmp_path / "set").id == "data-link-outside"


def test_rows_that_fill_a_disk_are_refused_and_leave_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of kilobytes was written out as gigabytes, and stayed."""
    monkeypatch.setattr(columnarchild, "AT_LEAST", 1_000_000)
    same = {"a": column(["x" * 1000] * 20_000, TEXT), "b": column([1.0] * 20_000, NUMBER)}
    small = as_parquet(tmp_path / "small.parquet", same, compression="zstd(1)")
    assert small.stat().st_size * columnarchild.TIMES < 20_000_000
    out = tmp_path / "out"
    with pytest.raises(columnarchild.Refusal) as caught:
        columnarchild.write(out, [small])
    assert caught.value.id == "data-unpacks-large" and out.stat().st_size <= 2_000_000
    assert "fill a disk" in say(DataError("data-unpacks-large", path=str(small), allowed_bytes=1_000_000)).action


def test_however_large_batches_are_the_disk_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def usage(path: Path) -> Any:
        looks.append(len(looks))
        return type("Usage", (), {"free": 2**40 if len(looks) < 3 else 2**20})

    monkeypatch.setattr(columnarchild, "LOOK_BYTES", 100_000)
    monkeypatch.setattr(columnarchild.shutil, "disk_usage", usage)
    one_batch = {"a": column(["x" * 100] * 30_000, TEXT), "b": column([1.0] * 30_000, NUMBER)}
    with pytest.raises(columnarchild.Refusal) as caught:
        columnarchild.write(tmp_path / "out", [as_stream(tmp_path / "t.arrow", one_batch)])
    assert caught.value.id == "data-disk-full" and len(looks) == 3


def test_who_writes_rows_that_nobody_waits_for_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([1, 2])
    monkeypatch.setattr(columnarchild.os, "getppid", lambda: next(parents, 2))
    with pytest.raises(columnarchild.Refusal):
        columnarchild.write(tmp_path / "out", [as_parquet(tmp_path / "t.parquet", flats())])


def test_a_look_at_a_newer_version_leaves_the_rows_that_a_run_reads(home: Path, tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "t.parquet", flats())
    lost = columnar.rows_of(path, Watch()).file
    as_parquet(path, flats(65))
    first = columnar.rows_of(path, Watch()).file
    assert lost.exists()  # nobody knows which runs there are: their disk may be away
    (home / "runs").mkdir()
    as_parquet(path, flats(70))
    second = columnar.rows_of(path, Watch()).file
    assert not lost.exists() and not first.exists() and second.exists()  # nobody reads them
    for number, folder in enumerate(("runs", "trash")):
        plan = home / folder / f"run-{number}" / "plan.json"
        plan.parent.mkdir(parents=True)
        plan.write_text(json.dumps({"data": {"path": str(second)}}))
        as_parquet(path, flats(80 + number))
        third = columnar.rows_of(path, Watch()).file
        assert second.exists() and third != second
        plan.unlink()
    begun = second.parent / ".t.parquet.jsonl.1-1.part"
    begun.write_bytes(b"[]")
    os.utime(begun, (1e9, 1e9))  # of a look that was killed
    as_parquet(path, flats(90))
    columnar.rows_of(path, Watch())
    assert not begun.exists()


def test_a_run_whose_plan_is_a_pipe_holds_up_no_look(home: Path, tmp_path: Path) -> None:
    plan = home / "runs" / "of-somebody" / "plan.json"
    plan.parent.mkdir(parents=True)
    os.mkfifo(plan)
    path = as_parquet(tmp_path / "t.parquet", flats())
    before = columnar.rows_of(path, Watch()).file
    as_parquet(path, flats(65))
    after = columnar.rows_of(path, Watch()).file
    assert after.exists() and not before.exists()


def test_a_text_that_is_named_once_and_stands_in_each_row_takes_no_gigabytes(tmp_path: Path) -> None:
    """150 kB took three."""
    texts = arrow.Array(["y" * 3_000_000] * 512, type=arrow.DataType.string())
    path = as_parquet(tmp_path / "t.parquet", {"text": texts, "n": texts}, compression="zstd(3)")
    assert path.stat().st_size < 500_000
    assert refused(path).id == "data-unpacks-large"


def test_who_reads_with_more_memory_than_the_file_can_ask_for_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "MEMORY_AT_LEAST", 1)
    monkeypatch.setattr(columnar, "MEMORY_TIMES", 0)
    monkeypatch.setattr(columnar, "_POLL_S", 0.0)
    assert refused(as_parquet(tmp_path / "t.parquet", flats())).facts["allowed_bytes"] == 1


def test_an_arrow_file_of_one_batch_is_read_some_rows_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A million honest rows of 40 MB took a gigabyte at once."""
    monkeypatch.setattr(columnarchild, "BATCH_ROWS", 10)
    cells, sizes = columnarchild._cells, []
    monkeypatch.setattr(columnarchild, "_cells", lambda column, over: sizes.append(len(column)) or cells(column, over))
    path = as_stream(tmp_path / "t.arrow", flats(65))
    assert columnarchild.write(tmp_path / "rows", [path]) == 65
    assert max(sizes) == 10 and len((tmp_path / "rows").read_bytes().splitlines()) == 66
    assert (tmp_path / "rows").read_bytes() == columnar.rows_of(path, Watch()).file.read_bytes()

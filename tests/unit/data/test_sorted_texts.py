"""Texts that stand under their kind: from folders, CSV and JSON lines; what is refused, with its file, line or field.

What needs the engine's `tokenizers` is in tests/trainer/test_sorted_texts.py; here texts are cut into bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tpu_studio.data import jsonlines, labelled, textlayout
from tpu_studio.data.look import Look, look
from tpu_studio.data.predicting import decode_outputs, encode_inputs, inputs_in
from tpu_studio.data.rows import RowTally
from tpu_studio.data.sources import open_data
from tpu_studio.data.tokens import learned_vocabulary
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.domain.sentences import say
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError, JobError, StudioError
from tpu_studio.wire.job import Job, parse

SORTS = next(task.id for task in tasks.all_tasks() if task.has_classes and task.id in kinds.by_id("text").tasks)
GOOD, BAD = "What a splendid day number {}.", "A dull and dreary affair, {} times over."
Rows = list[tuple[str, str]]


def sorting(path: Path, model: str = "text-classifier", **data: Any) -> Job:
    tree = {"tokenizer": "bytes", **data}
    return parse({"model": {"name": model}, "data": {"kind": "text", "path": str(path), **tree}})


def some_rows(count: int = 40) -> Rows:
    return [((GOOD if number % 2 else BAD).format(number), "good" if number % 2 else "bad") for number in range(count)]


def as_csv(path: Path, rows: Rows, names: tuple[str, str] = ("review", "mood"), encoding: str = "utf-8") -> Path:
    with open(path, "w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([names, *rows])
    return path


def as_lines(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps({"id": n, "review": t, "mood": k}) + "\n" for n, (t, k) in enumerate(rows)))
    return path


def as_folder(path: Path, rows: Rows) -> Path:
    for number, (text, kind) in enumerate(rows):
        (path / kind).mkdir(parents=True, exist_ok=True)
        (path / kind / f"{number:03d}.txt").write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("make", [as_csv, as_lines, as_folder])
def test_texts_are_found_with_their_kinds(make: Callable[[Path, Rows], Path], tmp_path: Path) -> None:
    names: dict[Any, str] = {as_csv: "reviews.csv", as_lines: "reviews.jsonl", as_folder: "reviews"}
    job = sorting(make(tmp_path / names[make], some_rows()))
    seen, opened = look(job), open_data(job)

    assert (seen.task, seen.classes, seen.outputs) == (SORTS, (("bad", 20), ("good", 20)), 2)
    assert (seen.train, seen.validation) == (len(opened.train), len(opened.validation)) == (32, 8)
    assert seen.sequence_length == 64 and seen.input_shape == (64,)
    assert opened.description["classes"] == ["bad", "good"] and opened.files == {}
    for side in (opened.train, opened.validation):
        batch = side.batch(np.arange(len(side)))
        texts = ["".join(chr(token - 1) for token in row if token) for row in batch["x"].tolist()]
        assert [int("splendid" in text) for text in texts] == batch["y"].tolist()
    assert {one["class"] for one in seen.preview["texts"]} == {"good", "bad"}
    assert all(one["kept"] for one in seen.preview["texts"][:8])
    assert Look.from_json(json.loads(json.dumps(seen.to_json()))) == seen


def test_folders_of_training_and_testing_texts_fix_the_split(tmp_path: Path) -> None:
    for part, rows in (("train", some_rows(20)), ("test", some_rows(6))):
        as_folder(tmp_path / part, rows)
    opened = open_data(sorting(tmp_path))

    assert (len(opened.train), len(opened.validation)) == (20, 6)
    assert "fixed-split" in [finding.id for finding in look(sorting(tmp_path)).findings]


def test_one_length_fits_nearly_all_texts_and_longer_ones_lose_their_end(tmp_path: Path) -> None:
    rows = [*some_rows(60), ("x" * 5_000, "good")]
    opened = open_data(sorting(as_csv(tmp_path / "reviews.csv", rows)))
    assert opened.train.spec["x"] == ((64,), "int32")

    given = open_data(sorting(tmp_path / "reviews.csv", sequence_length=10))
    x = given.train.batch(np.arange(3))["x"]
    assert x.shape == (3, 10) and (x > 0).all() and x.max() <= 256


def test_the_text_column_is_the_wordiest_or_the_one_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    with open(path, "w", newline="") as file:
        rows = [[f"Title {n}", text, kind, n % 5] for n, (text, kind) in enumerate(some_rows())]
        csv.writer(file).writerows([["title", "review", "mood", "stars"], *rows])

    assert open_data(sorting(path, target="mood")).description["text_column"] == "review"
    said = open_data(sorting(path, target="mood", columns={"title": "text"}))
    assert said.description["text_column"] == "title"
    assert open_data(sorting(path, target="stars")).description["classes"] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_other_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    rows = [(f"Größe {number}: très bien", kind) for number, (_, kind) in enumerate(some_rows())]
    seen = look(sorting(as_csv(tmp_path / "reviews.csv", rows, encoding=encoding)))
    assert "Größe" in seen.preview["text"] and "très" in seen.preview["text"]

    for number, (text, kind) in enumerate(rows):
        (tmp_path / "sorted" / kind).mkdir(parents=True, exist_ok=True)
        (tmp_path / "sorted" / kind / f"{number}.txt").write_bytes(text.encode(encoding))
    assert "Größe" in look(sorting(tmp_path / "sorted")).preview["text"]


def test_empty_texts_and_lines_that_are_no_objects_are_left_out_and_named(tmp_path: Path) -> None:
    rows = some_rows(100)
    rows[6] = ("   ", "good")
    path = as_lines(tmp_path / "reviews.jsonl", rows)
    path.write_text(path.read_text() + "[1, 2]\n")
    seen, opened = look(sorting(path)), open_data(sorting(path))

    named = sorted((one.item, one.why) for one in opened.broken)
    assert named == [("line 101", "not-json"), ("line 7", "empty-text")]
    assert seen.broken_count == opened.broken_count == 2
    assert len(opened.train) + len(opened.validation) == seen.examples == 99

    (as_folder(tmp_path / "sorted", some_rows(60)) / "good" / "empty.txt").write_text("")
    for number in range(2):
        (tmp_path / "sorted" / "bad" / f"blank-{number}.txt").write_text(" \n")
    seen, opened = look(sorting(tmp_path / "sorted")), open_data(sorting(tmp_path / "sorted"))
    assert {(one.item, one.why) for one in seen.broken} >= {("good/empty.txt", "empty"), ("bad/blank-0.txt", "empty")}
    assert (seen.train, seen.validation) == (len(opened.train), len(opened.validation)) and seen.examples == 60


def test_rows_without_a_kind_are_left_out(tmp_path: Path) -> None:
    seen = look(sorting(as_csv(tmp_path / "reviews.csv", [*some_rows(), ("Nobody said.", "")])))
    assert seen.examples == 40 and seen.numbers["without_target"] == 1
    assert "rows-without-target" in [finding.id for finding in seen.findings]


def _refused(path: Path, **data: Any) -> StudioError:
    with pytest.raises(StudioError) as by_look:
        look(sorting(path, **data))
    with pytest.raises(StudioError) as by_opening:
        open_data(sorting(path, **data))
    assert by_look.value.id == by_opening.value.id
    assert say(by_look.value).title
    return by_look.value


def _nested(folder: Path) -> Path:
    lines = [{"review": {"body": text}, "mood": kind} for text, kind in some_rows()]
    path = folder / "nested.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


BAD_DATA: dict[str, tuple[Callable[[Path], Path], dict[str, Any], str, dict[str, Any]]] = {
    "no such column": (
        lambda at: as_csv(at / "a.csv", some_rows()),
        {"target": "moood"},
        "data-target-missing",
        {"column": "moood", "nearest": "mood"},
    ),
    "no such text column": (
        lambda at: as_csv(at / "a.csv", some_rows()),
        {"columns": {"revue": "text"}},
        "data-column-unknown",
        {"column": "revue", "nearest": "review"},
    ),
    "no text": (
        lambda at: as_csv(at / "a.csv", [(str(n), kind) for n, (_, kind) in enumerate(some_rows())]),
        {},
        "data-no-text-column",
        {"column": "mood", "columns": ["review"]},
    ),
    "one kind": (
        lambda at: as_csv(at / "a.csv", [(text, "good") for text, _ in some_rows()]),
        {"target": "mood"},
        "data-target-constant",
        {"value": "good"},
    ),
    "one folder": (
        lambda at: as_folder(at / "a", [(text, "good") for text, _ in some_rows()]),
        {},
        "data-one-class",
        {"name": "good", "noun": "texts"},
    ),
    "a hundred thousand kinds": (
        lambda at: as_csv(at / "a.csv", [(GOOD.format(n), f"kind {n}") for n in range(100_000)]),
        {"target": "mood"},
        "data-too-many-classes",
        {"column": "mood", "allowed": 1000},
    ),
    "nested": (_nested, {"target": "mood"}, "data-nested", {"column": "review", "line": 1}),
    "parquet": (
        lambda at: Path((at / "a.parquet").write_bytes(b"PAR1" + b"\0" * 90) and at / "a.parquet"),
        {},
        "data-parquet-damaged",
        {},
    ),
    "not sorted": (
        lambda at: Path((at / "a.txt").write_text("Once upon a time. " * 90) and at / "a.txt"),
        {},
        "data-not-sorted",
        {},
    ),
    "utf-32": (lambda at: as_csv(at / "a.csv", some_rows(), encoding="utf-32"), {}, "data-not-text", {}),
    "all empty": (
        lambda at: as_csv(at / "a.csv", [(" ", kind) for _, kind in some_rows()]),
        {},
        "data-no-text-column",
        {},
    ),
    "too few": (lambda at: as_csv(at / "a.csv", some_rows(8)), {"target": "mood"}, "data-too-few", {"needed": 10}),
}


@pytest.mark.parametrize("what", BAD_DATA)
def test_what_cannot_be_learned_from_is_refused_with_its_place(what: str, tmp_path: Path) -> None:
    make, data, error, facts = BAD_DATA[what]
    path = make(tmp_path)
    refused = _refused(path, **data)
    assert refused.id == error
    assert {name: refused.facts[name] for name in facts} == facts
    if error != "data-target-constant" and "path" in refused.facts:
        assert str(refused.facts["path"]).startswith(str(tmp_path))


def test_pieces_of_starter_weights_are_for_those_weights_alone(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "reviews.csv", some_rows())
    for model, given, usual in (("text-classifier", "preset", "bpe, bytes"), ("all-minilm-l6-v2", "bpe", "preset")):
        with pytest.raises(JobError) as refused:
            look(sorting(path, model, tokenizer=given))
        assert (refused.value.id, refused.value.facts["key"]) == ("job-tokenizer-unfit", "data.tokenizer")
        assert ", ".join(map(str, refused.value.facts["allowed"])) == usual  # type: ignore[call-overload]


def test_a_text_is_no_longer_than_starter_weights_have_places_for(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "reviews.csv", some_rows())
    known = sorting(path, "all-minilm-l6-v2", tokenizer="auto")
    assert look(known.with_values({"data.sequence_length": 512})).sequence_length == 512
    with pytest.raises(JobError) as refused:
        look(known.with_values({"data.sequence_length": 513}))
    assert (refused.value.id, refused.value.facts["key"]) == ("job-out-of-range", "data.sequence_length")
    assert refused.value.facts["maximum"] == 512
    assert look(sorting(path, sequence_length=513)).sequence_length == 513  # from nothing it has as many as it needs


def test_what_texts_are_for_follows_the_model_then_how_they_lie(tmp_path: Path) -> None:
    folder, plain = as_folder(tmp_path / "sorted", some_rows()), tmp_path / "tale.txt"
    plain.write_text("Once upon a time. " * 900)
    beside = as_folder(tmp_path / "beside", some_rows())
    (beside / "chapter-1.txt").write_text("One text.")

    assert textlayout.of_path(folder).has_classes and not textlayout.of_path(plain).has_classes
    assert textlayout.of_path(tmp_path / "reviews.csv").has_classes  # by its name
    assert not textlayout.of_path(beside).has_classes
    assert look(sorting(folder, "gpt-nano")).task != SORTS
    with pytest.raises(DataError) as refused:
        look(sorting(folder, task="regression"))
    assert refused.value.id == "data-task-unfit"


def test_new_texts_are_taken_from_files_tables_and_folders(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "reviews.csv", some_rows())
    description = open_data(sorting(path)).description
    texts = [text for text, _ in some_rows()]
    (tmp_path / "one.txt").write_text("A single text.\nOf two lines.")

    assert inputs_in(description, path) == texts
    assert inputs_in(description, tmp_path / "one.txt") == ["A single text.\nOf two lines."]
    assert sorted(map(str, inputs_in(description, as_folder(tmp_path / "sorted", some_rows())))) == sorted(texts)
    with pytest.raises(DataError) as refused:
        inputs_in(description, as_csv(tmp_path / "other.csv", some_rows(), names=("words", "mood")))
    assert (refused.value.id, refused.value.facts["column"]) == ("data-column-missing", "review")

    assert encode_inputs(description, ["ab", "c" * 99])["x"].tolist() == [[98, 99] + [0] * 62, [100] * 64]
    with pytest.raises(DataError) as refused:
        encode_inputs(description, ["  "])
    assert refused.value.id == "data-prompt-empty"
    (told,) = decode_outputs(description, np.array([[0.0, 2.0]]), logits=True)
    assert told["class"] == "good" and told["probability"] == pytest.approx(0.8808, abs=1e-4)


def test_the_vocabulary_grows_with_the_text() -> None:
    assert [learned_vocabulary(size) for size in (100, 100_000, 225_000, 10**9)] == [512, 1920, 4480, 8192]


@pytest.mark.parametrize("names_come", ["first", "last"])
def test_json_lines_made_to_fill_the_memory_are_looked_at_in_part(names_come: str, tmp_path: Path) -> None:
    """990 names on one line, and 20,000 lines of two letters: each became a row of 990 cells."""
    path = as_lines(tmp_path / "bomb.jsonl", some_rows())
    parts = [json.dumps({f"c{number}": "" for number in range(990)}) + "\n", "{}\n" * 20_000]
    with path.open("a") as file:
        file.writelines(parts if names_come == "first" else parts[::-1])
    source = labelled._opened(path, Watch())
    assert len(source.sample(Watch()).rows) * len(source.names) <= jsonlines.SAMPLE_CELLS
    assert [name for name, _ in look(sorting(path, target="mood")).classes] == ["bad", "good"]


def test_a_look_at_json_lines_is_cancelled_and_no_line_is_read_without_end(tmp_path: Path) -> None:
    path = as_lines(tmp_path / "lines.jsonl", some_rows(3000))
    with pytest.raises(Cancelled):
        look(sorting(path), cancelled=lambda: True)
    with path.open("a") as file:
        file.write('{"review": "' + "a" * 3 * jsonlines.LONGEST_LINE + '", "mood": "good"}\n' + json.dumps({}) + "\n")
    tally = RowTally()
    rows = list(labelled._opened(path, Watch()).read(tally, Watch()))
    assert [(one.item, one.why) for one in tally.broken] == [("line 3001", "cell-too-long")]
    assert (len(rows), tally.line) == (3001, 3002)


def test_of_one_huge_text_as_much_is_read_as_a_model_could_use(tmp_path: Path) -> None:
    path = as_folder(tmp_path / "texts", some_rows())
    (path / "good" / "huge.txt").write_text("ä" * 2 * labelled.LONGEST_TEXT, encoding="utf-8")
    found = labelled.read(sorting(path), path, Watch())
    assert max(map(len, found.texts)) == labelled.LONGEST_TEXT // 2 and not any("\ufffd" in one for one in found.texts)
    assert len(next(labelled.texts_in(path / "good" / "huge.txt", ""))) == labelled.LONGEST_TEXT // 2


def test_half_a_character_in_json_lines_is_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    rows = [(text + "\ud800", kind + "\ud800") for text, kind in some_rows()]
    path.write_text("".join(json.dumps({"review\ud800": text, "mood\ud800": kind}) + "\n" for text, kind in rows))
    seen = look(sorting(path))
    assert (seen.target, [name for name, _ in seen.classes]) == ("mood?", ["bad?", "good?"])
    json.dumps(seen.to_json(), ensure_ascii=False).encode()
    texts = list(labelled.texts_in(path, "review?"))
    assert len(texts) == len(rows) and "".join(texts).encode()

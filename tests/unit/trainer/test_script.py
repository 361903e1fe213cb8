"""A run as a Keras script: whatever anybody calls things, only constants change; what it cannot say it refuses."""

from __future__ import annotations

import ast
import csv
import json
import warnings
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.fakes.making import make_plan
from tpu_studio.data import sources, tablefile
from tpu_studio.data.look import look
from tpu_studio.data.rows import RowTally
from tpu_studio.data.watching import Watch
from tpu_studio.domain.sentences import say
from tpu_studio.trainer.script import checking, parts, refusing, tables, writing
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import DataError, RunError
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan

HOSTILE = 'a"\'\'\'"""\\\n\u202e{0}%s#\r;import os\u2028'


def of(tmp_path: Path, tree: dict[str, Any], **training: Any) -> tuple[Plan, dict[str, Any]]:
    """The plan of a job, and a card as its result would have."""
    job = parse({"name": "given", **tree, "training": training})
    plan = replace(make_plan(job, look(job), now=0.0), run="given-0000")
    description = sources.open_data(plan.job, look(job)).description
    shape = description["input_shape"]
    dtype = {1: "float32", 3: "uint8"}[len(shape)] if plan.job.data.kind != "text" else "int32"
    outputs = [*shape, 256] if plan.task == "language-model" else [description["outputs"]]
    card = {
        "classes": description.get("classes", []),
        "data": description,
        "input": {"shape": [None, *shape], "dtype": dtype, "largest": 255.0 if dtype == "uint8" else None},
        "output": {"shape": [None, *outputs]},
        "trained": {"steps": plan.steps, "ended": "completed", "final": {"val_loss": 0.25, "loss": 0.125}},
    }
    return plan, json.loads(json.dumps(card))


def script(tmp_path: Path, tree: dict[str, Any], **training: Any) -> str:
    plan, card = of(tmp_path, tree, **training)
    return writing.written(tmp_path, tmp_path, plan, card)


def taken_apart(text: str) -> tuple[dict[str, Any], str]:
    """The constants of a script, and all else of it; nothing of it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = ast.parse(text)
    constants, rest = {}, []
    for line in tree.body:
        if isinstance(line, ast.Assign) and line.lineno < _first_function(tree):
            (name,) = line.targets
            assert isinstance(name, ast.Name)
            constants[name.id] = ast.literal_eval(line.value)
        else:
            rest.append(ast.dump(line))
    return constants, "\n".join(rest)


def _first_function(tree: ast.Module) -> int:
    return next(one.lineno for one in tree.body if isinstance(one, ast.FunctionDef))


def pictures(folder: Path, *classes: str) -> Path:
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(6):
            Image.fromarray(np.full((20, 20, 3), number, np.uint8)).save(folder / name / f"{number}.png")
    return folder


def table(path: Path, columns: tuple[str, str, str], word: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as file:
        rows = [(number * 1.5, (word, "b")[number % 2], number % 7 + number / 100) for number in range(60)]
        csv.writer(file).writerows([columns, *rows])
    return path


def comments(text: str) -> list[str]:
    return [line.partition("  # ")[2] for line in text.splitlines() if line[:1].isupper() and "  # " in line]


def test_hostile_names_of_folders_and_classes_stay_constants(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"model": {"name": "small-cnn"}, "data": {"kind": "images"}}
    found = []
    for top, names in (
        ("plain", ("cats", "dogs")),
        (f"top {HOSTILE}".replace("/", ""), (f"c{HOSTILE}", f"d{HOSTILE}")),
    ):
        folder = pictures(tmp_path / top, *names)
        tree["data"]["path"] = str(folder)
        constants, rest = taken_apart(script(tmp_path, tree))
        assert constants["DATA"] == str(folder) and constants["CLASSES"] == sorted(names)
        assert constants["FOLDERS"] == {name: at for at, name in enumerate(sorted(names))}
        found.append(rest)
    assert found[0] == found[1]


def test_hostile_columns_values_and_names_of_runs_stay_constants(tmp_path: Path) -> None:
    found = []
    columns = ("size", "kind", "price"), (f"s{HOSTILE}", f"k{HOSTILE}", "price")
    for name, column, word in (("plain", columns[0], "house"), (HOSTILE, columns[1], f"w{HOSTILE}end")):
        path = table(tmp_path / name / "t.csv", column, word)
        data = {"kind": "table", "path": str(path), "target": "price"}
        text = script(tmp_path, {"name": name, "model": {"name": "mlp"}, "data": data})
        constants, rest = taken_apart(text)
        assert constants["DATA"] == str(path)
        assert constants["COLUMNS"][1]["categories"] == sorted(["b", word])
        assert constants["REACHED"] == {"val_loss": 0.25}
        assert "\u202e" not in text and "\r" not in text and "\u2028" not in text
        found.append((rest, comments(text)))
    assert found[0][0] == found[1][0]


def test_a_plan_that_somebody_wrote_puts_no_code_into_a_script(tmp_path: Path) -> None:
    plan, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "digits"}})
    plain = taken_apart(writing.written(tmp_path, tmp_path, plan, card))[1]
    tree = plan.to_json() | {"run": f"r{HOSTILE}"}
    tree["job"]["name"] = f"n{HOSTILE}"  # type: ignore[index]
    card["classes"] = [f"{number}{HOSTILE}" for number in range(10)]
    card["trained"]["final"] = {f"val_{HOSTILE}": 0.5, "val_loss": "inf", "val_accuracy": "__import__('os')"}
    constants, rest = taken_apart(writing.written(tmp_path, tmp_path, plans.from_json(tree), card))
    assert rest == plain
    assert constants["CLASSES"] == card["classes"] and constants["REACHED"] == {f"val_{HOSTILE}": 0.5}
    assert constants["RUN"] == f"r{HOSTILE}"
    card["output"]["shape"] = [None, "__import__('os')"]
    with pytest.raises(RunError, match="result-unreadable"):
        writing.written(tmp_path, tmp_path, plan, card)


@pytest.mark.parametrize("of_table", [True, False])
@pytest.mark.parametrize("odd", [None, "text", -1, pytest.param(10**400, id="large"), [], {}, [[1]], {"a": [{}]}])
def test_odd_values_in_a_card_are_told_as_a_result_that_cannot_be_read(
    tmp_path: Path, odd: object, of_table: bool
) -> None:
    """They ended the export with a traceback, which was told as want of memory."""
    data = {"kind": "table", "path": str(table(tmp_path / "t.csv", ("a", "b", "c"), "x"))} if of_table else None
    plan, card = of(tmp_path, {"model": {"name": "mlp"}, "data": data or {"kind": "digits"}})
    refused = 0
    for path in [path for path in _paths(card) if path]:
        other = json.loads(json.dumps(card))
        *inner, last = path
        reduce(lambda at, name: at[name], inner, other)[last] = odd
        try:
            ast.parse(writing.written(tmp_path, tmp_path, plan, other))
        except RunError as error:
            refused += error.id == "result-unreadable"
    assert refused > 3


def _paths(tree: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [above, *(path for name, one in inner for path in _paths(one, (*above, name)))]


def test_only_plain_values_are_literals() -> None:
    for value in (float("nan"), float("inf"), Path("x"), {1: object()}):
        with pytest.raises((ValueError, SyntaxError)):
            parts.literal(value)
    long = {"names": [f"{number} {HOSTILE}" for number in range(40)], "share": 0.1 + 0.2}
    assert ast.literal_eval(parts.literal(long)) == long
    assert max(map(len, parts.literal(long).splitlines())) <= parts.WIDE


def test_a_fixed_split_is_kept_by_its_folders(tmp_path: Path) -> None:
    pictures(tmp_path / "all" / "train", "cats", "dogs")
    folder = pictures(tmp_path / "all" / "val", "cats", "dogs").parent
    tree = {"model": {"name": "small-cnn"}, "data": {"kind": "images", "path": str(folder)}}
    constants, rest = taken_apart(script(tmp_path, tree))
    assert constants["FOLDERS"] == {"train/cats": 0, "train/dogs": 1, "val/cats": 0, "val/dogs": 1}
    assert constants["KEPT_FOLDER"] == "val" and "hashlib" not in rest


def test_one_that_was_stopped_goes_as_far_along_the_same_schedule(tmp_path: Path) -> None:
    plan, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "digits"}}, steps=500)
    card["trained"] |= {"steps": 120, "ended": "stopped-by-user"}
    text = writing.written(tmp_path, tmp_path, plan, card)
    constants, _ = taken_apart(text)
    assert (constants["STEPS"], constants["PLANNED_STEPS"]) == (120, 500)
    assert "compile_model(model, LEARNING_RATE, PLANNED_STEPS)" in text


@pytest.mark.parametrize("why", refusing.WHY)
def test_each_refusal_says_why_and_what_to_do_instead(why: str) -> None:
    said = say(refusing.refusal(why))
    assert said.title == "This run cannot be written as a short script"
    assert "No file was written. Nothing was charged" in said.meaning and said.action


def test_what_cannot_be_said_plainly_is_refused(tmp_path: Path) -> None:
    days = tmp_path / "days.csv"
    rows = [f"2024-{1 + number % 12:02d}-{1 + number % 28:02d},{number % 5 + number / 9:.3f}" for number in range(60)]
    days.write_text("\n".join(["day,price", *rows]) + "\n")
    dated, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(days)}})
    assert _why(tmp_path, dated, card) == "date-columns"
    digits, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "digits"}})
    own = replace(digits, job=digits.job.with_values({"model.file": "mine.py", "model.name": None}))
    assert _why(tmp_path, own, card) == "own-model"
    shards = replace(digits, job=digits.job.with_values({"data.kind": "tfrecord", "data.path": str(tmp_path)}))
    assert _why(tmp_path, replace(shards, data={**digits.data, "fingerprint": ""}), card) == "converted-data"
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "000001.json").write_text('{"verb": "extend", "epochs": 2}')
    assert _why(tmp_path, digits, card) == "extended"


def test_data_that_has_changed_since_is_told_of(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", ("size", "kind", "price"), "a")
    plan, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path)}})
    path.write_text(path.read_text() + "9,b,3\n")
    with pytest.raises(DataError) as changed:
        writing.written(tmp_path, tmp_path, plan, card)
    assert changed.value.id == "data-changed"


def _why(run: Path, plan: Plan, card: dict[str, Any]) -> object:
    with pytest.raises(RunError) as refused:
        writing.written(run, run, plan, card)
    assert refused.value.id == "export-no-script"
    return refused.value.facts["why"]


ROWS: list[dict[str, object]] = [
    {"size": 1.50, "kind": "a, b", "fine": True, "price": 10},
    {"size": -2e-3, "kind": "“Zoë”\n", "fine": None, "price": 1e3},
    {"size": None, "kind": "", "fine": False, "price": 7},
]


@pytest.mark.parametrize("name", ["rows.csv", "objects.jsonl", "lists.ndjson"])
def test_a_scripts_rows_are_the_runs_however_the_table_is_written(tmp_path: Path, name: str) -> None:
    """Parquet becomes lists below a line of names before a run learns from it."""
    path, names = tmp_path / name, list(ROWS[0])
    if name == "rows.csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([names, *([one[key] for key in names] for one in ROWS)])
    elif name == "objects.jsonl":
        turned = [dict(reversed(one.items())) for one in ROWS[1:]]
        path.write_text("".join(json.dumps(one) + "\n" for one in (ROWS[0], *turned, "no row")))
    else:
        path.write_text("".join(json.dumps(one) + "\n\n" for one in (names, *([*one.values()] for one in ROWS), [1])))
    table = tablefile.opened(path, Watch())
    constants, code, module = tables.file_of(path, table.names)
    wanted = list(table.read(RowTally(), Watch()))
    csv.field_size_limit(checking.CELL_OF_PYTHON)
    scope: dict[str, Any] = {module: {"csv": csv, "json": json}[module]}
    exec(parts.assigned(constants) + "\n" + code, scope)
    assert scope["read_rows"]() == wanted


def test_a_script_reads_long_cells_by_itself_and_is_checked_as_one_that_does(tmp_path: Path) -> None:
    """It passed in a process that had set how long a cell may be, and ended with an error in one of its own."""
    path, long = tmp_path / "t.csv", ("note " * 50_000, "x" * 1_100_000)
    rows = [f"{n},{n * 7 % 13},{long[n - 7] if n in (7, 8) else 'note'},{'ab'[n % 2]}" for n in range(60)]
    path.write_text("\n".join(["size,age,note,label", *rows]))
    given, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path)}})
    (tmp_path / "s.py").write_text(writing.written(tmp_path, tmp_path, given, card))
    module = ModuleType("exported_script")
    source = (tmp_path / "s.py").read_text()
    exec(source[: source.index("\ndef build_model")].replace("import keras\n", ""), vars(module))
    assert checking.check_data(module, given, card, tmp_path) == 59
    csv.field_size_limit(checking.CELL_OF_PYTHON)
    assert max(len(row[2]) for row in module.read_rows()) == 250_000
    module.LONGEST_CELL = checking.CELL_OF_PYTHON  # type: ignore[attr-defined]
    with pytest.raises(RunError, match="export-differs"):
        checking.check_data(module, given, card, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "# exported 2024,,\nsize,kind,price\n" + "1,a,3\n2,b,4\n" * 20 + "# the second day, of, three\n",
        "# size,kind,price\n" + "1,a,3\n2,b,4\n" * 20 + "# the end,,\n",
        "sep=,\nsize,kind,price\n" + "1,a,3\n2,b,4\n" * 20,
        "A list of prices\n\nsize,kind,price\n" + "1,a,3\n#2,b,4\n" * 20,
        "text,kind\n" + "# A heading of a text,a\nwhat is said about it,b\n" * 20 + "#,b\n",
    ],
)
def test_a_scripts_rows_are_the_runs_with_comments_titles_and_texts_alike(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = tablefile.opened(path, Watch())
    constants, code, _ = tables.file_of(path, table.names)
    scope: dict[str, Any] = {"csv": csv}
    exec(parts.assigned(constants) + "\n" + code, scope)
    assert scope["read_rows"]() == list(table.read(RowTally(), Watch())) and len(scope["read_rows"]()) >= 40

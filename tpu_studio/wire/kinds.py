"""The kinds of data: how each is called, what one example of it is, where it comes from and what can be learnt from it.

How a kind is looked at, read, encoded and converted: ``data``. Which model takes which kind: ``wire.models``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Example = Literal["picture", "row", "text", "record"]


@dataclass(frozen=True)
class DataKind:
    """One kind of data, as ``data.kind`` names it.

    Attributes:
        title, hint, icon: Its card in the window.
        example: What one example is; ``record`` is whatever the data was converted from.
        items: Examples in the plural, behind a number: "pictures".
        material: What it is, behind "to learn from": "a table".
        plural: Data of this kind in general: "tables".
        tasks: What can be learnt from it; empty where the data itself says it.
        source: A ``folder``, a ``file`` (or a folder of them), what comes with the program, or what it ``converted``.
        few, few_characters: Below so many examples, or characters to continue, there is little to learn from.
        question: What a trained model of it is asked with on the command line.
        drop: Title, hint and button of the place to drop it on.
        files: The filter of the file dialog, "" where folders are chosen.
        or_folder: A folder of such files is as good as one.
        endings: Of the names of its files, in small letters.
        suffixes: Those that are left out of a title.
        model: The model to begin with.
    """

    id: str
    title: str
    hint: str
    icon: str
    example: Example
    items: str
    material: str
    plural: str
    source: Literal["folder", "file", "built-in", "converted"]
    tasks: tuple[str, ...] = ()
    few: int = 100
    few_characters: int = 0
    question: str = ""
    drop: tuple[str, str, str] = ("", "", "")
    files: str = ""
    or_folder: bool = False
    endings: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    model: str = ""

    @property
    def has_pictures(self) -> bool:
        return self.example == "picture"

    @property
    def has_rows(self) -> bool:
        return self.example == "row"

    @property
    def has_text(self) -> bool:
        return self.example == "text"

    @property
    def is_built_in(self) -> bool:
        """Comes with the program: no path, nothing to upload but the file itself."""
        return self.source == "built-in"

    @property
    def is_converted(self) -> bool:
        return self.source == "converted"

    @property
    def has_picture_files(self) -> bool:
        """Pictures in files of their own, which are decoded while training."""
        return self.has_pictures and self.source == "folder"


_KINDS = (
    DataKind(
        "images",
        "Images",
        "Folders per class, or a table of labels",
        "images",
        "picture",
        "pictures",
        "pictures",
        "pictures",
        "folder",
        tasks=("classification", "multi-label"),
        question="image",
        drop=(
            "Drop a folder of pictures here",
            "One folder per class, or a labels.csv beside them.",
            "Choose a folder…",
        ),
        endings=(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"),
        model="small-cnn",
    ),
    DataKind(
        "table",
        "Table",
        "A .csv, .jsonl or .parquet file",
        "table",
        "row",
        "rows",
        "a table",
        "tables",
        "file",
        tasks=("classification", "regression"),
        few=200,
        question="row",
        drop=(
            "Drop a table here",
            "A .csv, .jsonl or .parquet file: a row for each example, a column for each measure.",
            "Choose a file…",
        ),
        endings=(".csv", ".tsv", ".tab", ".psv", ".jsonl", ".ndjson", ".parquet", ".arrow"),
        or_folder=True,
        files="Tables (*.csv *.tsv *.tab *.txt *.jsonl *.ndjson *.json *.parquet *.arrow);;All files (*)",
        suffixes=(".csv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow"),
        model="mlp",
    ),
    DataKind(
        "text",
        "Text",
        "To classify, to continue, or to answer",
        "file-text",
        "text",
        "sequences",
        "plain text",
        "text",
        "file",
        tasks=("language-model", "text-classification", "instruction"),
        few_characters=20_000,
        question="prompt",
        drop=(
            "Drop texts here",
            "To classify: one folder per class, or a table (.csv, .jsonl, .parquet). To generate: a plain .txt file. "
            "To answer: a table of questions and answers.",
            "Choose a file…",
        ),
        endings=(".txt", ".text", ".md"),
        or_folder=True,
        files="Texts (*.txt *.md *.text *.csv *.tsv *.jsonl *.ndjson *.json *.parquet *.arrow);;All files (*)",
        suffixes=(".csv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow"),
        model="gpt-nano",
    ),
    DataKind(
        "digits",
        "Digits sample",
        "Built in, quickest first run",
        "grid-3x3",
        "picture",
        "pictures",
        "pictures",
        "digits",
        "built-in",
        tasks=("classification",),
        question="image",
        model="small-cnn",
    ),
    DataKind(
        "tfrecord",
        "Converted data",
        "TFRecord made by this app",
        "package",
        "record",
        "examples",
        "converted data",
        "converted data",
        "converted",
        drop=("Drop converted data here", "A folder with dataset.json, made by Convert.", "Choose a folder…"),
    ),
)
_BY_ID = {kind.id: kind for kind in _KINDS}
IDS = tuple(_BY_ID)


def first(holds: Callable[[DataKind], bool]) -> DataKind:
    """The first kind of which that is true: `first(lambda kind: kind.has_text)`."""
    return next(kind for kind in _KINDS if holds(kind))


def of_file(name: str) -> DataKind | None:
    """The kind that a file of that name is of, by how the name ends."""
    ending = name[name.rfind(".") :].lower()
    return next((kind for kind in _KINDS if ending in kind.endings), None)


def all_kinds() -> tuple[DataKind, ...]:
    return _KINDS


def by_id(name: str) -> DataKind:
    """The kind of that id.

    Raises:
        KeyError: no such kind; a job that was read names only those that exist.
    """
    return _BY_ID[name]


def find(name: object) -> DataKind | None:
    """The kind of that id, None where there is none yet, or none of that name."""
    return _BY_ID.get(name) if isinstance(name, str) else None

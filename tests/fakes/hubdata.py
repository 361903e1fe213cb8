"""Data sets as the Hugging Face Hub has them, small: Parquet files of its conversion, and its owner's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import arro3.core as arrow
import arro3.io as arrow_io

from tests.fakes.hub import Repository

WORDS = {0: "dull slow boring plot", 1: "bright quick lovely film"}


def parquet(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds: dict[type, Any] = {str: arrow.DataType.utf8(), int: arrow.DataType.int64(), float: arrow.DataType.float64()}
    made: dict[str, Any] = {name: arrow.Array(list(cells), kinds[type(cells[0])]) for name, cells in columns.items()}
    arrow_io.write_parquet(arrow.Table.from_pydict(made), path)
    return path


def reviews(folder: Path, rows: int = 160) -> Repository:
    """Texts and their classes: `plain_text` with train (two files), test and unsupervised; and a subset of numbers."""
    converted, own = folder / "converted", folder / "own"
    own.mkdir(parents=True, exist_ok=True)
    (own / "README.md").write_text("# Reviews")
    (converted / ".gitattributes").parent.mkdir(parents=True, exist_ok=True)
    (converted / ".gitattributes").write_text("*.parquet filter=lfs")
    for split, files in (("train", 2), ("test", 1), ("partial-unsupervised", 1)):
        for number in range(files):
            texts = [f"{WORDS[one % 2]} number {one} of {number} {'so ' * (one % 7)}" for one in range(rows // files)]
            columns: dict[str, Sequence[Any]] = {"text": texts, "label": [one % 2 for one in range(rows // files)]}
            parquet(converted / "plain_text" / split / f"{number:04d}.parquet", columns)
    parquet(converted / "the numbers" / "train" / "0000.parquet", {"x": [1.5, 2.5] * 40, "y": list(range(80))})
    features = [
        {"name": "text", "dtype": "string"},
        {"name": "label", "dtype": {"class_label": {"names": {"0": "neg", "1": "pos"}}}},
    ]
    splits = [{"name": "train", "num_bytes": 9, "num_examples": rows}, {"name": "test", "num_examples": rows}]
    card = {"dataset_info": [{"config_name": "plain_text", "features": features, "splits": splits}]}
    return Repository(own, licence="mit", converted=converted, card=card)

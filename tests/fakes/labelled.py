"""Pictures with several labels each, made of the digits that come with the program: mosaics of up to four of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tpu_studio.data.digits import FILE
from tpu_studio.wire.resources import resource_path

NAMES = ("zero", "one", "two", "three")


def mosaics(folder: Path, count: int, *, seed: int = 0, listed: bool = False) -> list[tuple[str, list[str]]]:
    """Write *count* pictures of 16 × 16 pixels and their ``labels.csv``; (file, labels) of each.

    Args:
        listed: One column lists the labels; else a column for each.
    """
    rng = np.random.default_rng(seed)
    digits = np.loadtxt(resource_path(*FILE), delimiter=",", dtype=np.uint8)
    of_digit = [digits[digits[:, -1] == number, :-1].reshape(-1, 8, 8) for number in range(len(NAMES))]
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number in range(count):
        pixels = rng.integers(0, 12, (16, 16), dtype=np.uint8)  # no two are alike
        shown = rng.choice(len(NAMES), size=int(rng.integers(0, 4)), replace=False)
        for place, digit in zip(rng.permutation(4), shown.tolist(), strict=False):
            row, column = divmod(int(place), 2)
            one = of_digit[digit][rng.integers(len(of_digit[digit]))]
            pixels[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] += one * 15
        name = f"{number:04d}.png"
        Image.fromarray(pixels).save(folder / name)
        made.append((name, [NAMES[digit] for digit in sorted(shown.tolist())]))
    write_labels(folder / "labels.csv", made, listed=listed)
    return made


def write_labels(file: Path, rows: Sequence[tuple[str, list[str]]], *, listed: bool = False) -> None:
    with open(file, "w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["file", "labels"] if listed else ["file", *NAMES])
        for name, labels in rows:
            writer.writerow([name, "|".join(labels)] if listed else [name, *(int(one in labels) for one in NAMES)])

"""After training: new inputs as the model wants them, and its numbers as answers.

Used by predict, in the trainer and behind "Try the model". Everything it knows comes from the *description* that
`sources.open_data` made and the result keeps: kind, classes, encoders, picture size, target transform.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import cells, continuing, labelled, links, sorting, tablefile
from tpu_studio.data import table_encoding as encoding
from tpu_studio.data.arrays import Array, Bytes, Doubles
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.imaging import SUFFIXES, BrokenImage, decode
from tpu_studio.data.labelfile import MOST_LABELS
from tpu_studio.data.paths import check_ordinary
from tpu_studio.data.rows import RowTally
from tpu_studio.data.table_encoding import untransform
from tpu_studio.data.texts import encode_text, read_tokens
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError, RunError
from tpu_studio.wire.secrets import short

Description = Mapping[str, Any]
_NAMED, _NAMED_LETTERS = 20, 100  # columns of a model that a refusal names
MOST_ASKED = 100_000  # examples in one call of predict
_MOST_LETTERS = 200_000_000
_CELL = 16  # letters that an empty cell of a row counts for: its place is kept
_MOST_NUMBERS = 2**26  # of an example, where the model takes any size


def inputs_in(description: Description, path: Path) -> list[object]:
    """The items at *path*: pictures of a folder or one picture, rows of a table, the text of a file.

    Where texts are told apart, or are questions, those of a folder or of a table's column as well.

    Raises:
        DataError: data-missing, data-empty, data-link-outside, data-too-broken for any broken row,
            data-too-many-asked, or why the file cannot be read.
    """
    check_ordinary(path)
    match kinds.by_id(description["kind"]).example:
        case "picture":
            if not path.is_dir():
                return [path]
            return _some(path, links.all_below(path, SUFFIXES))
        case "row":
            table, tally = tablefile.opened(path, Watch()), RowTally()
            asked = {encoder["name"] for encoder in description["columns"]}
            places = [(name, at) for at, name in enumerate(table.names) if name in asked]  # a table may have others
            rows = _some(path, ({name: row[at] for name, at in places} for row in table.read(tally, Watch())))
            check_broken(tally.broken_count, tally.rows + tally.broken_count, 0.0, tally.broken)
            return rows  # none left out: an answer belongs to each row
        case _ if tasks.by_id(description["task"]).has_classes:
            return _some(path, labelled.texts_in(path, str(description.get("text_column") or "")))
        case _ if tasks.by_id(description["task"]).has_chats:
            return _some(path, labelled.texts_in(path, str(description.get("text_column") or "")))
        case _:
            return [read_tokens(path, Watch()).tobytes().decode("utf-8", errors="replace")]


def _some(path: Path, items: Iterable[object]) -> list[object]:
    """All of them. They and their answers are in memory at once. Raises DataError ``data-too-many-asked``."""
    found: list[object] = []
    letters = 0
    for item in items:
        found.append(item)
        letters += sum(len(str(one)) + _CELL for one in item.values()) if isinstance(item, dict) else len(str(item))
        if len(found) > MOST_ASKED or letters > _MOST_LETTERS:
            raise DataError("data-too-many-asked", path=str(path), allowed=MOST_ASKED, megabytes=_MOST_LETTERS // 10**6)
    return found


def encode_inputs(description: Description, items: Sequence[object]) -> dict[str, Array]:
    """The items as arrays for the model, in their order.

    Args:
        items: Paths of pictures; rows as name → text or number (or one path of a table); prompts, or texts to tell
            apart, as text.

    Returns:
        "x" as in training. For text "x" is [B, sequence_length] (the end of each prompt, padded with 0 behind) and
        "length" [B] tells how many tokens of each row count.

    Raises:
        DataError: data-unreadable-picture, data-column-missing, data-prompt-empty, data-empty.
    """
    if not items:
        raise DataError("data-empty", path="", others=0)
    match kinds.by_id(description["kind"]).example:
        case "picture":
            return {"x": np.stack([_picture(description, item) for item in items])}
        case "row":
            rows: Sequence[Any] = items
            if len(items) == 1 and isinstance(items[0], str | Path):
                rows = inputs_in(description, Path(items[0]))
            return {"x": _rows(description, rows)}
        case _ if tasks.by_id(description["task"]).has_classes:
            texts = [str(item) for item in items]
            if not all(text.strip() for text in texts):
                raise DataError("data-prompt-empty")
            return {"x": sorting.encoded(description, texts)}
        case _:
            return _prompts(description, items)


def example_shape(description: Description) -> tuple[int, ...]:
    """Of "x", without the batch. Raises KeyError, TypeError, ValueError: the description is none."""
    match kinds.by_id(description["kind"]).example:
        case "picture":
            return int(description["image_size"]), int(description["image_size"]), int(description["channels"])
        case "row":
            return (int(description["input_shape"][0]),)
        case _:
            return (int(description["sequence_length"]),)


def check_shape(description: Description, claimed: object, takes: Sequence[int | None] | None, path: Path) -> None:
    """What the card at *path* says of an example's size, in its *description* of the data and with the batch as
    *claimed*, is what the model *takes* (None: any size, or it does not say): anybody may have written it, and an
    example is made as large as it says. Raises RunError ``result-unreadable``."""
    try:
        if not isinstance(claimed, list | tuple):
            raise TypeError(f"{claimed!r:.50}")
        claimed, made = tuple(claimed[1:]), example_shape(description)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise RunError("result-unreadable", path=str(path), raw=f"its shapes are none: {error}") from error
    takes = (None,) * len(made) if takes is None else takes
    fits = claimed == made and len(takes) == len(made) and math.prod(made) <= _MOST_NUMBERS
    if not fits or any(one not in (None, other) for one, other in zip(takes, made, strict=True)):
        told = f"the model takes {tuple(takes)}, and the card speaks of {claimed} and {made}"
        raise RunError("result-unreadable", path=str(path), raw=short(told, 300))


def decode_outputs(
    description: Description, outputs: Array, *, logits: bool = False, top: int = 5
) -> list[dict[str, object]]:
    """The model's numbers as answers, one dict for each row.

    Classification: {"class", "probability", "top": [[class, probability], …]}. Multi-label: {"labels": [[label,
    probability], …]}, all of them, the likeliest first. Regression: {"value", "target"}.

    Args:
        outputs: [B, classes] probabilities (scores with *logits*), or [B] or [B, 1] scaled targets.

    Raises:
        RunError: result-unreadable: the description, which anybody may have written, names fewer than there are.
    """
    values = np.asarray(outputs, dtype=np.float64)
    if tasks.by_id(description["task"]).has_number:
        numbers = untransform(values.reshape(len(values)), description)
        return [{"value": float(number), "target": description["target"]} for number in numbers]
    if values.ndim != 2 or values.shape[1] != len(description["classes"]):
        told = f"its model answers with {values.shape[1:]} numbers, and it names {len(description['classes'])}"
        raise RunError("result-unreadable", path=str(description.get("folder", "")), raw=told)
    if tasks.by_id(description["task"]).has_labels:
        if len(description["classes"]) > MOST_LABELS:
            told = f"it names more than {MOST_LABELS:,} labels"
            raise RunError("result-unreadable", path=str(description.get("folder", "")), raw=told)
        return [
            {"labels": _by_likelihood(description["classes"], row)} for row in (_sigmoid(values) if logits else values)
        ]
    if logits:
        values = np.exp(values - values.max(axis=-1, keepdims=True))
        values /= values.sum(axis=-1, keepdims=True)
    classes = description["classes"]
    answers = []
    for row in values:
        best = _by_likelihood(classes, row)[:top]
        answers.append({"class": best[0][0], "probability": best[0][1], "top": best})
    return answers


def _by_likelihood(names: Sequence[str], row: Doubles) -> list[list[Any]]:
    return [[names[index], float(row[index])] for index in np.argsort(-row, kind="stable").tolist()]


def _sigmoid(values: Doubles) -> Doubles:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))  # which no score is too large for


def _picture(description: Description, item: object) -> Bytes:
    source = item if isinstance(item, bytes) else str(item)
    try:
        pixels = decode(source, int(description["image_size"]), int(description["channels"]))
    except BrokenImage as error:
        shown = "" if isinstance(item, bytes) else str(item)
        raise DataError("data-unreadable-picture", path=shown, why=error.why) from error
    value_max = int(description.get("value_max", 255))
    if value_max == 255:
        return pixels
    return np.asarray(np.rint(pixels.astype(np.float32) * (value_max / 255)), dtype=np.uint8)


def _rows(description: Description, rows: Sequence[Mapping[str, object]]) -> Array:
    encoders = description["columns"]
    into = np.zeros((len(rows), int(description["input_shape"][0])), dtype=np.float32)
    start = 0
    for encoder in encoders:
        name = encoder["name"]
        if all(name not in row for row in rows):
            others = [str(one["name"])[:_NAMED_LETTERS] for one in encoders[:_NAMED]]  # each row may say so
            others += ["…"] * (len(encoders) > _NAMED)
            raise DataError("data-column-missing", column=str(name)[:_NAMED_LETTERS], columns=others)
        given = [row.get(name) for row in rows]
        texts = [_cell(value) for value in given]
        part = into[:, start : start + encoder["width"]]
        if encoder["kind"] == "category":
            names = sorted({text.strip() for text in texts if not cells.is_missing(text)})
            place = {text: index for index, text in enumerate(names)}
            codes = np.array([place.get(text.strip(), encoding.MISSING_CODE) for text in texts])
            encoding.write_categories(encoder, codes, names, part)
        else:
            if encoder["kind"] == "number":
                values = [_number(value, encoder) for value in given]
            else:
                values = [cells.days(text, encoder["form"]) for text in texts]
            encoding.write_numbers(encoder, np.array(values), part)
        start += encoder["width"]
    return into


def unread_in(description: Description, row: Mapping[str, object]) -> list[tuple[str, str]]:
    """(column, value) of what `encode_inputs` counts as missing or as any other kind, though something is given."""
    found = []
    for encoder in description["columns"]:
        text = _cell(row.get(encoder["name"]))
        match encoder["kind"]:
            case "category":
                read = text.strip() in encoder["categories"]
            case "number":
                read = not math.isnan(_number(row.get(encoder["name"]), encoder))
            case _:
                read = not math.isnan(cells.days(text, encoder["form"]))
        if not read and not cells.is_missing(text):
            found.append((str(encoder["name"]), text[:80]))
    return found


def _number(value: object, encoder: Mapping[str, Any]) -> float:
    """A number as it is; a text as the column writes numbers, NaN when it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= cells.LARGEST:
        return float(value)
    return cells.number(_cell(value), encoder["decimal"])


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def _prompts(description: Description, items: Sequence[object]) -> dict[str, Array]:
    length, cutter = int(description["sequence_length"]), continuing.of_result(description)
    x = np.zeros((len(items), length), dtype=np.int32)
    lengths = np.zeros(len(items), dtype=np.int32)
    for row, item in enumerate(items):
        tokens = cutter.encode(encode_text(str(item)))[0][-length:]
        if not len(tokens):
            raise DataError("data-prompt-empty")
        x[row, : len(tokens)] = tokens
        lengths[row] = len(tokens)
    return {"x": x, "length": lengths}

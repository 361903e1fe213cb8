"""The command line of predict: reads its arguments, chooses the framework before Keras is imported, prints answers."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tpu_studio.trainer.result import files
from tpu_studio.wire import frameworks, kinds, tasks
from tpu_studio.wire.errors import BadInput, StudioError
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.spreadsheets import cell

DONE, FAILED, BAD_INPUT = 0, 1, 2
AT_ONCE = 32  # examples in one call; the last call is filled up, so that nothing is compiled twice


def main(argv: list[str]) -> int:
    asked = _arguments(argv)
    if asked.serve:
        from tpu_studio.trainer.predict import serving

        return serving.serve(asked)
    try:
        rows = list(answers(asked))
    except StudioError as error:
        return _refuse(error, asked.json)
    _show(rows, asked)
    return DONE if any("error" not in row for row in rows) else BAD_INPUT


def prepare(run: Path) -> tuple[Path, dict[str, Any]]:
    """The result folder and its card; sets the framework. Call before anything imports keras.

    A saved model runs in either framework, and JAX starts three times as fast; a model of the user's own may use the
    framework it was trained in by name.
    """
    result = files.folder_of(run)
    card = files.read_card(result)
    trained_in = str(card.get("trained", {}).get("framework", "jax"))
    os.environ.setdefault("KERAS_BACKEND", trained_in if card.get("own") else frameworks.for_chips().id)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return result, card


def answers(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One answer for each example in the items, in order; a broken one has an ``error`` and stops nothing."""
    result, card = prepare(asked.run)
    items = [*_items(card, asked.items), *((prompt, prompt) for prompt in asked.prompt)]
    from tpu_studio.trainer.predict.asking import opened

    model = opened(asked.run, result, card, consent=asked.consent, before=asked.before)
    if tasks.by_id(card["task"]).has_tokens:
        for name, prompt in items:
            told = model.write(prompt, tokens=asked.tokens, temperature=asked.temperature, seed=asked.seed)
            yield {"item": name, "text": "".join(told.pieces)}
        return
    for start in range(0, len(items), AT_ONCE):
        part = items[start : start + AT_ONCE]
        for (name, _), answer in zip(part, model.answer([item for _, item in part], AT_ONCE), strict=True):
            yield {"item": name, **answer}


def _items(card: dict[str, Any], given: Sequence[str]) -> Iterator[tuple[str, object]]:
    """(name, item) for each example: folders, tables and text files taken apart."""
    from tpu_studio.data.predicting import inputs_in

    description = card["data"]
    for text in given:
        if kinds.by_id(description["kind"]).has_text and not _is_there(text):
            yield text, text
        elif kinds.by_id(description["kind"]).has_rows and text.lstrip().startswith("{"):
            yield text, _row(text)
        else:
            found = inputs_in(description, Path(text))
            for number, item in enumerate(found, 1):
                yield (str(item) if isinstance(item, Path) else f"{text}:{number}" if len(found) > 1 else text), item


def _is_there(text: str) -> bool:
    """Whether it names a file or folder; a text of many lines is no name."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _row(text: str) -> dict[str, object]:
    try:
        row = parse_json(text, "the row")
    except ValueError as error:
        raise BadInput("predict-bad-question", raw=str(error)) from error
    if not isinstance(row, dict):
        raise BadInput("predict-bad-question", raw=text[:200])
    return row


def _show(rows: Sequence[dict[str, Any]], asked: argparse.Namespace) -> None:
    if asked.json:
        print(json.dumps({"answers": rows}))
        return
    if rows and "text" in rows[0]:
        print(_letters("\n".join(str(row["text"]) for row in rows)))
        return
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["item", "answer", "probability", "problem"])
    for row in rows:
        if "error" in row:
            writer.writerow([cell(row["item"]), "", "", row["error"]["id"]])
        elif "value" in row:
            writer.writerow([cell(row["item"]), repr(row["value"]), "", ""])
        elif "labels" in row:
            said = [one for one in row["labels"] if one["yes"]]
            names, shares = (
                "; ".join(one["name"] for one in said),
                "; ".join(f"{one['probability']:.4f}" for one in said),
            )
            writer.writerow([cell(row["item"]), cell(names), shares, ""])
        else:
            best = row["classes"][0]
            writer.writerow([cell(row["item"]), cell(best["name"]), f"{best['probability']:.4f}", ""])
    print(_letters(table.getvalue()), end="")


def _letters(text: str) -> str:
    """What is none, as in a file's name of other bytes, as a code."""
    return text.encode("utf-8", "backslashreplace").decode()


def _refuse(error: StudioError, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": error.to_json()}))
    print(str(error), file=sys.stderr)
    return error.exit_code


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="predict",
        description="Ask a trained model.",
        epilog="example: predict --run runs/digits-k3f7 photos/ --json",
    )
    parser.add_argument("--run", type=Path, required=True, help="run folder, or an exported result")
    parser.add_argument(
        "items", nargs="*", metavar="ITEM", help="pictures, folders, tables, JSON rows, texts or prompts"
    )
    parser.add_argument("--prompt", action="append", default=[], help="a prompt as it is, also if a file is called so")
    parser.add_argument("--serve", action="store_true", help="stay, and answer JSON lines")
    parser.add_argument(
        "--before", action="store_true", help="the model as it was before training, of a language model"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument(
        "--consent", default="", metavar="SHA256", help="the model file of your own that you agree to run"
    )
    parser.add_argument("--tokens", type=int, default=200, help="how much text to write")
    parser.add_argument("--temperature", type=float, default=0.8, help="0 always takes the likeliest")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(argv)
    if not asked.serve and not asked.items and not asked.prompt:
        parser.error("nothing to ask: give at least one ITEM, or --serve")
    return asked

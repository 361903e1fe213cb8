"""``predict``: ask the model of a run, in the training engine's Python."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import studio
from tpu_studio.cli.trusting import of_run
from tpu_studio.local.answering import answer_of
from tpu_studio.viewmodels.samples import samples_of
from tpu_studio.wire import kinds, ownpython, places, tasks
from tpu_studio.wire.errors import BadInput, RunError, StudioError
from tpu_studio.wire.lastwords import last_words
from tpu_studio.wire.plan import Plan

_ANSWER_LETTERS = 200  # `--json` has all of them


def predict(arguments: Arguments, output: Output) -> int:
    """Exit code 0; 2 when none of the items could be answered."""
    from tpu_studio.local.computer import trainer_environment

    files = [_readable(item) for item in arguments.items]
    given = dict(zip(files, arguments.items, strict=True))
    items = [*files, *_row(arguments.row)]
    if not items and not arguments.prompt and arguments.samples < 1:
        raise BadInput(
            "command-line",
            raw="nothing to ask: name a file, or give --samples 5, --row or --prompt",
            help="tpu-studio predict --help",
        )
    with studio() as services:
        folder = services.reading.folder(arguments.run)
        plan = services.reading.plan(arguments.run)
        _check_question(arguments, plan.job.data.kind, plan.task)
        labels = _samples(arguments.samples, plan) if arguments.samples > 0 else {}
        items += labels
        consent = plan.consent
        of_run(services, arguments.run, output, trusted=arguments.trust_code, place=places.default().id)
        argv = [
            *ownpython.module(services.engine.python(), "tpu_studio.trainer.predict", "--run", folder),
            "--json",
            "--tokens",
            str(arguments.length),
            "--temperature",
            f"{arguments.temperature:g}",
            "--seed",
            str(arguments.seed),
            *(["--prompt", arguments.prompt] if arguments.prompt else []),
        ]
        if consent and services.consents.agreed(consent):
            argv += ["--consent", consent]
    output.progress(None, "Waking the model…", now=True)
    # in the person's own working folder, which the files may be named from; no module comes from there (-P)
    done = answer_of([*argv, "--", *items], trainer_environment())
    answers = _answers(done)
    for answer in answers:
        if "item" in answer:
            answer["item"] = _as_given(str(answer["item"]), given)
        if str(answer.get("item")) in labels:
            answer["label"] = labels[str(answer["item"])]
    output.answer({"run": folder.name, "answers": answers}, _as_text(answers))
    return 0 if any("error" not in answer for answer in answers) else BadInput.exit_code


def _readable(item: str) -> str:
    """*item* as the engine can read it, which has nothing to read Parquet with."""
    from pathlib import Path

    from tpu_studio.data import columnar
    from tpu_studio.data.paths import check_ordinary
    from tpu_studio.data.watching import Watch

    path = Path(item)
    if not os.path.exists(path):  # a table row as JSON, of any length, is no path
        return item
    check_ordinary(path)
    return str(columnar.rows_of(path, Watch()).file) if columnar.is_written_out(path) else item


def _as_given(item: str, given: Mapping[str, str]) -> str:
    """What the person called it, where its rows were read from elsewhere (`_readable`)."""
    elsewhere = next((file for file, named in given.items() if file != named and item.startswith(f"{file}:")), "")
    return given[elsewhere] + item[len(elsewhere) :] if elsewhere else item


def _samples(count: int, plan: Plan) -> dict[str, str]:
    """Pictures of the run's own data, each with what the data calls it. Raises BadInput where there are none."""
    found = {str(one.path): one.label for one in samples_of(plan)[:count]}
    if not found:
        raise BadInput("command-line", raw="this run's data has no pictures to try", help="tpu-studio predict --help")
    return found


def _check_question(arguments: Arguments, kind: str, task: str) -> None:
    """Raises BadInput for a number out of range, and for a prompt or row that this kind of model cannot take."""
    for name, value in (("length", arguments.length), ("temperature", arguments.temperature), ("seed", arguments.seed)):
        low, high = _BOUNDS[name]
        if not low <= value <= high:  # "nan" is neither
            raise BadInput("predict-bad-question", key=name, value=str(value), minimum=low, maximum=high)
    known = kinds.find(kind)
    wanted = "prompt" if tasks.by_id(task).has_tokens else known.question if known else ""
    given = ["prompt"] * bool(arguments.prompt) + ["row"] * bool(arguments.row)
    if wanted and any(one != wanted for one in given):
        raise BadInput("predict-wrong-kind", wanted=wanted)


_BOUNDS = {"length": (1, 100_000), "temperature": (0.0, 10.0), "seed": (0, 2**31 - 1)}


def _row(cells: list[str]) -> list[str]:
    """``--row column=value`` any number of times is one row, as JSON; each value is read as it is in the table."""
    if not cells:
        return []
    row: dict[str, object] = {}
    for cell in cells:
        column, sign, value = cell.partition("=")
        if not sign:
            raise BadInput(
                "command-line", raw=f"--row needs column=value, not {cell!r}", help="tpu-studio predict --help"
            )
        row[column.strip()] = value
    return [json.dumps(row)]


def _answers(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, object]]:
    """What the program says; its error raised as ours."""
    lines = done.stdout.strip().splitlines()
    try:
        record = json.loads(lines[-1]) if lines else None
    except ValueError:
        record = None
    if isinstance(record, dict) and isinstance(record.get("answers"), list):
        answers: list[dict[str, object]] = record["answers"]
        return answers
    error = record.get("error") if isinstance(record, dict) else None
    if isinstance(error, dict) and isinstance(error.get("id"), str):
        kind = BadInput if done.returncode == BadInput.exit_code else StudioError
        raise kind(error["id"], **(error.get("facts") or {}))
    raise RunError("predict-stopped", code=done.returncode, raw=last_words(done.stderr, 2000))


def _as_text(answers: list[dict[str, Any]]) -> str:
    from tpu_studio.domain import figures
    from tpu_studio.domain.sentences import say

    if answers and all("text" in answer for answer in answers):
        return "\n".join(str(answer["text"]) for answer in answers)
    rows = []
    for answer in answers:
        if "error" in answer:
            told = answer["error"]
            rows.append(
                [
                    str(answer["item"]),
                    "?",
                    str(say(StudioError(str(told.get("id")), **(told.get("facts") or {}))).title),
                ]
            )
        elif "value" in answer:
            rows.append([str(answer["item"]), figures.datum(answer["value"], 4), "", *_unread(answer)])
        elif "labels" in answer:
            told = [f"in the data: {answer['label']}"] if "label" in answer else []
            rows.append([str(answer["item"]), *_labels_words(answer["labels"]), *told])
        else:
            best = answer["classes"][0]
            told = [f"in the data: {answer['label']}"] if "label" in answer else []
            told += _unread(answer)
            rows.append([str(answer["item"]), str(best["name"]), figures.share(best["probability"]), *told])
    wide = max(map(len, rows), default=0)
    lines = [[row[0], *map(_shortened, row[1:]), *[""] * (wide - len(row))] for row in rows]
    return table(lines) if lines else ""


def _shortened(cell: str) -> str:
    """Each row is as wide as the widest answer, and the names are a stranger's."""
    return cell if len(cell) <= _ANSWER_LETTERS else f"{cell[: _ANSWER_LETTERS - 1]}…"


def _labels_words(labels: list[dict[str, Any]]) -> tuple[str, str]:
    """The labels that are said, with their probabilities; where none is, the likeliest."""
    from tpu_studio.domain import figures

    said = [one for one in labels if one["yes"]]
    if said:
        return ", ".join(str(one["name"]) for one in said), ", ".join(figures.share(one["probability"]) for one in said)
    return "none", ", ".join(f"{one['name']} {figures.share(one['probability'])}" for one in labels[:1])


def _unread(answer: dict[str, Any]) -> list[str]:
    from tpu_studio.domain.sentences.result import unread_words

    return [unread_words(answer["unread"])] if answer.get("unread") else []

"""How the data of a model that begins from a result of ours is read: as that result has learned to read its own.

Its text is cut by the same tokenizer, its table becomes numbers by the same statistics and categories: a weight means
what it meant. The card that says so may be a stranger's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpu_studio.data import cells
from tpu_studio.data.arrays import Doubles
from tpu_studio.data.columns import Column, Judged
from tpu_studio.data.table_encoding import MOST_CATEGORIES, PARTS, fit_target
from tpu_studio.wire import bases
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.job import Job
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import reading
from tpu_studio.wire.records import inner, items

Encoder = dict[str, Any]


def preset_of(job: Job) -> Preset | None:
    """None where the model begins from no result of ours. Raises ModelError as `reading.of`."""
    if not bases.is_one(job.model.starts_from):
        return None
    return reading.of(job.model.folder, job.base)


def preset_seen(job: Job) -> Preset | None:
    """The same for a look, where what is wrong with the result is the plan's to say."""
    try:
        return preset_of(job)
    except ModelError:
        return None


def base_seen(job: Job) -> bases.Base | None:
    preset = preset_seen(job)
    return preset.base if preset else None


def described(preset: Preset) -> dict[str, object]:
    """The description of its data, with the folder in which its tokenizer lies."""
    return {**(preset.base.data if preset.base else {}), "folder": str(preset.folder)}


def encoders(preset: Preset) -> list[Encoder]:
    """Of its table's columns. Raises ModelError ``base-damaged``: they are none."""
    assert preset.base is not None
    try:
        return [_encoder(inner(one)) for one in items(preset.base.data["columns"])]
    except (KeyError, TypeError, ValueError) as error:
        why = f"Its columns make no sense: {error}."[:200]
        raise ModelError("base-damaged", path=str(preset.folder), file=bases.CARD, why=why) from error


def inputs(encoders: Sequence[Encoder], columns: Sequence[Column], preset: Preset) -> list[Column]:
    """The column of each of *encoders*. Raises ModelError ``base-other-columns``: some are others, or not there."""
    known = {column.name: column for column in columns}
    lacking = [one["name"] for one in encoders if one["name"] not in known or known[one["name"]].kind != one["kind"]]
    if lacking:
        called = preset.base.called if preset.base else ""
        raise ModelError("base-other-columns", base=called, columns=lacking[:5], count=len(lacking))
    return [known[one["name"]] for one in encoders]


def with_kinds(job: Job, names: Sequence[str]) -> Job:
    """*job* with the kind of each column that the result has learned from: a few rows alone may say another one."""
    preset = preset_seen(job)
    if preset is None:
        return job
    try:
        kinds = {one["name"]: one["kind"] for one in encoders(preset) if one["name"] in names}
    except ModelError:
        return job  # the plan says it
    kinds.pop(job.data.target, None)
    return job.with_values({"data.columns": kinds | dict(job.data.columns)})


def width(columns: Sequence[Column], job: Job) -> int:
    """Numbers of a row; 0 where the model begins from no result, or from one that cannot be read, or of others."""
    try:
        if (preset := preset_of(job)) is None:
            return 0
        found = encoders(preset)
        inputs(found, columns, preset)
    except ModelError:
        return 0  # the plan says it
    return sum(encoder["width"] for encoder in found)


def as_written(encoder: Encoder, column: Column) -> Encoder:
    """With how this file writes numbers and dates, where the statistics are another's."""
    how = {"decimal": column.decimal, "form": column.form}
    return encoder | {name: value for name, value in how.items() if name in encoder}


def transform(values: Doubles, judged: Judged, preset: Preset | None) -> Mapping[str, Any]:
    """How the number to predict is scaled: as by the result, where that predicts the same."""
    known = preset and preset.base and preset.base.answers(judged.task, judged.target.name, ())
    told = _target(preset) if preset and known else None
    return told if told and not (told["log"] and values.min() <= 0) else fit_target(values)


def _target(preset: Preset) -> Mapping[str, Any] | None:
    """None where its card does not say it well."""
    told = inner(preset.base.data.get("target_transform")) if preset.base else {}
    try:
        return {"log": told["log"] is True, **_scale(told)}
    except (KeyError, TypeError, ValueError):
        return None


def _encoder(told: Mapping[str, Any]) -> Encoder:
    name, kind, missing = str(told["name"]), told["kind"], told["missing"] is True
    if kind == "category":
        names = [str(one) for one in items(told["categories"])]
        if len(set(names)) != len(names) or len(names) > MOST_CATEGORIES:
            raise ValueError(f"{name} has odd categories")
        return {"name": name, "kind": kind, "categories": names, "missing": missing, "width": len(names) + 1 + missing}
    median = _number(told["median"])
    if kind == "number":
        more = {"decimal": str(told["decimal"])[:1], "median": median, **_scale(told)}
        return {"name": name, "kind": kind, **more, "missing": missing, "width": 1 + missing}
    if kind != "date":
        raise ValueError(f"{name} is of no known kind")
    parts = {part: _scale(inner(one)) for part, one in inner(told["parts"]).items()}
    if not parts or not set(parts) <= set(PARTS):
        raise ValueError(f"{name} has odd parts")
    width = len(parts) + missing
    form = str(told["form"])
    return {
        "name": name,
        "kind": kind,
        "form": form,
        "median": median,
        "parts": parts,
        "missing": missing,
        "width": width,
    }


def _scale(told: Mapping[str, Any]) -> dict[str, float]:
    mean, std = _number(told["mean"]), _number(told["std"])
    if std <= 0:
        raise ValueError("a spread of nothing")
    return {"mean": mean, "std": std}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= cells.LARGEST:
        raise ValueError(f"{value!r:.20} is no number")
    return float(value)

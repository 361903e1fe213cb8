"""Words for a result of one's own that another training begins from (`model.preset = "run:…"`)."""

from __future__ import annotations

import os

from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import bases

_ANOTHER = "Choose another run (model.preset), or set model.preset to “none” to begin from nothing."


def _run(f: Facts) -> str:
    """By its id, or by where its result lies: `…/runs/ID/result`."""
    if "base" in f:
        return f"“{f.text('base')}”"
    path = f.text("path").rstrip("/\\")
    name = os.path.basename(path)
    return f"“{os.path.basename(os.path.dirname(path)) if name == 'result' else name or 'that run'}”"


def _why(f: Facts) -> str:
    why = f.text("why", "It says no more.")
    return why if why.endswith(".") else f"{why}."


def _not_begun_from(f: Facts) -> Sentence:
    exported = "why" in f
    return Sentence(
        f"The result of {_run(f)} does not say its network, so no training begins from it",
        "It was written by an earlier version, and its network is described in the "
        f"{'Hugging Face' if exported else 'KerasHub'} folder that it began from. The result itself is whole. "
        f"{NOTHING_CHARGED}",
        "Export the run as such a folder (tpu-studio export RUN --as huggingface), and name that folder as "
        "model.preset; or extend the run, whose new result says it."
        if exported
        else "Extend the run, whose new result says it; or name that folder as model.preset again.",
    )


def _taken_over(f: Facts) -> str:
    why = "it says tokens here as there" if f.raw("tokens") else "the classes are the same"
    return f"Its last layer is taken over as well: {why}."


def begins_from(preset: str) -> str:
    """`begins from the run hands-ab12`, of a job's `model.preset`; "" where that is no result of ours."""
    if not bases.is_one(preset):
        return ""
    return (
        f"begins from the run {bases.run_of(preset)}" if bases.is_run(preset) else "begins from a model file of yours"
    )


CHECKS: dict[str, Entry] = {
    "base-missing": lambda f: Sentence(
        f"There is no run {_run(f)} to begin from",
        f"A training begins from the result of a run on this computer, named by its id. {NOTHING_CHARGED}",
        f"Did you mean “run:{f.text('nearest')}”?"
        if "nearest" in f
        else "tpu-studio runs lists the ids. One that was deleted can be brought back as long as it is in the trash.",
    ),
    "base-in-trash": lambda f: Sentence(
        f"The run {_run(f)} that this begins from was deleted",
        f"It is in the trash still, with its result. {NOTHING_CHARGED}",
        f"Bring it back (tpu-studio delete {f.text('base', 'RUN')} --undo), or choose another run.",
    ),
    "base-still-trains": lambda f: Sentence(
        f"The run {_run(f)} has not ended",
        "It trains still, or was interrupted: what it has learned so far may change, so nothing begins from it yet. "
        f"{NOTHING_CHARGED}",
        "Wait until it ends, or resume it; then make this plan again.",
    ),
    "base-without-result": lambda f: Sentence(
        f"The run {_run(f)} has left no model to begin from",
        f"It ended before one was saved{_ended(f)}. {NOTHING_CHARGED}",
        f"Resume it so that it ends with a result. {_ANOTHER}",
    ),
    "base-damaged": lambda f: Sentence(
        f"{f.file()} in the result of {_run(f)} cannot be used",
        f"{_why(f)} Nothing of it was run. {NOTHING_CHARGED}",
        _ANOTHER,
    ),
    "base-changed": lambda f: Sentence(
        f"The result of {_run(f)} is no longer the one that was planned with",
        "It was trained longer since, or changed, and a run never goes on from other weights. What was trained before is "
        f"kept; no step was made with the new ones. {NOTHING_CHARGED}",
        "Make a new plan: it begins from the result as it is now.",
    ),
    "base-unfit": lambda f: Sentence(
        f"The weights of {_run(f)} do not fit this model",
        f"{_why(f)} {NOTHING_CHARGED}",
        _ANOTHER,
    ),
    "base-of-your-code": lambda f: Sentence(
        f"The result of {_run(f)} is made by a model file of its own, and is not begun from",
        f"What your file builds is not known here, so weights cannot be put where they belong. {NOTHING_CHARGED}",
        "Load the weights in your own build_model(job), or begin from a run of a model that comes with TPU Studio.",
    ),
    "base-not-begun-from": _not_begun_from,
    "base-of-another-model": lambda f: Sentence(
        f"The run {_run(f)} trained “{f.text('model', 'another model')}”, not this model",
        f"Weights fit the model that has learned them. {NOTHING_CHARGED}",
        f"Choose “{f.text('model', 'that model')}” (model.name = “{f.text('name')}”), or another run.",
    ),
    "base-reads-other": lambda f: Sentence(
        f"The run {_run(f)} has learned from {f.text('reads', 'other example')}s, and this data has none",
        f"What it knows does not help with a {f.text('wanted', 'different example')}. {NOTHING_CHARGED}",
        _ANOTHER,
    ),
    "base-one-size": lambda f: Sentence(
        f"The run {_run(f)} sees pictures of {f.text('side', 'one size')} pixels a side, not of {f.text('given', 'others')}",
        f"It has a weight for each pixel of such a picture. {NOTHING_CHARGED}",
        "Leave the image size (data.image_size) to be chosen; of converted pictures, convert them to that size.",
    ),
    "base-too-small-pictures": lambda f: Sentence(
        f"The run {_run(f)} sees pictures from {f.text('side', 'more')} pixels a side on, and these have "
        f"{f.text('given', 'fewer')}",
        f"It halves a picture in each of its blocks, until one pixel is left. {NOTHING_CHARGED}",
        f"Leave the image size (data.image_size) to be chosen. {_ANOTHER}",
    ),
    "base-other-columns": lambda f: Sentence(
        f"This table lacks columns that the run {_run(f)} has learned from: {f.text('columns', 'some')}",
        f"Each of its weights belongs to a column, by name and kind. {NOTHING_CHARGED}",
        "Name the columns as they were called there, or say what kind they are (data.columns).",
    ),
    "base-taken-over": lambda f: Sentence(
        f"It begins from what the run {_run(f)} has learned (transfer learning)",
        _taken_over(f) if f.raw("head") else "Its last layer is made new: the answers are others.",
    ),
    "base-saw-unseen": lambda f: Sentence(
        f"The figure on unseen data may be too good: {_run(f)} may have learned from that data",
        f"Both read the same data, but {_other_split(f)}. So some of what is kept aside here may be what that run was "
        "trained on. The model itself is no worse and costs no more; only that figure, and comparisons by it, may promise "
        "too much.",
        f"Keep the same aside as there ({f.text('settings')})."
        if "settings" in f
        else "Judge the result on data that neither has seen.",
    ),
}

_WHY = {
    "data": "it has changed since",
    "seed": "the random seed, which chooses what is kept aside, is another one",
    "share": "a larger share is kept aside than there",
    "answers": "what is learned from it is another task or column",
}


def _other_split(f: Facts) -> str:
    why = f.raw("why")
    told = [_WHY[one] for one in why if one in _WHY] if isinstance(why, (list, tuple)) else []
    return ", and ".join(told) or "they may keep other examples aside"


def _ended(f: Facts) -> str:
    return f": it {f.text('status')}" if f.text("status") in ("failed",) else ""


ERRORS: dict[str, Entry] = {
    **{id: entry for id, entry in CHECKS.items() if id not in ("base-taken-over", "base-saw-unseen")},
    "job-no-run-id": lambda f: Sentence(
        f"“{f.text('value')}” names no run",
        f"A run's id has small letters, digits and hyphens, as in “run:sign-digits-ab12”. {NOTHING_CHARGED}",
        "tpu-studio runs lists the ids of yours.",
    ),
    "job-option-of-base": lambda f: Sentence(
        f"{f.text('key', 'This option')} is {f.text('wanted', 'another value')} in the run {_run(f)} that the model begins "
        f"from, and cannot be {f.text('value', 'this')}",
        f"Its weights fit no other size. {NOTHING_CHARGED}",
        "Take the option out: it is taken from that run. Or begin from nothing (model.preset = “none”).",
    ),
}

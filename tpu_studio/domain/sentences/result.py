"""Words for the result of a run: opening the model, asking it, and writing it in other formats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import exports

_UNCHANGED = "Nothing was charged, and the model is untouched."
_WANTED = {"prompt": "a beginning of a text", "row": "the values of a row", "image": "a picture"}


def _bad_question(f: Facts) -> Sentence:
    if "key" in f:
        low, high = f.text("minimum", "nothing"), f.text("maximum", "anything")
        return Sentence(
            f"“{f.text('key')}” cannot be {f.text('value', 'that')}",
            f"It may be {low} to {high}. {_UNCHANGED}",
            "Change it and ask again.",
        )
    return Sentence(
        "The question could not be understood", f"It reads: {f.text('raw', 'nothing')}. {_UNCHANGED}", "Ask again."
    )


def unread_words(unread: Iterable[Sequence[str]]) -> str:
    """What of a row the model does not know, (column, value) each, and what became of it."""
    return f"Not understood, so left out: {', '.join(f'{column} “{value}”' for column, value in unread)}."


def checked_words(by: str, count: int, difference: float) -> str:
    """How an exported model was held against Keras (``local.formats.Written``), in a sentence."""
    if by == "weights":
        return f"Checked: all {figures.count(count)} tensors, read back, are the model's weights to the last bit."
    if by == "folder":
        return (
            f"Checked: with its {figures.count(count)} tensors, read back, the model answers as before; as the folder keeps "
            f"the number format of the one that it began from, its scores differ by {_small(difference)} at most."
        )
    if by == "script":
        return (
            f"Checked: it reads the same {figures.count(count)} examples and keeps the same ones aside, and its model, "
            f"given this run's weights, answers as the run's does: they differ by {_small(difference)} at most."
        )
    seen = (
        "examples of the data that it did not learn from"
        if by == "examples"
        else "made-up inputs, as its data is not here"
    )
    return f"Checked beside Keras on {figures.count(count)} {seen}: its answers differ by {_small(difference)} at most."


def _small(value: float) -> str:
    """0.000005: no power of ten, which a beginner reads as a large number."""
    return "less than 0.000001" if value < 5e-7 else f"{value:.6f}".rstrip("0")


def _difference(f: Facts) -> str:
    value = f.raw("difference")
    return figures.figure(value, 2) if isinstance(value, float) and math.isfinite(value) else "more than can be said"


def _format(f: Facts) -> str:
    id = f.text("format")
    return exports.by_id(id).title if id in exports.IDS else "That format"


_SCRIPT_WHY = {
    "own-model": (
        "Its model is built by a Python file of your own",
        "That file is the code already: call its build_model in a script of yours.",
    ),
    "other-layers": (
        "Its layers stand in a KerasHub folder, which a short script cannot say",
        "In Python, keras_hub.models.Backbone.from_preset opens that folder.",
    ),
    "other-run": (
        "It began from what another run has learned, and a script of its own would begin from nothing",
        "Export that other run as a script, or this one's model itself: it opens in Keras without TPU Studio.",
    ),
    "converted-data": (
        "Its data was converted to TFRecord shards, which plain code reads in many lines",
        "Train from the folder or file that it was converted from, and export that run.",
    ),
    "deep-pictures": (
        "Some of its pictures have 16 bits a channel, which plain code would read otherwise",
        "Save them with 8 bits, train on those, and export that run.",
    ),
    "large-data": (
        "Its data is more than such a script holds in memory at once",
        "Train on a part of it, and export that run: the script then shows what to change.",
    ),
    "date-columns": (
        "It learns from a column of dates, which a script cannot read plainly yet",
        "Set that column to “ignore” under Columns, train again, and export that run.",
    ),
    "mixed-encodings": (
        "Its texts are written in different encodings",
        "Save all of them as UTF-8, train on those, and export that run.",
    ),
    "mixed-pictures": (
        "It learned from pictures that were mixed with one another (Mixup, CutMix), which a plain script does not do yet",
        "Set Mixup or CutMix to “no mixing”, train again, and export that run.",
    ),
    "extended": (
        "It was trained longer afterwards, so its learning rate went up and down in pieces",
        "Plan it again with as many epochs from the start, and export that run.",
    ),
    "table-of-labels": (
        "Its pictures have several labels each, from a table, which a plain script does not read yet",
        "Export the model itself: it opens in Keras without TPU Studio, or as ONNX; model.json says how it is asked.",
    ),
    "chats": (
        "It learned from questions and answers, which a plain script does not write down as its chat template does yet",
        "Export it as a Hugging Face folder: Transformers trains on from there.",
    ),
    "no-plan": (
        "How it was trained stands in the run's plan, which is not here",
        "Export it where the run is.",
    ),
}


def _unsupported(f: Facts) -> Sentence:
    if f.text("format") in exports.IDS and exports.by_id(f.text("format")).of_folders:
        return Sentence(
            "This model cannot become a Hugging Face folder",
            f"Only a language model that began from one can ({f.text('raw', 'this one did not')}). {_UNCHANGED}",
            "Export the folder, or its weights as safetensors.",
        )
    return Sentence(
        f"{_format(f)} has no way to hold this model",
        f"It has an operation that this format does not know. {_UNCHANGED}",
        "Export the folder: its Keras file and its SavedModel hold every model. The details name the operation.",
    )


def _no_script(f: Facts) -> Sentence:
    why, instead = _SCRIPT_WHY.get(f.text("why"), ("It cannot be said plainly yet", "Export the folder."))
    return Sentence(
        "This run cannot be written as a short script", f"{why}. No file was written. {_UNCHANGED}", instead
    )


ERRORS: dict[str, Entry] = {
    "result-missing": lambda f: Sentence(
        "This run has no model",
        f"A model is saved when a run is over or stopped with “keep model”. {NOTHING_CHARGED}",
        "Resume the run, or train again.",
    ),
    "result-newer": lambda f: Sentence(
        "This model was saved by a newer version of TPU Studio",
        f"It has format {f.text('format', 'of its own')}; this version reads {f.text('known', '1')}. {_UNCHANGED}",
        "Open it with a newer version.",
    ),
    "result-unreadable": lambda f: Sentence(
        "The saved model cannot be read",
        f"{f.file('path', 'A file of it')} is damaged or incomplete. {NOTHING_CHARGED}",
        "If the run was copied, copy its whole folder again; else resume it from its last copy.",
    ),
    "predict-bad-question": _bad_question,
    "predict-wrong-kind": lambda f: Sentence(
        f"This model wants {_WANTED.get(f.text('wanted'), 'another kind of input')}",
        _UNCHANGED,
        "Give it that and ask again.",
    ),
    "predict-not-finite": Sentence(
        "The model's answer is not a number",
        f"Its weights grew too large while it learned. {NOTHING_CHARGED}",
        "Train again with a smaller learning rate.",
    ),
    "predict-stopped": Sentence(
        "The program that asks the model has ended", f"It may have run out of memory. {_UNCHANGED}", "Ask again."
    ),
    "page-run-goes-on": lambda f: Sentence(
        f"“{f.text('run', 'The run')}” still goes on",
        "A page is made of a run that is over, for its figures are the last ones then. Nothing was written, and nothing "
        "more is charged for asking.",
        "Wait for its end, or stop it and keep its model.",
    ),
    "page-unreadable": lambda f: Sentence(
        f"{f.file('file', 'The page')} cannot be read",
        f"The system says: {f.text('raw', 'nothing more')}. {_UNCHANGED}",
        "See that it is there and that you may read it.",
    ),
    "page-not-ours": lambda f: Sentence(
        f"{f.file('file', 'The page')} is no page of TPU Studio",
        f"It holds no run that “Save as one page…” has put there. {_UNCHANGED}",
        "Open it in a browser, or open a page of a run.",
    ),
    "page-newer": lambda f: Sentence(
        f"{f.file('file', 'The page')} was saved by a newer TPU Studio",
        f"This one cannot know what stands in it. {_UNCHANGED}",
        "Open it in a browser, which shows all of it, or renew TPU Studio.",
    ),
    "page-changed": lambda f: Sentence(
        f"{f.file('file', 'The page')} is not as it was saved",
        f"It was cut short or edited since, so its figures may not be those of the run. {_UNCHANGED}",
        "Ask for the page anew, or save it once more from the run.",
    ),
    "export-file-exists": lambda f: Sentence(
        f"{f.file('file', 'The file')} is there already",
        f"Nothing in it is overwritten. {_UNCHANGED}",
        "Choose another name, or give --force to write over it.",
    ),
    "export-unwritable": lambda f: Sentence(
        f"{f.file('file', 'The file')} cannot be written",
        f"{f.text('raw', 'The disk or the folder refused')}. {_UNCHANGED}",
        "Choose another place, or make room.",
    ),
    "export-unsupported": _unsupported,
    "export-no-script": _no_script,
    "export-differs": lambda f: Sentence(
        f"As {_format(f)} the model would answer otherwise",
        f"Beside Keras its answers were off by up to {_difference(f)}, so the file was not kept. {_UNCHANGED}",
        "Export the folder: its Keras file and its SavedModel are the model as it was trained.",
    ),
    "export-failed": lambda f: Sentence(
        "The program that writes the model has ended without an answer",
        f"It may have run out of memory. No file was written. {_UNCHANGED}",
        "Try again with other programs closed; the details say what it said last.",
    ),
    "page-exists": lambda f: Sentence(
        f"{f.file('file', 'The file')} is there already",
        f"Nothing in it is overwritten. {_UNCHANGED}",
        "Choose another name, or give --force to write over it.",
    ),
    "data-unreadable-picture": lambda f: Sentence(
        f"{f.file('path', 'The picture')} cannot be read",
        f"It may be cut short, or no picture. {_UNCHANGED}",
        "Choose another picture.",
    ),
    "data-column-missing": lambda f: Sentence(
        f"“{f.text('column', 'A column')}” is not given",
        f"The model was trained with: {f.text('columns', 'more columns')}. {_UNCHANGED}",
        "Fill it in, or leave it empty on purpose.",
    ),
    "data-prompt-too-long": lambda f: Sentence(
        f"The question has {f.text('tokens', 'more')} tokens; this model reads {f.text('most', 'fewer')} at once",
        f"An answer would know its end alone. {_UNCHANGED}",
        "Ask in fewer words, or train again with a longer context (data.sequence_length).",
    ),
    "data-prompt-empty": Sentence(
        "There is no text to go on from, or to answer", _UNCHANGED, "Type the beginning of something, or a question."
    ),
}

"""Words for the result of a run: opening the model, asking it, and writing it in other formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence

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
    "data-prompt-empty": Sentence("There is no text to go on from", _UNCHANGED, "Type the beginning of something."),
}

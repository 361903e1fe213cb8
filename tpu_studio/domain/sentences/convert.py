"""Words for converted data sets, for guessing what was dropped on us, and for inputs of a trained model."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import DATA_UNTOUCHED, Entry, Facts, Sentence

_DAMAGED = {
    "cut-off": "It ends in the middle of a record.",
    "length": "The length of a record does not match its checksum.",
    "content": "A record does not match its checksum.",
    "size": "It has another size than when it was written.",
    "features": "A record holds something else than expected.",
}


def _unreadable_picture(f: Facts) -> Sentence:
    from tpu_studio.domain.sentences.data import WHY_BROKEN

    why = WHY_BROKEN.get(f.text("why"), "it cannot be read")
    return Sentence(
        f"{f.file('path', 'The picture')} cannot be used", f"As a picture, {why}. The model is fine.", "Choose another."
    )


ERRORS: dict[str, Entry] = {
    "data-already-converted": lambda f: Sentence(
        f"{f.file('path', 'The data set')} is converted already",
        f"It holds TFRecord files and a dataset.json. {DATA_UNTOUCHED}",
        "Train on it as it is.",
    ),
    "data-converter-died": lambda f: Sentence(
        "A program that converts was ended from outside",
        f"The computer may have run out of memory. Finished parts are kept in {f.file('path', 'the folder')}.",
        "Convert again: it goes on where it was.",
    ),
    "data-destination-taken": lambda f: Sentence(
        f"{f.file('path', 'The folder')} is not empty",
        f"It holds {f.text('first', 'other files')}, which we would not touch.",
        "Choose a new or an empty folder.",
    ),
    "data-destination-unwritable": lambda f: Sentence(
        f"Nothing can be written to {f.file('path', 'the folder')}",
        f"The system does not let us. {DATA_UNTOUCHED}",
        "Choose another folder.",
    ),
    "data-not-a-dataset": lambda f: Sentence(
        f"{f.file('path', 'The folder')} is no converted data set",
        f"It has no readable dataset.json. {DATA_UNTOUCHED}",
        "Choose the folder that a conversion has made.",
    ),
    "data-dataset-newer": lambda f: Sentence(
        f"{f.file('path', 'The data set')} was made by a newer TPU Studio",
        f"It has format {f.text('format', 'unknown')}; this version knows {f.text('known', 'older ones')}. {DATA_UNTOUCHED}",
        "Update TPU Studio, or convert the data again.",
    ),
    "data-shard-damaged": lambda f: Sentence(
        f"{f.file('path', 'A file of the data set')} is damaged",
        f"{_DAMAGED.get(f.text('why'), 'It cannot be read.')} Nothing was charged.",
        "Convert the data again, and check the disk if it happens twice.",
    ),
    "data-single-picture": lambda f: Sentence(
        f"{f.file('path', 'That')} is one picture",
        f"A model learns from many, sorted into one folder for each kind. {DATA_UNTOUCHED}",
        "Choose the folder that holds these folders.",
    ),
    "data-unknown-kind": lambda f: Sentence(
        f"It is not clear what to learn from in {f.file('path', 'the folder')}",
        f"There are {f.count('files', 'file', 'files')}, {f.count('tables', 'table', 'tables')} among them. {DATA_UNTOUCHED}",
        "Choose a folder of pictures, one table, or a text file.",
    ),
    "data-unreadable-picture": _unreadable_picture,
    "data-column-missing": lambda f: Sentence(
        f"The column “{f.text('column', 'of the table')}” is missing",
        f"The model was trained with {f.text('columns', 'it')}.",
        "Add the column; a cell of it may be empty.",
    ),
    "data-prompt-empty": Sentence(
        "There is no text to go on from", "The model continues what you type.", "Type a word or two."
    ),
}

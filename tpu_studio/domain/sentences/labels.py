"""Words for a table of labels beside pictures (``data.labelfile``): what it is refused for, and what was met in it."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import DATA_UNTOUCHED, Entry, Facts, Sentence

_HOW = "A column names the pictures; beside it stands a column of 0 and 1 for each label, or one that lists the labels."


def _table(f: Facts) -> str:
    return f.file("path", "The table")


def _names(f: Facts, key: str) -> str:
    """`beach, dog and 4 more`"""
    names = [f"“{str(name)[:60]}”" for name in f.raw(key) or ()]
    if not names:
        return "some of them"
    shown, count = names[:4], f.raw("count")
    more = (count if isinstance(count, int) else len(names)) - len(shown)
    return ", ".join(shown) + (f" and {figures.count(more)} more" if more > 0 else "")


def _line(f: Facts) -> str:
    return f" in line {f.text('line')}" if "line" in f else ""


def _read(f: Facts) -> str:
    files = f"Column “{f.text('files')}” names the pictures, and " if f.raw("files") else ""
    if not f.raw("lists"):
        told = f"{files}each label has a column of yes and no"
    else:
        told = f"{files}column “{f.text('lists')}” lists their labels, with “{f.raw('sign')}” between them"
        if not f.raw("sign"):
            told = f"{files}column “{f.text('lists')}” says the label of each"
    return f"{told[0].upper()}{told[1:]}."


def _too_large(f: Facts) -> Sentence:
    if "bytes" in f:
        title, why = f"{_table(f)} is too large for a table of labels", f"It has {f.bytes('bytes')}; "
        why += f"{f.bytes('allowed_bytes')} are read at most."
    else:
        title, why = f"{_table(f)} has too many pictures for so many labels", "Labels times pictures may come to "
        why += f"{f.text('allowed', '200,000,000')} at most."
    return Sentence(
        title, f"{why} {DATA_UNTOUCHED}", "Leave out what is not to be learned, or make two data sets of it."
    )


ERRORS: dict[str, Entry] = {
    "data-labels-missing": lambda f: Sentence(
        "There is no table of labels beside the pictures",
        f"For several labels a picture, a file labels.csv (or the only CSV or TSV) is in {f.file('path', 'the folder')}. "
        f"{_HOW} {DATA_UNTOUCHED}",
        "Put labels.csv into the folder, or set “Task” back to automatic.",
    ),
    "data-labels-too-large": _too_large,
    "data-labels-too-many": lambda f: Sentence(
        f"{_table(f)} has {'more than ' if 'more' in f else ''}"
        f"{f.text('allowed', '1,000') if 'more' in f else f.text('count', 'too many')} labels",
        f"A model learns {f.text('allowed', '1,000')} labels at most. {DATA_UNTOUCHED}",
        "Leave out the rare ones. If the cells hold sentences, they are no labels: put | between labels.",
    ),
    "data-labels-outside": lambda f: Sentence(
        f"{_table(f)} names a file that is not in its folder",
        f"“{f.text('item', 'A name')}”{_line(f)} leads out of the folder; nothing was read there. {DATA_UNTOUCHED}",
        "Write the names as they are in the folder, such as beach.jpg or holidays/beach.jpg.",
    ),
    "data-labels-no-pictures": lambda f: Sentence(
        f"{_table(f)} names none of the pictures",
        f"No column has the names of the {f.count('pictures', 'picture', 'pictures')} in the folder"
        + (f"; its first line begins with “{f.text('first')}”" if f.raw("first") else "")
        + f". {DATA_UNTOUCHED}",
        "Give it a column with the files' names, such as beach.jpg.",
    ),
    "data-labels-ambiguous": lambda f: Sentence(
        f"“{f.text('item', 'A name')}” in {_table(f)} may be two pictures",
        f"There are {_names(f, 'either')}, and{_line(f) or ' the line'} does not say which. {DATA_UNTOUCHED}",
        "Write the name with its folder and its ending.",
    ),
    "data-labels-unclear": lambda f: Sentence(
        f"It is not clear which column of {_table(f)} holds the labels",
        f"There are {_names(f, 'columns')}. {_HOW} {DATA_UNTOUCHED}",
        "Call the column that lists them “labels”, or write 0 and 1 into one column for each label.",
    ),
    "data-labels-no-header": lambda f: Sentence(
        f"The labels in {_table(f)} have no names",
        f"Its columns of 0 and 1 stand for labels, but no first line says for which. {DATA_UNTOUCHED}",
        "Add a first line with the names, such as file,beach,dog.",
    ),
    "data-labels-none": lambda f: Sentence(
        f"No picture in {_table(f)} has a label",
        f"All {f.text('count', 'of them')} are without, so there is nothing to learn. {DATA_UNTOUCHED}",
        "Write 1 where a picture has a label, or its labels with | between them.",
    ),
    "data-labels-everywhere": lambda f: Sentence(
        f"Every picture in {_table(f)} has the same labels",
        f"What all have ({_names(f, 'labels')}) cannot be told from anything. {DATA_UNTOUCHED}",
        "Add pictures without them.",
    ),
}

FINDINGS: dict[str, Entry] = {
    "labels-read": lambda f: Sentence(
        f"{f.file('table', 'A table')} gives the pictures {f.count('count', 'label', 'labels')}: {_names(f, 'labels')}",
        f"{_read(f)} A picture may have several, or none.",
        "",
    ),
    "labels-constant": lambda f: Sentence(
        f"Left out: {_names(f, 'labels')}",
        "No picture has that label, or every picture has, so there is nothing to tell apart.",
        "Add pictures with and without it.",
    ),
    "labels-unused-columns": lambda f: Sentence(
        f"Not used of the table: {_names(f, 'columns')}", "These columns hold no labels of 0 and 1.", ""
    ),
    "labels-unlisted": lambda f: Sentence(
        f"{f.count('count', 'picture is', 'pictures are')} not in the table of labels",
        "What they show is not told, so they are left out.",
        "Add a line for each of them if they are to be learned from.",
    ),
    "labels-one-each": Sentence(
        "Each picture has exactly one label",
        "Several would be allowed. If never more than one is right, classification learns it better.",
        "For that, make one folder per class and move the pictures in.",
    ),
    "labels-not-learned": lambda f: Sentence(
        f"No picture to learn from has {_names(f, 'labels')}",
        "All that have it are kept aside for testing.",
        "Add pictures that have it.",
    ),
    "labels-not-tested": lambda f: Sentence(
        f"No picture kept aside has {_names(f, 'labels')}",
        "So how well the model finds it cannot be measured, and macro F1 goes without it.",
        "Add pictures that have it, or keep more aside under “Validation split”.",
    ),
}

WHY_BROKEN: dict[str, str] = {
    "file-missing": "the table lists it, and it is not in the folder",
    "listed-twice": "the table lists it twice, and the first line counts",
    "not-yes-or-no": "a cell is neither yes nor no (0, 1, true, false, yes, no)",
    "label-too-long": "a label is longer than 100 letters",
}

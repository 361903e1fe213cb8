"""Words for data sets: what stops a look or a run, what is worth telling before one, and why an item was left out."""

from __future__ import annotations

from typing import Any

from tpu_studio.domain import figures
from tpu_studio.domain.sentences import labels
from tpu_studio.domain.sentences.sentence import DATA_UNTOUCHED, HUB_FOLDER, Entry, Facts, Sentence
from tpu_studio.wire import kinds, tasks

_KINDS = {kind.id: kind.plural for kind in kinds.all_kinds()}
_TASKS = {task.id: task.doing for task in tasks.all_tasks()}


def _path(f: Facts, default: str = "The folder or file") -> str:
    return f.file("path", default)


def _named(items: Any, most: int = 3, count: object = None) -> str:
    """`roses, tulips and 4 more` from names, or from [name, count] pairs; *count*: how many there are in all."""
    names = [str(item[0] if isinstance(item, (list, tuple)) else item)[:60] for item in items or ()]
    if not names:
        return "some"
    if len(names) > most:
        total = max(len(names), count) if isinstance(count, int) else len(names)
        return ", ".join(names[:most]) + f" and {total - most:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def broken_words(f: Facts) -> str:
    """The first broken items with what is wrong with each; "" when they are not told."""
    items = [(str(item), WHY_BROKEN.get(why, "it cannot be read")) for item, why in (f.raw("items") or [])[:3]]
    if not items:
        return f"The first is {f.text('first')}. " if "first" in f else ""
    named = "; ".join(f"{' '.join(item.split())}: {why}" for item, why in items)
    return f"{'It is' if f.raw('count') == 1 else 'The first are' if len(items) > 1 else 'The first is'} {named}. "


def _too_broken(f: Facts) -> Sentence:
    first = f.raw("first") or []
    example = f" The first is {first[0][0]}: {WHY_BROKEN.get(first[0][1], 'it cannot be read')}." if first else ""
    return Sentence(
        f"{f.text('count', 'Many')} of {f.text('of', 'all')} items are broken",
        f"That is more than the {f.share('allowed', 'share')} you tolerate.{example} {DATA_UNTOUCHED}",
        "Repair or remove them, or allow a larger share under “Tolerate unreadable items up to”.",
    )


def _task_unfit(f: Facts) -> Sentence:
    task, kind = f.text("task"), f.text("kind")
    allowed = _named([_TASKS.get(name, name) for name in f.raw("allowed", [])])
    able = next((one for one in kinds.all_kinds() if task in one.tasks and one.id != kind), None)
    other = f', or say that the data is {able.plural} (`data.kind = "{able.id}"`)' if able else ""
    return Sentence(
        f"{_TASKS.get(task, task) or 'That'} is not possible with {_KINDS.get(kind, 'this data')}".capitalize(),
        f"Possible here: {allowed}. {DATA_UNTOUCHED}",
        f"Set “Task” back to automatic{other}.",
    )


def _too_few(f: Facts) -> Sentence:
    one = f.raw("count") == 1
    unit = f" {f.text('unit').removesuffix('s') if one else f.text('unit')}" if "unit" in f else ""
    return Sentence(
        f"There {'is' if one else 'are'} only {f.text('count', 'very few')}{unit} to learn from",
        f"At least {f.text('needed', 'a few')} are needed, so that some can be kept aside for testing. {DATA_UNTOUCHED}",
        "Add more to the data.",
    )


def _target_missing(f: Facts) -> Sentence:
    if "column" not in f:
        return Sentence(
            "No column can be predicted",
            f"Not one holds numbers or categories. {DATA_UNTOUCHED}",
            "Choose another table.",
        )
    near = f"Did you mean “{f.text('nearest')}”?" if "nearest" in f else "Choose one of the table's columns."
    return Sentence(f"There is no column called “{f.text('column')}”", DATA_UNTOUCHED, near)


def _noun(f: Facts) -> str:
    return f.text("noun", "pictures")


def _column(f: Facts) -> str:
    return f"“{f.text('column', f.text('target', 'The column'))}”"


def _where(f: Facts) -> str:
    """The line of a file and the column, as the begin of a sentence."""
    return f"Line {f.text('line')}, column {_column(f)}," if "line" in f else f"Column {_column(f)}"


def _unreadable_cells(f: Facts) -> Sentence:
    """*row* counts the rows below the header from 1; *cell* is what stands there. Both may be unknown."""
    where = f" in row {f.text('row')}" if "row" in f else ""
    where = f"The first is “{f.text('cell')}”{where}. " if "cell" in f else ""
    answer = bool(f.raw("answer", False))
    return Sentence(
        f"{f.count('count', 'cell', 'cells')} of {_column(f)} cannot be read as {f.text('kind', 'the rest')}",
        where + ("Rows without an answer are left out." if answer else "They count as missing."),
        "Correct them." if answer else "Correct them, or change the column's kind.",
    )


ERRORS: dict[str, Entry] = {
    "data-missing": lambda f: Sentence(
        f"{_path(f)} is not there", f"It may have been moved or renamed. {DATA_UNTOUCHED}", "Choose the data again."
    ),
    "data-changed": lambda f: Sentence(
        f"{_path(f)} is no longer what was planned with",
        f"Files came, went or changed since. {DATA_UNTOUCHED}",
        "Plan the run anew with the data as it is now.",
    ),
    "data-unreadable": lambda f: Sentence(
        f"{_path(f)} cannot be read",
        f"The system does not let us in. {DATA_UNTOUCHED}",
        "Check who may read it, or copy it to your own folder.",
    ),
    "data-in-a-share": lambda f: Sentence(
        f"{_path(f)} is on another computer and was not opened",
        f"Opening it would tell that computer that you ask, and on Windows who you are. {DATA_UNTOUCHED}",
        "If you trust it, copy it to this computer, or connect the share as a folder of its own, and choose that.",
    ),
    "data-link-outside": lambda f: Sentence(
        f"{_path(f)} leads out of its folder",
        "Whoever sent a folder may have put links into it to files of yours, which would go along with what you share"
        f" and into the cloud. Nothing was read there. {DATA_UNTOUCHED}",
        "Where you want it in your data, copy what it leads to into the folder; else remove the link.",
    ),
    "data-loop": lambda f: Sentence(
        f"{_path(f)} leads back to itself",
        f"A link in the folder points to a folder above it. {DATA_UNTOUCHED}",
        "Remove the link, or choose the folder it should lead to.",
    ),
    "data-not-a-folder": lambda f: Sentence(
        f"{_path(f)} is not a folder",
        f"Pictures need a folder with one folder per class in it. {DATA_UNTOUCHED}",
        "Choose the folder that holds them.",
    ),
    "data-not-a-file": lambda f: Sentence(
        f"{_path(f)} is not a file", DATA_UNTOUCHED, "Choose a file, or choose “Images” for a folder of pictures."
    ),
    "data-empty": lambda f: Sentence(
        f"{_path(f)} holds nothing to learn from",
        (f"There are {f.text('others')} other files in it. " if f.raw("others") else "") + DATA_UNTOUCHED,
        HUB_FOLDER if f.raw("weights") is True else "Choose another folder or file, or start with a sample.",
    ),
    "data-no-classes": lambda f: Sentence(
        f"The {_noun(f)} are not sorted into folders",
        f"There are {f.text('pictures', 'some')}, but the folder that one is in tells its class. {DATA_UNTOUCHED}",
        f"Make one folder per class and move the {_noun(f)} in"
        + ("; or put a labels.csv beside them, where each may have several labels." if _noun(f) == "pictures" else "."),
    ),
    "data-one-class": lambda f: Sentence(
        f"All {_noun(f)} are of one class: {f.text('name', 'one folder')}",
        f"To tell classes apart there must be at least two. {DATA_UNTOUCHED}",
        f"Add a folder with {_noun(f)} of something else.",
    ),
    "data-too-few": _too_few,
    "data-not-sorted": lambda f: Sentence(
        f"{_path(f)} does not tell which text is of which class",
        f"To be classified, texts lie in one folder per class, or in a table with a column for the class. {DATA_UNTOUCHED}",
        "Choose such a folder or table, or a model that learns to write like the text.",
    ),
    "data-no-chats": lambda f: Sentence(
        f"{_path(f)} does not tell which column is the question and which the answer",
        f"Its columns are: {_named(f.raw('columns'), 8)}. Known by name are prompt and completion, question and answer, "
        f"instruction (with input) and output, messages, and conversations. {DATA_UNTOUCHED}",
        "Name the column of answers as data.target, and that of questions under Columns as “text”; or choose another task.",
    ),
    "data-chats-too-long": lambda f: Sentence(
        f"Of {f.count('count', 'chat', 'chats')} in {_path(f)} no answer begins within {f.text('tokens', 'so many')} tokens",
        f"What is left is too little to learn from and to test on. {DATA_UNTOUCHED}",
        "Make the context longer (data.sequence_length), or shorten the questions.",
    ),
    "data-no-text-column": lambda f: Sentence(
        f"No column of {_path(f)} holds text",
        f"Beside {_column(f)} there are: {_named(f.raw('columns'))}. {DATA_UNTOUCHED}",
        "Choose another column to predict, or “Table”, which learns from numbers and categories.",
    ),
    "data-number-too-large": lambda f: Sentence(
        f"A number in {_path(f)} is too large to learn from",
        (f"{_where(f)} holds “{f.text('cell')}”" if "cell" in f else f"{_column(f)} holds it")
        + f"; training counts with numbers up to {f.text('largest', '3.4e+38')}. {DATA_UNTOUCHED}",
        "Correct that cell or leave it empty; if the whole column is meant so, write it in a larger unit.",
    ),
    "data-too-broken": _too_broken,
    "data-task-unfit": _task_unfit,
    "data-not-text": lambda f: Sentence(
        f"{_path(f)} is not text",
        f"It has bytes that are no letters in any encoding we know. {DATA_UNTOUCHED}",
        "Choose a plain text or CSV file.",
    ),
    "data-one-column": lambda f: Sentence(
        f"{_path(f)} has one column only",
        f"A table needs a column to predict and at least one to predict it from. {DATA_UNTOUCHED}",
        "Choose another table; if it is plain text, choose “Text”.",
    ),
    "data-no-inputs": lambda f: Sentence(
        f"Nothing is left to predict “{f.text('target', 'it')}” from",
        f"Left out: {_named(f.raw('left_out', []), count=f.raw('left_out_count'))}. {DATA_UNTOUCHED}",
        "Choose “Text” as the kind of data: it learns from free text."
        if any(one[-1:] == ["text"] for one in f.raw("left_out") or () if isinstance(one, list))
        else "Use one of these columns after all, or choose another table.",
    ),
    "data-column-unknown": lambda f: Sentence(
        f"There is no column called {_column(f)}",
        DATA_UNTOUCHED,
        f"Did you mean “{f.text('nearest')}”?" if "nearest" in f else "Take it out of the job.",
    ),
    "data-column-kind": lambda f: Sentence(
        f"{_column(f)} cannot be used as “{f.text('value')}”", DATA_UNTOUCHED, f"It can be: {f.text('allowed')}."
    ),
    "data-target-missing": _target_missing,
    "data-target-empty": lambda f: Sentence(
        f"{_column(f)} is empty",
        f"There is no answer to learn from. {DATA_UNTOUCHED}",
        "Choose another column to predict.",
    ),
    "data-target-unfit": lambda f: Sentence(
        f"{_column(f)} holds dates",
        f"Dates cannot be predicted yet. {DATA_UNTOUCHED}",
        "Choose another column to predict.",
    ),
    "data-target-constant": lambda f: Sentence(
        f"{_column(f)} is always {f.text('value', 'the same')}",
        f"There is nothing to learn when every answer is the same. {DATA_UNTOUCHED}",
        "Choose another column to predict.",
    ),
    "data-target-not-number": lambda f: Sentence(
        f"{_column(f)} holds words, not numbers",
        f"For example {f.text('examples', 'a word')}. A number cannot be estimated from that. {DATA_UNTOUCHED}",
        "Set “Task” back to automatic.",
    ),
    "data-class-too-long": lambda f: Sentence(
        f"{_column(f)} holds texts, not classes",
        f"One has {f.text('letters', 'many')} letters; a class has {f.text('allowed', 'a thousand')} at most. {DATA_UNTOUCHED}",
        "Choose another column to predict.",
    ),
    "data-too-many-classes": lambda f: Sentence(
        f"{_column(f)} has {f.text('count', 'too many')} different values",
        f"At most {f.text('allowed', 'a few hundred')} classes can be told apart in {f.text('rows', 'these')} rows. {DATA_UNTOUCHED}",
        "Choose another column, or one that holds a number.",
    ),
    "data-disk-full": lambda f: Sentence(
        "There is not enough room on the disk for the data",
        f"{'About ' + f.bytes('needed') if f.raw('needed') else 'More'} is needed in "
        f"{f.text('path', 'the temporary folder')}. {DATA_UNTOUCHED}",
        "Free some space and try again.",
    ),
    **labels.ERRORS,
    "data-unpacks-large": lambda f: Sentence(
        f"{_path(f)} unpacks to far more than such a table",
        f"Its rows as text take more than {f.bytes('allowed_bytes')}, the most that is written for it. {DATA_UNTOUCHED}",
        "It may be damaged, or made to fill a disk. Ask whoever made it, or save the rows that you want as CSV.",
    ),
    "data-too-big": lambda f: Sentence(
        f"{_path(f)} is too large for this computer's memory",
        f"It holds {f.bytes('bytes')}; {f.bytes('budget', 'less')} can be used. {DATA_UNTOUCHED}",
        "Use a part of it.",
    ),
}


def _tiny(f: Facts) -> Sentence:
    return Sentence(
        f"Only {f.text('examples', 'a few')} to learn from",
        "It may memorise them (overfit). Judge it by its figures on unseen data only.",
        "Add more if you can.",
    )


def _few_of(f: Facts) -> str:
    """`Only 1 of “maybe”`; of several classes only which."""
    classes = f.raw("classes") or []
    if len(classes) == 1 and isinstance(classes[0], (list, tuple)) and len(classes[0]) == 2:
        return f"Only {figures.count(classes[0][1])} of “{_named(classes)}”"
    return f"Very few of {_named(classes, count=f.raw('count'))}"


def _side(f: Facts) -> str:
    """`64 × 64`; `as many` where that is not fixed yet."""
    side = f.raw("image_size")
    return f"{side} × {side}" if isinstance(side, int) else "as many"


FINDINGS: dict[str, Entry] = {
    "built-in-sample": Sentence("A sample that comes with TPU Studio", "Handwritten digits, 8 × 8 pixels each.", ""),
    "broken-items": lambda f: Sentence(
        f"{f.count('count', 'broken item is', 'broken items are')} left out",
        f"{broken_words(f)}Your data is untouched.",
        "Fix them if they matter.",
    ),
    "class-imbalance": lambda f: Sentence(
        f"“{f.text('most', 'One class')}” is {_ratio(f)} times as frequent as “{f.text('least', 'another')}”",
        f"{f.text('most_count', 'Many')} against {f.text('least_count', 'few')}. The model will lean towards the frequent class.",
        "Add more of the rare class if you can.",
    ),
    "near-empty-class": lambda f: Sentence(
        _few_of(f),
        "With fewer than 10 of a class, the model rarely learns to see it.",
        "Add more of that class, or leave it out.",
    ),
    "alike-classes": lambda f: Sentence(
        f"{_named([f'“{name}”' for name in f.raw('classes') or ()])} look alike",
        "They are different classes as they stand: they differ only in capitals, spaces, or how an accent is written.",
        "Put them together if they mean the same.",
    ),
    "tiny-data": _tiny,
    "empty-class": lambda f: Sentence(
        f"Nothing in {_named(f.raw('classes'))}", "Empty folders are not counted as a class.", "Fill or remove them."
    ),
    "unreadable-folder": lambda f: Sentence(
        f"{f.count('count', 'folder', 'folders')} cannot be read: {_named(f.raw('folders'))}",
        "The system does not let us in. What is in there is left out, and the model does not learn that class.",
        "Give yourself the right to read it, and look again; or remove it if that class is not wanted.",
    ),
    "loose-pictures": lambda f: Sentence(
        f"{f.count('count', 'picture lies', 'pictures lie')} outside the classes' folders",
        "Their folder does not tell what they show, so they are left out.",
        "Move them into the folder of their class.",
    ),
    "other-files": lambda f: Sentence(
        f.count("count", "file is not an image", "files are not images"), "They are left alone.", ""
    ),
    "unused-folder": lambda f: Sentence(
        f"Not used: {_named(f.raw('folders'))}", "Training and testing pictures have their own folders here.", ""
    ),
    "fixed-split": lambda f: Sentence(
        "The data says itself what to test on",
        f"The {_noun(f)} of its test folder are kept aside, instead of a share.",
        "",
    ),
    "duplicate-texts": lambda f: Sentence(
        f"{f.count('count', 'text is', 'texts are')} there twice",
        "They count more than others, and one that was learned may be tested on.",
        "Remove them if you can.",
    ),
    "mixed-sizes": lambda f: Sentence(
        "The pictures have different sizes", f"All are resized to {_side(f)} pixels.", ""
    ),
    "edges-cut": lambda f: Sentence(
        f"{f.share('share')} of the pictures are long and lose their edges",
        "Only the square in the middle is used.",
        "",
    ),
    "enlarged": lambda f: Sentence(
        f"{f.share('share')} of the pictures are smaller than the model sees",
        "They are enlarged and look blurred.",
        "Choose a smaller image size.",
    ),
    "misnamed-files": lambda f: Sentence(
        f"{f.count('count', 'picture has', 'pictures have')} the wrong ending",
        f"For example {f.text('first')}. They are read all the same.",
        "",
    ),
    "duplicates": lambda f: Sentence(
        f"{f.count('count', 'picture is', 'pictures are')} there twice",
        "They count more than others.",
        "Remove them if you can.",
    ),
    "duplicate-rows": lambda f: Sentence(
        f"{f.count('count', 'row is', 'rows are')} there twice",
        "They count more than others.",
        "Remove them if you can.",
    ),
    "duplicates-across-split": lambda f: Sentence(
        f"{f.count('count', 'picture is', 'pictures are')} both for learning and for testing",
        "The figure on unseen data will look better than it is.",
        "Remove the copies.",
    ),
    "duplicates-in-two-classes": lambda f: Sentence(
        f"{f.count('count', 'picture stands', 'pictures stand')} under two classes",
        "The model is told two answers for the same picture.",
        "Decide which one is right.",
    ),
    **labels.FINDINGS,
    "leak-id": lambda f: Sentence(
        f"{_column(f)} looks like a number of the row",
        "It is different in each row and tells nothing about new ones, so it is not learned from.",
        "Leave it out.",
    ),
    "leak-row-number": lambda f: Sentence(
        f"{_column(f)} counts the rows",
        "It tells nothing about new ones, so it is not learned from.",
        "Leave it out.",
    ),
    "leak-copy": lambda f: Sentence(
        f"{_column(f)} gives the answer away",
        f"It nearly equals “{f.text('target', 'the answer')}”, which will not be known later.",
        "Leave it out.",
    ),
    "constant-column": lambda f: Sentence(
        f"{_column(f)} is always {f.text('value', 'the same')}", "It is left out.", ""
    ),
    "empty-column": lambda f: Sentence(f"{_column(f)} is empty", "It is left out.", ""),
    "text-column": lambda f: Sentence(
        f"{_column(f)} holds free text",
        "A table model cannot read it, so it is left out.",
        "To learn from it, choose “Text” as the kind of data.",
    ),
    "date-column": lambda f: Sentence(f"{_column(f)} holds dates", "Year, month and day of the week are used.", ""),
    "unreadable-cells": _unreadable_cells,
    "mostly-missing": lambda f: Sentence(
        f"{_column(f)} is missing in most rows", "The model learns what a gap means.", ""
    ),
    "no-header": lambda f: Sentence(
        "The table has no line with names", f"The columns are called {_named(f.raw('names'))}.", ""
    ),
    "rows-without-target": lambda f: Sentence(
        f"{f.count('count', 'row has', 'rows have')} no answer",
        f"“{f.text('target', 'The column to predict')}” is empty there or unreadable, so they are left out.",
        "",
    ),
    "few-characters": lambda f: Sentence(
        f"The text has only {f.count('distinct', 'character', 'different characters')}",
        "There is little to learn in it.",
        "Check that it is the right file.",
    ),
    "other-encoding": lambda f: Sentence(
        f"It is read as {f.text('encodings', 'an older encoding')}, for it is no UTF-8",
        "Nothing in a file says which older encoding it has: this is the usual one.",
        "If letters look wrong in the preview, save the file as UTF-8 (“CSV UTF-8” in Excel).",
    ),
    "damaged-letters": lambda f: Sentence(
        f"{f.count('count', 'letter', 'letters')} cannot be read",
        "Each is learned as the sign �; the rest of the file is as it was written (UTF-8).",
        "Where that matters, save the file anew from where it came.",
    ),
    "long-chats": lambda f: Sentence(
        f"About {f.count('count', 'chat is', 'chats are')} longer than {f.text('tokens', 'so many')} tokens",
        "Of these the earliest questions and answers are left out, then the end of the last answer.",
        "A longer context (data.sequence_length) keeps more of them, and takes more memory.",
    ),
    "target-proposed": lambda f: Sentence(
        f"We propose to predict “{f.text('target')}”", "You can choose another column.", ""
    ),
}

WHY_BROKEN: dict[str, str] = {
    **labels.WHY_BROKEN,
    "empty-file": "it is empty",
    "truncated": "it is cut short",
    "not-an-image": "it is not an image, or it is damaged",
    "too-many-pixels": "it is far too large",
    "too-many-parts": "it is written in a way that takes very long to read; saved anew, as PNG or JPEG, it can be used",
    "unreadable": "it cannot be read",
    "unreadable-folder": "the folder cannot be read",
    "special-file": "it is not an ordinary file",
    "link-loop": "the link leads back to itself",
    "link-outside": "the link leads out of the folder: copy what you want of it into the folder",
    "unreadable-row": "the row cannot be read",
    "quote-not-closed": "a quotation mark is not closed",
    "fields": "it has more or fewer fields than the others",
    "cell-too-long": "a field is far too long",
    "empty-text": "there is no text",
    "not-json": "it is not a JSON object",
    "not-json-list": "it is not a JSON list",
    "name-twice": "a name stands twice in it",
    "nested": "it holds a list or an object",
    "not-text": "it is not a text file",
    "empty": "there is no text",
    "chat-no-list": "it holds no list of messages",
    "chat-no-role": "nobody is named who says it",
    "chat-unknown-role": "it is neither system nor user (human) nor assistant (gpt) who says it",
    "chat-no-text": "it holds something else than text",
    "chat-empty": "there is nothing in it",
    "chat-no-answer": "the assistant never says anything",
    "chat-order": "user and assistant do not speak by turns, the user first",
    "chat-too-long": "no answer begins within the context length",
    "too-deep": "it is too many folders deep",
    "read-already": "the link leads to a folder that was read already",
}


def _ratio(f: Facts) -> str:
    most, least = f.raw("most_count", 0), max(1, f.raw("least_count", 1))
    return figures.count(most / least)

"""Words for tables in JSON lines and Parquet: what about the file cannot be read as rows of plain cells."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import DATA_UNTOUCHED, Entry, Facts, Sentence

JSON_LINES = "pandas writes such a file by DataFrame.to_json(path, orient='records', lines=True)"
AS_CSV = "pandas saves the table as CSV by DataFrame.to_csv, or as JSON lines by to_json(lines=True, orient='records')"


def _path(f: Facts) -> str:
    return f.file("path", "The file")


def _nested(f: Facts) -> str:
    """Where a list or an object stands."""
    where = f"Line {f.text('line')} of {_path(f)}" if f.raw("line") else _path(f)
    return f"{where} holds a list or an object in “{f.text('column', 'a column')}”"


def _first(f: Facts) -> str:
    return f"The first that is not: {f.text('item')}. " if "item" in f else ""


ERRORS: dict[str, Entry] = {
    "data-nested": lambda f: Sentence(
        _nested(f),
        f"What is learned from or predicted must be a plain value. {DATA_UNTOUCHED}",
        "Write what is inside under a name of its own, choose another column, or leave this one out "
        "(data.columns, “ignore”).",
    ),
    "data-not-json-lines": lambda f: Sentence(
        f"{_path(f)} is one list of JSON" if f.raw("list") else f"{_path(f)} does not hold JSON lines",
        f"Each line must be an object of its own, in braces, whose names are the columns. {_first(f)}{DATA_UNTOUCHED}",
        f"Save it as JSON lines: {JSON_LINES}.",
    ),
    "data-json-list-broken": lambda f: Sentence(
        f"The list of JSON in {_path(f)} breaks off at line {f.text('line', 'one')}",
        f"{f.count('rows', 'object', 'objects')} before it can be read; what comes there is no JSON, is longer than four million letters, or the "
        f"file was cut. {DATA_UNTOUCHED}",
        "Fetch the file again, or mend that line.",
    ),
    "data-too-many-names": lambda f: Sentence(
        f"The lines of {_path(f)} have more than {f.text('allowed', '10000')} different names",
        f"Each would be a column: line {f.text('line', 'one')} is where they get too many. Perhaps the names are data "
        f"themselves. {DATA_UNTOUCHED}",
        "Write them as values under one name, or save the columns that count.",
    ),
    "data-too-many-asked": lambda f: Sentence(
        f"{_path(f)} holds more than can be asked at once",
        f"{f.text('allowed', '100000')} examples are answered in one call, or {f.text('megabytes', '200')} MB of text. "
        f"Nothing was asked. {DATA_UNTOUCHED}",
        "Split it, and ask part by part.",
    ),
    "data-mostly-empty": lambda f: Sentence(
        f"Nearly all cells of {_path(f)} are empty",
        f"Its lines have {f.text('names', 'many')} different names, of which each line has a few; as a table that would "
        f"take more memory than there is. {DATA_UNTOUCHED}",
        "Save it with the columns that count.",
    ),
    "data-parquet": lambda f: Sentence(
        f"{_path(f)} cannot be read by this copy of TPU Studio",
        f"What reads Parquet and Arrow files is not installed with it. {DATA_UNTOUCHED}",
        f"Install it anew; or save the table otherwise: {AS_CSV}.",
    ),
    "data-parquet-damaged": lambda f: Sentence(
        f"{_path(f)} is damaged, or no Parquet or Arrow file",
        f"It could not be read to its end, or unpacks to more memory than there is. {DATA_UNTOUCHED}",
        f"Copy it again from where it came. If it opens elsewhere, save it otherwise: {AS_CSV}.",
    ),
    "data-shards-differ": lambda f: Sentence(
        f"The files of {_path(f)} do not have the same columns",
        f"{f.file('shard', 'One of them')} has other ones than {f.file('first', 'the first')}; together they would be no table. "
        f"{DATA_UNTOUCHED}",
        "Choose one of the files, or a folder with those that belong together.",
    ),
}

FINDINGS: dict[str, Entry] = {
    "other-splits": lambda f: Sentence(
        "Only the rows for training are read",
        f"Also there, and left out: {f.text('splits', 'other splits')}. What is kept aside is chosen from the rows for training.",
        "To learn from others, choose their file or folder.",
    ),
    "nested-column": lambda f: Sentence(
        f"“{f.text('column', 'A column')}” holds lists or objects",
        (f"The first stands in line {f.text('line')}. " if f.raw("line") else "")
        + "They cannot be read as plain values, "
        "so the column is left out.",
        "To learn from what is inside, write it under a name of its own.",
    ),
}

"""Words for converted data: making TFRecord files, reading them, and guessing what kind of data a path holds."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import DATA_UNTOUCHED, HUB_FOLDER, Entry, Facts, Sentence


def _path(f: Facts, default: str = "The folder") -> str:
    return f.file("path", default)


_DAMAGE = {
    "content": "its checksum does not match",
    "cut-off": "it is cut off",
    "length": "a length in it cannot be right",
    "size": "it has another size than it was written with",
    "twice": "one of its files is another one by a link",
    "features": "it holds something else than the description says",
}

ERRORS: dict[str, Entry] = {
    "data-already-converted": lambda f: Sentence(
        f"{_path(f)} is converted already", f"There is nothing to do. {DATA_UNTOUCHED}", "Train on it as it is."
    ),
    "data-destination-taken": lambda f: Sentence(
        f"{_path(f)} is not empty",
        f"It holds {f.text('first', 'other files')}, and nothing is overwritten. {DATA_UNTOUCHED}",
        "Choose an empty or a new folder.",
    ),
    "data-destination-unwritable": lambda f: Sentence(
        f"{_path(f)} cannot be written",
        f"The system says: {f.text('raw', 'no reason')}. {DATA_UNTOUCHED}",
        "Choose another folder, or free some space.",
    ),
    "data-converter-died": lambda f: Sentence(
        "Converting was ended from outside",
        f"The finished parts are kept. {DATA_UNTOUCHED}",
        "Start it again; it goes on where it stopped.",
    ),
    "data-reader-died": lambda f: Sentence(
        "A process that reads pictures was ended from outside",
        "Perhaps memory was short: the system then ends what it can. The copies of the training are kept. "
        + DATA_UNTOUCHED,
        "Close other programs and go on with the run.",
    ),
    "data-not-decodable": lambda f: Sentence(
        "Only pictures can be stored decoded",
        f"{_path(f, 'This')} holds no picture files, so there is nothing to decode. {DATA_UNTOUCHED}",
        "Convert it without --decoded.",
    ),
    "data-not-convertible": lambda f: Sentence(
        "Texts to tell apart, and chats, are not converted",
        f"{_path(f, 'They')} can be trained on everywhere as it is: texts are small. {DATA_UNTOUCHED}",
        "Train on them as they are.",
    ),
    "data-dataset-newer": lambda f: Sentence(
        f"{_path(f, 'The data')} was converted by a newer version",
        f"It has format {f.text('format', 'of its own')}; this version reads {f.text('known', '1')}. {DATA_UNTOUCHED}",
        "Use a newer version of TPU Studio, or convert the original again.",
    ),
    "data-not-a-dataset": lambda f: Sentence(
        f"{_path(f)} is no converted data",
        f"Converted data has a file dataset.json that can be read. {DATA_UNTOUCHED}",
        "Choose the folder that Convert has made.",
    ),
    "data-shard-damaged": lambda f: Sentence(
        f"{_path(f, 'A file')} is damaged",
        f"In this part of the converted data, {_DAMAGE.get(f.text('why'), 'something cannot be read')}. {DATA_UNTOUCHED}",
        "Copy it again from where it came, or convert the original again.",
    ),
    "data-unknown-kind": lambda f: Sentence(
        f"{_path(f)} is no data that we know",
        f"Known are folders of pictures, tables (.csv, .jsonl, .parquet), texts (.txt) and converted data. {DATA_UNTOUCHED}",
        HUB_FOLDER if f.raw("weights") is True else "Choose the kind yourself, or other data.",
    ),
    "data-single-picture": lambda f: Sentence(
        f"{_path(f, 'This')} is a single picture",
        f"A model learns from many, in one folder per class. {DATA_UNTOUCHED}",
        f"Choose the folder above: {f.file('folder', 'the one with all classes')}.",
    ),
}

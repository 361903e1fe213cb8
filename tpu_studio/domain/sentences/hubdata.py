"""Words for data sets of the Hugging Face Hub, by their names."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence

ERRORS: dict[str, Entry] = {
    "hub-data-name": lambda f: Sentence(
        f"“{f.text('value', 'This')}” is no name of a data set on Hugging Face",
        f"It was not asked for. {NOTHING_CHARGED}",
        "Write the owner and the name as the data set's page has them at its top, as in stanfordnlp/imdb; on the command "
        "line with hf: before them.",
    ),
    "hub-data-not-looked-up": lambda f: Sentence(
        f"The data set {f.text('name', 'hf:OWNER/NAME')} was not looked up yet",
        NOTHING_CHARGED,
        f"First: tpu-studio data {f.text('name', 'hf:OWNER/NAME')}.",
    ),
    "hub-no-data": lambda f: Sentence(
        f"No table or text of the data set {_name(f)} can be fetched by itself",
        "Hugging Face has no conversion to Parquet of it, and its own files are no Parquet, CSV or JSON lines, or several "
        f"of these a split. {NOTHING_CHARGED}",
        f"Download what you want of it by a browser from {f.text('page', 'its page')}, and choose that folder or file.",
    ),
    "hub-data-large": lambda f: Sentence(
        f"{_asked(f)} is more than is fetched: {_much(f)}",
        f"At most 20 GB and 1,000 files of a subset are. {NOTHING_CHARGED}",
        "Choose another subset, or fewer splits.",
    ),
    "hub-no-subset": lambda f: Sentence(
        f"The data set {_name(f)} has no subset “{f.text('subset')}”"
        if f.raw("subset")
        else f"Which of the {f.text('count', 'some')} subsets of {_name(f)}?",
        f"It has {f.text('subsets', 'others')}{'…' if _many(f) else ''}. {NOTHING_CHARGED}",
        "Name one with --subset.",
    ),
    "hub-no-split": lambda f: Sentence(
        f"The subset “{f.text('subset')}” has no split “{f.text('split')}”",
        f"It has {f.text('splits', 'others')}. {NOTHING_CHARGED}",
        "Name one or more of these after --split.",
    ),
    "hub-one-split": lambda f: Sentence(
        f"Of the subset “{f.text('subset')}” one split at a time is data for a plan",
        f"Its splits are files of their own: {f.text('splits', 'several were named')}. {NOTHING_CHARGED}",
        "Name one of them after --split.",
    ),
    "hub-changed": lambda f: Sentence(
        f"{_name(f)} has changed on Hugging Face since it was looked up",
        f"What was looked up is there no more. {NOTHING_CHARGED}",
        "Look it up again.",
    ),
}


def _name(f: Facts) -> str:
    return f.text("name", "OWNER/NAME")


def _asked(f: Facts) -> str:
    subset = f.text("subset")
    return f"The subset “{subset}” of {_name(f)}" if subset else f"The data set {_name(f)}"


def _much(f: Facts) -> str:
    files = f.count("files", "file", "files")
    return f"{f.bytes('size')} in {files}" if "size" in f else files


def _many(f: Facts) -> bool:
    return bool(len(f.raw("subsets", [])) < f.raw("count", 0))

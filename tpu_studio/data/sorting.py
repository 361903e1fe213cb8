"""Texts to be told apart: the quick look, and the opened data set.

Texts have as many tokens as they have; a batch has one length, that of nearly all of them, from a few sizes (`SIZES`),
so that each is compiled once. Longer ones lose their end, shorter ones are filled up with token 0, which the model
leaves out. L tokens a text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import based, labelled, tablefile, tokens
from tpu_studio.data.arrays import Ints, Ints32
from tpu_studio.data.labelled import Labelled
from tpu_studio.data.looked import NAMED_BROKEN, Finding, Look, alike_findings, broken_finding
from tpu_studio.data.opened import ArraySource, Opened
from tpu_studio.data.paths import data_path
from tpu_studio.data.shown import to_show
from tpu_studio.data.split import validation_count
from tpu_studio.data.tables import file_findings
from tpu_studio.data.tokens import ByteTokens, Tokens
from tpu_studio.data.watching import Watch
from tpu_studio.wire import models, starters
from tpu_studio.wire.brief import SAMPLE_LETTERS
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.secrets import short

SIZES = (16, 24, 32, 48, 64, 96, 128, 192, 256)
SIZES_OF_BYTES = (64, 128, 192, 256, 384, 512)
WHOLE = 0.95  # of the texts, that fit as a whole
LETTERS_A_PIECE = 7  # of a long word
SHOWN = 12
_WORDS = re.compile(r"\w+|[^\w\s]")
_IMBALANCE, _FEW = 3, 10


def look(job: Job, task: str, watch: Watch) -> Look:
    """All but the fingerprint."""
    rows = tablefile.found(given := data_path(job), watch)
    path = rows.file
    found = labelled.examine(job, path, watch)
    characters = round(sum(map(len, found.texts)) * found.whole / len(found.texts))
    kept, preset = _kept(found, job), based.preset_seen(job)
    numbers = _sizes(found) | {
        "characters": characters,
        "vocabulary": preset.vocabulary if preset else tokens.learned_vocabulary(characters),
        "without_target": found.unlabelled,
    }
    return Look(
        kind=job.data.kind,
        task=task,
        target=found.target,
        examples=found.whole,
        train=found.whole - kept,
        validation=kept,
        sampled=found.sampled,
        classes=tuple(zip(found.classes, found.each, strict=True)),
        numbers=numbers,
        broken=tuple(found.broken[:NAMED_BROKEN]),
        broken_count=found.broken_count,
        findings=(*_findings(found), *file_findings(given, rows)),
        preview=_preview(found),
        bytes_on_disk=_bytes(path, found),
        input_shape=(length_of(job, numbers),),
        outputs=len(found.classes),
        sequence_length=length_of(job, numbers),
        rows_file=str(path) if path != given else "",
    )


def open_texts(job: Job, task: str, watch: Watch) -> Opened:
    """Raises ModelError ``starter-missing``, ``starter-damaged`` besides those of `labelled.read`."""
    found = labelled.read(job, tablefile.found(data_path(job), watch).file, watch)
    length, kind = length_of(job, _sizes(found)), tokenizer_of(job)
    cutter = _tokens(job, kind, found)
    x = cutter.encode(found.texts, length)
    description = {
        "kind": job.data.kind,
        "task": task,
        "classes": list(found.classes),
        "outputs": len(found.classes),
        "target": found.target,
        "text_column": found.column,
        "tokenizer": kind,
        "tokenizer_sha256": tokens.sha256(cutter),
        "vocabulary": cutter.vocabulary,
        "sequence_length": length,
        "input_shape": [length],
    }
    train, kept = (ArraySource({"x": x[side], "y": found.labels[side]}) for side in (~found.kept, found.kept))
    broken = found.broken[:NAMED_BROKEN]
    files = {starters.TOKENIZER: cutter.file} if cutter.file else {}
    return Opened(task, train, kept, description, broken, found.broken_count, files)


def _sizes(found: Labelled) -> dict[str, int]:
    """Lengths that nearly all texts fit in, in bytes and in pieces of words."""
    raw = np.array([len(text.encode("utf-8", "replace")) for text in found.texts])
    pieces = np.array([_pieces(text) for text in found.texts])
    return {"bytes_each": _fitting(raw, SIZES_OF_BYTES), "tokens_each": _fitting(pieces, SIZES)}


def length_of(job: Job, sizes: Mapping[str, int]) -> int:
    """The job's, or what suits its texts, whose sizes in bytes and in pieces were counted.

    Raises:
        JobError: ``job-out-of-range`` of `models.check_length`, and those of `tokenizer_of`.
    """
    given = job.data.sequence_length
    if given == AUTO:
        each, preset = tokens_each(tokenizer_of(job), sizes), based.preset_seen(job)
        return min(each, preset.longest if preset else each)
    models.check_length(job.model.id, _preset(job), int(given))
    return int(given)


def tokens_each(tokenizer: str, sizes: Mapping[str, int]) -> int:
    return sizes["bytes_each"] if tokenizer == "bytes" else sizes["tokens_each"]


def tokenizer_of(job: Job) -> str:
    """Raises JobError ``job-tokenizer-unfit`` and those of `models.preset`."""
    return models.tokenizer(job.model.id, _preset(job), job.data.tokenizer, sorts=True, base=based.base_seen(job))


def _preset(job: Job) -> str:
    return models.preset(job.model.id, job.model.preset) if job.model.id in models.BY_NAME else starters.NONE


def _tokens(job: Job, kind: str, found: Labelled) -> Tokens:
    match kind:
        case "bytes":
            return ByteTokens()
        case "preset":
            if (begins := based.preset_of(job)) is not None:
                return tokens.of_description(based.described(begins))
            preset = models.preset(job.model.id, job.model.preset)
            return tokens.of_starter(models.starter(preset), preset)
        case _:
            seen = [text for text, kept in zip(found.texts, found.kept.tolist(), strict=True) if not kept]
            return tokens.learn(seen, tokens.learned_vocabulary(sum(map(len, found.texts))))


def _pieces(text: str) -> int:
    """With the two marks that stand around it."""
    return 2 + pieces_about(text)


def pieces_about(text: str) -> int:
    """About how many pieces of words it has."""
    words = _WORDS.findall(text)
    return len(words) + sum((len(word.encode("utf-8", "replace")) - 1) // LETTERS_A_PIECE for word in words)


def _fitting(lengths: Ints, sizes: tuple[int, ...]) -> int:
    wanted = float(np.quantile(lengths, WHOLE))
    return sizes[min(len(sizes) - 1, bisect_left(sizes, wanted))]


def _kept(found: Labelled, job: Job) -> int:
    if not found.sampled:
        return int(found.kept.sum())
    if found.listing is not None and found.listing.fixed_split:
        return round(int(found.kept.sum()) * found.whole / len(found.texts))
    return validation_count(found.whole, job.data.validation, len(found.classes))


def _bytes(path: Path, found: Labelled) -> int:
    return int(found.listing.sizes.sum()) if found.listing is not None else path.stat().st_size


def _preview(found: Labelled) -> dict[str, object]:
    shown = to_show(found.labels, found.kept, at_most=SHOWN)
    texts = [
        {
            "text": short(found.texts[index], SAMPLE_LETTERS),
            "class": found.classes[found.labels[index]],
            "kept": bool(found.kept[index]),
        }
        for index in shown
    ]
    lines = [f"{one['class']}: {' '.join(str(one['text']).split())}" for one in texts]
    return {"texts": texts, "text": "\n".join(lines)}


def _findings(found: Labelled) -> list[Finding]:
    findings = []
    if found.unlabelled:
        facts: dict[str, object] = {"count": found.unlabelled, "target": found.target}
        findings.append(Finding("rows-without-target", "warning", facts))
    if found.broken_count:
        findings.append(broken_finding(found.broken_count, found.broken))
    if found.listing is not None and found.listing.fixed_split:
        findings.append(Finding("fixed-split", "info", {"noun": "texts"}))
    if twice := len(found.texts) - len(Counter(found.texts)):
        findings.append(Finding("duplicate-texts", "info", {"count": twice}))
    most, least = int(np.argmax(found.each)), int(np.argmin(found.each))
    names = {"most": found.classes[most], "least": found.classes[least]}
    counts = {"most_count": found.each[most], "least_count": found.each[least]}
    if found.each[most] >= _IMBALANCE * max(1, found.each[least]):
        findings.append(Finding("class-imbalance", "warning", {**names, **counts}))
    few = [[name, count] for name, count in zip(found.classes, found.each, strict=True) if count < _FEW]
    if few:
        findings.append(Finding("near-empty-class", "warning", {"classes": few[:20], "count": len(few)}))
    return findings + alike_findings(found.classes)


def encoded(description: Mapping[str, Any], texts: Sequence[str]) -> Ints32:
    """New texts as the model of that description reads them: [len(texts), L].

    Raises:
        RunError: ``result-unreadable``.
    """
    return tokens.of_description(description).encode(texts, int(description["sequence_length"]))

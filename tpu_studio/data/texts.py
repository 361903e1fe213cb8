"""Texts: the quick look, and the opened data set. Here of plain text for a language model; to tell apart: ``sorting``.

Tokens are the bytes of the text as UTF-8 (256 of them), or pieces that are learned from the text of training
(``continuing``). The last share of the text is kept aside, so no window of training overlaps what is tested, and pieces
know nothing of it. A folder stands for its .txt files in the order of their names.

Shapes: L tokens a window, B windows a batch.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tpu_studio.data import based, continuing, encodings, instructing, letters, links, sorting, textlayout
from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.looked import NAMED_BROKEN, Broken, Finding, Look, broken_finding
from tpu_studio.data.opened import Opened, Share, Source, Spec, of_share
from tpu_studio.data.paths import check_task, data_path, path_error
from tpu_studio.data.tables import fingerprint
from tpu_studio.data.watching import Watch
from tpu_studio.wire import models, presets, starters
from tpu_studio.wire.errors import DataError, JobError, ModelError
from tpu_studio.wire.job import Job
from tpu_studio.wire.pretrained import reading
from tpu_studio.wire.secrets import WIDEST, short
from tpu_studio.wire.starters import TOKENIZER
from tpu_studio.wire.tasks import Task

VOCABULARY = 256
SHORTEST_WINDOW = 8
DEFAULT_WINDOW = 64
SUFFIXES = textlayout.PLAIN
_SHOWN = 500  # letters
_COUNTED = 64 * 2**20  # characters of larger texts are estimated from this many bytes


class TrainingWindows(Source):
    """Windows of L tokens and the tokens that follow each.

    There are as many windows as fit side by side. Window i starts at i·L plus a shift drawn from *rng* for each
    example (none without *rng*), so over the epochs every place of the text is a start, and the same indices and
    generator give the same batch.
    """

    in_memory = True

    def __init__(self, tokens: Array, length: int) -> None:
        self.tokens, self._length = tokens, length
        self._starts = len(tokens) - length
        self.spec: Spec = {"x": ((length,), "int32"), "y": ((length,), "int32")}

    def __len__(self) -> int:
        return max(1, (len(self.tokens) - 1) // self._length)

    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        starts = np.asarray(indices, dtype=np.int64) * self._length
        if rng is not None:
            starts = starts + rng.integers(0, self._length, size=len(starts))
        starts = of_share(starts, share)
        windows = self.tokens[(starts % self._starts)[:, None] + np.arange(self._length + 1)].astype(np.int32)
        return {"x": windows[:, :-1], "y": windows[:, 1:]}


class ValidationWindows(Source):
    """The kept-aside text cut side by side; "weight" is 1 for each token to be foretold once, 0 for padding.

    *size*: bytes that the tokens stand for.
    """

    in_memory = True

    def __init__(self, tokens: Array, length: int, size: int) -> None:
        self.tokens, self._length = tokens, length
        self.tokens_a_byte = len(tokens) / size
        self.spec: Spec = {"x": ((length,), "int32"), "y": ((length,), "int32"), "weight": ((length,), "float32")}

    def __len__(self) -> int:
        return -(-(len(self.tokens) - 1) // self._length)

    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        starts = np.asarray(of_share(indices, share), dtype=np.int64) * self._length
        places = starts[:, None] + np.arange(self._length + 1)
        last = len(self.tokens) - 1
        windows = np.where(places <= last, self.tokens[np.minimum(places, last)], 0).astype(np.int32)
        weight = (places[:, 1:] <= last).astype(np.float32)
        return {"x": windows[:, :-1], "y": windows[:, 1:], "weight": weight}


@dataclass(frozen=True)
class _Text:
    """Files of a text with their encodings, and those that could not be read."""

    root: Path
    files: tuple[tuple[Path, str], ...]
    broken: tuple[Broken, ...]
    size: int


def look(job: Job, watch: Watch) -> Look:
    path = data_path(job)
    if (task := task_of(job, path)).has_classes or task.has_chats:
        seen = (instructing.look if task.has_chats else sorting.look)(job, task.id, watch)
        return replace(seen, fingerprint=fingerprint_of_text(Path(seen.rows_file) if seen.rows_file else path))
    text = _find(path)
    exact = text.size <= _COUNTED
    tokens = _read(text, watch) if exact else _head(text)
    size = len(tokens) if exact else text.size
    cut_up, vocabulary = tokenizer_of(job), vocabulary_of(job, _cut(size, job))
    count = size if cut_up == "bytes" else continuing.tokens_in(tokens, size, min(vocabulary, continuing.MOST))
    length = sequence_length(job, count)
    cut = _cut(count, job)
    train, kept = max(1, (cut - 1) // length), -(-(count - cut - 1) // length)
    characters = int(np.count_nonzero((tokens & 0xC0) != 0x80))
    distinct = int(np.count_nonzero(np.bincount(tokens, minlength=VOCABULARY)))
    findings = []
    if size < 20_000:
        findings.append(Finding("tiny-data", "warning", {"characters": characters}))
    if distinct < 5:
        findings.append(Finding("few-characters", "warning", {"distinct": distinct}))
    findings += letters.findings(text.files)
    if text.broken:
        findings.append(broken_finding(len(text.broken), text.broken))
    scale = size / len(tokens)
    return Look(
        kind=job.data.kind,
        task=task.id,
        examples=train + kept,
        train=train,
        validation=kept,
        sampled=not exact,
        numbers={
            "characters": round(characters * scale),
            "bytes": text.size,
            "tokens": count,
            "lines": round(int(np.count_nonzero(tokens == 10)) * scale),
            "distinct": distinct,
            "files": len(text.files),
            "train_tokens": cut,
            "validation_tokens": count - cut,
            **({"vocabulary": vocabulary} if cut_up != "bytes" else {}),
        },
        broken=text.broken[:NAMED_BROKEN],
        broken_count=len(text.broken),
        findings=tuple(findings),
        preview={"text": _preview(tokens)},
        bytes_on_disk=text.size,
        fingerprint=_fingerprint(text),
        input_shape=(length,),
        outputs=vocabulary,
        sequence_length=length,
    )


def _preview(tokens: Bytes) -> str:
    most = 4 * (_SHOWN + WIDEST)  # bytes of so many letters
    return short(tokens[:most].tobytes().decode("utf-8", errors="replace"), _SHOWN)


def open_text(job: Job, *, budget: int, watch: Watch) -> Opened:
    path = data_path(job)
    if (task := task_of(job, path)).has_classes:
        return sorting.open_texts(job, task.id, watch)
    if task.has_chats:
        return instructing.open_chats(job, task.id, budget, watch)
    text = _find(path)
    as_it_is = tokenizer_of(job) == "bytes"
    tokens = _map(text, budget, as_it_is=as_it_is) if text.size > budget else _read(text, watch)
    return _opened(job, task.id, tokens, list(text.broken))


def _opened(job: Job, task: str, text: Bytes, broken: list[Broken]) -> Opened:
    cut = _cut(len(text), job)
    if tokenizer_of(job) != "bytes":
        cut = continuing.between_letters(text, cut)
    opened = windows(job, task, text[:cut], text[cut:])
    opened.broken, opened.broken_count = broken[:NAMED_BROKEN], len(broken)
    return opened


def windows(job: Job, task: str, train: Bytes, kept: Bytes, length: int | None = None) -> Opened:
    """Of the bytes of a text to learn from and of one kept aside. *length*: None, by the job and the tokens.

    Raises:
        DataError: as `sequence_length`.
        JobError: as `vocabulary_of`.
    """
    cutter, vocabulary = _cutter(job, train)
    learned, _ = cutter.encode(train)
    tested, size = cutter.encode(kept)
    length = length or _length(job, len(learned), len(tested))
    description = {
        "kind": "text",
        "task": task,
        "tokenizer": cutter.kind,
        **({"tokenizer_sha256": hashlib.sha256(cutter.file).hexdigest()} if cutter.file else {}),
        "vocabulary": vocabulary,
        "sequence_length": length,
        "input_shape": [length],
        "outputs": vocabulary,
    }
    files = {TOKENIZER: cutter.file} if cutter.file else {}
    sides = TrainingWindows(learned, length), ValidationWindows(tested, length, size)
    return Opened(task, *sides, description, files=files)


def _cutter(job: Job, train: Bytes) -> tuple[continuing.Cutter, int]:
    """What cuts the text up, and how many tokens its model tells apart."""
    match tokenizer_of(job):
        case "preset":
            preset = _preset(job)
            if preset.base is not None and not preset.is_decoder:
                return continuing.of_result(based.described(preset)), preset.vocabulary
            if not preset.reads_text:
                facts = {"path": str(preset.folder), "file": "config.json", "network": preset.kind}
                raise ModelError("preset-other-network", **facts)
            if not preset.sums:  # known by its name alone: its tokens count as many as bytes until it is looked up
                return continuing.AsBytes(), preset.vocabulary
            return continuing.of_folder(preset), preset.vocabulary
        case "bpe":
            learned = continuing.learn(train, vocabulary_of(job, len(train)))
            return learned, learned.vocabulary
        case _:
            return continuing.AsBytes(), VOCABULARY


def tokenizer_of(job: Job) -> str:
    """How the text is cut up, as the plan will have it.

    Raises:
        JobError: ``job-tokenizer-unfit`` and those of `models.preset`.
    """
    begins = models.preset(job.model.id, job.model.preset) if job.model.id in models.BY_NAME else starters.NONE
    return models.tokenizer(job.model.id, begins, job.data.tokenizer, sorts=False, base=based.base_seen(job))


def _preset(job: Job) -> presets.Preset:
    return reading.of(job.model.folder, job.base)


def vocabulary_of(job: Job, train: int) -> int:
    """Tokens that the text is cut into, of which *train* bytes are learned from; fewer where it has no more.

    Raises:
        JobError: ``job-out-of-range``: fewer are wanted than there are bytes.
    """
    if (cut_up := tokenizer_of(job)) == "preset":
        try:
            return _preset(job).vocabulary or continuing.MOST
        except ModelError:  # what is wrong with the folder the plan tells
            return continuing.MOST
    if cut_up == "bytes":
        return VOCABULARY
    given = job.model.options.get("vocabulary")
    if not isinstance(given, int):  # another kind of value is refused where the model's options are read
        return continuing.learned_vocabulary(train)
    if not continuing.LEAST <= given <= continuing.MOST:
        limits = {"minimum": continuing.LEAST, "maximum": continuing.MOST}
        raise JobError("job-out-of-range", key="model.options.vocabulary", value=given, **limits)
    return given


def sequence_length(job: Job, tokens: int) -> int:
    """The job's context length, or the model's own, no longer than a quarter of the training text.

    Raises:
        DataError: data-too-few when the text does not hold one window to train on and two tokens to test on.
    """
    cut = _cut(tokens, job)
    return _length(job, cut, tokens - cut)


def longest_window(train: int) -> int:
    """Tokens of the longest window that *train* tokens hold a few of."""
    return max(SHORTEST_WINDOW, train // 4)


def _length(job: Job, train: int, kept: int) -> int:
    given = job.data.sequence_length
    model = models.BY_NAME.get(job.model.id)
    wanted = (model.sequence_length if model else None) or DEFAULT_WINDOW
    if base := based.base_seen(job):
        wanted = base.shape[0]
    length = min(wanted, longest_window(train)) if given == "auto" else int(given)
    if train < length + 1 or kept < 2:
        share = job.data.validation
        needed = max(round((length + 1) / (1 - share)) + 1, round(2 / share), train + kept + 1)
        unit = "characters" if tokenizer_of(job) == "bytes" else "tokens"
        raise DataError("data-too-few", path=str(job.data.path), count=train + kept, needed=needed, unit=unit)
    return length


def task_of(job: Job, path: Path) -> Task:
    """Raises DataError ``data-task-unfit``."""
    check_task(job)
    return textlayout.task_of(job, path)


def encode_text(text: str) -> Bytes:
    """Tokens of a text: the bytes of its UTF-8 form."""
    return np.frombuffer(text.encode("utf-8", errors="replace"), dtype=np.uint8)


def read_tokens(path: Path, watch: Watch) -> Bytes:
    """All tokens of a text file or folder."""
    return _read(_find(path), watch)


def fingerprint_of_text(path: Path) -> str:
    """The fingerprint that a look at this file or folder would take."""
    return _fingerprint(_find(path))


def _cut(tokens: int, job: Job) -> int:
    return tokens - max(1, round(tokens * job.data.validation))


def _find(path: Path) -> _Text:
    if not path.is_dir():
        return _Text(path, ((path, encodings.detect(path)),), (), path.stat().st_size)
    names, outside = links.files_below(path, SUFFIXES)
    files, broken = [], [Broken(name.relative_to(path).as_posix(), links.OUTSIDE) for name in outside]
    for name in names:
        try:
            files.append((name, encodings.detect(name)))
        except DataError as error:
            broken.append(Broken(str(name.relative_to(path)), error.id.removeprefix("data-")))
    if outside and not files:
        raise DataError("data-link-outside", path=str(outside[0]))
    if not files:
        raise DataError("data-empty", path=str(path), others=len(broken))
    return _Text(path, tuple(files), tuple(broken), sum(name.stat().st_size for name, _ in files))


def _read(text: _Text, watch: Watch) -> Bytes:
    parts, left = [], text.size
    for done, (path, encoding) in enumerate(text.files):
        watch.at(done, len(text.files))
        try:
            raw = links.content(text.root, path, left + 1)
        except OSError as error:
            raise path_error(path, error) from error
        left -= len(raw)
        if left < 0:  # more than was found: it grows, or was replaced
            raise DataError("data-changed", path=str(path))
        parts.append(_as_utf8(raw, encoding))
    joined = b"\n".join(parts)
    if not joined.strip():
        raise DataError("data-empty", path=str(text.root))
    return np.frombuffer(joined, dtype=np.uint8)


def _as_utf8(raw: bytes, encoding: str) -> bytes:
    """Bytes of the file as UTF-8 with plain line ends and no mark."""
    if encoding != "utf-8":
        raw = raw.decode(encoding, errors="replace").removeprefix("\ufeff").encode("utf-8", errors="replace")
    return raw.replace(b"\r\n", b"\n") if b"\r" in raw else raw


def _head(text: _Text) -> Bytes:
    """The beginning of a large text."""
    path, encoding = text.files[0]
    try:
        raw = links.content(text.root, path, _COUNTED)
    except OSError as error:
        raise path_error(path, error) from error
    return np.frombuffer(_as_utf8(raw, encoding), dtype=np.uint8)


def _map(text: _Text, budget: int, *, as_it_is: bool) -> Bytes:
    """A text larger than memory, paged in by the system: one plain UTF-8 file only, whose bytes are its tokens."""
    path, encoding = text.files[0]
    if len(text.files) > 1 or encoding != "utf-8" or not as_it_is:
        raise DataError("data-too-big", path=str(text.root), bytes=text.size, budget=budget)
    return np.memmap(path, dtype=np.uint8, mode="r")


def _fingerprint(text: _Text) -> str:
    digest = hashlib.sha256()
    for path, _ in text.files:
        name = os.fsencode(path.relative_to(text.root)) if path != text.root else b""
        digest.update(name + b"\0" + fingerprint(path).encode() + b"\n")
    return digest.hexdigest()

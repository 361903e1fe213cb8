"""Chats to learn answers from: the quick look, the opened data set, and a question as a trained model reads it.

A chat is one example of L tokens, written down by the model's chat template (`wire.pretrained.template`) and filled up
with token 0. The weight of a token that is to be foretold is 1 in an answer, and for the token that ends it, and 0
elsewhere. Of longer ones the earliest questions with their answers are left out, then the end of the last answer.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from tpu_studio.data import chats, continuing, sorting, tablefile
from tpu_studio.data.arrays import Array, Bools
from tpu_studio.data.chats import Chats
from tpu_studio.data.looked import NAMED_BROKEN, Broken, Finding, Look, broken_finding
from tpu_studio.data.opened import Opened, Share, Source, Spec, of_share
from tpu_studio.data.paths import data_path
from tpu_studio.data.published import Behind, Published
from tpu_studio.data.split import keys_of_rows, validation_count, validation_mask
from tpu_studio.data.tables import file_findings
from tpu_studio.data.watching import Watch
from tpu_studio.wire import presets
from tpu_studio.wire.brief import SAMPLE_LETTERS
from tpu_studio.wire.errors import DataError, ModelError, RunError
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.pretrained import reading, template
from tpu_studio.wire.pretrained.template import Turn
from tpu_studio.wire.records import whole
from tpu_studio.wire.secrets import short
from tpu_studio.wire.starters import TOKENIZER

SIZES = (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
SHOWN = 6
ANSWER_SHARE = 4  # of a model's length, a quarter is kept for the answer where more was said before
_A_TURN, _A_CHAT = 6, 24  # tokens about it; the latter are what most templates have the system say


class ChatSource(Source):
    """Chats, one an example: tokens [L], those that follow each, and which of these are an answer's.

    They lie one behind the other in *tokens*, with *learned* beside; chat i begins at ``starts[i]``.
    """

    in_memory = True

    def __init__(self, tokens: Array, learned: Bools, starts: Array, length: int, answer_bytes: int) -> None:
        self._tokens, self._learned, self._starts, self._length = tokens, learned, starts, length
        self.tokens_a_byte = float(np.count_nonzero(learned)) / max(1, answer_bytes)
        each: tuple[int, ...] = (length,)
        self.spec: Spec = {"x": (each, "int32"), "y": (each, "int32"), "weight": (each, "float32")}

    def __len__(self) -> int:
        return len(self._starts) - 1

    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        mine = np.asarray(of_share(indices, share), np.int64)
        begins, ends = self._starts[mine], self._starts[mine + 1]
        places = begins[:, None] + np.arange(self._length + 1)
        there = places < ends[:, None]
        at = np.minimum(places, len(self._tokens) - 1)
        tokens = np.where(there, self._tokens[at], 0).astype(np.int32)
        weight = (there & self._learned[at])[:, 1:].astype(np.float32)
        return {"x": tokens[:, :-1], "y": tokens[:, 1:], "weight": weight}


@dataclass
class _Cut:
    """How chats fitted: those that lost questions or an end, and those without any answer left."""

    shortened: int = 0
    left_out: int = 0


Cuts = dict[tuple[str, Behind], list[int]]
"""Tokens of a text, by what it stands behind."""


class Writer:
    """Writes chats down in tokens."""

    def __init__(self, cutter: Published, id: str) -> None:
        """*id*: of a template whose tokens *cutter* has."""
        self.cutter, self.id = cutter, id
        self._tokens = cutter.standing.keys()

    def tokens(self, turns: Sequence[Turn], known: Cuts | None = None) -> tuple[list[int], list[bool]]:
        """And which of them are to be learned. *known*: tokens of texts, to which those of these turns are added."""
        found: list[int] = []
        learned: list[bool] = []
        known = {} if known is None else known
        behind: Behind = "nothing"
        for part in template.joined(template.rendered(self.id, turns, self._tokens)):
            if not part.token and (part.text, behind) not in known:
                known[part.text, behind] = self.cutter.of_text(part.text, behind)
            ids = [self.cutter.standing[part.text]] if part.token else known[part.text, behind]
            found += ids
            learned += [part.learned] * len(ids)
            behind = "token" if part.token else "text"
        return found, learned

    @property
    def ends(self) -> frozenset[int]:
        return frozenset(self.cutter.standing[one] for one in template.ends(self.id, self._tokens))

    @cached_property
    def sizes(self) -> Array:
        """Bytes that each token stands for."""
        return np.array([len(self.cutter.piece(token)) for token in range(self.cutter.vocabulary)], np.int64)

    def said_bytes(self, tokens: Array, learned: Bools) -> int:
        """Of the answers in chats that lie one behind the other, of each of which the first token is not learned."""
        blanks = 0
        if self.cutter.blank_put("token"):
            begins = np.flatnonzero(learned & ~np.roll(learned, 1))
            blanks = int(np.isin(tokens[begins - 1], list(self.cutter.standing.values())).sum())
        return int(np.sum(self.sizes[tokens[learned]])) - blanks

    def fitting(self, turns: Sequence[Turn], length: int, cut: _Cut) -> tuple[list[int], list[bool]]:
        """No more than *length* + 1 tokens, of which the last ones are foretold only; none where no answer is left."""
        tokens, learned, pairs = self.later(turns, length + 1)
        if not pairs and len(tokens) <= length + 1:
            return tokens, learned
        tokens, learned = tokens[: length + 1], learned[: length + 1]
        if not any(learned[1:]):
            cut.left_out += 1
            return [], []
        cut.shortened += 1
        return tokens, learned

    def later(self, turns: Sequence[Turn], most: int) -> tuple[list[int], list[bool], int]:
        """As `tokens`, without as many of the first questions with their answers as must go for no more than *most*
        tokens to be left; the last question stays in any case. And how many went."""
        known: Cuts = {}  # a search asks for most of the turns ever again
        tokens, learned = self.tokens(turns, known)
        if len(tokens) <= most:
            return tokens, learned, 0
        begins = 1 if turns[0].role == "system" else 0

        def without(pairs: int) -> tuple[list[int], list[bool]]:
            return self.tokens([*turns[:begins], *turns[begins + 2 * pairs :]], known)

        pairs = max(0, (len(turns) - begins - 1) // 2)
        fewest = bisect_left(range(pairs), True, lo=min(1, pairs), key=lambda one: len(without(one)[0]) <= most)
        return *without(fewest), fewest


def look(job: Job, task: str, watch: Watch) -> Look:
    """All but the fingerprint."""
    rows = tablefile.found(given := data_path(job), watch)
    found = chats.examine(job, rows.file, watch)
    each = [_tokens_about(turns) for turns in found.chats]
    scale = found.whole / len(found.chats)
    kept = validation_count(found.whole, job.data.validation)
    length, longest = _length(job, each), max(each)
    vocabulary = vocabulary_of(job)
    findings = [broken_finding(found.broken_count, found.broken)] if found.broken_count else []
    if twice := len(found.chats) - len(Counter(found.chats)):
        findings.append(Finding("duplicate-texts", "info", {"count": twice}))
    if long := sum(one > length + 1 for one in each):
        findings.append(Finding("long-chats", "info", {"count": round(long * scale), "tokens": length}))
    letters = sum(len(turn.text) for turns in found.chats for turn in turns)
    return Look(
        kind=job.data.kind,
        task=task,
        target=found.layout.target,
        examples=found.whole,
        train=found.whole - kept,
        validation=kept,
        sampled=found.sampled,
        numbers={
            "characters": round(letters * scale),
            "answers": round(sum(turn.role == "assistant" for turns in found.chats for turn in turns) * scale),
            "tokens_each": _fitting(each),
            "longest": longest,
            "vocabulary": vocabulary,
        },
        broken=tuple(found.broken[:NAMED_BROKEN]),
        broken_count=found.broken_count,
        findings=(*findings, *file_findings(given, rows)),
        preview=_preview(found, job),
        bytes_on_disk=rows.file.stat().st_size,
        input_shape=(length,),
        outputs=vocabulary,
        sequence_length=length,
        rows_file=str(rows.file) if rows.file != given else "",
    )


def open_chats(job: Job, task: str, budget: int, watch: Watch) -> Opened:
    """Raises ModelError ``preset-…`` besides the errors of `chats.read`."""
    preset = _preset(job)
    writer = Writer(continuing.of_folder(preset), _template(job, preset))
    path = tablefile.found(data_path(job), watch).file
    if (size := path.stat().st_size) > budget:
        raise DataError("data-too-big", path=str(path), bytes=size, budget=budget)
    length, cut = int(job.data.sequence_length), _Cut()
    stream = chats.Stream(job, path, watch, whole=True)
    written, held = list[_Written](), 0
    for turns in stream:
        written.append(_written(writer, turns, length, cut))
        held += _EACH + 5 * len(written[-1][0])
        if held > budget:
            raise DataError("data-too-big", path=str(path), bytes=held, budget=budget)
    kept = validation_mask(keys_of_rows(len(written), job.training.seed), job.data.validation)
    train, unseen = (_source(writer, written, kept == side, length) for side in (False, True))
    if not (len(train) and len(unseen)):
        raise DataError("data-chats-too-long", path=str(path), count=cut.left_out, tokens=length)
    description = {
        "kind": job.data.kind,
        "task": task,
        "chat_template": writer.id,
        "text_column": stream.layout.question,
        "target": stream.layout.target,
        "tokenizer": Published.kind,
        "tokenizer_sha256": hashlib.sha256(writer.cutter.file).hexdigest(),
        "vocabulary": preset.vocabulary,
        "sequence_length": length,
        "input_shape": [length],
        "outputs": preset.vocabulary,
        "shortened": cut.shortened,
        "left_out": cut.left_out,
    }
    broken = stream.tally.broken[:NAMED_BROKEN]
    if cut.left_out:
        broken = [*broken, Broken(f"{cut.left_out} chats", "chat-too-long")]
    count = stream.tally.broken_count + cut.left_out
    return Opened(task, train, unseen, description, broken, count, {TOKENIZER: writer.cutter.file})


def _template(job: Job, preset: presets.Preset) -> str:
    """As the plan has it; of a job without one as it would be planned."""
    given = job.data.chat_template
    chosen = (preset.template or template.PLAIN) if given == AUTO else str(given)
    if chosen not in preset.templates:
        why = f"It does not have the tokens of the chat template “{chosen}”."
        raise ModelError("preset-unfit", path=str(preset.folder), file=TOKENIZER, why=why)
    return chosen


_EACH = 400  # bytes that two small arrays take
_Written = tuple[Array, Bools]
"""A chat's tokens, and which of them are learned; none where it was left out."""


def _written(writer: Writer, turns: Sequence[Turn], length: int, cut: _Cut) -> _Written:
    ids, marks = writer.fitting(turns, length, cut)
    learned = np.array(marks, np.bool_)
    learned[:1] = False  # nothing stands before it that it could be foretold from
    return np.array(ids, np.int32), learned


def _source(writer: Writer, written: Sequence[_Written], side: Bools, length: int) -> ChatSource:
    mine = [one for one, there in zip(written, side.tolist(), strict=True) if there and len(one[0])]
    tokens = np.concatenate([np.zeros(0, np.int32), *(ids for ids, _ in mine)])
    learned = np.concatenate([np.zeros(0, np.bool_), *(marks for _, marks in mine)])
    starts = np.cumsum([0, *(len(ids) for ids, _ in mine)], dtype=np.int64)
    return ChatSource(tokens, learned, starts, length, writer.said_bytes(tokens, learned))


def vocabulary_of(job: Job) -> int:
    """Of the folder that the model begins from; what is wrong with it the plan tells."""
    try:
        return _preset(job).vocabulary or continuing.MOST
    except ModelError as error:
        return continuing.BYTES if error.id == "preset-not-chosen" else continuing.MOST


def _preset(job: Job) -> presets.Preset:
    if not job.model.folder:
        raise ModelError("preset-not-chosen", model=job.model.id)
    preset = reading.of(job.model.folder, job.base)
    if not preset.reads_text:
        raise ModelError("preset-other-network", path=str(preset.folder), file="config.json", network=preset.kind)
    return preset


def _tokens_about(turns: Sequence[Turn]) -> int:
    return _A_CHAT + sum(_A_TURN + sorting.pieces_about(turn.text) for turn in turns)


def _length(job: Job, each: Sequence[int]) -> int:
    given = job.data.sequence_length
    if given != AUTO:
        return int(given)
    try:
        longest = _preset(job).longest
    except ModelError:
        longest = SIZES[-1]
    return min(_fitting(each), longest)


def _fitting(each: Sequence[int]) -> int:
    wanted = float(np.quantile(np.array(each), sorting.WHOLE))
    return SIZES[min(len(SIZES) - 1, bisect_left(SIZES, wanted))]


def _preview(found: Chats, job: Job) -> dict[str, object]:
    """Some, each with its first question and its last answer."""
    kept = validation_mask(keys_of_rows(len(found.chats), job.training.seed), job.data.validation)
    texts = [
        {
            "text": short(next(one for one in turns if one.role == "user").text, SAMPLE_LETTERS),
            "class": short(turns[-1].text, SAMPLE_LETTERS),
            "kept": bool(mine) and not found.sampled,
        }
        for turns, mine in [*_some(found, kept, side=True), *_some(found, kept, side=False)]
    ]
    lines = [f"{' '.join(str(one['text']).split())} → {' '.join(str(one['class']).split())}" for one in texts]
    return {"texts": texts, "text": "\n".join(lines)}


def _some(found: Chats, kept: Bools, *, side: bool) -> list[tuple[tuple[Turn, ...], bool]]:
    both = zip(found.chats, kept.tolist(), strict=True)
    return list(islice(((turns, mine) for turns, mine in both if mine == side), SHOWN))


@dataclass(frozen=True)
class Question:
    """As a model reads it.

    Attributes:
        tokens: What stands before its answer; *ends*: those with which the answer ends.
        left_out: How many of the first questions of the conversation it does not see, with their answers.
        blanks: How many its answer begins with that it does not say: the tokenizer's, and the template's.
    """

    tokens: list[int]
    ends: frozenset[int]
    left_out: int = 0
    blanks: int = 0


def question(description: Mapping[str, object], asked: str, before: Sequence[Turn] = ()) -> Question:
    """A question as a model of that *description* was asked in training.

    Args:
        before: The conversation so far, questions and answers in turn. The earliest are left out where the model's
            length has no room for them, a quarter of it being kept for the answer.

    Raises:
        DataError: data-prompt-empty, data-prompt-too-long.
        RunError: ``result-unreadable``.
    """
    cutter = continuing.of_result(description)
    if not asked.strip():
        raise DataError("data-prompt-empty")
    if not isinstance(cutter, Published):  # the card of somebody else's run names another
        raise RunError("result-unreadable", path=str(description.get("folder")), raw="no tokenizer with a template")
    writer, most = Writer(cutter, str(description.get("chat_template"))), whole(description.get("sequence_length"))
    turns = (*before, Turn("user", asked.strip()))
    try:
        tokens, _, left_out = writer.later(turns, most - max(1, most // ANSWER_SHARE))
        ends = writer.ends
    except KeyError as error:  # no template that is known, or one whose tokens are not there
        raise RunError("result-unreadable", path=str(description.get("folder")), raw=f"no template {error}") from error
    if len(tokens) > most - 1:
        raise DataError("data-prompt-too-long", tokens=len(tokens), most=most - 1)
    behind: Behind = "token" if tokens[-1] in cutter.standing.values() else "text"
    return Question(tokens, ends, left_out, cutter.blank_put(behind) + template.has_blank(writer.id))


def without_blanks(pieces: Iterator[str], count: int) -> Iterator[str]:
    """An answer without as many blanks at its begin, if they are there."""
    for piece in pieces:
        mine = min(count, len(piece) - len(piece.lstrip(" ")))
        count = count - mine if mine == len(piece) else 0
        if said := piece[mine:]:
            yield said

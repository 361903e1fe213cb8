"""Questions with their answers, and chats, out of a table or JSON lines: who says what, or why a line is none.

What stands where is told by the names of the columns (`layout_of`); ``data.target`` names the column of answers, or of
whole chats, and ``data.columns`` that of questions, by "text". What a chat becomes for a model: ``instructing``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tpu_studio.data import jsonlines, tablefile
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.chatlayout import QUESTIONS, Layout, fields_of, layout_of
from tpu_studio.data.looked import NAMED_BROKEN, Broken
from tpu_studio.data.rows import RowTally
from tpu_studio.data.textlayout import RECORDS, TABLES
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.pretrained.template import Role, Turn

LEAST = 10  # chats
_PROBED = 100  # lines, whose names are those of the columns
SAMPLE_BYTES = 16 * 2**20  # that a look reads of lines with whole chats
_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "chatgpt": "assistant",
}


@dataclass(frozen=True)
class Chats:
    """*whole*: how many there are in all, of which these are a sample; about, then."""

    chats: list[tuple[Turn, ...]]
    whole: int
    layout: Layout
    broken: list[Broken] = field(default_factory=list)
    broken_count: int = 0

    @property
    def sampled(self) -> bool:
        return self.whole > len(self.chats)


class NoChat(ValueError):
    """Why a line is no chat, an id; *where*: the field."""

    def __init__(self, why: str, where: str) -> None:
        super().__init__(why)
        self.why, self.where = why, where


def examine(job: Job, path: Path, watch: Watch) -> Chats:
    """A sample that tells what is there; all of it where that is little. Raises as `Stream`."""
    return _held(Stream(job, path, watch, whole=False))


def read(job: Job, path: Path, watch: Watch) -> Chats:
    """All of them. Raises as `Stream`."""
    return _held(Stream(job, path, watch, whole=True))


def _held(stream: Stream) -> Chats:
    found = list(stream)
    tally = stream.tally
    return Chats(found, round(len(found) * stream.times), stream.layout, tally.broken, tally.broken_count)


class Stream:
    """Chats one after the other, none of which is kept here; *tally*: what is none.

    Attributes:
        times: How many times as many there are as were given by then.

    Raises:
        DataError: data-no-chats, data-target-missing, and as `tablefile.opened` and `jsonlines.objects`; at the end
            data-too-broken, data-too-few.
    """

    def __init__(self, job: Job, path: Path, watch: Watch, *, whole: bool) -> None:
        if path.suffix.lower() not in TABLES:
            raise DataError("data-no-chats", path=str(path), columns=[])
        self.tally = RowTally()
        open_rows = _lines if path.suffix.lower() in RECORDS else _rows
        self.layout, self._found, self._times = open_rows(job, path, self.tally, watch, whole=whole)
        self._path, self._allowed = path, job.data.max_broken_share

    @property
    def times(self) -> float:
        return max(1.0, self._times())

    def __iter__(self) -> Iterator[tuple[Turn, ...]]:
        count = 0
        for line, row in self._found:
            try:
                turns = turns_of(row, self.layout)
            except NoChat as problem:
                self.tally.broken_count += 1
                if len(self.tally.broken) < NAMED_BROKEN:
                    self.tally.broken.append(Broken(f"line {line}, {problem.where}", problem.why))
                continue
            count += 1
            yield turns
        check_broken(self.tally.broken_count, count + self.tally.broken_count, self._allowed, self.tally.broken)
        if count < LEAST and round(count * self.times) == count:  # of a sample there are more
            raise DataError("data-too-few", path=str(self._path), count=count, needed=LEAST)


_Rows = Iterator[tuple[int, Mapping[str, object]]]
_Opened = tuple[Layout, _Rows, Callable[[], float]]
"""Who says what, the rows with their lines, and how many times as many there are as were read by then."""


def _lines(job: Job, path: Path, tally: RowTally, watch: Watch, *, whole: bool) -> _Opened:
    size, read = path.stat().st_size, [0]
    told: set[str] = set()
    lists: dict[str, bool] = {}  # by name; what they hold is not kept: a line may have four million letters
    for line, _, row in islice(jsonlines.objects(path, RowTally(), watch), _PROBED):  # not each has all of the names
        found = {name: isinstance(value, list) for name, value in row.items() if value is not None}
        lists = {**dict.fromkeys(row, False), **lists, **{name: found[name] for name in found if name not in told}}
        told |= found.keys()
        if len(lists) > jsonlines.MOST_NAMES:
            raise DataError("data-too-many-names", path=str(path), line=line, allowed=jsonlines.MOST_NAMES)
    layout = _layout(job, path, list(lists), {name for name, is_list in lists.items() if is_list})

    def rows() -> _Rows:
        for line, so_far, row in jsonlines.objects(path, tally, watch, None if whole else SAMPLE_BYTES):
            read[0] = so_far
            yield line, row

    return layout, rows(), lambda: size / read[0] if not whole and read[0] > SAMPLE_BYTES else 1.0


def _rows(job: Job, path: Path, tally: RowTally, watch: Watch, *, whole: bool) -> _Opened:
    table = tablefile.opened(path, watch)
    sample = table.sample(watch)
    layout = _layout(job, path, table.names, frozenset())  # cells are texts

    def rows() -> _Rows:
        if not whole:
            tally.broken_count, tally.broken = sample.tally.broken_count, list(sample.tally.broken)
        for number, row in enumerate(table.read(tally, watch) if whole else sample.rows, 1):
            yield tally.line if whole else number + table.above, dict(zip(table.names, row, strict=True))

    return layout, rows(), lambda: 1.0 if whole else sample.about / max(1, len(sample.rows))


def _layout(job: Job, path: Path, names: Sequence[str], lists: Set[str]) -> Layout:
    """*lists*: names of what holds lists, as turns are. Raises DataError ``data-no-chats``, ``data-target-missing``."""
    known = layout_of(names)
    target = job.data.target or known.target
    asked = [name for name, kind in job.data.columns.items() if kind == QUESTIONS]
    for name in (*([target] if target else []), *asked):
        if name not in names:
            raise DataError("data-target-missing", path=str(path), column=name, nearest=None, columns=list(names)[:50])
    if target == known.target and not asked:
        if not target:
            raise DataError("data-no-chats", path=str(path), columns=list(names)[:20])
        return known
    if target and (target in lists or target == known.chat):
        return Layout(chat=target, system=known.system)
    others = [name for name in names if name != target]
    question = asked[0] if asked else known.question if known.question != target else ""
    question = question or (others[0] if len(others) == 1 else "")
    if not question or not target or question == target:
        raise DataError("data-no-chats", path=str(path), columns=list(names)[:20])
    more = known.more if known.more not in (target, question) else ""
    return Layout(question=question, answer=target, more=more, system=known.system)


def turns_of(row: Mapping[str, object], layout: Layout) -> tuple[Turn, ...]:
    """Who says what in a *row*: a system's turn, if there is one, then questions and answers by turns, an answer last.

    Raises:
        NoChat: Why it is none.
    """
    system = _text(row, layout.system, "").strip() if layout.system else ""
    if not layout.chat:
        question, more = _text(row, layout.question), _text(row, layout.more, "") if layout.more else ""
        answer = _text(row, layout.answer)
        asked = "\n\n".join(one for one in (question.strip(), more.strip()) if one)
        for text, where in ((asked, layout.question), (answer.strip(), layout.answer)):
            if not text:
                raise NoChat("chat-empty", where)
        turns = [Turn("user", asked), Turn("assistant", answer.strip())]
    else:
        turns = _turns(row.get(layout.chat), layout.chat)
    if system and turns[0].role != "system":
        turns = [Turn("system", system), *turns]
    return tuple(turns)


def _turns(value: object, column: str) -> list[Turn]:
    if isinstance(value, str):  # a table's cell
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise NoChat("chat-no-list", column) from None
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        raise NoChat("chat-no-list", column)
    turns = [_turn(one, f"{column}[{place}]") for place, one in enumerate(value)]
    said = turns[1:] if turns[0].role == "system" else turns
    if not any(turn.role == "assistant" for turn in turns):
        raise NoChat("chat-no-answer", column)
    for place, turn in enumerate(said, len(turns) - len(said)):
        if (turn.role == "user") != ((place - len(turns) + len(said)) % 2 == 0) or turn.role == "system":
            raise NoChat("chat-order", f"{column}[{place}]")
    return turns[: len(turns) - (turns[-1].role == "user")]  # a last question that nobody answered


def _turn(given: Mapping[str, object], where: str) -> Turn:
    kind, text = fields_of(given)
    role = given.get(kind)
    if not isinstance(role, str) or not role:
        raise NoChat("chat-no-role", f"{where}.{kind}")
    known = _ROLES.get(role.strip().lower())
    if known is None:
        raise NoChat("chat-unknown-role", f"{where}.{kind}")
    said = _text(given, text, where=f"{where}.{text}").strip()
    if not said and known != "system":
        raise NoChat("chat-empty", f"{where}.{text}")
    return Turn(known, said)


def _text(row: Mapping[str, object], name: str, usual: str | None = None, where: str = "") -> str:
    value = row.get(name, usual)
    if value is None:
        value = usual if usual is not None else ""
    if isinstance(value, (int, float)):  # an answer that is a number, as JSON writes it; True, too
        return json.dumps(value)
    if not isinstance(value, str):
        raise NoChat("chat-no-text", where or name)
    return value if value.isascii() else value.encode("utf-8", "replace").decode()

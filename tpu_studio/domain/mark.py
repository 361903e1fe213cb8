"""What a person notes about a run of theirs: the name it is shown by, tags, a note, a star.

Pure. Kept in the home (`workflow.marks`), never in the run: nothing of it goes along where a run is sent, and nothing
of a stranger's comes with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tpu_studio.wire.brief import cut
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.visible import bare, one_line, visible

NAME_LETTERS, TAG_LETTERS, NOTE_LETTERS = 80, 40, 2000
TAGS = 20


@dataclass(frozen=True)
class Mark:
    """Attributes:
    name: "" as its job called it.
    tags: A line each, in the order in which they were given; none twice, capitals or not.
    note: Plain text of several lines.
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    star: bool = False

    @property
    def first_line(self) -> str:
        """Of the note, for a list."""
        return self.note.partition("\n")[0]


def clean(name: object) -> str:
    """*name* as it can be shown: without what is unseen, in one line, and not too long."""
    return cut(_line(name), NAME_LETTERS) if isinstance(name, str) else ""


def tagged(mark: Mark, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Mark:
    """*mark* with tags more and less; a comma parts two, and one that is there already, or absent, changes nothing.

    Raises:
        BadInput: ``tag-empty``, ``tag-too-long``, ``tags-too-many``, ``mark-not-text``.
    """
    add = [_text(one, "tag") for one in add]
    tags = {tag.casefold(): tag for tag in mark.tags}
    for one in remove:
        tags.pop(_line(one).casefold(), None)
    for tag in (_line(part) for one in add for part in one.split(",")):
        if not tag:
            raise BadInput("tag-empty")
        if len(tag) > TAG_LETTERS:
            raise BadInput("tag-too-long", letters=len(tag), most=TAG_LETTERS)
        tags.setdefault(tag.casefold(), tag)
        if len(tags) > TAGS:
            raise BadInput("tags-too-many", most=TAGS)
    return replace(mark, tags=tuple(tags.values()))


def noted(mark: Mark, text: str) -> Mark:
    """*mark* with *text* as its note, "" for none. Raises BadInput ``note-too-long``, ``mark-not-text``."""
    note = _lines(_text(text, "note"))
    if len(note) > NOTE_LETTERS:
        raise BadInput("note-too-long", letters=len(note), most=NOTE_LETTERS)
    return replace(mark, note=note)


def _text(words: str, what: str) -> str:
    """*words*, unless a terminal gave bytes that are no letters. Raises BadInput ``mark-not-text``."""
    try:
        words.encode()
    except UnicodeEncodeError:
        raise BadInput("mark-not-text", what=what) from None
    return words


def of_record(record: object) -> Mark:
    """What a file tells of a run; what is odd in it counts as nothing."""
    if not isinstance(record, Mapping):
        return Mark()
    told = record.get("tags")
    lines = (
        cut(_line(tag.replace(",", " ")), TAG_LETTERS)
        for tag in (told if isinstance(told, list) else ())[:TAGS]
        if isinstance(tag, str)
    )
    tags = {tag.casefold(): tag for tag in lines if tag}
    note = record.get("note")
    text = cut(_lines(note), NOTE_LETTERS) if isinstance(note, str) else ""
    return Mark(clean(record.get("name")), tuple(tags.values()), text, record.get("star") is True)


def to_record(mark: Mark) -> dict[str, object]:
    """Of a mark, what is there."""
    record = {"name": mark.name, "tags": list(mark.tags), "note": mark.note, "star": mark.star}
    return {name: value for name, value in record.items() if value}


def _line(text: str) -> str:
    words = " ".join(one_line(_whole(text)).split())
    return words if bare(words).strip() else ""  # of letters that show as nothing alone


def _lines(text: str) -> str:
    return visible(_whole(text).replace("\r\n", "\n").replace("\r", "\n")).strip()


def _whole(text: str) -> str:
    """Without half characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")

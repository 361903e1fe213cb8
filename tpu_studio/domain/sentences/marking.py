"""Words for what a person notes about runs."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

_NOTHING = "Nothing was changed, and nothing was charged."
_UNREAD = "Names, tags, notes and stars of your runs cannot be read"

ERRORS: dict[str, Entry] = {
    "tag-empty": lambda f: Sentence("A tag needs a letter", f"It was empty. {_NOTHING}", "Write a word or two."),
    "tag-too-long": lambda f: Sentence(
        f"A tag has at most {f.text('most', '40')} letters",
        f"It had {f.text('letters', 'more')}. {_NOTHING}",
        "Write a shorter one; a note has room for more.",
    ),
    "tags-too-many": lambda f: Sentence(
        f"A run has at most {f.text('most', '20')} tags", _NOTHING, "Remove one first, or write it into the note."
    ),
    "note-too-long": lambda f: Sentence(
        f"A note has at most {f.text('most', '2000')} letters",
        f"It had {f.text('letters', 'more')}. {_NOTHING}",
        "Shorten it; what belongs to the results fits into a file of its own.",
    ),
    "mark-not-text": lambda f: Sentence(
        f"This {f.text('what', 'note')} is not in UTF-8",
        f"It holds bytes that are no letters, as a file in another encoding does. {_NOTHING}",
        "Write it anew, or convert it first: `iconv -f latin1 -t utf-8 FILE`.",
    ),
    "marks-damaged": lambda f: Sentence(
        _UNREAD,
        f"“marks.json” in {f.text('folder', 'your home')} is damaged. Your runs are whole, and are called as their jobs "
        "are. Nothing was charged.",
        "The file is kept: put back a copy of it if you have one. The first change that you make puts it aside as "
        f"“{f.text('aside', 'marks.damaged')}” in that folder, and begins anew.",
    ),
    "marks-unreadable": lambda f: Sentence(
        _UNREAD,
        f"“marks.json” in {f.text('folder', 'your home')}: {f.text('raw', 'the system gives no reason')}. Your runs are "
        "whole, and are called as their jobs are. Nothing was charged.",
        "The file is kept, and nothing changes it. Make it readable, or try again in a moment.",
    ),
    "marks-full": lambda f: Sentence(
        "There is no room for more notes",
        f"Names, tags and notes of all runs together take {f.text('most', '16')} MB at most. {_NOTHING}",
        "Remove the notes of runs that you no longer need.",
    ),
}

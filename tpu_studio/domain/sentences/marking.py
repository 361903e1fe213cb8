"""Words for what a person notes about runs."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

_NOTHING = "Nothing was changed, and nothing was charged."

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
    "marks-full": lambda f: Sentence(
        "There is no room for more notes",
        f"Names, tags and notes of all runs together take {f.text('most', '16')} MB at most. {_NOTHING}",
        "Remove the notes of runs that you no longer need.",
    ),
}

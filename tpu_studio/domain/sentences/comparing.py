"""Words for comparing runs."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

_NOTHING = "Nothing was changed, and nothing was charged."

ERRORS: dict[str, Entry] = {
    "compare-too-few": lambda f: Sentence(
        "It takes two runs to compare", f"{f.text('count', 'Fewer')} given. {_NOTHING}", "Name another run."
    ),
    "compare-too-many": lambda f: Sentence(
        f"At most {f.text('most', '20')} runs are compared at a time",
        f"{f.text('count', 'More')} were given; more lines than that nobody tells apart. {_NOTHING}",
        "Leave some out.",
    ),
    "compare-twice": lambda f: Sentence(
        f"{f.text('run', 'A run')} was named twice", f"A run does not differ from itself. {_NOTHING}", "Name it once."
    ),
}

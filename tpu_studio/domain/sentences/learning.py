"""Words for what Learn keeps of a person."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

ERRORS: dict[str, Entry] = {
    "learn-unreadable": lambda f: Sentence(
        "What you did in Learn cannot be read now",
        f"The system says: {f.text('raw', 'no reason')}. {f.file('file', 'The file')} stays as it is. What you do "
        "meanwhile counts while this window is open, and is added to it once it can be read. Nothing was charged.",
        "Go on: each step tries again.",
    ),
    "learn-full": lambda f: Sentence(
        "There is no room for more of what you do in Learn",
        f"{f.file('file', 'The file')} has grown too large, and stays as it is. Nothing was charged.",
        "Begin a chapter anew that you no longer need.",
    ),
}

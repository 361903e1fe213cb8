"""Words for texts that are brought to be explained."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

_NOTHING = "Nothing was sent anywhere, and nothing was charged."

ERRORS: dict[str, Entry] = {
    "log-binary": lambda f: Sentence(
        "That is no text",
        f"In its {f.bytes('bytes', 'bytes')} no letters of a usual encoding were found. {_NOTHING}",
        "Bring the log as a text file, or copy the error text itself.",
    ),
    "log-in-a-share": lambda f: Sentence(
        f"{f.file('file', 'The file')} is on another computer and was not opened",
        f"Opening it would tell that computer that you ask, and on Windows who you are. {_NOTHING}",
        "If you trust it, copy it to this computer, and choose the copy.",
    ),
    "log-unreadable": lambda f: Sentence(
        f"{f.file('file', 'The file')} cannot be read",
        f"The system says: {f.text('raw', 'no reason')}. {_NOTHING}",
        "Look whether the path is right and whether you may read it.",
    ),
}

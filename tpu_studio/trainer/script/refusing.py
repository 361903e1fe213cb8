"""What no plain script says yet: refused by name, with the reason; ``domain.sentences.result`` has the words."""

from __future__ import annotations

from tpu_studio.wire.errors import RunError

MOST_BYTES = 1 << 29  # of decoded data, all of which a script holds in memory

WHY = (
    "own-model",  # a person's own file builds it
    "other-layers",  # of a KerasHub folder, or of a family that no module of `networks` says
    "other-run",  # its weights began from those of another run
    "converted-data",  # TFRecord shards
    "deep-pictures",  # of more than 8 bits a channel
    "large-data",  # more than a script holds in memory
    "date-columns",
    "mixed-encodings",  # texts in files of different encodings
    "extended",  # trained longer afterwards: a schedule in pieces
    "mixed-pictures",  # Mixup, CutMix
    "table-of-labels",  # pictures with several labels each
    "chats",  # questions and answers, written down by a chat template
    "no-plan",  # an exported result, of which nobody knows how it was trained
)


def refusal(why: str) -> RunError:
    """*why*: one of `WHY`."""
    assert why in WHY, why
    return RunError("export-no-script", why=why)

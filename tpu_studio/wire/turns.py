"""The conversation that goes with a question to a model that answers: how it stands in a line of JSON, and its bounds.

    "turns": [{"role": "user", "text": "…"}, {"role": "assistant", "text": "…"}, …]

The window sends it (`sent`), `trainer.predict.serving` reads it (`read`). Which of it the model has room for, the
trainer finds: it has the tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.pretrained.template import Role, Turn

MOST_PAIRS = 100
MOST_LETTERS = 200_000  # of all turns; a context of 8,192 tokens is some 40,000
_ROLES: tuple[Role, Role] = ("user", "assistant")


def sent(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """As many of the last *pairs*, questions with their answers, as `read` takes."""
    found: list[dict[str, str]] = []
    letters = 0
    for pair in reversed(pairs[-MOST_PAIRS:]):
        letters += sum(map(len, pair))
        if letters > MOST_LETTERS:
            break
        found[:0] = ({"role": role, "text": text} for role, text in zip(_ROLES, pair, strict=True))
    return found


def read(value: object) -> tuple[Turn, ...]:
    """Questions and answers in turn, the first by the user, the last by the model; none where *value* is None.

    Raises:
        BadInput: ``predict-bad-question``, which says what is wrong with them.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _refused("they are no list")
    if len(value) % 2 or len(value) > 2 * MOST_PAIRS:
        raise _refused(f"{len(value)} are not up to {MOST_PAIRS} questions with an answer each")
    turns = tuple(_turn(one, _ROLES[place % 2]) for place, one in enumerate(value))
    if sum(len(one.text) for one in turns) > MOST_LETTERS:
        raise _refused(f"they have more than {MOST_LETTERS:,} letters")
    return turns


def _turn(value: object, role: Role) -> Turn:
    if not isinstance(value, dict) or value.keys() != {"role", "text"} or value["role"] != role:
        raise _refused("user and assistant do not take turns, beginning with the user")
    text = value["text"]
    if not isinstance(text, str) or not text.strip():
        raise _refused("one of them says nothing")
    return Turn(role, text.strip())


def _refused(why: str) -> BadInput:
    return BadInput("predict-bad-question", raw=f"turns: {why}")

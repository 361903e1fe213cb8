"""What the Run page and the lists say of a rented run that came here as files: its own claim, nothing more. Pure.

This computer has asked nobody whether it is so: nothing of it is green, nothing goes on, and what it says of money and
of deletion is said as its word.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels.runfacts import Tone
from tpu_studio.viewmodels.runhappened import Line
from tpu_studio.viewmodels.runnumbers import Number
from tpu_studio.viewmodels.runstages import Stage

UNFINISHED = "unfinished"  # it was copied while it went on; what became of it is not here


def pill(word: str, view: RunView) -> tuple[str, Tone]:
    """*word*: what the pill of one's own run would say."""
    return f"Copy: {word[0].lower()}{word[1:]}" if view.over and view.settled else f"Copy: {UNFINISHED}", "neutral"


def stages(own: tuple[Stage, ...], view: RunView) -> tuple[Stage, ...]:
    """The last one is about the bill."""
    told = tuple(replace(stage, state="told") if stage.state in ("done", "current") else stage for stage in own)
    last = told[-1]
    if not (view.over and view.settled):
        return (*told[:-1], replace(last, title="Cleaned up", state="ahead", progress=0.0, caption="not in the copy"))
    return (*told[:-1], replace(last, caption=f"it says: {last.caption}"))


def numbers(own: tuple[Number, ...]) -> tuple[Number, ...]:
    return tuple(
        replace(one, tone="neutral" if one.tone == "ok" else one.tone, label=f"{one.label}, it says")
        if one.icon == "circle-dollar-sign"
        else replace(one, tone="neutral" if one.tone == "ok" else one.tone)
        for one in own
    )


def lines(own: tuple[Line, ...]) -> tuple[Line, ...]:
    return tuple(
        replace(
            line,
            tone="neutral" if line.tone in ("ok", "accent") else line.tone,
            text=f"It says: {line.text[0].lower()}{line.text[1:]}" if line.proof else line.text,
        )
        for line in own
    )

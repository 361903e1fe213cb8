"""A profile in three sentences, with shares of time; and why there is none. Pure."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.profiles import Profile
from tpu_studio.domain.sentences.sentence import Sentence
from tpu_studio.wire.visible import visible

TOLD_FROM = 0.005  # a smaller share is none
_WHY = {
    "stopped": "The run was stopped before enough steps were profiled.",
    "stopping": "The run is being stopped, so no steps are left to profile.",
    "too-few": "Training ended before enough steps were profiled.",
    "not-started": "The profiler did not answer.",
    "not-read": "The profiler's file could not be read.",
    "disk": "The disk is full or cannot be written to.",
    "run-is-over": "The run ended before it was made.",
}


def three(profile: Profile, noun: str) -> tuple[str, str, str]:
    """What the device is made for, what else it does, and when it has nothing to do. *noun*: pictures, rows…"""
    device, made = ("TPU", "it is made for") if profile.on_tpu else ("processor", "the model itself is")
    shares = profile.shares
    first = f"The {device} multiplies matrices {_share(shares['matrix'])} of the time, which is what {made}."
    second = f"{_share(shares['memory'])} goes into the rest of a step, where memory sets the pace, not arithmetic"
    if shares["collectives"] >= TOLD_FROM:
        second += f"; in {_share(shares['collectives'])} the chips exchange numbers and wait for one another"
    second += "."
    return first, second, _idle(profile, noun)


def _idle(profile: Profile, noun: str) -> str:
    if profile.idle < TOLD_FROM:
        return "It is never without work."
    why = {
        "data": f"the next {noun}",
        "host": "the program that hands it the steps",
        "compile": "a program that is being compiled",
    }
    told = [(kind, profile.shares[kind]) for kind in why if profile.shares[kind] >= TOLD_FROM]
    if len(told) <= 1:
        kind = told[0][0] if told else "host"
        return f"{_share(profile.idle)} of the time it has nothing to do and waits for {why[kind]}."
    parts = [f"{_share(share)} for {why[kind]}" for kind, share in sorted(told, key=lambda one: -one[1])]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{_share(profile.idle)} of the time it has nothing to do and waits: {listed}."


def not_made(why: str, raw: str = "") -> Sentence:
    """Why a profile was not made; the run is as it was."""
    title = "No profile was made"
    meaning = f"{_WHY.get(why, 'Something came between.')} The run itself is not touched by it."
    action = "" if why in ("stopped", "stopping", "run-is-over") else "Ask again while the run trains."
    if why == "disk":
        action = "Free some space, then ask again."
    return Sentence(
        title, f"{meaning} ({visible(raw)})" if raw and why in ("not-started", "not-read") else meaning, action
    )


def _share(value: float) -> str:
    """Less than one in a hundred is told as that: 0% would be none."""
    return "less than 1%" if 0 < value < 0.01 else figures.share(value, 0)

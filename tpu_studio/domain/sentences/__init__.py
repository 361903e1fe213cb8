"""The words for every id: errors, reasons, notices, findings and checks. One file for each area.

`say` and its siblings give a `Sentence` (title, meaning, action). An id from a newer version gets a decent general
sentence; a test searches the source and fails where one of ours is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tpu_studio.domain.sentences import (
    advice,
    bases,
    catalogue,
    check,
    cloud,
    cloudnotices,
    colab,
    comparing,
    converting,
    data,
    engine,
    explaining,
    hub,
    hubdata,
    importing,
    job,
    lasting,
    learning,
    marking,
    model,
    notices,
    practice,
    reaching,
    result,
    run,
    signin,
    stops,
    tablefiles,
)
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence, tell
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.reasons import Reason

__all__ = [
    "ERRORS",
    "FINDINGS",
    "NOTICES",
    "REASONS",
    "Sentence",
    "say",
    "say_check",
    "say_finding",
    "say_notice",
    "say_reason",
    "why_broken",
]

ERRORS: dict[str, Entry] = {
    **job.ERRORS,
    **data.ERRORS,
    **tablefiles.ERRORS,
    **comparing.ERRORS,
    **converting.ERRORS,
    **explaining.ERRORS,
    **engine.ERRORS,
    **model.ERRORS,
    **hub.ERRORS,
    **bases.ERRORS,
    **hubdata.ERRORS,
    **run.ERRORS,
    **importing.ERRORS,
    **result.ERRORS,
    **catalogue.ERRORS,
    **check.ERRORS,
    **cloud.ERRORS,
    **reaching.ERRORS,
    **signin.ERRORS,
    **practice.ERRORS,
    **colab.ERRORS,
    **advice.ERRORS,
    **lasting.ERRORS,
    **learning.ERRORS,
    **marking.ERRORS,
    **stops.ERRORS,
}
FINDINGS: dict[str, Entry] = {
    **data.FINDINGS,
    **tablefiles.FINDINGS,
    **job.CHECKS,
    **model.CHECKS,
    **hub.CHECKS,
    **bases.CHECKS,
    **check.CHECKS,
    **cloud.CHECKS,
    **colab.CHECKS,
    **advice.CHECKS,
}
NOTICES: dict[str, Entry] = {**notices.NOTICES, **catalogue.NOTICES, **cloudnotices.NOTICES, **lasting.NOTICES}
REASONS: dict[Reason, Entry] = {**run.REASONS, **cloud.REASONS}


def say(error: StudioError) -> Sentence:
    """What a person is told of *error*; the original message of a library stays in ``error.facts["raw"]``, folded away."""
    entry = ERRORS.get(error.id) or FINDINGS.get(error.id)
    if entry is None:
        return Sentence(
            _from_id(error.id), NOTHING_CHARGED, "Try again; if it stays, the details help whoever looks into it."
        )
    said = tell(entry, error.facts)
    return reaching.at_launch(error.id, said) if error.facts.get("launching") else said


def say_untended(error: StudioError) -> Sentence:
    """As `say`, of what keeps a run from being seen to whose machine may be there: that is what is charged."""
    if error.id == "project-deleted":
        return stops.SHUT_DOWN
    if error.id == "billing-off":
        return stops.BILLING_OFF
    said = say(error)
    refused = NOTHING_CHARGED in said.meaning  # only the looking
    return replace(said, meaning=stops.UNTENDED) if refused else said


def say_reason(
    reason: Reason, facts: Mapping[str, object], *, place: str = "", usd: float = 0.0, copy: bool = False
) -> Sentence:
    """Why a run ended. *facts* come with its `end` event; *usd* is what it cost at a rented *place*; *copy*: a rented
    run that was brought here as files, which nobody here has checked."""
    if not places.by_id(place).rents:
        return tell(REASONS[reason], facts)
    facts = {"usd": usd, **facts, "place": place}
    said = cloud.at_a_rented_place(reason, tell(REASONS[reason], facts), Facts(facts))
    return cloud.of_a_copy(said) if copy else said


def say_notice(id: str, facts: Mapping[str, object]) -> Sentence:
    """Something that a running run tells."""
    entry = NOTICES.get(id)
    return tell(entry, facts) if entry else Sentence(_from_id(id), "", "")


def say_finding(id: str, facts: Mapping[str, object]) -> Sentence:
    """Something seen in the data before a run."""
    entry = FINDINGS.get(id) or ERRORS.get(id)
    return tell(entry, facts) if entry else Sentence(_from_id(id), "", "")


def say_check(id: str, title: str, facts: Mapping[str, object]) -> Sentence:
    """A check of a plan: its own title, and the longer words of its id."""
    said = say_finding(id, facts)
    return Sentence(title or said.title, said.meaning, said.action)


def why_broken(why: str) -> str:
    """Why one picture or row was left out, in a few words: "cut short"."""
    return data.WHY_BROKEN.get(why, why.replace("-", " "))


def _from_id(id: str) -> str:
    words = id.replace("-", " ").strip() or "something unexpected happened"
    return words[0].upper() + words[1:]

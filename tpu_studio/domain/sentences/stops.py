"""Why a launch was refused by its own gate: nobody was shown to be able to end the bill."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence
from tpu_studio.wire.reasons import Reason

_NO_STOP: dict[str, str] = {
    "proof-void": "What was tried to show that the stops work showed nothing. ",
    "proof-silent": "Whether the stops work was tried for ten minutes, and Google said nothing of it. ",
    "trial-refused": "One was tried on a name that is not there, and Google did not take its call. ",
    "org-policy": "Your organisation allows no area that has Cloud Tasks. ",
}
_WHOSE: dict[str, str] = {"runner": "The machine's own account", "stopper": "The account of the stops at Google"}
_LACK: dict[str, str] = {
    "absent": "is not there",
    "disabled": "is switched off",
    "conditional": "holds that right under a condition only, which may fail when it is needed",
    "denied": "tried for ten minutes to delete a name that is not there, and was refused",
    "unreadable": "cannot be looked at with your account, and without a stop at Google it could not be tried",
    "no-grant": "holds no such right in the project, and without a stop at Google it could not be tried",
}

ERRORS: dict[str, Entry] = {
    "waiver-not-rented": Sentence(
        "--without-outside-stop is for a rented TPU",
        "Nothing is rented here, so there is nothing to stop from outside. Nothing was started, and nothing was charged.",
        "Leave it away.",
    ),
}
REASONS: dict[Reason, Entry] = {
    Reason.NO_OUTSIDE_STOP: lambda f: Sentence(
        "No stop at Google can be had, so nothing was rented",
        f"{_NO_STOP.get(f.text('error', ''), '')}Without one a machine that hangs would be charged until somebody "
        f"looks.{f.said()} Nothing was charged.",
        "Let the account page prepare the outside stop. Where your organisation or the area allows none, agree for this "
        "one launch to go without: in the review, or with --without-outside-stop.",
    ),
    Reason.STOPS_UNPROVED: lambda f: Sentence(
        f"{_WHOSE.get(f.text('which', ''), 'An account')} may not delete the machine, so nothing was rented",
        f"{f.text('account', 'It')} {_LACK.get(f.text('why', ''), 'was not shown to hold the right to')}.{f.said()} A "
        "machine that nobody may end would be charged without end. Nothing was charged.",
        "Let the account page set it up anew (“The machine's account”, “The stop that works with your computer off”), "
        "then start again. Google takes some minutes to know of a new right.",
    ),
}

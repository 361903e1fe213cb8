"""Words for what keeps Google out of reach: the network, its proxy, this computer's clock, and nobody signed in."""

from __future__ import annotations

import re

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence

_LOOKED_FOR = (
    "Whether anything was made is looked up by its name before anything else is tried; if so, it is charged until it "
    "is deleted."
)

_CLOCK_WRONG = Sentence(
    "This computer's date or time seems to be wrong",
    "Google and this computer disagree about what time it is, so nothing was looked at or changed. A running machine goes "
    "on and is charged until it ends, at its limits at the latest: they go by Google's clock.",
    "Have the system set date and time by itself; the app goes on as soon as they are right.",
)
_GOES_ON = "A running machine goes on and ends at its limits, still without this computer."


def _charged(f: Facts) -> str:
    nothing = f.raw("nothing_rented")  # this computer knows of no run at Google
    return "" if nothing else "A run that goes on is charged until it ends, at its limits at the latest."


def _through(f: Facts) -> str:
    return f" ({f.text('proxy')})" if f.text("proxy") else ""


def _clock_off(f: Facts) -> Sentence:
    ahead_s = float(f.raw("seconds") or 0.0)
    return Sentence(
        f"This computer's clock is {figures.duration(abs(ahead_s))} {'ahead' if ahead_s > 0 else 'behind'}",
        "Nothing more is charged for that: cost, limits and times of this run go by Google's clock, and the limit holds.",
        "Have the system set date and time by itself: when they are far off, Google refuses to sign you in.",
    )


ERRORS: dict[str, Entry] = {
    # Nobody knows yet.
    "network-down": Sentence(
        "Google cannot be reached",
        f"{_LOOKED_FOR} {_GOES_ON}",
        "Check the network; the app goes on by itself when it is back.",
    ),
    "proxy-refused": lambda f: Sentence(
        "The proxy of your network wants a name and a password"
        if f.raw("code") == 407
        else "The proxy of your network does not let TPU Studio through to Google",
        f"Google was not reached{_through(f)}. {_LOOKED_FOR} {_GOES_ON}",
        "Put them into the proxy's address, HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT, and start TPU Studio again; "
        "whoever looks after the network knows them."
        if f.raw("code") == 407
        else "Ask whoever looks after the network to allow *.googleapis.com and accounts.google.com.",
    ),
    "proxy-down": lambda f: Sentence(
        "The proxy of your network cannot be reached",
        f"Google is asked through it{_through(f)}. {_LOOKED_FOR} {_GOES_ON}",
        "If it is only down for a while, wait: the app goes on by itself when it is back. Else check its address in the "
        "system's settings or in HTTPS_PROXY, take it away where there is none, and start TPU Studio again.",
    ),
    "certificate-unknown": lambda f: (
        _CLOCK_WRONG
        if re.search(r"not yet valid|has expired", str(f.raw("raw")))
        else Sentence(
            "Something between you and Google shows a certificate of its own",
            f"It could read along, so nothing is sent to it. {_LOOKED_FOR} {_GOES_ON}",
            "In a company that is its proxy: set REQUESTS_CA_BUNDLE to the file with the company's certificates and start "
            "TPU Studio again. Anywhere else use another network.",
        )
    ),
    "timed-out": Sentence(
        "Google did not answer in time", _LOOKED_FOR, "Nothing to do: it is looked at again by itself."
    ),
    "server-error": lambda f: Sentence(
        "Google had an error of its own",
        f"{_LOOKED_FOR}{f.said()}",
        "Nothing to do: it is looked at again by itself.",
    ),
    "unreadable-reply": lambda f: Sentence(
        "Google's answer could not be read",
        _LOOKED_FOR,
        "It is looked at again by itself; if it stays, something between you and Google changes its answers.",
    ),
    # No usable credentials.
    "signed-out": lambda f: (
        _CLOCK_WRONG
        if "iat and exp" in str(f.raw("raw"))  # of a key file: Google wants the time in what it signs
        else Sentence(
            "You are not signed in to Google",
            f"So nothing was looked at or changed. {_charged(f)}".strip(),
            "Sign in on the Account page (in a terminal: “tpu-studio doctor --use-gcloud”).",
        )
    ),
    "reauth-needed": Sentence(
        "Google wants you to sign in again",
        "That happens from time to time. A run that goes on is not touched; it is still charged until its limits.",
        "Sign in on the Account page.",
    ),
    "scope-missing": Sentence(
        "One of the rights was not ticked while signing in",
        "Without it TPUs can neither be rented nor deleted. Nothing was charged. What was ticked stays granted at Google, "
        "and is not used: myaccount.google.com/permissions takes it back, with the sign-in of your other computers.",
        "Sign in again and leave all boxes ticked.",
    ),
    "two-step-needed": Sentence(
        "Google Cloud wants two-step verification for your account",
        "It has asked this of personal accounts since 2025, and asks it of companies' accounts by and by. Nothing was "
        "looked at or changed; a run that goes on is charged until it ends, at its limits at the latest.",
        "Turn it on in your Google account, under Security, then sign in again.",
    ),
    "client-gone": Sentence(
        "The sign-in client is not known to Google any more",
        "It was deleted or disabled in its project. Nothing was charged.",
        "Give another client id in Settings, or sign in with gcloud.",
    ),
    "not-revoked": lambda f: Sentence(
        f"{f.text('account', 'The account')} is signed out here, and Google was not told",
        "It could not be reached just now. The sign-in is forgotten on this computer; nothing is charged for what Google "
        "still remembers.",
        "Take the access back at myaccount.google.com/permissions.",
    ),
    "signing-out-under-a-run": lambda f: Sentence(
        "Nobody was signed out: a run is on a rented TPU",
        f.text("runs", "It is charged until it ends."),
        "Stop it first (tpu-studio stop), or add --yes.",
    ),
    "clock-off": _clock_off,
}

_LATER = "Start the run again in a while."
_AGAIN = {
    "network-down": "Check the network, then start the run again.",
    "proxy-down": "If it is only down for a while, start the run again then. Else check its address in the system's settings "
    "or in HTTPS_PROXY, take it away where there is none, and start TPU Studio again.",
    "timed-out": _LATER,
    "server-error": _LATER,
    "unreadable-reply": _LATER,
}


def at_launch(id: str, said: Sentence) -> Sentence:
    """Before a run was begun there is nothing that goes on, is looked up, or takes itself up again."""
    return Sentence(said.title, "No run was begun, and nothing was charged.", _AGAIN.get(id, said.action))

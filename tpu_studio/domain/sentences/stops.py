"""Why a launch was refused by its own gate: nobody was shown to be able to end the bill."""

from __future__ import annotations

from tpu_studio.domain.sentences.renting import lender
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence
from tpu_studio.wire.reasons import Reason

PROJECTS = "https://console.cloud.google.com/cloud-resource-manager?pendingDeletion=true"
"""Where a project that is marked for deletion is restored."""
SHUT_DOWN = Sentence(
    "The project of this run was shut down",
    "Google says that this stops its machines and all billing at once; whether this run's machine is gone cannot be looked "
    "at meanwhile. What it had cost stays on the bill, and the copies in the bucket may go much sooner than the project.",
    f"Restore it within 30 days ({PROJECTS}) and link its billing account again; its services may need up to 36 hours. "
    "The run is then taken up, or its machine verified to be gone. Otherwise Google's bill is the last word; nothing is made there any more.",
)
"""While a machine of a run may be there. https://docs.cloud.google.com/resource-manager/docs/delete-restore-projects"""
BILLING_OFF = Sentence(
    "Nobody pays for the project of this run any more",
    "Google says that this stops what is billed in the project, and that some of it may be removed for good; when a TPU "
    "stops, it does not say, and the run cannot be seen to meanwhile. What it cost until then stays on the bill.",
    "Link an open billing account on the Account page: the run is then taken up, or its machine verified to be gone. Look at the "
    "project's TPUs and machines on Google's pages too if that cannot be today.",
)
"""While a machine of a run may be there. https://cloud.google.com/sdk/gcloud/reference/billing/projects/unlink,
https://docs.cloud.google.com/billing/docs/how-to/restart-services; when a TPU stops: the doubt billing-off-machine."""
UNTENDED = (
    "So this run cannot be seen to from here. Its machine goes on and is charged until it ends, at its limits at the "
    "latest."
)
_NO_STOP: dict[str, str] = {
    "proof-void": "The trial that was to show that the shut-off timers work showed nothing. ",
    "proof-silent": "The shut-off timers were tried for ten minutes, and Google's answers did not show whether they work. ",
    "trial-refused": "One was tried on a name that is not there, and Google did not take its call. ",
    "org-policy": "Your organisation allows no region that has Cloud Tasks. ",
    "zone-not-allowed": "Google offers no shut-off timers (Cloud Tasks) in any region that your project may use. ",
}
_QUEUE_GONE = "Google makes no queue of that name there again for up to 3 days."
_ACCOUNT_OFF: dict[str, tuple[str, str]] = {
    "service-disabled": (
        "{service} is not enabled in your project.",
        "Enable it on the Account page (“APIs”); Google needs some minutes for it. Then start again.",
    ),
    "billing-off": (
        "Nobody pays for your project: it has no billing account, or one that is closed.",
        "Link one that is open on the Account page, then start again.",
    ),
    "project-deleted": (
        "Your project is marked for deletion: Google lends nothing to it, and takes no shut-off timers.",
        f"Restore it on Google's page of projects that wait to be deleted ({PROJECTS}), or choose another on the account "
        "page. Then start again.",
    ),
}
_STOP_REFUSED: dict[str, tuple[str, str]] = {
    **_ACCOUNT_OFF,
    "permission-missing": (
        "Your account may not set one.",
        "The Account page names the role, and has the request to the project's owner ready. Then start again.",
    ),
    "act-as-missing": (
        "Your account may not let a timer act as the service account of the shut-off timers.",
        "Let the Account page set that service account up anew (“Shut-off timers”), then start again.",
    ),
    "queue-deleted-lately": (
        f"The queue of the shut-off timers (Cloud Tasks) was deleted in this region, and {_QUEUE_GONE}",
        "Rent in another region, which has a queue of its own, or wait up to 3 days. Then start again.",
    ),
}
_STAYS = "Start again in some minutes. If it stays, let the Account page check “Shut-off timers”."
_AGAIN: dict[str, str] = {
    "org-policy": "Ask whoever looks after your organisation to allow a region that has Cloud Tasks. ",
    "zone-not-allowed": "Take another region. ",
    "proof-void": "Let the Account page check the shut-off timers, and start again. ",
    "proof-silent": "Start again, best in some minutes. ",
    "trial-refused": "Let the Account page set the service account of the shut-off timers up anew, and start again. ",
}
_WHOSE: dict[str, str] = {
    "runner": "The service account for the TPU VM",
    "stopper": "The service account of the shut-off timers",
}
_LACK: dict[str, str] = {
    "absent": "is not there",
    "disabled": "is switched off",
    "conditional": "holds that right under a condition only, which may fail when it is needed",
    "unshown": "was tried, and Google's answers did not show that it may",
    "denied": "tried for ten minutes to delete a name that is not there, and was refused",
    "unreadable": "cannot be read with your account, and without a shut-off timer it could not be tried",
    "no-grant": "holds no such right in the project, and without a shut-off timer it could not be tried",
}


def launch_refused(f: Facts) -> Sentence:
    """By the account, by a shut-off timer that could be had, or by who lends the machine."""
    error = f.text("error")
    if f.raw("stop"):
        why, action = _STOP_REFUSED.get(error, ("", _STAYS))
        title = "The shut-off timers could not be set, so nothing was rented"
    elif error in _ACCOUNT_OFF:
        why, action = _ACCOUNT_OFF[error]
        title = f"{lender(f)} refused the launch, so nothing was rented"
    else:
        said = f"It says: {f.text('raw', 'no reason').rstrip('.')}. Nothing was made, and nothing was charged."
        action = "The Account page tells what is missing; then start it again."
        return Sentence(f"{lender(f)} refused the machine", said, action)
    why = why.format(service=f.text("service", "Cloud Tasks" if f.raw("stop") else "A service"))
    return Sentence(title, f"{why}{f.said()} Nothing was charged.".strip(), action)


_TRIED: dict[str, str] = {
    "no-grant": "no right to delete it is seen in the project. A group, folder or organisation may give it, or Google "
    "does not know of a new one yet. ",
    "unreadable": "what it may do cannot be read with your account. ",
}

ERRORS: dict[str, Entry] = {
    "queue-deleted-lately": Sentence(
        "The queue of the shut-off timers was deleted in this region less than 3 days ago",
        f"{_QUEUE_GONE} Until then nothing is rented here, for nothing would end it with your computer off. "
        "Nothing was charged.",
        "Choose another region on the Account page, or wait up to 3 days and let it be created again.",
    ),
    "waiver-not-rented": Sentence(
        "--without-outside-stop is for a rented TPU",
        "Nothing is rented here, so it needs no shut-off timers. Nothing was started, and nothing was charged.",
        "Leave it away.",
    ),
}
NOTICES: dict[str, Entry] = {
    "stops-tried": lambda f: Sentence(
        "Whether the machine can be stopped is tried first",
        f"{f.text('accounts', 'An account')}: {_TRIED.get(f.text('why'), '')}A deletion of a name that is not there is "
        "tried until Google allows it, for ten minutes at most, beside the upload. Nothing is rented meanwhile.",
        "If a role was changed by hand, let the Account page set it up anew: it is noticed here by itself.",
    ),
}
REASONS: dict[Reason, Entry] = {
    Reason.LAUNCH_REFUSED: launch_refused,
    Reason.NO_OUTSIDE_STOP: lambda f: Sentence(
        "No shut-off timers can be set, so nothing was rented",
        f"{_NO_STOP.get(f.text('error', ''), '')}Without them a machine that hangs would be charged until somebody "
        f"looks.{f.said()} Nothing was charged.",
        f"{_AGAIN.get(f.text('error', ''), '')}Else agree for this one launch to go without: in the review, or with "
        "--without-outside-stop.",
    ),
    Reason.STOPS_UNPROVED: lambda f: Sentence(
        f"{_WHOSE.get(f.text('which', ''), 'An account')} "
        f"{'was refused a deletion' if f.text('why', '') == 'denied' else 'may not delete the machine'}, so nothing was "
        "rented",
        f"{f.text('account', 'It')} {_LACK.get(f.text('why', ''), 'was not shown to hold the right to')}.{f.said()} A "
        "machine that nobody may end would be charged without end. Nothing was charged.",
        "Let the Account page set it up anew (“Service account for the TPU VM”, “Shut-off timers”), "
        "then start again. Google takes some minutes to know of a new right."
        + (" If it stays so with Compute Engine, rent by the TPU API." if f.text("why", "") == "denied" else ""),
    ),
}

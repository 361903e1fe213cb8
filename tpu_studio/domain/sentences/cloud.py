"""Words for the cloud: why it says no, and why a rented run ends. What it tells while it goes on: `cloudnotices`.

Quota and capacity are never confused: at a quota asking again is useless, at missing capacity waiting is right. Errors
are told of calls that made nothing (CloudRefused) or of which nobody knows yet (CloudUnclear); money is named in each.
"""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences import allowance, driving, stops
from tpu_studio.domain.sentences.lasting import copy_in_bucket
from tpu_studio.domain.sentences.renting import lender as _lender
from tpu_studio.domain.sentences.renting import spent, unseen_cost
from tpu_studio.domain.sentences.renting import usd as _usd
from tpu_studio.domain.sentences.renting import what as _what
from tpu_studio.domain.sentences.renting import zone as _zone
from tpu_studio.domain.sentences.run import model_from_before
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import places
from tpu_studio.wire.phases import Status
from tpu_studio.wire.reasons import Reason


def _by_hand(f: Facts) -> str:
    return f", or by hand at {f.text('page')}" if "page" in f else ""


def _there(f: Facts) -> str:
    return f" ({f.text('page')})" if "page" in f else ""


def _payers(f: Facts) -> str:
    listed = [one for one in f.raw("accounts") or () if isinstance(one, dict)]
    if not listed:
        return "Google lends TPUs only to projects that somebody pays for."
    return "; ".join(f"{one.get('title') or 'without a name'}: {one.get('name')}" for one in listed) + "."


ERRORS: dict[str, Entry] = {
    # A definite no.
    **allowance.ERRORS,
    "no-capacity": lambda f: Sentence(
        f"No {f.text('accelerator') or 'TPU'} is free{_zone(f)} now",
        f"This is a shortage, not your quota: others use them at the moment. {NOTHING_CHARGED}",
        "Keep waiting, allow more zones, or try spot.",
    ),
    "create-rate": Sentence(
        "Too many requests in a short time",
        f"Google limits how often machines may be asked for. {NOTHING_CHARGED}",
        "Wait a minute; a run that waits for a machine asks again by itself.",
    ),
    "installer-unfetched": lambda f: Sentence(
        "What the machine installs its Python with could not be fetched",
        f"Machines of Compute Engine have no installer of their own; TPU Studio brings uv, 18 MB, and checks it."
        f"{f.said()} {NOTHING_CHARGED}",
        "Look at the network, or install the training engine, which has pip; then start the run again.",
    ),
    "type-not-in-zone": lambda f: Sentence(
        f"{f.text('accelerator', 'This TPU')} is not offered{_zone(f) or ' in this zone'}",
        NOTHING_CHARGED,
        "Choose a zone that has it; the plan lists them.",
    ),
    "zone-not-allowed": lambda f: Sentence(
        f"Your project may not use TPUs{_zone(f) or ' in this zone'}",
        f"Google grants some zones only to some projects. {NOTHING_CHARGED}",
        "Choose another zone, or ask Google for access to this one.",
    ),
    "tier-not-offered": lambda f: Sentence(
        f"{f.text('tier', 'This tier')} is not offered for {_what(f)}{_zone(f)}",
        NOTHING_CHARGED,
        "Choose another tier in the plan.",
    ),
    "permission-missing": lambda f: Sentence(
        f"Your account may not do that{_permission(f)}",
        f"The project gives it no such right. {NOTHING_CHARGED}",
        "The Account page names the role and who can grant it.",
    ),
    "act-as-missing": lambda f: Sentence(
        "Your account may not start machines as the service account for the TPU VM",
        f"It is {f.text('account', 'the account with which a TPU VM works')}. {NOTHING_CHARGED}",
        "Let the Account page grant the role “Service Account User” on it.",
    ),
    "service-disabled": lambda f: Sentence(
        f"{f.text('service', 'A service of Google Cloud')} is not enabled in your project",
        NOTHING_CHARGED,
        f"Enable it on the Account page{_by_hand(f)}; it takes a few minutes to work everywhere.",
    ),
    "quota-project-needed": Sentence(
        "Google wants to know which project asks, before you have one",
        f"The credentials of gcloud name no project. {NOTHING_CHARGED}",
        "Create your first project at https://console.cloud.google.com/projectcreate, choose it here, and go on.",
    ),
    "billing-off": Sentence(
        "Your project has no billing account",
        f"Google lends TPUs only to projects that can pay. {NOTHING_CHARGED}",
        "Link a billing account on the Account page.",
    ),
    "project-deleted": Sentence(
        "Your project is marked for deletion",
        f"Google deletes it within 30 days, and lends nothing to it. {NOTHING_CHARGED}",
        f"Restore it on Google's page of projects that wait to be deleted ({stops.PROJECTS}), or choose another.",
    ),
    "org-policy": lambda f: Sentence(
        "An organisation policy forbids that",
        f"{f.text('constraint', 'The policy')} is set by whoever looks after your organisation. {NOTHING_CHARGED}",
        "Send them the request that the Account page has ready.",
    ),
    "bad-request": lambda f: Sentence(
        "Google did not accept the request as it was",
        f"It says: {f.text('raw', 'no reason')}. {NOTHING_CHARGED}",
        "Plan again with another size or zone; the details help whoever looks into it.",
    ),
    "exists": lambda f: Sentence(
        f"There is something called {f.text('name', 'that')} already",
        "Nothing new was made, and nothing more was charged. What is there stays as it is.",
        "Look at it under “Find billable resources”.",
    ),
    "not-found": lambda f: Sentence(
        f"{f.text('name', 'What was asked for')} is not there",
        NOTHING_CHARGED,
        "Look at the project and the zone; it may have been deleted.",
    ),
    "precondition": lambda f: (
        Sentence(
            "Google is making the machine and takes no deletion now",
            f"{f.text('name', 'It')} can be deleted the moment it is there; until then nothing is charged.{f.said()}",
            "Try again in some minutes. A run of this computer, and the shut-off timers, take care of it by themselves.",
        )
        if f.raw("state") == "PROVISIONING"
        else Sentence(
            f"{f.text('name', 'It')} is not in a state in which that can be done",
            f"It may be changing at this moment. Nothing was changed, and nothing more was charged.{f.said()}",
            "Try again in a minute.",
        )
    ),
    "terms-not-accepted": lambda f: Sentence(
        "Google's terms of service were never accepted by this account",
        f"Until then it creates no project and enables nothing. {NOTHING_CHARGED}",
        f"Open the Google Cloud console once with this account{_there(f)} and accept the terms; then press again.",
    ),
    "projects-used-up": Sentence(
        "Google lets you create no more projects",
        f"Each account may have a certain number of them, also counting those that wait to be deleted. {NOTHING_CHARGED}",
        "Choose one that you have, or delete one in the Google Cloud console and wait until it is gone.",
    ),
    "key-makes-no-project": Sentence(
        "A key file cannot create projects",
        f"Google lets only people and organisations create them. {NOTHING_CHARGED}",
        "Choose a project that the key may use, or sign in as yourself and create one.",
    ),
    "stopped-waiting": Sentence(
        "You stopped waiting for Google",
        f"What was made by then stays, and costs nothing. {NOTHING_CHARGED}",
        "Press again whenever you like: it goes on from there.",
    ),
    "grant-not-seen": Sentence(
        "A right was granted, and Google does not show it yet",
        f"Google's rights take minutes to be known everywhere. {NOTHING_CHARGED}",
        "Check again in a few minutes; if it is still missing, press once more.",
    ),
    # Ours.
    "practice-machines-unsupported": lambda f: Sentence(
        "Practice machines cannot run on this computer",
        f"{f.text('raw', 'They need Linux').rstrip('.')}. {NOTHING_CHARGED}",
        "Train on this computer instead, or practise on a Linux computer.",
    ),
    "cloud-not-ready": lambda f: Sentence(
        f"{'The practice cloud' if places.by_id(f.raw('place')).rehearses else 'Google Cloud'} is not ready for a run",
        f"{f.text('raw', 'The Account page tells what is missing').rstrip('.')}. {NOTHING_CHARGED}",
        "Open the Account page, or “tpu-studio doctor "
        f"{'--on practice --project my-first-tpu' if places.by_id(f.raw('place')).rehearses else '--project ID'} --fix all”.",
    ),
    "project-taken": lambda f: Sentence(
        f"Somebody else in the world has the project id {f.text('project', 'that you named')}",
        f"Ids are unique among all of Google's projects. Nothing was made. {NOTHING_CHARGED}",
        f"Take another: {f.text('free', 'one with a few letters more')} is free to try (--project).",
    ),
    "billing-account-needed": lambda f: Sentence(
        "Several billing accounts could be billed" if f.raw("accounts") else "You have no open billing account",
        f"{_payers(f)} Nothing was changed. {NOTHING_CHARGED}",
        "Name the one to be billed: --billing-account NAME."
        if f.raw("accounts")
        else "Create one at https://console.cloud.google.com/billing/create, then go on.",
    ),
    "monthly-needed": lambda f: Sentence(
        "The amount that the alert watches for is needed",
        f"Your billing account is in {f.text('currency', 'a currency of its own')}, so no amount is assumed. Nothing was made. "
        f"{NOTHING_CHARGED}",
        f"Add --monthly AMOUNT, in {f.text('currency', 'that currency')}.",
    ),
    "needs-yes": lambda f: Sentence(
        "A rented machine is started only after a yes",
        f"The plan stops at {_usd(f, 'usd') or 'its time limit'}; what a machine that hangs may cost beyond that stands at "
        "“At worst”. Nothing was started, and nothing was charged.",
        "Look at the plan, then add --yes.",
    ),
    "commands-need-a-cloud": Sentence(
        "There are no commands to show: this plan rents nothing",
        f"Only a launch on Google Cloud or on the practice cloud is a matter of gcloud commands. {NOTHING_CHARGED}",
        "Add --on cloud, or --on practice.",
    ),
    "not-a-run-address": lambda f: Sentence(
        f"“{f.text('address')}” is not the address of a run in a bucket",
        f"Nothing was changed. {NOTHING_CHARGED}",
        "It looks like gs://BUCKET/runs/RUN and stands in the run's receipt and on its page.",
    ),
    "bucket-differs": lambda f: Sentence(
        f"The run is in the bucket “{f.text('bucket')}”, here “{f.text('here')}” is chosen",
        "Nothing was changed, and nothing more was charged.",
        f"Choose it with “tpu-studio doctor --bucket {f.text('bucket')}”, then try again.",
    ),
    "price-unknown": Sentence(
        "The price is not known, so no cost limit can hold",
        f"Without a price nothing counts towards the limit, and the time limit alone would end the machine. {NOTHING_CHARGED}",
        "Choose another size, zone or tier. Where you know what it costs, give that with the job (where.usd_per_hour).",
    ),
    "past-platform-limit": lambda f: Sentence(
        "That is longer than the machine itself may run",
        f"This kind of machine is ended by Google after {_hours(f)}, and that cannot be moved. "
        "Nothing was changed, and nothing more was charged.",
        "Let it end, then resume it as a new attempt from its last copy.",
    ),
    "stops-not-moved": lambda f: Sentence(
        "The shut-off timers could not be moved, so the run was not extended",
        f"It still ends at its old limit.{f.said()} Nothing more was charged.",
        "Try again in a minute.",
    ),
}


def _permission(f: Facts) -> str:
    return f": {f.text('permission')} is missing" if "permission" in f else ""


def _hours(f: Facts) -> str:
    value = f.raw("limit_s")
    return figures.duration(float(value)) if isinstance(value, (int, float)) else "a fixed time"


def _waited(f: Facts) -> str:
    value = f.raw("waited_s")
    return f" after {figures.duration(float(value))}" if isinstance(value, (int, float)) else ""


def _no_capacity(f: Facts) -> Sentence:
    what = f.text("accelerator") or "TPU"
    if f.raw("unseen_usd") or f.raw("unseen_s"):
        would = "would have" if places.by_id(f.raw("place")).rehearses else "has"
        return Sentence(
            f"Nobody saw whether a {what} came",
            f"The request is gone, and nothing is left{_asked(f)}. Either there was no capacity, which costs nothing, or a TPU "
            f"came, never said a word and was deleted by a shut-off timer: that {would} cost {unseen_cost(f)} at most.",
            "Start it again, and leave this computer on until training has begun.",
        )
    charged = spent(f) if f.raw("usd") else "Waiting is free: nothing was charged."
    return Sentence(
        f"No {what} became free{_waited(f)}",
        f"This is a shortage, not your quota. Nothing of yours was left waiting{_asked(f)}. {charged}",
        "Start it again at another hour, allow more zones, or try spot.",
    )


REASONS: dict[Reason, Entry] = {
    Reason.NO_CAPACITY: _no_capacity,
    **allowance.REASONS,
    Reason.PREEMPTED: lambda f: Sentence(
        f"{_lender(f)} took the machine back",
        f"That can happen to spot machines at any time. {copy_in_bucket(f)} {spent(f)}",
        "Resume it from the last copy, or plan it as on-demand.",
    ),
    Reason.MACHINE_GONE: lambda f: Sentence(
        "The machine was gone without a word",
        f"It failed, or somebody deleted it. {copy_in_bucket(f)} {spent(f)} Nothing is charged any more.",
        "Resume it from the last copy.",
    ),
    Reason.WORKER_LOST: lambda f: Sentence(
        "One of the slice's machines dropped out",
        f"All of them train one model together, so training ended and the whole slice is deleted. {copy_in_bucket(f)} {spent(f)}",
        "Resume it from the last copy.",
    ),
    Reason.MACHINE_SILENT: lambda f: Sentence(
        "The machine stopped reporting, so it was deleted",
        f"It was still there and charged, but said nothing any more. {copy_in_bucket(f)} {spent(f)}",
        "Resume it from the last copy.",
    ),
    Reason.MACHINE_NEVER_SPOKE: lambda f: Sentence(
        "The machine started but never reported, so it was deleted",
        f"It may have hung while starting, or it cannot reach the bucket. {spent(f)}",
        "Start it again; if it stays, let the Account page check the network and the service account for the TPU VM.",
    ),
    Reason.ENVIRONMENT_FAILED: lambda f: Sentence(
        "The training program could not be installed on the machine",
        f"The machine was deleted.{f.said()} {spent(f)}",
        "Start it again; if it stays, read its log.",
    ),
    Reason.TPU_NOT_OPENED: lambda f: Sentence(
        "The machine is there, but its TPU could not be opened",
        f"Nothing was trained, and the machine was deleted.{f.said()} {spent(f)}",
        "Rent it by the TPU API where it was Compute Engine's; else start it again, or take another size or zone.",
    ),
    Reason.CANNOT_DELETE_ITSELF: lambda f: Sentence(
        "The machine could not prove that it can delete itself",
        f"It asked for up to ten minutes; nothing was trained, so that no bill can run away. The shut-off timers and "
        f"this computer delete it.{f.said()} {spent(f)}",
        "Let the Account page check the roles of the service account for the TPU VM.",
    ),
    Reason.REPORTING_LOST: lambda f: Sentence(
        "The machine could not reach the bucket any more, so it ended",
        f"{copy_in_bucket(f)} {spent(f)}",
        "Resume it from the last copy.",
    ),
    **stops.REASONS,
    Reason.UPLOAD_FAILED: lambda f: Sentence(
        "Job or data could not be brought to the bucket",
        f"{_upload(f)}Nothing was rented. What is in the bucket already is not sent again; "
        "nothing but its storage is charged.",
        "Start it again.",
    ),
    Reason.BUCKET_GONE: lambda f: Sentence(
        "The bucket with the results is gone",
        f"Without it nothing can be saved, so the machine was deleted. {spent(f)}",
        "Let the Account page make a new one, then start again.",
    ),
}


def _asked(f: Facts) -> str:
    return f" in {f.text('zones')}" if "zones" in f else ""


def _upload(f: Facts) -> str:
    return f"{f.said().strip()} " if "raw" in f else ""


def at_a_rented_place(reason: Reason, said: Sentence, f: Facts) -> Sentence:
    """The words of *reason* for a run on a rented machine, where something was charged and the model is elsewhere."""
    if reason in REASONS:
        return said
    if reason is Reason.DISCARDED:
        kept = "No copy of the model was kept; the run's records stay in the bucket, and the receipt has their size."
    elif f.raw("result") is False and (before := model_from_before(f)):
        kept = f"No new model was written. {before}"
    elif f.raw("result") is False:
        kept = f"No model was written. {copy_in_bucket(f)}"
    elif reason.status is Status.FAILED:
        kept = copy_in_bucket(f)
    else:
        kept = f"The model{' so far' if reason is not Reason.COMPLETED else ''} is in the bucket and on this computer."
    if reason is Reason.DISK_FULL:  # nobody can free space there
        said = Sentence("The machine's disk is full", "", "Bring less data, or a smaller model, and start it again.")
    would = "would have" if places.by_id(f.raw("place")).rehearses else "may have"
    unseen = (
        f" While nobody looked, a machine {would} cost {unseen_cost(f)} at most; that counts towards the limits."
        if f.raw("unseen_usd") or f.raw("unseen_s")
        else ""
    )
    return Sentence(said.title, f"{kept} {spent(f)}{unseen}", said.action)


def of_a_copy(said: Sentence) -> Sentence:
    """*said* of a rented run that was brought here as files: who says so, and that this computer has not looked."""
    meaning = said.meaning.replace(" is in the bucket and on this computer.", " is in its bucket.")
    told = f"{meaning} That is what it says of itself; this computer has not checked it.".strip()
    return Sentence(said.title, told, said.action)


CHECKS: dict[str, Entry] = {
    **allowance.CHECKS,
    **driving.CHECKS,
    "accelerator-impossible": lambda f: Sentence(
        f"{f.text('accelerator', 'This TPU')} cannot be had like that",
        f"{f.text('why', 'Something does not go together')} {NOTHING_CHARGED}".replace("..", "."),
        "Leave the size to “auto”, or choose another framework, tier or zone.",
    ),
    "several-machines": lambda f: Sentence(
        f"{f.text('machines', 'Several')} machines train one model together",
        "Each takes its share of every step. All of them are charged, and all are deleted together.",
        "",
    ),
    "compute-engine-untried": Sentence(
        "A TPU of Compute Engine may not open",
        "Two people report that JAX could not open one there (START_SESSION failed), another that it could; the TPU "
        "API gave none of them trouble. If it does not open, the run ends with that reason within minutes of rent, and the "
        "machine is deleted.",
        "Rent it by the TPU API where it is lent there.",
    ),
    "spot-can-end": Sentence(
        "Google may take a spot machine back at any time",
        "The model is saved first if the notice (about 30 s) leaves time. The run goes on with the next machine while "
        "this app is open; with the app closed it waits at no cost.",
        "",
    ),
    "wait-and-hours-too-long": Sentence(
        "Waiting and training together may last 28 days at most",
        f"The shut-off timers cannot be set further ahead. {NOTHING_CHARGED}",
        "Lower “Stop after” or “Wait for a TPU at most”.",
    ),
    "flex-start-too-long": lambda f: Sentence(
        "Flex-start lends a machine for 7 days at most",
        f"Google counts the machine's start, too, and would refuse the request. {NOTHING_CHARGED}",
        f"Lower “Stop after” to {f.raw('most_hours') or 167} hours, or rent on-demand or spot.",
    ),
}

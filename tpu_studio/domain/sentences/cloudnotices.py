"""Words for what a rented run tells while it goes on: waiting, taking back, shut-off timers, money that nobody saw."""

from __future__ import annotations

from tpu_studio.domain.sentences import stops
from tpu_studio.domain.sentences.renting import lender as _lender
from tpu_studio.domain.sentences.renting import unseen_cost
from tpu_studio.domain.sentences.renting import usd as _usd
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence
from tpu_studio.wire import places


def _charged(f: Facts) -> str:
    """`may still be charged`, of the practice cloud what it would be."""
    return "would still be charged" if places.by_id(f.raw("place")).rehearses else "may still be charged"


NOTICES: dict[str, Entry] = {
    **stops.NOTICES,
    "preempted": lambda f: Sentence(
        f"{_lender(f)} takes the machine back",
        "The model is saved in the bucket as far as there is time. The run goes on with the next machine; waiting is free.",
        "",
    ),
    "delete-failing": lambda f: Sentence(
        f"{f.text('name', 'A machine')} could not be deleted yet",
        f"It {_charged(f)}{_rate(f)}. Deleting is tried again until it is verified to be gone.{f.said()}",
        "" if places.by_id(f.raw("place")).rehearses else "If it stays, delete it in the Google Cloud console.",
    ),
    "being-made": lambda f: Sentence(
        "Google is making the machine and takes no deletion now",
        f"{f.text('name', 'It')} is deleted the moment it is there. Until then nothing is charged."
        + (
            " That takes longer than its shut-off timers reach, a day after the deadline: once it is there, only this "
            f"computer stops the billing{_rate(f)}."
            if f.raw("beyond")
            else ""
        ),
        "Leave this computer on." if f.raw("beyond") else "",
    ),
    "delete-proved": lambda f: Sentence(
        f"{f.text('name', 'The machine')} is deleted, and that is verified", "Nothing is charged for it any more."
    ),
    "cost-unseen": lambda f: Sentence(
        f"Nobody saw what became of {f.text('name', 'the machine')}",
        "It was asked for and is gone, and it never said a word. No record says whether it was there meanwhile: if so, it "
        f"{'would have cost' if places.by_id(f.raw('place')).rehearses else 'cost'} "
        f"{unseen_cost(f, 'usd_at_most', 'seconds_at_most')} at most, which the cost of this run names beside what "
        "is certain.",
        ("" if places.by_id(f.raw("place")).rehearses else "The bill of your project has the amount. ")
        + "Leave this computer on until training has begun, and no machine goes unseen.",
    ),
    "counts-unseen": lambda f: Sentence(
        "Time that nobody watched counts towards the limits of this run",
        f"{f.text('name', 'The machine')} is gone, and while nobody looked it "
        f"{'would have' if places.by_id(f.raw('place')).rehearses else 'may have'} cost {unseen_cost(f)} more than is "
        "certain. No word of the machine itself is taken for it.",
        "The next machine has what is left. A higher cost or time limit gives it more.",
    ),
    "stops-left": lambda f: Sentence(
        "Some shut-off timers could not be removed yet",
        "They delete a machine that is gone already: they do no harm and cost nothing. While TPU Studio is open it tries "
        "again every ten minutes; the sweep removes them too.",
        "",
    ),
    "stops-missing": lambda f: Sentence(
        "The shut-off timers could not be set anew",
        "The earlier ones still hold; the machine also ends by itself.",
        "",
    ),
    "left-in-bucket": lambda f: Sentence(
        "There is more in the bucket than a run writes",
        f"What is left out here: {f.text('what')}. What came before is here, and the rest stays in the bucket, where storing it is "
        "charged. Machine and limits are looked after as ever.",
        "If that is not your own code's doing, stop the run. Look into the run's folder in the bucket, and delete what you don't know.",
    ),
    "price-by-list": lambda f: Sentence(
        "The plan of this run has no price: the list's counts",
        f"Cost and cost limit are counted by {_usd(f, 'usd_per_hour') or 'its price'} an hour, the dearest that the list of this computer has "
        "for such a machine. If it is dearer where it runs, more than the limit is charged.",
        "Compare it with Google's price list, and stop the run if it costs more than you want.",
    ),
    "price-not-known": Sentence(
        "What this machine costs is not known, so its cost limit cannot count",
        "It is charged until it is done, or until its time limit.",
        "Look its price up at Google, and stop the run if it costs more than you want.",
    ),
    "limits-not-raised": Sentence(
        "The machine keeps its limits",
        "Somebody else than the computer that rented it asked for more time or money, by a file in the bucket. It ends at "
        "the limits that it was rented with, and nothing is charged beyond them.",
        "If it was you, on a second computer: let it end, and resume the run there. Its next machine has your limits.",
    ),
    "limits-not-believed": Sentence(
        "The bucket holds other limits, which nobody set here",
        "They may come from code on the machine: this computer goes on by the limits that you agreed to, and rents nothing "
        "beyond them.",
        "If you raised them on another computer, extend the run here too; if nobody did, stop it and look at its model file.",
    ),
    "outside-stops-shared": lambda f: Sentence(
        "The shut-off timers act as the service account for the TPU VM",
        f"Should {f.text('account', 'that account')} lose the right to delete, neither the machine nor the timers could "
        "stop the billing while this computer is off.",
        "Let the Account page give the timers a service account of their own; that costs nothing.",
    ),
    "outside-stops-moved": Sentence(
        "The shut-off timers are set to the end of the lease",
        "They delete the machine also when it hangs and this computer is off.",
    ),
    "outside-stops-kept": lambda f: Sentence(
        "The machine could not add shut-off timers at the end of the lease",
        f"Those set before the start still hold, later; the machine also ends by itself.{f.said()}",
    ),
    "self-deletion-unproved": lambda f: Sentence(
        "The machine could not prove that it can delete itself",
        "It asked for up to ten minutes. Nothing is trained on it; a shut-off timer was asked to delete it now, it tries "
        f"itself each minute, and this computer deletes it too.{f.said()}",
        "Let the Account page check the roles of the service account for the TPU VM.",
    ),
    "no-outside-stop": Sentence(
        "This run is stopped only by the machine itself",
        "You agreed to go without shut-off timers. If the machine hangs, it is charged until somebody deletes it.",
        "Look at it now and then.",
    ),
    "cloud-unreachable": lambda f: Sentence(
        "The cloud cannot be reached at the moment",
        f"The run goes on and ends at its limits.{f.said()}",
        "Check the network.",
    ),
    "signed-out": Sentence(
        "You are signed out, so this run cannot be looked at",
        "It goes on and ends at its limits.",
        "Sign in on the Account page.",
    ),
    "two-machines": lambda f: Sentence(
        f"A machine that is not needed was found: {f.text('name', 'a second one')}", "It is being deleted."
    ),
}


def _rate(f: Facts) -> str:
    usd = _usd(f, "usd_per_hour")
    return f" at {usd} an hour" if usd else ""

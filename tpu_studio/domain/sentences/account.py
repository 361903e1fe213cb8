"""Words for the account's checklist: each check in each of its states, and what the repairs are called.

`say_account` gives title, what it means, and what to do; a row shows the title and the meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tpu_studio.domain import figures
from tpu_studio.domain.sentences import cloud, reaching
from tpu_studio.domain.sentences.sentence import Facts, Sentence, tell
from tpu_studio.wire import loans, places

_FREE = "Looking costs nothing."
_ALL_THE_SAME = "Check again in a moment. A run may work all the same."
Entry = Callable[[Facts], Sentence]

TITLES = {
    "signed-in": ("Signed in", "You are not signed in"),
    "project": ("Project chosen", "No project is chosen yet"),
    "billing": ("Billing is on", "Billing is off"),
    "services": ("Google's services are on", "Some of Google's services are off"),
    "permissions": ("You may create and delete TPUs", "You may not create TPUs yet"),
    "org-policy": ("Your organisation allows it", "A rule of your organisation is in the way"),
    "network": ("A network for the TPU", "The network for the TPU is not ready"),
    "bucket": ("A place for results", "No place for results yet"),
    "runner": ("An account for the machine", "No account for the machine yet"),
    "outside-stop": ("The stop that works with your computer off", "The stop from outside is not set up"),
    "quota": ("Google allows you TPUs", "Google allows you no TPUs here yet"),
    "alert": ("Spending alert", "No spending alert yet"),
    "test-loan": ("Test: borrow a TPU for one minute", "Test: borrow a TPU for one minute"),
}
"""Of each check: how it is called when it passes, and when it fails."""

_NEUTRAL = {
    "signed-in": "Signing in",
    "project": "A project",
    "billing": "Billing",
    "services": "Google's services",
    "permissions": "Your permissions",
    "org-policy": "Your organisation's rules",
    "network": "A network for the TPU",
    "bucket": "A place for results",
    "runner": "An account for the machine",
    "outside-stop": "The stop that works with your computer off",
    "quota": "How many TPUs you may use",
    "alert": "Spending alert",
    "test-loan": "Test: borrow a TPU for one minute",
}
"""And while nobody knows yet."""

ROLES = {
    "roles/tpu.admin": "TPU Admin",
    "roles/storage.admin": "Storage Admin",
    "roles/cloudtasks.admin": "Cloud Tasks Admin",
    "roles/iam.serviceAccountUser": "Service Account User",
    "roles/serviceusage.serviceUsageAdmin": "Service Usage Admin",
    "roles/owner": "Owner",
    "roles/editor": "Editor",
    "roles/iam.serviceAccountAdmin": "Service Account Admin",
    "roles/iam.roleAdmin": "Role Administrator",
    "roles/billing.projectManager": "Project Billing Manager",
    "roles/resourcemanager.projectIamAdmin": "Project IAM Admin",
    "roles/compute.networkAdmin": "Compute Network Admin",
    "roles/compute.securityAdmin": "Compute Security Admin",
}
"""As Google's console calls them."""

NAMES = {
    "signed-in": "signing in",
    "project": "choosing a project",
    "billing": "billing",
    "services": "the services",
    "permissions": "your permissions",
    "org-policy": "the organisation's rules",
    "network": "the network",
    "bucket": "the place for results",
    "runner": "the machine's account",
    "outside-stop": "the stop from outside",
    "quota": "the allowance",
    "alert": "the alert",
    "test-loan": "the test",
}

FIXES = {
    "sign-in": "Sign in",
    "choose-project": "Choose a project",
    "link-billing": "Turn billing on",
    "enable-services": "Turn the services on",
    "request-permissions": "Write to the owner",
    "make-network": "Make the network",
    "make-bucket": "Make the bucket",
    "make-runner": "Make the machine's account",
    "make-queue": "Set up the outside stop",
    "narrow-runner": "Narrow the machine's account",
    "narrow-stops": "Narrow the stop's account",
    "ask-quota": "Ask for more quota",
    "use-area": "Use another area",
    "make-alert": "Add an alert",
    "test-loan": "Borrow a TPU",
}
"""What the buttons say."""

DONE = {
    "link-billing": ("Billing is on", "Taking it back turns billing off again."),
    "make-network": ("The network is made", "Taking it back deletes it."),
    "make-bucket": ("The place for results is made", "Taking it back deletes the bucket, as long as it is empty."),
    "make-runner": ("The machine's account is made", "Taking it back deletes the account."),
    "make-queue": (
        "The stop from outside is set up",
        "Taking it back deletes its account; the queue costs nothing and stays.",
    ),
    "make-alert": ("The spending alert is set", "Taking it back deletes it."),
}
"""A repair that was done and can be taken back."""


def _slices(f: Facts) -> str:
    """Where a limit is for some sizes only: , for TPUs of 1, 4 or 8 chips"""
    if "sizes" not in f:
        return ""
    small = ". For TPUs of 1, 4 or 8 chips it allows none there yet" if f.text("use") == "training" else ""
    return f", for TPUs of {f.text('sizes')}{small}"


CONDITIONS = (
    "It makes grants with conditions: from then on scripts that grant roles in this project by gcloud need "
    "“--condition=None”, or fail."
)

_PASS: dict[str, Entry] = {
    "signed-in": lambda f: Sentence("", f.text("email", "Google knows who you are"), ""),
    "project": lambda f: Sentence("", _joined(f.text("name"), f.text("project")) or "One is chosen.", ""),
    "billing": lambda f: Sentence("", "Google charges what you rent to your billing account.", ""),
    "services": lambda f: Sentence("", f"All {f.text('count', 'that are needed')} that a run needs.", ""),
    "permissions": lambda f: Sentence("", "Launch, watch and delete.", ""),
    "org-policy": lambda f: Sentence("", "No rule stands against a TPU in this area.", ""),
    "network": lambda f: Sentence("", f"The network “{f.text('network')}”.", ""),
    "bucket": lambda f: Sentence(
        "",
        f"Bucket {f.text('bucket')} in {f.text('region')}, private, near the TPU."
        + (
            f" Your organisation has Google keep what is deleted there for {f.raw('kept_days')} days more, and charge "
            "it as long: plans reserve for it."
            if f.raw("kept_days")
            else ""
        ),
        "",
    ),
    "runner": lambda f: Sentence(
        "",
        "It may delete TPUs (Google knows no way to say which), virtual machines of TPU Studio, add stops of its own and write to "
        "the bucket, and nothing else.",
        "",
    ),
    "outside-stop": lambda f: Sentence(
        "",
        "Google itself deletes the TPU at its deadline, also when your computer is off, as an account of its own.",
        "",
    ),
    "quota": lambda f: Sentence(
        "",
        f"{'All ' + f.text('limit') if f.raw('left') == 0 else f.text('left')} {f.text('unit', 'chips')} "
        f"{f.text('generation')} ({f.text('tier') or loans.usual().word}) in "
        f"{f.text('zone')}{' are in use now' if f.raw('left') == 0 else ''}{_slices(f)}.",
        "",
    ),
    "alert": lambda f: Sentence("", f"Google mails you at 50, 90 and 100% of {_amount(f)} a month.", ""),
    "test-loan": lambda f: Sentence("", f"It worked{_when(f)}.", ""),
}

_FAIL: dict[str, Entry] = {
    "signed-in": lambda f: Sentence("", f"Without an account nothing can be rented. {_FREE}", "Sign in to go on."),
    "project": lambda f: _project(f),
    "billing": lambda f: Sentence(
        "",
        f"Google lends nothing to {f.text('project', 'the project')} until it has a billing account.",
        "Choose the account that pays. Turning it on costs nothing by itself. In a free trial Google raises no TPU limits: "
        "upgrade it in the console when you are refused.",
    ),
    "services": lambda f: Sentence(
        "", f"Off: {_services(f.raw('missing'))}.", "Turning them on is free and takes about a minute."
    ),
    "permissions": lambda f: Sentence(
        "",
        _lacking(f),
        "Send the project's owner the request that we write for you.",
    ),
    "org-policy": lambda f: Sentence(
        "",
        " ".join(_rule(str(one), f) for one in f.raw("policies") or ()) or "One of its rules forbids it.",
        "Ask your organisation's administrator, or use a project of your own, outside of it.",
    ),
    "network": lambda f: (
        _closed(f)
        if f.raw("closed")
        else Sentence(
            "", f"The project has no network “{f.text('network', 'default')}”.", "We can make one. It costs nothing."
        )
    ),
    "bucket": lambda f: Sentence(
        "", _bucket(f), "We make a private one; what is kept there costs about $0.02 a GB a month."
    ),
    "runner": lambda f: Sentence(
        "",
        f"Missing for it: {_some(f.raw('missing'))}."
        if f.raw("missing")
        else "The TPU's machine needs an account of its own, to delete itself when it is done.",
        f"We make one that can do that, add stops of its own, write to the bucket, and nothing else. It costs nothing. {CONDITIONS}",
    ),
    "outside-stop": lambda f: Sentence(
        "",
        f"Missing for its account: {_some(f.raw('missing'))}. Without it Google could not delete the TPU."
        if f.raw("missing")
        else "Google's queue for it tries a stop again otherwise than we need."
        if f.raw("retries") is not None
        else f"Google's queue for it in {f.text('region')} is {str(f.raw('state') or 'missing').lower()}.",
        "Set it up: Google then deletes the TPU at its deadline even if this computer is off. It costs less than a cent.",
    ),
    "quota": lambda f: (
        Sentence(
            "",
            f"In {f.text('region', 'this area')} the limit is zero; in {f.text('to')} it is {f.text('limit')} "
            f"{f.text('unit', 'chips')} {f.text('generation')}{' (spot)' if loans.by_id(f.raw('tier')).spare else ''}"
            f"{_slices(f)}.",
            f"Use {f.text('to')}: results and plans are then for that area. What is kept elsewhere stays.",
        )
        if "to" in f
        else Sentence(
            "",
            f"In {f.text('region', 'this area')} the limit is zero for every kind of TPU. For on-demand that is "
            "usual for a new project; for spot it often has some.",
            "Ask for more here: Google answers within minutes, or days. Until then: practice, or a free TPU in Colab.",
        )
    ),
    "alert": lambda f: Sentence("", "Google can mail you when money is spent.", ""),
    "test-loan": lambda f: Sentence("", "The last test did not work.", "Try again, or look at the run."),
}

_OPTIONAL: dict[str, Entry] = {
    "alert": lambda f: Sentence(
        "",
        f"We can ask Google to mail you at 50, 90 and 100% of {_amount(f)} a month.",
        "An alert comes hours late and stops nothing; the caps of your runs do.",
    ),
    "test-loan": lambda f: Sentence(
        "", f"Shows that everything works. {'Would cost' if f.raw('rehearsed') else 'Costs'} about {_cost(f)}.", ""
    ),
    "network": lambda f: _closed(f),
    "runner": lambda f: Sentence(
        "The machine's account may do more than it needs",
        "An earlier version let it delete every machine of the project at Compute Engine and every task of every queue, and "
        "write anything into the bucket: so may the code of a model that runs as it.",
        "Narrow it: that costs nothing, and runs that go on keep what they need. Best while none goes on: Google "
        f"needs some minutes. {CONDITIONS}",
    ),
    "outside-stop": lambda f: (
        Sentence(
            "Machines may remove their outside stops",
            "In earlier versions the stops stood in a queue from which the machines' account may remove tasks: so may the "
            "code of a model that runs on one. The next launch sets them in a queue of their own.",
            "Or make that queue now: it costs nothing, and stops that stand go on to work.",
        )
        if f.raw("queue_open")
        else Sentence(
            "The outside stop may do more than it needs",
            "An earlier version let its account delete every machine of the project at Compute Engine, not only those of TPU "
            "Studio.",
            f"Narrow it: that costs nothing, and stops that stand go on to work. {CONDITIONS}",
        )
        if f.raw("wide")
        else Sentence(
            "The outside stop has no account of its own yet",
            "It works, as the machine's own account. Should that account lose the right to delete, neither could end the "
            "bill with your computer off.",
            "Give it one: that costs nothing, and runs that go on keep their stops.",
        )
    ),
}


def say_account(id: str, state: str, facts: Mapping[str, object]) -> Sentence:
    """One row: title, one line, and what to do. *state* as ``workflow.account.ports.Result``."""
    f = Facts(facts)
    good, bad = TITLES[id]
    if state == "pass":
        return _titled(good, _PASS[id](f))
    if state == "fail":
        return _titled(bad, _FAIL[id](f))
    if state == "optional":
        said = _OPTIONAL[id](f)
        return _titled(said.title or bad, said)
    good = _NEUTRAL[id]
    if state == "waiting":
        after = NAMES.get(f.text("after"), "the step above")
        if id == "services" and f.raw(
            "missing"
        ):  # the first are on, and Google asks who pays before it switches on the others
            return Sentence(good, f"{len(f.raw('missing') or ())} more can be turned on once billing is on.", "")
        return Sentence(good, f"Waits for {after}.", "")
    told = {**cloud.ERRORS, **reaching.ERRORS}.get(f.text("why"))
    if told is None:
        return Sentence(good, "Google gave no answer that tells.", _ALL_THE_SAME)
    if f.raw("recent"):
        return Sentence(
            good,
            f"{f.text('service', 'It')} was switched on just now, and Google needs a few minutes until it works.",
            "Nothing to do: this looks again by itself.",
        )
    if f.raw("by_hand"):
        return Sentence(
            good,
            f"Cannot tell: {f.text('service')} is off in this project, and only Google's own page can switch it on.",
            "Open the page, press Enable there, then check again.",
        )
    said = tell(told, facts)
    return Sentence(good, f"Cannot tell. {said.title}.", f"{said.action} {_ALL_THE_SAME}")


def signing_out(place: str, runs: Sequence[str]) -> str:
    """What signing out means for the *runs*, by name, that go on at *place*; "" where there is none."""
    if not runs:
        return ""
    one = len(runs) == 1
    if places.by_id(place).rehearses:
        return f"{_some(runs)} {'goes' if one else 'go'} on as before: the practice cloud knows your runs all the same."
    return (
        f"{_some(runs)} {'is' if one else 'are'} on a rented TPU that costs money, and {'is' if one else 'are'} not "
        "stopped. Until somebody signs in again this computer can neither follow nor stop "
        f"{'it: it ends' if one else 'them: they end'} at the limits, and by the stops at Google."
    )


def _titled(title: str, said: Sentence) -> Sentence:
    return Sentence(title, said.meaning.strip(), said.action)


def _joined(*parts: str) -> str:
    return ", ".join(dict.fromkeys(part for part in parts if part))


def _some(items: Any, most: int = 3) -> str:
    names = [str(one) for one in items or ()]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "something"


def _roles(items: Any) -> str:
    return _some([f"“{ROLES[one]}”" if one in ROLES else str(one) for one in items or ()])


def _services(items: Any) -> str:
    plain = {
        "tpu": "Cloud TPU",
        "compute": "Compute Engine",
        "storage": "Cloud Storage",
        "cloudtasks": "Cloud Tasks",
        "serviceusage": "Service Usage",
        "cloudresourcemanager": "Resource Manager",
        "cloudbilling": "Cloud Billing",
        "iam": "Identity and Access Management",
        "cloudquotas": "Cloud Quotas",
        "orgpolicy": "Organization Policy",
    }
    return _some([plain.get(str(one).partition(".")[0], str(one)) for one in items or ()])


def _bucket(f: Facts) -> str:
    if f.raw("elsewhere"):
        return (
            f"{f.text('bucket')} lies in {f.text('region')}, the TPU in {f.text('wanted')}: that costs time and money."
        )
    if f.raw("open"):
        return f"{f.text('bucket')} could be opened to the public."
    if "bucket" in f:
        return f"{f.text('bucket')} is not there any more, or you may not see it."
    return "Models and curves are kept in a bucket near the TPU."


def _amount(f: Facts) -> str:
    """In the billing account's own currency."""
    try:
        amount = float(f.raw("amount"))
    except (TypeError, ValueError):
        return "the amount you set"
    currency = f.text("currency")
    return figures.money(amount) if currency == "USD" else f"{amount:,.0f} {currency}".strip()


def _project(f: Facts) -> Sentence:
    if f.raw("deleted"):
        return Sentence(
            "",
            f"{f.text('project')} is marked for deletion: Google deletes it within 30 days, and lends nothing to it.",
            "Restore it on Google's page of projects that wait to be deleted, or choose another.",
        )
    told = (
        f"{f.text('project')} is not there, or you may not see it: Google does not say which."
        if "project" in f
        else "A project is the folder in which Google keeps what you rent, and the bill for it."
    )
    if f.raw("console"):
        return Sentence(
            "",
            f"{told} Google takes no new one from here until you have a first.",
            "Make your first project on Google's page, then choose it here.",
        )
    if f.raw("key"):
        return Sentence("", told, "Choose one that the key file may use: a key file cannot make projects.")
    return Sentence("", told, "Choose one, or make a new one: that costs nothing.")


def _rule(constraint: str, f: Facts) -> str:
    told = {
        "gcp.resourceLocations": f"It allows nothing in {f.text('region', 'this area')}; another area may do.",
        "compute.vmExternalIpAccess": "It forbids machines an address of their own, which a TPU needs to report.",
        "iam.disableServiceAccountCreation": "It forbids new service accounts, and a run needs two.",
    }.get(constraint.replace(".managed.", "."), "It forbids what a run needs.")
    return f"{told} ({constraint})"


def _lacking(f: Facts) -> str:
    told = f"The role {_roles(f.raw('roles'))} would do."
    if f.raw("missing"):
        told += f" Missing to launch: {_some(f.raw('missing'), 2)}."
    if f.raw("set_up"):
        told += f" Missing to set up what is left below: {_some(f.raw('set_up'), 2)}."
    return told


def _closed(f: Facts) -> Sentence:
    return Sentence(
        "The machines of a large slice could not meet",
        f"The network “{f.text('network')}” lets nothing in, so the machines of a large slice could not meet; one machine "
        "alone works.",
        "We add Google's usual rule for it, “allow-internal”: only machines in the network itself. It costs nothing.",
    )


def _cost(f: Facts) -> str:
    value = f.raw("cost_usd")
    return figures.money(value) if isinstance(value, (int, float)) else "$0.03"


def _when(f: Facts) -> str:
    return f" on {f.text('when')}" if "when" in f else ""

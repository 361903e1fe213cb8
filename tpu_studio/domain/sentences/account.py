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
    "services": ("APIs enabled", "Some of Google's APIs are not enabled"),
    "permissions": ("IAM permissions", "Some IAM permissions are missing"),
    "org-policy": ("Organisation policies", "An organisation policy blocks TPUs"),
    "network": ("VPC network", "The VPC network is not ready"),
    "bucket": ("Storage bucket", "No storage bucket yet"),
    "runner": ("Service account for the TPU VM", "No service account for the TPU VM yet"),
    "outside-stop": ("Shut-off timers", "The shut-off timers are not set up"),
    "quota": ("TPU quota", "No TPU quota here yet"),
    "alert": ("Budget alert", "No budget alert yet"),
    "test-loan": ("Test: start a TPU for one minute", "Test: start a TPU for one minute"),
}
"""Of each check: how it is called when it passes, and when it fails."""

_NEUTRAL = {
    "signed-in": "Signing in",
    "project": "A project",
    "billing": "Billing",
    "services": "APIs",
    "permissions": "IAM permissions",
    "org-policy": "Organisation policies",
    "network": "VPC network",
    "bucket": "Storage bucket",
    "runner": "Service account for the TPU VM",
    "outside-stop": "Shut-off timers",
    "quota": "TPU quota",
    "alert": "Budget alert",
    "test-loan": "Test: start a TPU for one minute",
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
    "services": "the APIs",
    "permissions": "the IAM permissions",
    "org-policy": "the organisation policies",
    "network": "the VPC network",
    "bucket": "the storage bucket",
    "runner": "the service account for the TPU VM",
    "outside-stop": "the shut-off timers",
    "quota": "the TPU quota",
    "alert": "the budget alert",
    "test-loan": "the test",
}

FIRST = {
    "signed-in": "Sign in first.",
    "project": "Choose a project first.",
    "billing": "Turn billing on first.",
    "services": "Enable the APIs first.",
    "permissions": "Get the IAM permissions first.",
    "network": "Create the network first.",
    "bucket": "Create the storage bucket first.",
    "runner": "Create the service account first.",
    "outside-stop": "Set up the shut-off timers first.",
    "quota": "Get TPU quota first.",
}
"""What comes before, as the row that waits for it says it."""

FIXES = {
    "sign-in": "Sign in",
    "choose-project": "Choose a project",
    "link-billing": "Turn billing on",
    "enable-services": "Enable the APIs",
    "request-permissions": "Write to the owner",
    "make-network": "Create the network",
    "make-bucket": "Create the bucket",
    "make-runner": "Create the service account",
    "make-queue": "Set up the shut-off timers",
    "narrow-runner": "Narrow the account",
    "narrow-stops": "Narrow the account",
    "ask-quota": "Ask for more quota",
    "use-area": "Use another region",
    "make-alert": "Create the alert",
    "test-loan": "Start a TPU",
}
"""What the buttons say."""

DONE = {
    "link-billing": ("Billing is on", "Undo turns billing off again."),
    "make-network": ("The network is created", "Undo deletes it."),
    "make-bucket": ("The storage bucket is created", "Undo deletes it, as long as it is empty."),
    "make-runner": ("The service account for the TPU VM is created", "Undo deletes it."),
    "make-queue": (
        "The shut-off timers are set up",
        "Undo deletes their service account; the queue costs nothing and stays.",
    ),
    "make-alert": ("The budget alert is created", "Undo deletes it."),
}
"""A repair that was done and can be undone."""


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
    "permissions": lambda f: Sentence("", "You may create, watch and delete TPUs.", ""),
    "org-policy": lambda f: Sentence("", "No organisation policy blocks TPUs here.", ""),
    "network": lambda f: Sentence("", f"The TPU uses the network “{f.text('network')}”.", ""),
    "bucket": lambda f: Sentence(
        "",
        f"Results go to {f.text('bucket')} in {f.text('region')}, private, near the TPU."
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
        "It may delete TPUs (Google knows no way to say which) and virtual machines of TPU Studio, add shut-off timers "
        "and write to the bucket, and nothing else.",
        "",
    ),
    "outside-stop": lambda f: Sentence(
        "",
        "Google itself deletes the TPU at its deadline, also with your computer off. The timers have a service account of their own.",
        "",
    ),
    "quota": lambda f: Sentence(
        "",
        f"{'All ' + f.text('limit') if f.raw('left') == 0 else f.text('left')} {f.text('unit', 'chips')} "
        f"{f.text('generation')} ({f.text('tier') or loans.usual().word}) in "
        f"{f.text('zone')}{' are in use now' if f.raw('left') == 0 else ''}{_slices(f)}.",
        "",
    ),
    "alert": lambda f: Sentence("", f"Google emails you at 50, 90 and 100% of {_amount(f)} a month.", ""),
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
        "", f"Not enabled: {_services(f.raw('missing'))}.", "Enabling them is free and takes about a minute."
    ),
    "permissions": lambda f: Sentence(
        "",
        _lacking(f),
        "Send the project's owner the request that we write for you.",
    ),
    "org-policy": lambda f: Sentence(
        "",
        " ".join(_rule(str(one), f) for one in f.raw("policies") or ()) or "One of its policies forbids it.",
        "Ask your organisation's administrator, or use a project of your own, outside of it.",
    ),
    "network": lambda f: (
        _closed(f)
        if f.raw("closed")
        else Sentence(
            "", f"The project has no network “{f.text('network', 'default')}”.", "We can create one. It costs nothing."
        )
    ),
    "bucket": lambda f: Sentence(
        "", _bucket(f), "We create a private one; what is kept there costs about $0.02 a GB a month."
    ),
    "runner": lambda f: Sentence(
        "",
        f"Missing for it: {_some(f.raw('missing'))}."
        if f.raw("missing")
        else "The TPU VM needs a service account, to delete itself when it is done.",
        f"We create one that can do that, add shut-off timers, write to the bucket, and nothing else. It costs nothing. {CONDITIONS}",
    ),
    "outside-stop": lambda f: Sentence(
        "",
        f"Missing for their service account: {_some(f.raw('missing'))}. Without it Google could not delete the TPU."
        if f.raw("missing")
        else "Google's queue for them (Cloud Tasks) retries otherwise than we need."
        if f.raw("retries") is not None
        else f"Google's queue for them (Cloud Tasks) in {f.text('region')} is {str(f.raw('state') or 'missing').lower()}.",
        "Set them up: Google then deletes the TPU at its deadline even if this computer is off. It costs less than a cent.",
    ),
    "quota": lambda f: (
        Sentence(
            "",
            f"In {f.text('region', 'this region')} the limit is zero; in {f.text('to')} it is {f.text('limit')} "
            f"{f.text('unit', 'chips')} {f.text('generation')}{' (spot)' if loans.by_id(f.raw('tier')).spare else ''}"
            f"{_slices(f)}.",
            f"Use {f.text('to')}: results and plans are then for that region. What is kept elsewhere stays.",
        )
        if "to" in f
        else Sentence(
            "",
            f"In {f.text('region', 'this region')} the limit is zero for every kind of TPU. For on-demand that is "
            "usual for a new project; for spot it often has some.",
            "Ask for more here: Google answers within minutes, or days. Until then: practice, or a free TPU in Colab.",
        )
    ),
    "alert": lambda f: Sentence("", "Google can email you when money is spent.", ""),
    "test-loan": lambda f: Sentence("", "The last test did not work.", "Try again, or look at the run."),
}

_OPTIONAL: dict[str, Entry] = {
    "alert": lambda f: Sentence(
        "",
        f"Google can email you at 50, 90 and 100% of {_amount(f)} a month.",
        "An alert comes hours late and stops nothing; the caps of your runs do.",
    ),
    "test-loan": lambda f: Sentence(
        "", f"Shows that everything works. {'Would cost' if f.raw('rehearsed') else 'Costs'} about {_cost(f)}.", ""
    ),
    "network": lambda f: _closed(f),
    "runner": lambda f: Sentence(
        "The service account for the TPU VM may do more than it needs",
        "An earlier version let it delete every machine of the project at Compute Engine and every task of every queue, and "
        "write anything into the bucket: so may the code of a model that runs as it.",
        "Narrow its rights: that costs nothing, and runs under way keep what they need. Best while there is none: Google "
        f"needs some minutes. {CONDITIONS}",
    ),
    "outside-stop": lambda f: (
        Sentence(
            "TPU VMs may remove their shut-off timers",
            "In earlier versions the timers stood in a queue from which the service account for the TPU VM may remove "
            "tasks: so may the code of a model that runs on one. The next launch sets them in a queue of their own.",
            "Or create that queue now: it costs nothing, and timers that are set keep working.",
        )
        if f.raw("queue_open")
        else Sentence(
            "The shut-off timers may do more than they need",
            "An earlier version let their service account delete every machine of the project at Compute Engine, not only those of TPU "
            "Studio.",
            f"Narrow their rights: that costs nothing, and timers that are set keep working. {CONDITIONS}",
        )
        if f.raw("wide")
        else Sentence(
            "The shut-off timers have no service account of their own",
            "They work, as the service account for the TPU VM. Should that lose the right to delete, nothing could stop the "
            "billing with your computer off.",
            "Give them one: that costs nothing, and runs under way keep their timers.",
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
        first = FIRST.get(f.text("after"), "Do the step above first.")
        if id == "services" and f.raw(
            "missing"
        ):  # the first are on, and Google asks who pays before it switches on the others
            return Sentence(good, f"{len(f.raw('missing') or ())} more can be enabled once billing is on.", "")
        return Sentence(good, first, "")
    told = {**cloud.ERRORS, **reaching.ERRORS}.get(f.text("why"))
    if told is None:
        return Sentence(good, "Google's answer does not say.", _ALL_THE_SAME)
    if f.raw("recent"):
        return Sentence(
            good,
            f"{f.text('service', 'It')} was enabled just now, and Google needs a few minutes until it works.",
            "Nothing to do: this checks again by itself.",
        )
    if f.raw("by_hand"):
        return Sentence(
            good,
            f"Cannot tell: {f.text('service')} is not enabled in this project, and only Google's own page can enable it.",
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
        f"{'it: it ends' if one else 'them: they end'} at the limits, and by the shut-off timers."
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
        return f"{f.text('bucket')} is in {f.text('region')}, the TPU in {f.text('wanted')}: that costs time and money."
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
        else "A Google Cloud project holds the TPUs, and is billed."
    )
    if f.raw("console"):
        return Sentence(
            "",
            f"{told} Google lets this app create one only after you have a first.",
            "Create your first project on Google's page, then choose it here.",
        )
    if f.raw("key"):
        return Sentence("", told, "Choose one that the key file may use: a key file cannot create projects.")
    return Sentence("", told, "Choose one, or create a new one: that costs nothing.")


def _rule(constraint: str, f: Facts) -> str:
    told = {
        "gcp.resourceLocations": f"It allows nothing in {f.text('region', 'this region')}; another region may be allowed.",
        "compute.vmExternalIpAccess": "It forbids external IP addresses, and a TPU needs one to report.",
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

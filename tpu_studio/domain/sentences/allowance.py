"""Words for what a project may use: quota, entitlement, the region's addresses; refused by Google or told by a plan."""

from __future__ import annotations

from tpu_studio.domain.sentences.renting import lender, spent, what, zone
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import loans
from tpu_studio.wire.reasons import Reason


def _quota(f: Facts, waited: str = "") -> Sentence:
    allowed = (
        f" The limit “{f.text('quota')}” is {f.text('limit', 'lower than what the plan needs')}."
        if "quota" in f
        else ""
    )
    return Sentence(
        f"Your project is not allowed that many chips{zone(f)}",
        f"This is a quota, not a shortage: asking again changes nothing.{allowed} {waited or NOTHING_CHARGED}",
        "Ask Google for more on the Account page, or choose a zone or size that your quota allows.",
    )


def quota_page(f: Facts, service: str = "tpu.googleapis.com") -> str:
    """Google's page of what a project may use."""
    project = f"project={f.text('project')}&" if "project" in f else ""
    return f"https://console.cloud.google.com/iam-admin/quotas?{project}service={service}"


def _not_entitled(f: Facts) -> Sentence:
    tier = f.text("tier")
    how = f" as {tier}" if tier else ""
    other = "as on-demand" if loans.by_id(tier).spare else "as spot"
    return Sentence(
        f"{lender(f)} does not lend {what(f)} to this project{how}{zone(f)}",
        "This is neither your role nor a shortage: the project is not entitled to this type of TPU, capacity type and zone, "
        f"and asking again changes nothing. {NOTHING_CHARGED}",
        f"Plan it {other}, or for another zone or generation (“Duplicate and edit”): each is granted apart. "
        f"Google's quota page shows what the project may use ({quota_page(f)}).",
    )


def _region_limit(f: Facts) -> Sentence:
    places = "VM instances" if f.text("quota") == "INSTANCES" else "external addresses"
    limit, hosts = f.raw("limit"), f.raw("hosts")
    most = f" The limit {f.text('quota')} is {limit:g}." if isinstance(limit, (int, float)) and "quota" in f else ""
    need = f" This TPU has {hosts} machines." if isinstance(hosts, int) and hosts > 1 else ""
    return Sentence(
        f"Too few {places} are left for this TPU{zone(f)}",
        f"That is a limit of Compute Engine for the whole region, neither your TPU quota nor a shortage: each machine of a TPU "
        f"counts.{need}{most} {spent(f) if f.raw('usd') else NOTHING_CHARGED}",
        "Delete what is not needed (“Find billable resources”), choose a TPU of one machine or another region, or ask Google for "
        f"a higher limit ({quota_page(f, 'compute.googleapis.com')}).",
    )


def _for_use(f: Facts) -> str:
    """v5e has a limit for small slices and one for large ones."""
    called = {"serving": "1, 4 or 8 chips", "training": "16 chips and more"}.get(f.text("use"))
    return f" for TPUs of {called}" if called else ""


ERRORS: dict[str, Entry] = {"quota-exceeded": _quota, "not-entitled": _not_entitled, "region-limit": _region_limit}
REASONS: dict[Reason, Entry] = {
    Reason.QUOTA_EXCEEDED: _quota,
    Reason.NOT_ENTITLED: _not_entitled,
    Reason.REGION_LIMIT: _region_limit,
}
CHECKS: dict[str, Entry] = {
    "place-quota": lambda f: Sentence(
        f"Google allows you too few chips for {f.text('accelerator', 'this TPU')} there",
        f"In {f.text('zones', 'these zones')} the limit is {f.text('limit', '0')}"
        f"{' as spot' if loans.by_id(f.text('tier')).spare else ''}{_for_use(f)}{f.text('read') and ' ' + f.text('read')}. "
        f"Asked for like this, Google would refuse it. {NOTHING_CHARGED}",
        "Take what is allowed, or ask Google for more on the Account page.",
    ),
    "place-addresses": lambda f: Sentence(
        f"{f.text('region', 'The region')} has too few external addresses left for this TPU",
        f"Each of its {f.text('hosts', 'machines')} machines takes one, and {f.text('left', 'none')} are left"
        f"{f.text('read') and ' ' + f.text('read')}. It would not be asked for. {NOTHING_CHARGED}",
        "Choose a TPU of one machine or another region, or ask Google for a higher limit "
        f"({quota_page(f, 'compute.googleapis.com')}).",
    ),
}

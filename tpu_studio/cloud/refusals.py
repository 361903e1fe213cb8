"""What a refusal of Google's means: its words, its reasons and its codes, each of one id.

Words settle the matter before reasons, and those before codes: quota (asking again is useless) and capacity (waiting
is right) arrive through the same codes. The strings are Google's own, as real projects met them;
tests hold each of them to its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpu_studio.cloud.doctor import pages
from tpu_studio.cloud.secrecy import without_secrets

_EID = re.compile(r"\s*\[EID: (0x[0-9a-fA-F]+)\]")
_QUOTA = re.compile(
    r"Quota(?: limit)? '(?P<quota>[A-Za-z0-9_-]+)' (?:exhausted|has been exceeded|exceeded)\.?\s*Limit:? "
    r"(?P<limit>[\d.]+)(?: in (?:the )?(?P<scope>zone|region) (?P<location>[a-z0-9-]+))?"
)

_OF_REGION = "IN_USE_ADDRESSES|INSTANCES"
"""Limits of Compute Engine's that every host of a slice counts against, whatever TPUs the project may have."""
_LIMIT = re.compile(r"[Ll]imit:? \(?(\d+(?:\.\d+)?)|project has a quota of '(\d+(?:\.\d+)?)")

# Words that settle the matter by themselves, whatever the code: (pattern, id, facts from its groups).
_WORDS = [
    (r"Maximum number of \w+ requests per minute|per minute per|RATE_LIMIT_EXCEEDED", "create-rate"),
    (
        r"permission to submit requests for accelerator type \"?(?P<accelerator>[\w-]+)\"?"
        r"(?:,? in (?:location|zone) \"?(?P<location>[a-z0-9-]+))?",
        "not-entitled",
    ),
    (rf"\b(?P<quota>{_OF_REGION})\b['\"]?:? (?:quota )?(?:limit|exceeded|request requires)", "region-limit"),
    (_QUOTA.pattern, "quota-exceeded"),
    (
        r"no more capacity in the zone|Insufficient (?:reserved )?capacity|\bSTOCKOUT\b|ZONE_RESOURCE_POOL_EXHAUSTED"
        r"|does not have enough resources available",
        "no-capacity",
    ),
    (
        r"could not be found in the zonal accelerator configurations|was not found in zone (?P<zone>[a-z0-9-]+)"
        r"|received an invalid AcceleratorType"
        r"|not allowed to use the machine type \[(?P<machine_type>[\w-]+)\]"
        r"|machineTypes/[\w-]+' (?:was not found|does)|Machine type with name '[\w-]+' does not exist in zone",
        "type-not-in-zone",
    ),
    (r"(?P<model>[A-Z_]+) provisioning model is not supported for accelerator type", "tier-not-offered"),
    (
        r"Location (?P<location>[a-z0-9-]+) is not found or access is unauthorized"
        r"|Permission denied on 'locations/(?P<location2>[a-z0-9-]+)' \(or it may not exist\)|LOCATION_POLICY_VIOLATED",
        "zone-not-allowed",
    ),
    (r"Project #?\d+ has been (?:deleted|scheduled for deletion)", "project-deleted"),
    (r"is not a valid location for Cloud Tasks", "zone-not-allowed"),
    (r"a queue with this name existed too recently", "queue-deleted-lately"),
    (r"API requires a quota project, which is not set by default", "quota-project-needed"),
    (
        r"has not been used in project \S+ before or it is disabled|SERVICE_DISABLED|it is disabled\. Enable it by",
        "service-disabled",
    ),
    (
        r"BILLING_DISABLED|requires billing to be enabled|Billing must be enabled for activation"
        r"|billing account .{0,80}(?:disabled|closed|absent)",
        "billing-off",
    ),
    (r"Callers must accept Terms of Service", "terms-not-accepted"),
    (r"allotted project quota", "projects-used-up"),
    (r"Service accounts cannot create projects without a parent", "key-makes-no-project"),
    (r"iam\.serviceAccounts\.actAs", "act-as-missing"),
    (
        r"(?i)constraints?[ /'\"`]+[\w./-]+.{0,120}violat|violates? constraint|organi[sz]ation policy"
        r"|denied by org policy|^constraints/(?P<constraint>[\w.]+)",
        "org-policy",
    ),
    (r"(?i)insufficient authentication scopes|ACCESS_TOKEN_SCOPE_INSUFFICIENT", "scope-missing"),
    (r"not supported (?:while in|when) state (?:is )?(?P<state>[A-Z_]+)", "precondition"),
]
_MATCHERS = [(re.compile(pattern), id) for pattern, id in _WORDS]

# Machine-readable reasons: ErrorInfo.reason, and Compute Engine's and Storage's error codes.
_REASONS = {
    "SERVICE_DISABLED": "service-disabled",
    "accessNotConfigured": "service-disabled",
    "BILLING_DISABLED": "billing-off",
    "accountDisabled": "billing-off",
    "LOCATION_POLICY_VIOLATED": "zone-not-allowed",
    "RATE_LIMIT_EXCEEDED": "create-rate",
    "rateLimitExceeded": "create-rate",
    "userRateLimitExceeded": "create-rate",
    "RESOURCE_OPERATION_RATE_EXCEEDED": "create-rate",
    "RESOURCE_NOT_READY": "create-rate",
    "QUOTA_EXCEEDED": "quota-exceeded",
    "quotaExceeded": "quota-exceeded",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": "scope-missing",
    "ZONE_RESOURCE_POOL_EXHAUSTED": "no-capacity",
    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": "no-capacity",
    "insufficientCapacity": "no-capacity",
    "resource_availability": "no-capacity",
    "UNSUPPORTED_OPERATION": "no-capacity",  # seen when the machine was taken back while it was being made
    "RESOURCE_NOT_FOUND": "not-found",
    "RESOURCE_ALREADY_EXISTS": "exists",
    "conditionNotMet": "precondition",
    "alreadyExists": "exists",
    "PERMISSIONS_ERROR": "permission-missing",
    "CUSTOM_ORG_POLICY_VIOLATION": "org-policy",
}
_STATUS_WORDS = {
    "INVALID_ARGUMENT": "bad-request",
    "OUT_OF_RANGE": "bad-request",
    "UNIMPLEMENTED": "bad-request",
    "NOT_FOUND": "not-found",
    "ALREADY_EXISTS": "exists",
    "PERMISSION_DENIED": "permission-missing",
    "FAILED_PRECONDITION": "precondition",
    "CANCELLED": "precondition",
    "UNAUTHENTICATED": "signed-out",
    "ABORTED": "server-error",  # a race: nobody knows who won, so look
    "DEADLINE_EXCEEDED": "timed-out",
    "UNKNOWN": "server-error",
    "INTERNAL": "server-error",
    "UNAVAILABLE": "server-error",
    "DATA_LOSS": "server-error",
}
_HTTP = {
    401: "signed-out",
    403: "permission-missing",
    404: "not-found",
    408: "timed-out",
    409: "exists",
    410: "not-found",
    412: "precondition",
    429: "create-rate",
    499: "server-error",
    504: "timed-out",
}


def meaning(
    status: int,
    word: str,
    message: str,
    details: Sequence[Mapping[str, object]],
    reasons: Sequence[str],
    about: Mapping[str, object],
) -> tuple[str, dict[str, object]]:
    """The id of a refusal, and its facts.

    Args:
        status: HTTP; 0 of an operation.
        word: google.rpc.Code.
        details: google.rpc.Status has them; *reasons*: Compute Engine's and Storage's.
        about: Facts known here (zone, accelerator …).
    """
    facts: dict[str, object] = {**about}
    infos = [one for one in details if str(one.get("@type", "")).lower().endswith("errorinfo")]
    reasons = [str(one.get("reason", "")) for one in infos] + [one for one in reasons if one]
    said = [message, *_violations(details)]
    if eid := _EID.search(message):
        facts["eid"] = eid[1]
    facts["raw"] = without_secrets(_EID.sub("", message).strip() or ", ".join(reasons) or word)
    if status or word:
        facts["code"] = status or word
    for info in infos:
        metadata = info.get("metadata") or info.get("metadatas")
        if isinstance(metadata, Mapping):
            facts |= {
                ours: str(metadata[theirs])
                for theirs, ours in (
                    ("service", "service"),
                    ("location", "location"),
                    ("permission", "permission"),
                    ("zonesAvailable", "zones_available"),
                )
                if metadata.get(theirs)
            }
    id = _by_words(said, facts) or next((_REASONS[one] for one in reasons if one in _REASONS), "")
    if not id and "forbidden" in reasons:
        id = "permission-missing"
    if not id and word == "RESOURCE_EXHAUSTED":
        # In an operation it is a stock-out; as HTTP 429 without a quota's name it is a rate.
        id = "create-rate" if status else "no-capacity"
    id = id or _STATUS_WORDS.get(word, "") or _HTTP.get(status, "")
    if not id:
        id = "server-error" if status >= 500 or not status else "bad-request"
    _add_facts(id, message, details, facts)
    return id, facts


def _by_words(said: Sequence[str], facts: dict[str, object]) -> str:
    for text in said:
        for pattern, id in _MATCHERS:
            if found := pattern.search(text):
                facts |= {key.rstrip("2"): value for key, value in found.groupdict().items() if value}
                if "limit" in facts and isinstance(facts["limit"], str):
                    facts["limit"] = float(facts["limit"].rstrip("."))
                return id
    return ""


_PERMISSION = re.compile(
    r"[Pp]ermission '([\w.]+)' denied|Required '([\w.]+)' permission|does not have ([\w.]+\.[\w.]+) access"
)
_SERVICE = re.compile(r"/apis/api/([\w.-]+\.googleapis\.com)/|^(Cloud TPU) API has not", re.M)
_PAGE = re.compile(r"https://console\.(?:developers|cloud)\.google\.com/apis/api/[\w.-]+/overview\?project=[\w-]+")
_CONSTRAINT = re.compile(r"(?i)constraints?/([\w.]+)")


def _add_facts(id: str, message: str, details: Sequence[Mapping[str, Any]], facts: dict[str, object]) -> None:
    if id == "permission-missing" and (found := _PERMISSION.search(message)):
        facts.setdefault("permission", next(one for one in found.groups() if one))
    if id == "service-disabled" and (found := _SERVICE.search(message)):
        facts.setdefault("service", found[1] or "tpu.googleapis.com")
        if page := _PAGE.search(message):
            facts.setdefault("page", page[0])
    if id == "terms-not-accepted":
        facts.setdefault("page", pages.TERMS)
    if id == "org-policy" and (found := _CONSTRAINT.search(message)):
        facts.setdefault("constraint", found[1])
    if id == "region-limit" and (found := _LIMIT.search(message)):
        facts.setdefault("limit", float(found[1] or found[2]))
    if id in ("quota-exceeded", "region-limit"):
        for one in details:
            if str(one.get("@type", "")).endswith("quotaInfo"):
                facts.setdefault("quota", str(one.get("limitName", "")))
                if "limit" in one:
                    facts.setdefault("limit", float(one["limit"]))


def _violations(details: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is violated, in words; of a precondition its type before them (it names an organisation's constraint)."""
    for one in details:
        kind = str(one.get("@type", ""))
        if not kind.endswith(("QuotaFailure", "PreconditionFailure")):
            continue
        for two in one.get("violations") or ():
            if isinstance(two, Mapping):
                said = str(two.get("description", ""))
                yield said if kind.endswith("QuotaFailure") else f"{two.get('type', '')} {said}"

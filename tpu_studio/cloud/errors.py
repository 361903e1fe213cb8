"""What Google's refusals mean: every reply, operation error and exception becomes one id and its facts.

Three ways in (`of_reply`, `of_operation`, `of_exception`), one table in the middle. The strings are Google's own, as
real projects met them; tests hold each of them to its id. Quota (asking again is useless) and capacity (waiting is
right) arrive through the same HTTP codes and are told apart by their words only.

No credential leaves here: whatever looks like one is cut out of ``raw``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpu_studio.cloud.doctor import pages
from tpu_studio.wire import secrets
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut, StudioError

REFUSED = frozenset(
    {
        "quota-exceeded",
        "no-capacity",
        "create-rate",
        "type-not-in-zone",
        "zone-not-allowed",
        "tier-not-offered",
        "not-entitled",
        "region-limit",
        "permission-missing",
        "act-as-missing",
        "service-disabled",
        "billing-off",
        "org-policy",
        "bad-request",
        "exists",
        "not-found",
        "precondition",
        "quota-project-needed",
        "terms-not-accepted",
        "projects-used-up",
        "key-makes-no-project",
        "project-deleted",
        "queue-deleted-lately",
    }
)
UNCLEAR = frozenset(
    {
        "network-down",
        "timed-out",
        "server-error",
        "unreadable-reply",
        "proxy-refused",
        "proxy-down",
        "certificate-unknown",
        "stopped-waiting",
        "grant-not-seen",
    }
)
SIGNED_OUT = frozenset({"signed-out", "reauth-needed", "scope-missing", "client-gone", "two-step-needed"})

_MOST_RAW = 1500
_CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""google.rpc.Code by number."""


def make(id: str, facts: Mapping[str, object]) -> StudioError:
    """The exception that *id* belongs to."""
    kind = CloudUnclear if id in UNCLEAR else SignedOut if id in SIGNED_OUT else CloudRefused
    return kind(id, **facts)


def of_reply(status: int, body: bytes | str | Mapping[str, object], **about: object) -> StudioError:
    """An HTTP reply with an error status. *about*: facts known here (zone, accelerator …)."""
    tree = _tree(body)
    if 400 <= status < 500 and status not in _BY_CODE and not _is_googles(tree, body):
        # Something on the way has answered: a portal, a proxy, a filter. It proves nothing, least of all absence.
        raw = "a web page instead of an answer" if _is_page(body) else "an answer that is not Google's"
        return make("unreadable-reply", {**about, "code": status, "raw": raw})
    error: object = tree.get("error", tree)
    if isinstance(error, str):  # the token endpoint: {"error": "invalid_grant", "error_description": …}
        return _of_oauth(tree, status, about)
    if not isinstance(error, Mapping):
        error = {}
    message = str(error.get("message") or (body if isinstance(body, str) else ""))
    if not message and isinstance(body, bytes):
        message = body[:_MOST_RAW].decode("utf-8", "replace")
    details = [one for one in error.get("details") or () if isinstance(one, Mapping)]
    reasons = [str(one.get("reason", "")) for one in error.get("errors") or () if isinstance(one, Mapping)]
    return _judged(status, str(error.get("status", "")), message, details, reasons, about)


def of_operation(error: Mapping[str, Any], **about: object) -> StudioError:
    """The ``error`` of a finished operation, or ``failedData.error``: google.rpc.Status, or Compute Engine's list."""
    listed = [one for one in error.get("errors") or () if isinstance(one, Mapping)]
    if listed:
        first = listed[0]
        details: list[Mapping[str, object]] = []
        for one in first.get("errorDetails") or ():
            if isinstance(one, Mapping):
                details += [
                    dict(inner, **{"@type": kind})
                    for kind in ("errorInfo", "quotaInfo", "localizedMessage")
                    if isinstance(inner := one.get(kind), Mapping)
                ]
        reasons = [str(one.get("code", "")) for one in listed]
        return _judged(0, "", str(first.get("message", "")), details, reasons, about)
    code = _number(error.get("code"))
    word = _CODES[code] if 0 <= code < len(_CODES) else ""
    given = [one for one in error.get("details") or () if isinstance(one, Mapping)]
    return _judged(0, word, str(error.get("message", "")), given, (), about)


def of_exception(error: BaseException, **about: object) -> StudioError:
    """An exception of requests, google-auth, google-api-core or protobuf. Ours pass as they are."""
    if isinstance(error, StudioError):
        return error
    import requests
    from google.api_core import exceptions as core
    from google.auth import exceptions as auth
    from google.protobuf.json_format import ParseError

    if isinstance(error, core.GoogleAPICallError):
        return _of_api_core(error, about)
    if isinstance(error, core.RetryError) and error.cause is not None:
        return of_exception(error.cause, **about)
    if isinstance(error, auth.RefreshError):
        return _of_refresh(error, about)
    raw = {"raw": without_secrets(f"{type(error).__name__}: {error}")}
    if isinstance(error, auth.TransportError):
        cause = next((one for one in error.args if isinstance(one, BaseException)), None)
        return of_exception(cause, **about) if cause is not None else make("network-down", {**about, **raw})
    if isinstance(error, (auth.GoogleAuthError, auth.InvalidOperation)):
        return make("signed-out", {**about, **raw})
    if isinstance(error, (requests.Timeout, TimeoutError)):
        return make("timed-out", {**about, **raw})
    if isinstance(error, (requests.exceptions.ProxyError, requests.exceptions.InvalidProxyURL)):
        refused = _TUNNEL.search(str(error))
        facts = {**about, **raw, "proxy": proxy_address()}
        return make("proxy-refused", {**facts, "code": int(refused[1])}) if refused else make("proxy-down", facts)
    if isinstance(error, requests.exceptions.InvalidURL) and _proxy_url():  # Google's addresses are no one's to type
        return make("proxy-down", {**about, **raw, "proxy": proxy_address()})
    if isinstance(error, requests.exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return make("certificate-unknown", {**about, **raw})
    unread = (requests.exceptions.InvalidJSONError, requests.exceptions.ContentDecodingError, ParseError)
    if isinstance(error, unread):
        return make("unreadable-reply", {**about, **raw})
    if _has_timed_out(error):
        return make("timed-out", {**about, **raw})
    if isinstance(error, (requests.RequestException, OSError, ConnectionError)):
        return make("network-down", {**about, **raw})
    return make("unreadable-reply", {**about, **raw})


def _has_timed_out(error: BaseException) -> bool:
    """In the middle of a body, or of sending one: `requests` calls that a broken connection."""
    from urllib3.exceptions import TimeoutError as BodyTimeoutError

    inner = (one for one in error.args if isinstance(one, BaseException))
    return isinstance(error, (TimeoutError, BodyTimeoutError)) or any(map(_has_timed_out, inner))


def proxy_address() -> str:
    """``host:port`` of the proxy on the way to Google, without name and password; "" where none is set."""
    return re.split(r"[/?#]", _proxy_url().rpartition("@")[2])[0]


def _proxy_url() -> str:
    """Without its scheme."""
    from urllib.request import getproxies

    url = getproxies().get("https") or getproxies().get("all") or ""
    return url.partition("//")[2] or url


def without_secrets(text: str) -> str:
    """*text* with everything that looks like a credential cut out, and not endless."""
    text = secrets.without_secrets(text)
    for pattern, put in _SECRETS:  # in what a library says of Google, less has to look like one
        text = pattern.sub(put, text)
    # A proxy's password with a "/", "#" or "?" in it is no URL any more: libraries tell what stands before that.
    for piece in re.split(r"[/#?@\s]", _proxy_url().rpartition("@")[0].partition(":")[2]):
        text = text.replace(piece, "…") if len(piece) > 2 else text
    return text if len(text) <= _MOST_RAW else text[:_MOST_RAW] + "…"


_SECRETS = [
    (re.compile(r"(?<=//)[^\s/@]+@"), ""),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), r"\1 …"),
    (re.compile(r"\bya29\.[A-Za-z0-9._-]+"), "…"),
    (re.compile(r"\b1//[A-Za-z0-9._-]{10,}"), "…"),
    (
        re.compile(
            r"(?i)([\"']?\b(?:access_token|refresh_token|id_token|client_secret|private_key|assertion|token|upload_id|"
            r"x-goog-signature|code_verifier|rapt)\b[\"']?\s*[=:]\s*)[\"']?[^\s\"'&,;)}]+[\"']?"
        ),
        r"\1…",
    ),
]

_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")
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


def _judged(
    status: int,
    word: str,
    message: str,
    details: Sequence[Mapping[str, object]],
    reasons: Sequence[str],
    about: Mapping[str, object],
) -> StudioError:
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
    return make(id, facts)


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


def _of_api_core(error: Any, about: Mapping[str, object]) -> StudioError:
    """google-api-core: the reply itself where the transport was REST (it has all details), else what it made of it."""
    response: Any = getattr(error, "response", None)
    content = getattr(response, "content", None)
    if isinstance(content, bytes) and getattr(response, "status_code", 0) >= 400:
        return of_reply(response.status_code, content, **about)
    details: list[Mapping[str, object]] = []
    if getattr(error, "reason", None):
        details = [{"@type": "ErrorInfo", "reason": error.reason, "metadata": dict(error.metadata or {})}]
    reasons = [str(one.get("reason", "")) for one in getattr(error, "errors", ()) or () if isinstance(one, Mapping)]
    grpc = getattr(error, "grpc_status_code", None)
    code = error.code if isinstance(error.code, int) else _number(getattr(error.code, "value", 0))
    return _judged(code, getattr(grpc, "name", "") or "", str(error.message), details, reasons, about)


def _of_refresh(error: Any, about: Mapping[str, object]) -> StudioError:
    from google.auth import exceptions as auth

    answered = next((one for one in error.args if isinstance(one, Mapping)), None)
    if answered is None:  # some ways of asking give the body as text
        answered = next((tree for one in error.args if (tree := _tree(str(one)))), {})
    if isinstance(error, auth.ReauthFailError):
        return make("reauth-needed", {**about, "raw": without_secrets(str(error.args[0] if error.args else ""))})
    if not answered:
        answered = {"error": "", "error_description": str(error.args[0] if error.args else error)}
        if getattr(error, "retryable", False):
            return make("server-error", {**about, "raw": without_secrets(answered["error_description"])})
    return _of_oauth(answered, 0, about)


def _of_oauth(answered: Mapping[str, object], status: int, about: Mapping[str, object]) -> StudioError:
    word = str(answered.get("error", ""))
    told = str(answered.get("error_description", ""))
    subtype = str(answered.get("error_subtype", ""))
    facts: dict[str, object] = {**about, "raw": without_secrets(": ".join(one for one in (word, told) if one))}
    if status:
        facts["code"] = status
    if re.search(r"(?i)2-step|two-step|\b2SV\b|multi-factor|\bMFA\b", told):
        return make("two-step-needed", facts)
    if subtype in ("invalid_rapt", "rapt_required") or "rapt" in told.lower() or "reauth" in told.lower():
        return make("reauth-needed", facts)
    if word in ("invalid_client", "deleted_client", "unauthorized_client", "disabled_client"):
        return make("client-gone", facts)
    if word in ("invalid_scope", "insufficient_scope"):
        return make("scope-missing", facts)
    if status >= 500 or word in ("internal_failure", "server_error", "temporarily_unavailable"):
        return make("server-error", facts)
    return make("signed-out", facts)


def _tree(body: bytes | str | Mapping[str, object]) -> Mapping[str, object]:
    if isinstance(body, Mapping):
        return body
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(tree, list) and tree:  # some services answer a list of one
        tree = tree[0]
    return tree if isinstance(tree, Mapping) else {}


_BY_CODE = (401, 408, 416, 429)
"""Asked again, or signed in again, whoever says it: nothing is concluded from them."""
_STORAGE_TEXT = re.compile(
    r"No such object|The specified bucket does not exist|(\S+|Anonymous caller) does not have storage\."
)


def _is_googles(tree: Mapping[str, object], body: bytes | str | Mapping[str, object]) -> bool:
    """Whether a refusal has Google's shape: JSON with its error, or Cloud Storage's text for an object's bytes."""
    error = tree.get("error")
    if isinstance(error, str):  # the token endpoint
        return True
    if isinstance(error, Mapping):
        return any(error.get(key) for key in ("code", "status", "message"))
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    return isinstance(text, str) and _STORAGE_TEXT.match(text.strip()) is not None


def _is_page(body: bytes | str | Mapping[str, object]) -> bool:
    text = body if isinstance(body, bytes) else str(body).encode()
    return text[:200].lstrip().lower().startswith((b"<!doctype", b"<html"))


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return -1

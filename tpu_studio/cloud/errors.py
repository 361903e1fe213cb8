"""What Google's refusals mean: every reply, operation error and exception becomes one id and its facts.

Three ways in (`of_reply`, `of_operation`, `of_exception`), one table in the middle (``cloud.refusals``). No credential
leaves here: whatever looks like one is cut out of ``raw`` (``cloud.secrecy``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tpu_studio.cloud.refusals import meaning
from tpu_studio.cloud.secrecy import MOST_RAW, proxy_address, proxy_url, without_secrets
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
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")


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
        message = body[:MOST_RAW].decode("utf-8", "replace")
    details = [one for one in error.get("details") or () if isinstance(one, Mapping)]
    reasons = [str(one.get("reason", "")) for one in error.get("errors") or () if isinstance(one, Mapping)]
    return make(*meaning(status, str(error.get("status", "")), message, details, reasons, about))


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
        return make(*meaning(0, "", str(first.get("message", "")), details, reasons, about))
    code = _number(error.get("code"))
    word = _CODES[code] if 0 <= code < len(_CODES) else ""
    given = [one for one in error.get("details") or () if isinstance(one, Mapping)]
    return make(*meaning(0, word, str(error.get("message", "")), given, (), about))


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
    if isinstance(error, requests.exceptions.InvalidURL) and proxy_url():  # Google's addresses are no one's to type
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
    return make(*meaning(code, getattr(grpc, "name", "") or "", str(error.message), details, reasons, about))


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

"""Google's refusals, in the three shapes its services use. Raised by handlers, written by the server."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from tpu_studio.practice.state import Record

STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    416: "OUT_OF_RANGE",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

REASON = {  # storage and compute
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "conflict",
    410: "gone",
    411: "required",
    412: "conditionNotMet",
    416: "requestedRangeNotSatisfiable",
    429: "rateLimitExceeded",
    500: "backendError",
    503: "backendError",
    504: "backendError",
}

_FLAT = re.compile(r"^/(storage|upload/storage|download/storage|resumable/upload/storage|compute)/")


def log_failure() -> None:
    """The exception that is being handled, with its traceback, into the server's log; a full disk takes none."""
    with suppress(OSError):
        traceback.print_exc(file=sys.stderr)


class GoogleError(Exception):
    """A refusal.

    Args:
        code: HTTP status.
        status: google.rpc code by name (``RESOURCE_EXHAUSTED``); "" = the usual one for *code*.
        message: Google's own words.
        details: google.rpc details, each with its ``@type``.
        reason: What storage and compute call it (``notFound``); "" = the usual one for *code*.
        headers: Additional headers of the reply.
    """

    def __init__(
        self,
        code: int,
        status: str = "",
        message: str = "",
        details: Sequence[Record] = (),
        reason: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, list(details)
        self.status = status or STATUS.get(code, "UNKNOWN")
        self.reason = reason or REASON.get(code, "invalid")
        self.headers = headers or {}

    def body(self, path: str) -> Record:
        """The body in the shape of the service that *path* belongs to."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if _FLAT.match(path):
            error["errors"] = [{"message": self.message, "domain": "global", "reason": self.reason}]
            if path.startswith("/compute/") and self.details:
                error["details"] = self.details
        else:
            error["status"] = self.status
            if self.details:
                error["details"] = self.details
        return {"error": error}


def error_info(reason: str, domain: str = "googleapis.com", **metadata: str) -> Record:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


def bad_request(*violations: tuple[str, str]) -> dict[str, object]:
    """Args: *violations*: field and description of each."""
    return {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": field, "description": description} for field, description in violations],
    }


def not_found(resource: str) -> GoogleError:
    """The words of the newer services: TPU, tasks, billing."""
    return GoogleError(404, "NOT_FOUND", f"Resource '{resource}' was not found")

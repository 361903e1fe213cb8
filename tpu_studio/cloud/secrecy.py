"""What of an error may be told: credentials are cut out, and the proxy on the way stands without its password."""

from __future__ import annotations

import re

from tpu_studio.wire import secrets

MOST_RAW = 1500


def proxy_address() -> str:
    """``host:port`` of the proxy on the way to Google, without name and password; "" where none is set."""
    return re.split(r"[/?#]", proxy_url().rpartition("@")[2])[0]


def proxy_url() -> str:
    """Without its scheme, but with name and password: never told."""
    from urllib.request import getproxies

    url = getproxies().get("https") or getproxies().get("all") or ""
    return url.partition("//")[2] or url


def without_secrets(text: str) -> str:
    """*text* with everything that looks like a credential cut out, and not endless."""
    text = secrets.without_secrets(text)
    for pattern, put in _SECRETS:  # in what a library says of Google, less has to look like one
        text = pattern.sub(put, text)
    # A proxy's password with a "/", "#" or "?" in it is no URL any more: libraries tell what stands before that.
    for piece in re.split(r"[/#?@\s]", proxy_url().rpartition("@")[0].partition(":")[2]):
        text = text.replace(piece, "…") if len(piece) > 2 else text
    return text if len(text) <= MOST_RAW else text[:MOST_RAW] + "…"


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

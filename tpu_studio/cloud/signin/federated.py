"""Credentials of gcloud that stand for an account elsewhere: a file of theirs names what is read on this computer and
where that is sent, so it counts only where nobody else can change it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_studio.wire import homes
from tpu_studio.wire.errors import SignedOut

_AWS = "urn:ietf:params:aws:token-type:aws4_request"


def load(path: Path, kind: str, tree: Mapping[str, Any], scopes: list[str]) -> object:
    """google-auth credentials of the *tree* that *path* holds; nothing is asked of the network, and no program runs.

    Raises:
        SignedOut: ``credentials-open`` where others can change it; ``gcloud-absent`` where it makes no sense.
    """
    try:
        own = homes.is_ones_own(path)
    except OSError as error:
        raise SignedOut("gcloud-absent", path=str(path), raw=error.strerror or str(error)) from error
    if not own:
        raise SignedOut("credentials-open", path=str(path))
    try:
        return _made(kind, dict(tree), scopes)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # google-auth checks no shapes
        raise SignedOut("gcloud-absent", path=str(path), raw=type(error).__name__) from None


def _made(kind: str, tree: dict[str, Any], scopes: list[str]) -> object:
    """Each kind by its own class, as google-auth wants it: what loads any kind loads what was not expected, too."""
    from google.auth import aws, external_account_authorized_user, identity_pool, impersonated_credentials

    if kind == "impersonated_service_account":
        return impersonated_credentials.Credentials.from_impersonated_service_account_info(tree, scopes=scopes)  # type: ignore[no-untyped-call]
    if kind == "external_account_authorized_user":
        return external_account_authorized_user.Credentials.from_info(tree, scopes=scopes)  # type: ignore[no-untyped-call]
    if "executable" in (tree.get("credential_source") or {}):
        raise ValueError("a program that tells who one is")
    if tree.get("subject_token_type") == _AWS:
        return aws.Credentials.from_info(tree, scopes=scopes)  # type: ignore[no-untyped-call]
    return identity_pool.Credentials.from_info(tree, scopes=scopes)  # type: ignore[no-untyped-call]

"""Google's own pages where something is put right that only a person can do there."""

from __future__ import annotations

from urllib.parse import quote, urlencode

PROJECTS = "https://console.cloud.google.com/cloud-resource-manager"
NEW_PROJECT = "https://console.cloud.google.com/projectcreate"
BILLING = "https://console.cloud.google.com/billing"
TERMS = "https://console.cloud.google.com/"
"""Whoever has never accepted the terms is asked there, at the first visit."""
TWO_STEP = "https://myaccount.google.com/signinoptions/two-step-verification"


def service(id: str, project: str) -> str:
    """Where a service is switched on by hand."""
    return f"https://console.cloud.google.com/apis/library/{quote(id, safe='.')}?{urlencode({'project': project})}"


def policies(project: str) -> str:
    return f"https://console.cloud.google.com/iam-admin/orgpolicies?{urlencode({'project': project})}"

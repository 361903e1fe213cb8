"""The network that TPU machines stand in, and the rule that lets the workers of a slice meet.

Google's own ``default`` network has such a rule (``default-allow-internal``); one that is made by a call has none, and
workers of several hosts would wait for each other in vain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.session import segment
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices, Result

OURS = "Made by TPU Studio"


def look(apis: Apis, choices: Choices) -> Result:
    facts: dict[str, object] = {"network": choices.network}
    try:
        seen = apis.compute.get(_path(choices, f"networks/{segment(choices.network)}"))
    except CloudRefused as error:
        if error.id != "not-found":
            raise
        return Result("network", "fail", facts, fix="make-network", undo=True)
    try:
        rules = rules_of(apis, choices)
    except CloudRefused as error:
        if error.id != "permission-missing":
            raise
        return Result("network", "pass", {**facts, "rules": "unseen"})  # one host needs none
    if not seen.get("autoCreateSubnetworks") or any(_lets_meet(rule) for rule in rules):
        return Result("network", "pass", facts)  # in a network with subnets of its own we know no better
    ours = not rules or str(seen.get("description", "")).startswith(OURS)
    return Result("network", "fail" if ours else "optional", {**facts, "closed": True}, fix="make-network")


def rules_of(apis: Apis, choices: Choices) -> list[Mapping[str, object]]:
    """The network's firewall rules."""
    end = f"/networks/{choices.network}"
    found = apis.compute.pages(_path(choices, "firewalls"), "items")
    return [one for one in found if str(one.get("network", "")).endswith(end)]


def network_body(choices: Choices) -> dict[str, object]:
    """Auto-mode: a subnet in each region."""
    return {"name": choices.network, "autoCreateSubnetworks": True, "description": OURS}


def rule_name(choices: Choices) -> str:
    return f"{choices.network}-{names.FIREWALL}"


def rule_body(choices: Choices) -> dict[str, object]:
    return {
        "name": rule_name(choices),
        "description": f"{OURS}: lets the workers of a slice meet",
        "network": f"projects/{choices.project}/global/networks/{choices.network}",
        "direction": "INGRESS",
        "priority": 65534,
        "sourceRanges": [names.INTERNAL],
        "allowed": [{"IPProtocol": "all"}],
    }


def _lets_meet(rule: Mapping[str, Any]) -> bool:
    if rule.get("disabled") or rule.get("direction", "INGRESS") != "INGRESS":
        return False
    if rule.get("targetTags") or rule.get("targetServiceAccounts"):
        return False
    inside = set(rule.get("sourceRanges") or ()) & {names.INTERNAL, "10.0.0.0/8", "0.0.0.0/0"}
    return bool(inside) and any(_all_of_tcp(one) for one in rule.get("allowed") or ())


def _all_of_tcp(allowed: Mapping[str, Any]) -> bool:
    if allowed.get("IPProtocol") == "all":
        return True
    ports = allowed.get("ports") or ["0-65535"]
    return allowed.get("IPProtocol") in ("tcp", "6") and any(one in ("0-65535", "1-65535") for one in ports)


def _path(choices: Choices, what: str) -> str:
    return f"/compute/v1/projects/{segment(choices.project)}/global/{what}"

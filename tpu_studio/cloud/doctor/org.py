"""What an organisation forbids that a run needs: the area, addresses of one's own, new service accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpu_studio.cloud.doctor import pages
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.doctor.repairs import account_path, runner_address, stopper_address
from tpu_studio.cloud.queues import LOCATIONS, allows
from tpu_studio.cloud.session import segment
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices, Result

EXTERNAL_IP = "compute.vmExternalIpAccess"
NO_ACCOUNTS = "iam.disableServiceAccountCreation"


def look(apis: Apis, choices: Choices) -> Result:
    def policy(constraint: str) -> Mapping[str, Any]:
        path = f"/v2/projects/{segment(choices.project)}/policies/{constraint}:getEffectivePolicy"
        try:
            return apis.policies.get(path).get("spec") or {}
        except CloudRefused as error:
            if error.id == "not-found":
                return {}
            raise

    stops = []
    if not allows(policy(LOCATIONS), choices.region):
        stops.append(LOCATIONS)
    if _allows_no_other(policy(EXTERNAL_IP)):
        stops.append(EXTERNAL_IP)
    if _enforced(policy(NO_ACCOUNTS)) and not _both_there(apis, choices):
        stops.append(NO_ACCOUNTS)
    if not stops:
        return Result("org-policy", "pass", {})
    facts = {"policies": stops, "region": choices.region, "page": pages.policies(choices.project)}
    return Result("org-policy", "fail", facts, fix="request-permissions")


def _allows_no_other(spec: Mapping[str, Any]) -> bool:
    """Whether a list policy denies everything, or all but machines that it names: ours is none of them."""
    return any(
        rule.get("denyAll") or (rule.get("values") or {}).get("allowedValues") for rule in spec.get("rules") or ()
    )


def _enforced(spec: Mapping[str, Any]) -> bool:
    return any(rule.get("enforce") for rule in spec.get("rules") or ())


def _both_there(apis: Apis, choices: Choices) -> bool:
    addresses: tuple[Callable[[Choices], str], ...] = (runner_address, stopper_address)
    try:
        for address in addresses:
            apis.iam.get(account_path(choices, address(choices)))
    except CloudRefused as error:
        if error.id != "not-found":
            raise
        return False
    return True

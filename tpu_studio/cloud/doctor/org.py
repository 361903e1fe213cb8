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
MANAGED = {EXTERNAL_IP: "compute.managed.vmExternalIpAccess", NO_ACCOUNTS: "iam.managed.disableServiceAccountCreation"}
"""Google's newer constraints of the same meaning, each a switch: an organisation may use either."""


def look(apis: Apis, choices: Choices) -> Result:
    def policy(constraint: str) -> Mapping[str, object]:
        path = f"/v2/projects/{segment(choices.project)}/policies/{constraint}:getEffectivePolicy"
        try:
            return apis.policies.get(path).get("spec") or {}
        except CloudRefused as error:
            if error.id == "not-found":
                return {}
            raise

    def managed(constraint: str) -> str:
        """Its managed twin's name where that forbids; "": it does not, or there is none."""
        try:
            return MANAGED[constraint] if _enforced(policy(MANAGED[constraint])) else ""
        except CloudRefused as error:
            if error.id != "bad-request":
                raise
            return ""

    stops = []
    if not allows(policy(LOCATIONS), choices.region):
        stops.append(LOCATIONS)
    stops += [EXTERNAL_IP] if _allows_no_other(policy(EXTERNAL_IP)) else filter(None, [managed(EXTERNAL_IP)])
    accounts = NO_ACCOUNTS if _enforced(policy(NO_ACCOUNTS)) else managed(NO_ACCOUNTS)
    if accounts and not _both_there(apis, choices):
        stops.append(accounts)
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

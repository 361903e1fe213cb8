"""Policies as Google reads and writes them: versions and conditions, and that what was granted is not known at once.

IAM is eventually consistent ("each read is eventually consistent", IAM's API documentation; a grant reaches everywhere
in about two minutes, at times seven and more): what a call has granted or made counts only after a while, another one
for each grant and account, but the same in each run. `most_s` says how long at most, in practice seconds: little by
default, Google's own minutes by the fault ``iam-slow`` and the doubt ``iam-lag``. What the practice cloud grants itself
counts at once.

What is refused: discovery cloudresourcemanager.v3 (Policy.version, requestedPolicyVersion). The words of one refusal
are Google's (hashicorp/vault-plugin-secrets-gcp#88); those of the others are ours, and nothing reads them.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from tpu_studio.practice.conditions import NOTHING, NotUnderstood, Target, holds
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.state import Record

if TYPE_CHECKING:
    from tpu_studio.practice.cloud import Cloud

Policy = Record

CONDITIONAL = 3  # the version that policies with conditions need
_CUT = "_withcond_"
_SLOW = {"minutes": 420.0, "at-once": 0.0}  # the doubt iam-lag


def most_s(cloud: Cloud) -> float:
    if (slow := cloud.faults.armed("iam-slow")) is not None:
        return float(slow["seconds"])
    return _SLOW.get(cloud.doubts.way("iam-lag"), cloud.settings.iam_lag_s)


def known_at(cloud: Cloud, what: str) -> float:
    """When (practice time) something made or granted now is known everywhere; *what* picks the delay."""
    share = int.from_bytes(hashlib.sha256(f"{cloud.settings.seed}/{what}".encode()).digest()[:4], "big") / 2**32
    return cloud.clock.now() + most_s(cloud) * (0.25 + 0.75 * share)


def shown(cloud: Cloud, policy: Policy, requested: object) -> Policy:
    """*policy* as it is answered to who asks for version *requested*: conditions are cut out of anything below 3.

    Raises GoogleError 400: there is no such version.
    """
    version = _version(requested)
    if not has_conditions(policy):
        return {**policy, "version": 1}
    if version >= CONDITIONAL:
        laid_out = cloud.doubts.way("condition-as-written") == "normalised"
        bindings = [_laid_out(one) if laid_out and one.get("condition") else one for one in policy["bindings"]]
        return {**policy, "version": CONDITIONAL, "bindings": bindings}
    bindings = [_cut(one) if one.get("condition") else one for one in policy.get("bindings", [])]
    return {**policy, "version": 1, "bindings": bindings}


def check_written(before: Policy, wanted: Policy) -> None:
    """A policy with conditions, there or wanted, is written at version 3. Raises GoogleError 400."""
    version = _version(wanted.get("version"))
    if any(_CUT in str(one.get("role")) for one in wanted.get("bindings", [])):
        raise _bad(
            "A role whose condition was cut out cannot be granted: read the policy with requestedPolicyVersion 3."
        )
    if version < CONDITIONAL and has_conditions(wanted):
        raise _bad("Policy version must be 3 when it has a conditional role binding.")
    if version < CONDITIONAL and has_conditions(before) and wanted.get("etag"):
        raise _bad(
            f"Specified policy version ({version}) cannot be less than the existing policy version (3). For "
            "more information, please refer to https://cloud.google.com/iam/docs/policies#versions"
        )


def has_conditions(policy: Policy) -> bool:
    return any(one.get("condition") for one in policy.get("bindings", []))


def key(binding: Policy, member: str) -> str:
    """Of one grant, under which its time is kept."""
    condition = json.dumps(_laid_out(binding)["condition"], sort_keys=True) if binding.get("condition") else ""
    return f"{binding.get('role')} {member} {condition}"


def satisfied(binding: Policy, now: float, about: Target = NOTHING) -> bool:
    """Whether the condition of *binding* holds for *about* at *now* (practice time); one that is not understood here
    (`conditions`) never does."""
    if not (condition := binding.get("condition")):
        return True
    try:
        return holds(str(condition.get("expression", "")), about, now)
    except NotUnderstood:
        return False


def _laid_out(binding: Policy) -> Policy:
    """Without the space around operators; those of our conditions stand in no string."""
    condition = dict(binding["condition"])
    condition["expression"] = re.sub(r"\s*(&&|\|\||==)\s*", r"\1", str(condition.get("expression", "")).strip())
    return {**binding, "condition": condition}


def _cut(binding: Policy) -> Policy:
    mark = hashlib.sha256(json.dumps(binding["condition"], sort_keys=True).encode()).hexdigest()[:20]
    return {"role": f"{binding['role']}{_CUT}{mark}", "members": binding.get("members", [])}


def _version(asked: Any) -> int:
    try:
        version = int(asked or 0)
    except (TypeError, ValueError):
        version = -1
    if version not in (0, 1, CONDITIONAL):
        raise _bad("Policy version must be 0, 1 or 3.")
    return version


def _bad(message: str) -> GoogleError:
    return GoogleError(400, "INVALID_ARGUMENT", message)

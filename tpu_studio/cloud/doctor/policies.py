"""Grants: a policy is read at version 3, changed by what is missing, and written back with its etag and conditions.

Version 3, because Google cuts conditions out of anything less, and refuses to have such a policy written back. A race
that was lost (409, 412: two people at once) is read and tried again; what was granted is read back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpu_studio.cloud.doctor.waiting import Waiting, not_known_yet
from tpu_studio.cloud.session import Api, segment
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError

VERSION = 3
_RACES = 8
Policy = dict[str, Any]
Grants = Mapping[str, Any]


def of_project(api: Api, project: str) -> Policy:
    """*api*: Resource Manager."""
    asked = {"options": {"requestedPolicyVersion": VERSION}}
    return api.post(f"/v3/projects/{segment(project)}:getIamPolicy", asked, again=True)


def of_account(api: Api, path: str) -> Policy:
    """*api*: IAM; *path*: the account's."""
    return api.post(f"{path}:getIamPolicy", {}, {"options.requestedPolicyVersion": VERSION}, again=True)


def of_bucket(api: Api, bucket: str) -> Policy:
    return api.get(f"/storage/v1/b/{segment(bucket)}/iam", {"optionsRequestedPolicyVersion": VERSION})


def has(policy: Mapping[str, Any], role: str, member: str) -> bool:
    """Whether *member* holds *role* without a condition: one with a condition may fail at the moment it is needed."""
    return any(
        binding.get("role") == role and not binding.get("condition") and member in (binding.get("members") or ())
        for binding in policy.get("bindings") or ()
    )


def hidden(policy: Mapping[str, Any]) -> bool:
    """Whether it names groups, domains or other sets, whose members a reader does not see."""
    return any(
        not str(member).startswith(("user:", "serviceAccount:", "deleted:"))
        for binding in policy.get("bindings") or ()
        for member in binding.get("members") or ()
    )


class Granting:
    """Adds members to roles, and leaves everything else as it is."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    def on_project(self, api: Api, project: str, grants: Grants) -> None:
        path = f"/v3/projects/{segment(project)}:setIamPolicy"
        self._grant(lambda: of_project(api, project), lambda policy: api.post(path, {"policy": policy}), grants)

    def on_account(self, api: Api, path: str, grants: Grants) -> None:
        def write(policy: Policy) -> Any:
            return api.post(f"{path}:setIamPolicy", {"policy": policy})

        self._grant(lambda: of_account(api, path), write, grants)

    def on_bucket(self, api: Api, bucket: str, grants: Grants) -> None:
        path = f"/storage/v1/b/{segment(bucket)}/iam"
        self._grant(lambda: of_bucket(api, bucket), lambda policy: api.put(path, policy, again=False), grants)

    def _grant(self, read: Callable[[], Policy], write: Callable[[Policy], Any], grants: Grants) -> None:
        what = "the account or role that was made just now is not known everywhere yet"
        self._waiting.until(lambda: self._written(read, write, grants), not_known_yet, what)
        held = self._waiting.till(lambda: not added(read(), grants), "what was granted is not shown yet")
        if not held:
            raise CloudUnclear("grant-not-seen", roles=sorted(grants))

    def _written(self, read: Callable[[], Policy], write: Callable[[Policy], Any], grants: Grants) -> None:
        for tried in range(1, _RACES + 1):
            policy = read()
            if not added(policy, grants):
                return
            try:
                write({**policy, "version": VERSION})
                return
            except (CloudRefused, CloudUnclear) as error:
                if not _lost_race(error) or tried == _RACES:
                    raise
            self._waiting.pause(0.2 * tried, "somebody else changed the rights at the same moment: trying again")


def _lost_race(error: StudioError) -> bool:
    return error.facts.get("code") in (409, 412) or error.id in ("exists", "precondition")


def added(policy: Policy, grants: Grants) -> bool:
    """Put what is missing into *policy*; whether anything was."""
    bindings = policy.setdefault("bindings", [])
    changed = False
    for role, members in grants.items():
        wanted = [members] if isinstance(members, str) else list(members)
        binding = next((one for one in bindings if one.get("role") == role and not one.get("condition")), None)
        if binding is None:
            bindings.append({"role": role, "members": wanted})
            changed = True
            continue
        missing = [one for one in wanted if one not in binding.get("members", [])]
        if missing:
            binding["members"] = [*binding.get("members", []), *missing]
            changed = True
    return changed

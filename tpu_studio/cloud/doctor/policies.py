"""Grants: a policy is read at version 3, changed by what is missing, and written back with its etag and conditions.

Version 3, because Google cuts conditions out of anything less, and refuses to have such a policy written back. A race
that was lost (409, 412: two people at once) is read and tried again; what was granted is read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tpu_studio.cloud.doctor.waiting import Waiting, not_known_yet
from tpu_studio.cloud.session import Api, segment
from tpu_studio.domain.grants import OWN_MACHINES, Condition, is_same
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


def of_queue(api: Api, queue: str) -> Policy:
    """*api*: Cloud Tasks; *queue*: its full name."""
    return api.post(f"/v2/{queue}:getIamPolicy", {"options": {"requestedPolicyVersion": VERSION}}, again=True)


def has(policy: Mapping[str, object], role: str, member: str) -> bool:
    """Whether *member* holds *role* without a condition: one with a condition may fail at the moment it is needed."""
    return any(role == held and condition is None for held, condition in held_by(policy, member))


def has_under(policy: Mapping[str, object], role: str, member: str, under: Condition) -> bool:
    """Whether *member* holds *role* under exactly that condition, or without one."""
    return any(role == held and (not said or is_same(said, under)) for held, said in held_by(policy, member))


def held_by(policy: Mapping[str, Any], member: str) -> Iterator[tuple[str, Mapping[str, object] | None]]:
    """Roles that *member* was granted by name, each with its condition."""
    for binding in policy.get("bindings") or ():
        if member in (binding.get("members") or ()):
            yield str(binding.get("role", "")), binding.get("condition") or None


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

    def on_own_machines(self, api: Api, project: str, grants: Grants) -> None:
        """On the project, for machines of Compute Engine that are ours."""
        path = f"/v3/projects/{segment(project)}:setIamPolicy"

        def write(policy: Policy) -> object:
            return api.post(path, {"policy": policy})

        self._grant(lambda: of_project(api, project), write, grants, OWN_MACHINES)

    def on_queue(self, api: Api, queue: str, grants: Grants) -> None:
        def write(policy: Policy) -> object:
            return api.post(f"/v2/{queue}:setIamPolicy", {"policy": policy})

        self._grant(lambda: of_queue(api, queue), write, grants)

    def on_account(self, api: Api, path: str, grants: Grants) -> None:
        def write(policy: Policy) -> object:
            return api.post(f"{path}:setIamPolicy", {"policy": policy})

        self._grant(lambda: of_account(api, path), write, grants)

    def on_bucket(self, api: Api, bucket: str, grants: Grants, under: Condition | None = None) -> None:
        def write(policy: Policy) -> object:
            return api.put(f"/storage/v1/b/{segment(bucket)}/iam", policy, again=False)

        self._grant(lambda: of_bucket(api, bucket), write, grants, under)

    def off_bucket(self, api: Api, bucket: str, role: str, member: str) -> None:
        """Take *role* from *member*, where it was granted without a condition."""
        path = f"/storage/v1/b/{segment(bucket)}/iam"
        for tried in range(1, _RACES + 1):
            policy = of_bucket(api, bucket)
            if not taken(policy, role, member):
                return
            try:
                api.put(path, {**policy, "version": VERSION}, again=False)
                return
            except (CloudRefused, CloudUnclear) as error:
                if not _lost_race(error) or tried == _RACES:
                    raise
            self._waiting.pause(0.2 * tried, "somebody else changed the rights at the same moment: trying again")

    def _grant(
        self,
        read: Callable[[], Policy],
        write: Callable[[Policy], object],
        grants: Grants,
        under: Condition | None = None,
    ) -> None:
        what = "the account or role that was made just now is not known everywhere yet"
        self._waiting.until(lambda: self._written(read, write, grants, under), not_known_yet, what)
        held = self._waiting.till(lambda: not added(read(), grants, under), "what was granted is not shown yet")
        if not held:
            raise CloudUnclear("grant-not-seen", roles=sorted(grants))

    def _written(
        self, read: Callable[[], Policy], write: Callable[[Policy], object], grants: Grants, under: Condition | None
    ) -> None:
        for tried in range(1, _RACES + 1):
            policy = read()
            if not added(policy, grants, under):
                return
            try:
                write({**policy, "version": VERSION})
                return
            except (CloudRefused, CloudUnclear) as error:
                if not _lost_race(error) or tried == _RACES:
                    raise
            self._waiting.pause(0.2 * tried, "somebody else changed the rights at the same moment: trying again")


def _same(condition: object, under: Condition | None) -> bool:
    return is_same(condition, under) if under else not condition


def _lost_race(error: StudioError) -> bool:
    return error.facts.get("code") in (409, 412) or error.id in ("exists", "precondition")


def taken(policy: Policy, role: str, member: str) -> bool:
    """Take *member* out of the plain binding of *role*; whether it was there."""
    for binding in policy.get("bindings") or ():
        if binding.get("role") == role and not binding.get("condition") and member in (binding.get("members") or ()):
            binding["members"] = [one for one in binding["members"] if one != member]
            policy["bindings"] = [one for one in policy["bindings"] if one.get("members")]
            return True
    return False


def added(policy: Policy, grants: Grants, under: Condition | None = None) -> bool:
    """Put what is missing into *policy*, under that condition; whether anything was."""
    bindings = policy.setdefault("bindings", [])
    changed = False
    for role, members in grants.items():
        wanted = [members] if isinstance(members, str) else list(members)
        alike = (one for one in bindings if one.get("role") == role and _same(one.get("condition"), under))
        binding = next(alike, None)
        if binding is None:
            bindings.append({"role": role, "members": wanted, **({"condition": dict(under)} if under else {})})
            changed = True
            continue
        missing = [one for one in wanted if one not in binding.get("members", [])]
        if missing:
            binding["members"] = [*binding.get("members", []), *missing]
            changed = True
    return changed

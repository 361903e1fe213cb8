"""Who calls, and what they may: tokens, roles, policies.

Tokens are the owner's, and those that `oauth` (people, key files) and the metadata servers (machines) issue. What their
accounts may is what policies of the project, of a bucket, of a billing or service account grant through Google's roles;
an owner of a project is no exception.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tpu_studio.practice import policies
from tpu_studio.practice.clock import Clock
from tpu_studio.practice.conditions import NOTHING, Target
from tpu_studio.practice.faults import Faults
from tpu_studio.practice.roles import ROLES
from tpu_studio.practice.state import Database, Record

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"

_BASIC = {"projectOwner": "roles/owner", "projectEditor": "roles/editor", "projectViewer": "roles/viewer"}
_OWN_END = ("tpu.nodes.delete", "compute.instances.delete")


@dataclass(frozen=True)
class Principal:
    """Attributes:
    kind: ``user`` or ``serviceAccount``.
    is_owner: Holds the token that `practice --json` printed.
    client: Id of the sign-in client (``<project number>-….apps.googleusercontent.com``); "": none of one's own.
    zone: Where the machine is whose token it is; "": somewhere outside of Google.
    """

    email: str
    kind: str = "user"
    scopes: tuple[str, ...] = (CLOUD_PLATFORM,)
    is_owner: bool = False
    client: str = ""
    zone: str = ""

    @property
    def member(self) -> str:
        return f"{self.kind}:{self.email}"


class Principals:
    """Policies are stored under the resource's name: ``projects/P``, ``buckets/B``, ``serviceAccounts/EMAIL``,
    ``billingAccounts/A``, ``queues/`` and a queue's full name.

    Attributes:
        owner_token: New at each start: who has read an old one, at a port that was the server's once, gains nothing.
        others: Asked who is behind a token that isn't ours: a key file's own (`oauth`).
    """

    def __init__(self, db: Database, clock: Clock, faults: Faults, owner: str) -> None:
        self._db, self._clock, self._faults, self._owner = db, clock, faults, owner
        self.owner_token = f"practice-owner-{secrets.token_urlsafe(24)}"
        self.others: list[Callable[[str], Principal | None]] = []

    # ------------------------------------------------------------------------------------------------------ tokens

    def issue(
        self,
        email: str,
        kind: str = "user",
        scopes: tuple[str, ...] = (CLOUD_PLATFORM,),
        lifetime_s: float = 3600.0,
        zone: str = "",
    ) -> str:
        """A new access token; *lifetime_s* in practice seconds. *zone*: of the machine that gets it."""
        token = f"ya29.practice-{secrets.token_urlsafe(24)}"
        expires = self._clock.now() + lifetime_s
        told = {"email": email, "kind": kind, "scopes": list(scopes), "expires": expires, "zone": zone}
        self._db.put("token", token, told)
        return token

    def of(self, token: str) -> Principal | None:
        """None: unknown, expired or revoked."""
        if secrets.compare_digest(token.encode(), self.owner_token.encode()):
            return Principal(self._owner, is_owner=True)
        record = self._db.get("token", token)
        if record is None:
            return next((who for other in self.others if (who := other(token)) is not None), None)
        if record["expires"] <= self._clock.now():
            self._db.delete("token", token)
            return None
        client, zone = record.get("client", ""), record.get("zone", "")
        return Principal(record["email"], record["kind"], tuple(record["scopes"]), client=client, zone=zone)

    def revoke(self, token: str) -> bool:
        return self._db.delete("token", token)

    def revoke_all(self, email: str) -> None:
        for token, record in self._db.list("token"):
            if record["email"] == email:
                self._db.delete("token", token)

    # ---------------------------------------------------------------------------------------------------- policies

    def policy(self, resource: str) -> Record:
        """``{"version","etag","bindings":[{"role","members"}]}``"""
        return self._db.get("policy", resource) or {"version": 1, "etag": "ACAB", "bindings": []}

    def set_policy(
        self, resource: str, policy: dict[str, object], since: Callable[[str], float] | None = None
    ) -> dict[str, object]:
        """*since*: when a grant that is new counts, by its key; None: at once."""
        with self._db.transaction():
            before = self._grants(self.policy(resource))
            times = {one: at for one, at in self._times(resource).items() if one in before}
            if since is not None:
                times |= {one: since(f"{resource} {one}") for one in self._grants(policy) if one not in before}
            if times:
                self._db.put("policy-times", resource, times)
            else:
                self._db.delete("policy-times", resource)
        stored = {"version": 1, **policy, "etag": f"BwX{self._db.count('policy'):05d}"}
        self._db.put("policy", resource, stored)
        return stored

    def grant(self, resource: str, role: str, member: str, condition: Mapping[str, str] | None = None) -> None:
        under = {"condition": dict(condition)} if condition else {}
        with self._db.transaction():
            policy = self.policy(resource)
            same = (one for one in policy["bindings"] if one["role"] == role and one.get("condition") == condition)
            binding = next(same, None)
            if binding is None:
                policy["bindings"].append({"role": role, "members": [member], **under})
                policy |= {"version": policies.CONDITIONAL} if under else {}
            elif member not in binding["members"]:
                binding["members"].append(member)
            self.set_policy(resource, policy)

    def _grants(self, policy: Record) -> set[str]:
        return {policies.key(one, member) for one in policy.get("bindings", []) for member in one.get("members", [])}

    def _times(self, resource: str) -> dict[str, float]:
        return self._db.get("policy-times", resource) or {}

    def permissions(self, role: str) -> frozenset[str]:
        """Of a role, also a custom one (kind ``role``, ``projects/P/roles/R`` → ``includedPermissions``). One that was
        deleted or switched off (its stage) gives nothing, whoever holds it."""
        if role in ROLES:
            return ROLES[role].permissions
        own = self._db.get("role", role) or {}
        rests = own.get("deleted") or own.get("stage") == "DISABLED"
        return frozenset(() if rests else own.get("includedPermissions", ()))

    def may(self, who: Principal, permission: str, *resources: str, about: Target = NOTHING) -> bool:
        """Whether a policy of one of *resources* grants it, and no fault takes it away. *about*: what grants with a
        condition are held against."""
        if who.kind == "user":
            missing = self._faults.armed("permission-missing")
            if missing is not None and missing["permission"] == permission:
                return False
        elif permission in _OWN_END:
            name = who.email.partition("@")[0]
            if self._faults.armed("runner-may-not-delete", account=name) is not None:
                return False
        if CLOUD_PLATFORM not in who.scopes and not (permission.startswith("storage.") and _storage_scope(who)):
            return False
        return any(
            permission in self.permissions(binding["role"])
            and policies.satisfied(binding, self._clock.now(), about)
            and self._is_of(who, self._known(resource, binding))
            for resource in resources
            for binding in self.policy(resource).get("bindings", [])
        )

    def _known(self, resource: str, binding: Record) -> list[str]:
        """The members whose grant is known everywhere by now."""
        members: list[str] = binding.get("members", [])
        if not (times := self._times(resource)):
            return members
        return [one for one in members if times.get(policies.key(binding, one), 0.0) <= self._clock.now()]

    def _is_of(self, who: Principal, members: list[str]) -> bool:
        """*members* may be a bucket's ``projectOwner:P``: whoever has that basic role in the project."""
        if who.member in members or "allUsers" in members:
            return True
        for member in members:
            kind, _, project = member.partition(":")
            if (role := _BASIC.get(kind)) is not None:
                bindings = self.policy(f"projects/{project}").get("bindings", [])
                if any(one["role"] == role and who.member in one.get("members", []) for one in bindings):
                    return True
        return False


def _storage_scope(who: Principal) -> bool:
    return any(scope.startswith("https://www.googleapis.com/auth/devstorage.") for scope in who.scopes)

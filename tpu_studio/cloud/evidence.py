"""Whether runner and stopper may delete a machine, by reads and by proof. Implements `ports.StopRights`.

A proof is a task that deletes, as that account, a name that never was; an account of our own without any right
(``tpu-studio-nobody``) has the same task, so that 404 means "may delete" and not "is told to everybody".
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence

from tpu_studio.cloud.doctor import names, policies
from tpu_studio.cloud.doctor.names import NOBODY
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.queues import of_machines
from tpu_studio.cloud.session import PATIENT, SCOPES, Api, Patience, segment
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.domain.grants import is_own_machines
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.cloudruns.gate import GONE, Account, Evidence
from tpu_studio.workflow.cloudruns.ports import Ref

PROOF = "ts-proof-"
NEEDED = {"tpu": "tpu.nodes.delete", "compute": "compute.instances.delete"}
RETRIES = {"maxAttempts": 25, "minBackoff": "30s", "maxBackoff": "30s", "maxDoublings": 0}
"""Of a proof's tasks: they stand between attempts, to be read, for longer than a proof takes, then leave."""
_log = logging.getLogger(__name__)
_UNREADABLE = ("permission-missing", "service-disabled", "not-found", "bad-request")


class CloudStopRights:
    """Args:
    stops: Knows the queue and what a task calls.
    runner, stopper: *stopper* "": the stops act as the runner.
    """

    def __init__(
        self,
        http: object,
        endpoints: Endpoints,
        project: str,
        runner: str,
        stopper: str,
        stops: TaskStops,
        *,
        patience: Patience = PATIENT,
    ) -> None:
        self._iam = Api(endpoints.iam, http, patience=patience)
        self._resources = Api(endpoints.resources, http, patience=patience)
        self._tasks = Api(endpoints.tasks, http, patience=patience)
        self._project, self._runner, self._stopper, self._stops = project, runner, stopper, stops

    def evidence(self, ref: Ref) -> Evidence:
        """See `ports.StopRights`. The queue is made, set right or set going where that is needed."""
        queue, why, facts = "", "", dict[str, object]()
        try:
            queue = self._stops.queue(ref)
            self._stops.open(queue)
        except CloudRefused as error:
            queue, why, facts = "", error.id, dict(error.facts)
        policy = self._policy()
        if queue:
            self._admit(queue, policy)
        runner = self._account(self._runner, policy, NEEDED[ref.backend])
        stopper = self._account(self._stopper, policy, NEEDED[ref.backend]) if self._stopper else None
        return Evidence(queue, runner, stopper, why, facts)

    def begin(self, queue: str, ref: Ref, accounts: Sequence[str]) -> tuple[Mapping[str, str], str]:
        """See `ports.StopRights`."""
        control, number = self._nobody(), secrets.token_hex(8)
        tasks: dict[str, str] = {}
        try:
            for n, email in enumerate((control, *accounts)):
                tasks[self._set(queue, ref, f"{number}-{n}", email)] = email
        except CloudRefused:
            self.end(list(tasks))
            raise
        return tasks, control

    def trial(self, queue: str, ref: Ref, account: str) -> str:
        """See `ports.StopRights`."""
        return self._set(queue, ref, secrets.token_hex(8), account)

    def _set(self, queue: str, ref: Ref, number: str, email: str) -> str:
        """A task for now, that deletes a name that never was; its own name."""
        name = f"{queue}/tasks/{PROOF}{number}"
        url = self._stops.target(Ref(f"{PROOF}{number.partition('-')[0]}", ref.zone, ref.backend))
        call = {"httpMethod": "DELETE", "url": url, "oauthToken": {"serviceAccountEmail": email, "scope": SCOPES[0]}}
        task = {"name": name, "httpRequest": call, "retryConfig": dict(RETRIES)}
        self._tasks.post(f"/v2/{queue}/tasks", {"task": task}, zone=ref.zone)
        return name

    def answers(self, tasks: Sequence[str]) -> Mapping[str, int | None]:
        found: dict[str, int | None] = {}
        for name in tasks:
            try:
                told = self._tasks.get(f"/v2/{name}").get("lastAttempt") or {}
            except CloudRefused as error:
                if error.id != "not-found":
                    raise
                found[name] = GONE
                continue
            # While an attempt is on its way there is no responseTime, and Google calls its status meaningless.
            status = told.get("responseStatus") if told.get("responseTime") else None
            found[name] = int(status.get("code") or 0) if isinstance(status, Mapping) else None
        return found

    def end(self, tasks: Sequence[str]) -> None:
        for name in tasks:
            try:
                self._tasks.delete(f"/v2/{name}")
            except CloudRefused as error:
                if error.id != "not-found":
                    raise

    def is_project_active(self) -> bool:
        try:
            seen = self._resources.get(f"/v3/projects/{segment(self._project)}")
        except CloudRefused as error:
            if error.id != "project-deleted":  # it is also the call's quota project
                raise
            return False
        return seen.get("state") == "ACTIVE"

    # ------------------------------------------------------------------------------------------------------ calls

    def _nobody(self) -> str:
        """The account without rights, made where it is not there."""
        account = {"accountId": NOBODY, "serviceAccount": {"displayName": "TPU Studio, without rights"}}
        try:
            self._iam.post(f"/v1/projects/{segment(self._project)}/serviceAccounts", account)
        except CloudRefused as error:
            if error.id != "exists":
                raise
        return f"{NOBODY}@{self._project}.iam.gserviceaccount.com"

    def _policy(self) -> policies.Policy | None:
        try:
            return policies.of_project(self._resources, self._project)
        except CloudRefused as error:
            if error.id not in _UNREADABLE:
                raise
            return None

    def _account(self, email: str, policy: policies.Policy | None, permission: str) -> Account:
        try:
            there = self._iam.get(f"/v1/projects/{segment(self._project)}/serviceAccounts/{segment(email)}")
        except CloudRefused as error:
            if error.id == "not-found":
                return Account(email, "no", "absent")
            if error.id not in _UNREADABLE:
                raise
            return Account(email, "unknown", "unreadable", {"raw": error.facts.get("raw")})
        if there.get("disabled"):
            return Account(email, "no", "disabled")
        if policy is None:
            return Account(email, "unknown", "unreadable")
        conditional = False
        for role, condition in policies.held_by(policy, f"serviceAccount:{email}"):
            if permission in self._permissions(role):
                if not condition or (permission == NEEDED["compute"] and is_own_machines(condition)):
                    return Account(email, "yes")
                conditional = True
        return Account(email, "no", "conditional") if conditional else Account(email, "unknown", "no-grant")

    def _admit(self, queue: str, policy: policies.Policy | None) -> None:
        """Let the machines' account add stops in the machines' queue beside *queue*, both of which may be made for this
        launch. Where that is refused, the stops of before the create stand: the machine says that it could not add any
        (notice `outside-stops-kept`)."""
        member, role = f"serviceAccount:{self._runner}", f"projects/{self._project}/roles/{names.QUEUE_ROLE}"
        held = {one for role in _plain(policy or {}, member) for one in self._permissions(role)}
        theirs = of_machines(queue)
        try:
            self._stops.open(theirs)
            if held.issuperset(names.QUEUE_PERMISSIONS):
                return
            there = policies.of_queue(self._tasks, theirs)
            if policies.added(there, {role: member}):
                self._tasks.post(f"/v2/{theirs}:setIamPolicy", {"policy": {**there, "version": policies.VERSION}})
        except CloudRefused as error:
            _log.info("the machines' right in %s stays as it is: %s", theirs, error)

    def _permissions(self, role: str) -> frozenset[str]:
        """Of a role; none where it may not be looked into, is switched off or deleted."""
        try:
            seen = self._iam.get(f"/v1/{role}")
        except CloudRefused as error:
            if error.id not in _UNREADABLE:
                raise
            return frozenset()
        off = seen.get("deleted") or seen.get("stage") == "DISABLED"
        return frozenset() if off else frozenset(seen.get("includedPermissions") or ())


def _plain(policy: Mapping[str, object], member: str) -> Iterator[str]:
    """Roles that *member* was granted by name and without a condition."""
    return (role for role, condition in policies.held_by(policy, member) if not condition)

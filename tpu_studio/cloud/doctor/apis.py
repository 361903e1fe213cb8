"""Google's services as the checklist asks them, with the project whose switches and quota count for each call.

A person's call names that project in ``X-Goog-User-Project``. What is needed before anything can be switched on there
(project, billing, services) is asked once more without it when that project has the service off: then the call counts
for the project of the sign-in client: the person's own, or Google's with gcloud's credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.queues import QueueRegions
from tpu_studio.cloud.session import Api, session
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices


class Apis:
    """One `Api` for each service; *project*: whose quota counts, "" where none is chosen yet."""

    def __init__(self, credentials: object, endpoints: Endpoints, project: str) -> None:
        def api(base: str) -> Api:
            return Api(base, credentials, project)

        def early(base: str) -> Api:
            return _Early(base, credentials, project)

        self.project = project
        self.tpu, self.compute, self.storage = api(endpoints.tpu), api(endpoints.compute), api(endpoints.storage)
        self.tasks, self.iam, self.policies = api(endpoints.tasks), api(endpoints.iam), api(endpoints.orgpolicy)
        self.quotas, self.budgets = api(endpoints.quotas), api(endpoints.budgets)
        self.services, self.billing = early(endpoints.serviceusage), early(endpoints.billing)
        self.resources = early(endpoints.resources)
        self.regions = QueueRegions(self.tasks, self.policies, project)

    def queue(self, choices: Choices) -> str:
        """Full name of the shut-off timers' queue, in the nearest region. Raises as `QueueRegions.near`."""
        return self.regions.queue(self.regions.near(choices.region))


class _Early(Api):
    """Without the header where the named project has the service off, or may not be named.

    Raises what the call with the header was told; ``without``: what the one without it was told, where that is another
    refusal.
    """

    def __init__(self, endpoint: str, credentials: object, project: str) -> None:
        super().__init__(endpoint, credentials, project)
        self._bare = Api(endpoint, session(unnamed(credentials)))

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None,
        body: Mapping[str, object] | None,
        about: dict[str, object],
    ) -> dict[str, object]:
        try:
            return super()._send(method, path, query, body, about)
        except CloudRefused as error:
            if not _of_the_header(error):
                raise
            try:
                return self._bare._send(method, path, query, body, about)
            except CloudRefused as second:
                shared = second.id == "quota-project-needed" and error.id == "service-disabled"
                if second.id not in (error.id, "permission-missing") and not shared:
                    raise  # the service itself was reached, and says no
                raise CloudRefused(error.id, **{**error.facts, "without": second.facts.get("raw", "")}) from None


def unnamed(credentials: Any) -> object:
    """*credentials* whose calls name no project, also where gcloud's file names one."""
    if getattr(credentials, "quota_project_id", None):
        return credentials.with_quota_project(None)
    return credentials


_OF_THE_HEADER = ("required permission to use project", "Permission denied on resource project")


def _of_the_header(error: CloudRefused) -> bool:
    raw = str(error.facts.get("raw"))
    denied = any(words in raw for words in _OF_THE_HEADER)
    return error.id in ("service-disabled", "project-deleted") or (error.id == "permission-missing" and denied)

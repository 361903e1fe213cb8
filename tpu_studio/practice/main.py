"""Build the practice cloud: its services, its port, and an account in which everything is ready.

with Practice(Settings(folder)) as practice: …        practice.url, practice.token, practice.cloud
"""

from __future__ import annotations

import threading
from importlib import import_module
from types import TracebackType

from tpu_studio.domain.doubts import read_doubt
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.consumers import TITLES
from tpu_studio.practice.routing import Router
from tpu_studio.practice.server import PracticeServer
from tpu_studio.practice.settings import Settings

# A service has install(router, cloud), and prepare(cloud) where a new home needs something of it.
SERVICES = (
    "machines",
    "control",
    "resourcemanager",
    "serviceusage",
    "billing",
    "iam",
    "tasks",
    "storage",
    "quotas",
    "budgets",
    "orgpolicy",
    "tpu",
    "compute",
    "oauth",
    "network",
)


class Practice:
    """A server in a thread of this process; `stop` ends it, the machines live on.

    Args:
        faults: ``NAME[:key=value,…]`` each; armed before anything is prepared.
        doubts: ``ID[=other]`` each; answered the other way from the start. Raises BadInput.
        port: 0 = the one it had before, or any.
    """

    def __init__(
        self, settings: Settings, faults: tuple[str, ...] = (), port: int = 0, doubts: tuple[str, ...] = ()
    ) -> None:
        for text in doubts:
            read_doubt(text)  # before anything listens
        self.cloud = Cloud(settings)
        self.router = Router()
        self.server = self._listen(port)
        for text in faults:
            self.cloud.faults.arm_text(text)
        for text in doubts:
            self.cloud.doubts.arm(text)
        modules = [import_module(f"tpu_studio.practice.{name}") for name in SERVICES]
        for module in modules:
            module.install(self.router, self.cloud)
        with self.cloud.db.transaction():
            if self.cloud.db.get("practice", "prepared") is None:
                prepare_account(self.cloud)
                for module in modules:
                    if hasattr(module, "prepare"):
                        module.prepare(self.cloud)
                self.cloud.db.put("practice", "prepared", {"at": self.cloud.clock.now()})
        self._thread = threading.Thread(target=self.server.serve, name="practice-port", daemon=True)

    def start(self) -> Practice:
        self.cloud.start()
        self._thread.start()
        return self

    def _listen(self, port: int) -> PracticeServer:
        """At the port it had before, if that is free: machines that live on know no other address."""
        before = self.cloud.db.get("practice", "port")
        try:
            server = PracticeServer(self.cloud, self.router, port or (before["port"] if before else 0))
        except OSError:
            if port:
                self.cloud.db.close()
                raise
            server = PracticeServer(self.cloud, self.router)
        self.cloud.db.put("practice", "port", {"port": server.server_port})
        return server

    def stop(self) -> None:
        """Once; again is nothing."""
        if not self._thread.is_alive():
            return
        self.server.stop()
        self._thread.join()
        self.cloud.stop()

    def __enter__(self) -> Practice:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return self.cloud.url

    @property
    def token(self) -> str:
        return self.cloud.principals.owner_token

    def ready(self) -> dict[str, object]:
        """What `practice --json` prints."""
        return {"url": self.url, **self.cloud.settings.places(), "token": self.token}


def prepare_account(cloud: Cloud) -> None:
    """A project with an owner (a new account has none); ready: billing on, services on, the runner's account.

    Kinds that several services read: ``project`` P, ``billing`` P, ``service`` P/S, ``account`` email.
    """
    settings, db = cloud.settings, cloud.db
    if settings.new:
        return
    project = settings.project
    db.put(
        "project",
        project,
        {
            "projectId": project,
            "number": settings.number,
            "displayName": settings.display_name,
            "state": "ACTIVE",
            "createTime": cloud.clock.rfc3339(),
        },
    )
    cloud.principals.grant(f"projects/{project}", "roles/owner", f"user:{settings.owner}")
    db.put("billing", project, {"account": settings.billing_account if settings.ready else ""})
    if settings.ready:
        for service in TITLES:
            db.put("service", f"{project}/{service}", {"enabled": True})
    if settings.ready:
        runner = settings.runner
        db.put("account", runner, {"email": runner, "projectId": project, "displayName": "TPU Studio runner"})
        itself = f"serviceAccounts/{runner}"  # it moves its own shut-off timers, which run as itself
        cloud.principals.grant(itself, "roles/iam.serviceAccountUser", f"serviceAccount:{runner}")

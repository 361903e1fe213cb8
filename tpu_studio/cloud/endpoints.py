"""Base URLs of Google's services; the practice cloud answers all of them at one address."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Endpoints:
    """No slash at the end. In the practice cloud *tasks* has a path of its own: it shares paths with the TPU API."""

    tpu: str = "https://tpu.googleapis.com"
    compute: str = "https://compute.googleapis.com"
    storage: str = "https://storage.googleapis.com"
    tasks: str = "https://cloudtasks.googleapis.com"
    serviceusage: str = "https://serviceusage.googleapis.com"
    quotas: str = "https://cloudquotas.googleapis.com"
    billing: str = "https://cloudbilling.googleapis.com"
    budgets: str = "https://billingbudgets.googleapis.com"
    resources: str = "https://cloudresourcemanager.googleapis.com"
    iam: str = "https://iam.googleapis.com"
    orgpolicy: str = "https://orgpolicy.googleapis.com"
    authorize: str = "https://accounts.google.com/o/oauth2/v2/auth"
    token: str = "https://oauth2.googleapis.com/token"
    revoke: str = "https://oauth2.googleapis.com/revoke"
    userinfo: str = "https://openidconnect.googleapis.com/v1/userinfo"

    @classmethod
    def at(cls, url: str) -> Endpoints:
        """Every service at one address."""
        base = url.rstrip("/")
        names = dict.fromkeys(asdict(cls()), base)
        return cls(
            **{
                **names,
                "tasks": f"{base}/cloudtasks",
                "authorize": f"{base}/o/oauth2/v2/auth",
                "token": f"{base}/token",
                "revoke": f"{base}/revoke",
                "userinfo": f"{base}/v1/userinfo",
            }
        )

    def for_machine(self) -> dict[str, str]:
        """What a VM needs (``ts-config``)."""
        told = {name: getattr(self, name) for name in ("storage", "tpu", "compute", "tasks")}
        return told | {"resourcemanager": self.resources}

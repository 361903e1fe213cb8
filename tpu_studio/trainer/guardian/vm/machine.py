"""This machine as the cloud knows it: since when it costs money, whether it may delete itself, and doing it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from tpu_studio.trainer.guardian.vm.config import Config
from tpu_studio.trainer.guardian.vm.metadata import Authorized
from tpu_studio.trainer.guardian.vm.web import Backoff, Refused, Unreachable

_PROOF_TRIES = 6
_AGAIN_S = 60.0


@dataclass(frozen=True)
class Proof:
    """*holds*: this machine may delete itself, and was not deleted by asking."""

    holds: bool
    status: int
    said: str


class Machine:
    def __init__(self, api: Authorized, config: Config) -> None:
        self._api, self._config = api, config

    def created(self) -> float | None:
        """Seconds since 1970 from which on it is billed; None when that cannot be read now."""
        try:
            reply = self._api.call("GET", self._config.node)
        except (Unreachable, Refused):
            return None
        found = reply.json() if reply.ok else {}
        text = found.get("createTime") or found.get("creationTimestamp")
        return _seconds(text) if isinstance(text, str) else None

    def prove(self) -> Proof:
        """Ask for something that only who may delete it is told apart for.

        TPU: DELETE of the own queued resource without ``force``: while its node runs it is refused for its state (400
        or 409), which says that it would be allowed. Compute Engine has no such refusal: its testIamPermissions
        answers which of the asked permissions the machine's own account has on this very machine.
        """
        backoff = Backoff(most_s=8.0)
        proof = Proof(False, 0, "nobody answered")
        for _ in range(_PROOF_TRIES):
            try:
                proof = self._asked()
            except Unreachable as error:
                proof = Proof(False, 0, str(error))
            except Refused as error:
                proof = Proof(False, error.status, str(error))
            if proof.holds or (proof.status not in (0, 408, 429) and proof.status < 500):
                return proof
            time.sleep(backoff.pause())
        return proof

    def _asked(self) -> Proof:
        if self._config.backend == "tpu":
            reply = self._api.call("DELETE", self._config.unforced)
            return Proof(
                reply.status in (400, 409), reply.status, reply.said() if not reply.ok else "it is being deleted"
            )
        permission = "compute.instances.delete"
        reply = self._api.call(
            "POST",
            f"{self._config.unforced}/testIamPermissions",
            {"Content-Type": "application/json"},
            json.dumps({"permissions": [permission]}).encode(),
        )
        holds = reply.ok and permission in (reply.json().get("permissions") or [])
        return Proof(holds, reply.status, reply.said() if not reply.ok else f"{permission}: {holds}")

    def delete_once(self) -> str:
        """One DELETE; what was answered, short."""
        try:
            return str(self._api.call("DELETE", self._config.resource, timeout_s=60.0).status)
        except (Unreachable, Refused) as error:
            return str(error)[:200]

    def delete_for_ever(self, told: Callable[[str], None], pause_s: float = _AGAIN_S) -> None:
        """Delete this machine. Does not return: it is gone, or is asked for again until it is."""
        backoff = Backoff(first_s=1.0, most_s=pause_s)
        while True:
            answer = self.delete_once()
            told(f"delete answered {answer}")
            time.sleep(pause_s if answer == "200" else backoff.pause())


def _seconds(text: str) -> float | None:
    """RFC 3339, with up to nine digits of a second and Z or an offset."""
    head, dot, tail = text.partition(".")
    digits = len(tail) - len(tail.lstrip("0123456789"))
    rest = f"{head}.{tail[:digits][:6]:0<6}{tail[digits:]}" if dot else text  # Python 3.10 reads six digits
    try:
        return datetime.fromisoformat(rest.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None

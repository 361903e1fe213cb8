"""This machine as the cloud knows it: since when it costs money, whether it may delete itself, and doing it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from tpu_studio.trainer.guardian.vm.config import Config
from tpu_studio.trainer.guardian.vm.metadata import Authorized
from tpu_studio.trainer.guardian.vm.web import Backoff, Refused, Unreachable

PROOF_AGAIN_S, PROOF_AT_MOST_S = 15.0, 600.0  # of the cloud's clock
_PROOF_LEAST = 3  # asked so often, however fast a practice cloud's clock may run
DELETES = {"tpu": "tpu.nodes.delete", "compute": "compute.instances.delete"}
"""What it takes to delete a machine of each backend; a queued resource has no permissions of its own."""
COVERED, UNCOVERED = "ts-proof-", "no-proof-"
"""How names begin that no machine ever has: one that the condition of the grant covers (`OWN_MACHINES`), one not."""
_AGAIN_S = 60.0


@dataclass(frozen=True)
class Proof:
    """Attributes:
    holds: This machine may delete itself.
    status: Of the last answer; 0: there was none.
    waited_s: Seconds of the cloud's clock, over all that was *asked*.
    """

    holds: bool
    status: int
    said: str
    asked: int = 1
    waited_s: int = 0


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
        scheduling = found.get("scheduling")
        if isinstance(scheduling, dict) and scheduling.get("provisioningModel") == "FLEX_START":
            text = found.get("lastStartTimestamp") or text  # it may have waited for hours since it was asked for
        return _seconds(text) if isinstance(text, str) else None

    def prove(self, now: Callable[[], float], pause: Callable[[Proof, float], None]) -> Proof:
        """Whether this machine's own account may delete it: asked with its own token, and nothing is touched by asking;
        on Compute Engine tried on names that never were, where the answer is empty.

        A grant takes minutes to be heard of everywhere ("not granted", and refusals), and a service that is off, or
        does not answer, may come back: asked again until it holds, for ten minutes.

        Args:
            now: Seconds by the cloud's clock.
            pause: Called with the last answer and the seconds, by the same clock, to wait; may raise to give up.
        """
        began, asked = now(), 0
        while True:
            asked += 1
            proof = replace(self._asked(), asked=asked, waited_s=round(now() - began))
            if proof.holds or (asked >= _PROOF_LEAST and now() - began + PROOF_AGAIN_S > PROOF_AT_MOST_S):
                return proof
            pause(proof, PROOF_AGAIN_S)

    def _asked(self) -> Proof:
        permission = DELETES[self._config.backend]
        body = json.dumps({"permissions": [permission]}).encode()
        try:
            reply = self._api.call("POST", self._config.proof, {"Content-Type": "application/json"}, body)
        except Unreachable as error:
            return Proof(False, 0, str(error))
        except Refused as error:
            return Proof(False, error.status, str(error))
        granted = reply.json().get("permissions")
        holds = reply.ok and isinstance(granted, list) and permission in granted
        said = f"{permission} is {'' if holds else 'not '}granted" if reply.ok else reply.said()
        if reply.ok and not holds and self._config.backend == "compute":
            return self._tried(said)
        return Proof(holds, reply.status, said)

    def _tried(self, said: str) -> Proof:
        """The right under its condition, tried on names that never were: the answer to the question may leave out
        grants that hold under a condition (doubt ``compute-condition``). A DELETE of a name that the condition covers
        must find nothing, and one that it does not cover must be refused: else "not found" tells nothing of rights.
        """
        answers = []
        for begin, wanted in ((COVERED, 404), (UNCOVERED, 403)):
            name = f"{begin}{secrets.token_hex(16)}"  # 128 bits: no machine's name, nor this one's
            try:
                status = self._api.call("DELETE", f"{self._config.resource.rpartition('/')[0]}/{name}").status
            except Unreachable as error:
                return Proof(False, 0, f"{said}; DELETE of {begin}…: {error}")
            except Refused as error:
                status = error.status
            answers.append(f"DELETE of {begin}… {status}")
            if status != wanted:
                return Proof(False, status, f"{said}; {', '.join(answers)}")
        return Proof(True, 404, f"{said}; {', '.join(answers)}")

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

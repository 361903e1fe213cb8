"""An account becomes ready by itself: look, put the first thing right that can be put right, look again.

The same repairs as the Account page's buttons, from the top. What costs nothing is done; a project is made and billing
is turned on only where the `Consent` says so. What Google does not know everywhere yet is waited for, with an end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tpu_studio.domain.sentences.account import NAMES
from tpu_studio.wire.errors import CloudRefused, NotReady
from tpu_studio.workflow.account.naming import project_id
from tpu_studio.workflow.account.ports import BillingAccount, Choices, Doctor, Result

ALONE = ("enable-services", "make-network", "make-bucket", "make-runner", "make-queue", "use-area")
"""Repairs that need no answer of anybody's."""
PATIENCE_S = 900.0
"""Without anything new; then the rows stand as they are."""
_PRESSES = 4  # of one repair: services take two, and what Google forgets to show takes another
_FIRST_S, _MOST_S = 0.2, 10.0


class Consent(Protocol):
    def to_make(self, project: str) -> bool:
        """Whether a project of this id may be made."""
        ...

    def to_pay(self, accounts: Sequence[BillingAccount], project: str) -> str:
        """Which of the open billing *accounts* pays for *project* from now on; "": none."""
        ...


@dataclass
class Mending:
    """*keep* hears each change of the choices, *say* what is done, *waits* what Google is waited for, *refused* what it
    said no to."""

    doctor: Doctor
    consent: Consent
    say: Callable[[str], None]
    waits: Callable[[str], None]
    keep: Callable[[Choices], None]
    refused: Callable[[CloudRefused], None] = lambda error: None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic

    def run(self, choices: Choices) -> Choices:
        """Until nothing more can be done here; what Google refuses is said, and the rest goes on.

        Raises:
            NotReady: ``project-taken``, and what the `Consent` raises.
            CloudUnclear: Google was not reached.
        """
        presses: dict[str, int] = {}
        declined: set[str] = set()
        since, wait, last = self.now(), _FIRST_S, ""
        while True:
            results = self.doctor.check(choices)
            now_seen = repr([(one.id, one.state, one.facts.get("missing")) for one in results])
            if now_seen != last:
                since, wait, last = self.now(), _FIRST_S, now_seen
            broken = next((one for one in results if self._can(one, declined) and self._may(one, presses)), None)
            if broken is not None:
                presses[broken.fix] = presses.get(broken.fix, 0) + 1
                try:
                    after = self._mended(broken, choices)
                except CloudRefused as error:
                    self.refused(error)
                    after = None
                if after is None:
                    declined.add(broken.id)
                    continue
                choices = after
                self.keep(choices)
                continue
            if not self._settles(results) or self.now() - since > PATIENCE_S:
                return choices
            self.waits("Waiting for Google: what was enabled just now does not work everywhere yet")
            self.sleep(wait)
            wait = min(_MOST_S, wait * 1.5)

    @staticmethod
    def _can(one: Result, declined: set[str]) -> bool:
        known = one.fix in (*ALONE, "choose-project", "link-billing")
        return one.state in ("fail", "unknown") and known and one.id not in declined

    @staticmethod
    def _may(one: Result, presses: dict[str, int]) -> bool:
        return presses.get(one.fix, 0) < _PRESSES

    @staticmethod
    def _settles(results: Sequence[Result]) -> bool:
        return any(one.facts.get("recent") for one in results)

    def _mended(self, broken: Result, choices: Choices) -> Choices | None:
        """The choices afterwards; None: nobody agreed."""
        if broken.fix == "choose-project":
            return self._with_project(broken, choices)
        if broken.fix == "link-billing":
            return self._with_billing(choices)
        self.say(f"Mending {NAMES.get(broken.id, broken.id)}…")
        return self.doctor.fix(broken.fix, choices, say=self.waits)

    def _with_project(self, broken: Result, choices: Choices) -> Choices | None:
        if broken.facts.get("deleted") or broken.facts.get("console") or broken.facts.get("key"):
            return None  # the row says what a person does
        there = self.doctor.projects()
        if not choices.project and len(there) == 1:
            self.say(f"Choosing the project {there[0].id}…")
            return replace(choices, project=there[0].id)
        if (not choices.project and there) or not self.consent.to_make(id := choices.project or project_id("tpu")):
            return None
        self.say(f"Making the project {id}…")
        try:
            made = self.doctor.create_project(id, id, say=self.waits)
        except CloudRefused as error:
            if error.id != "exists":
                raise
            if any(one.id == id for one in self.doctor.projects()):  # somebody who sets it up with them was faster
                return replace(choices, project=id, bucket="", runner="", stopper="")
            free = project_id(id[:22])
            raise NotReady("project-taken", project=id, free=free) from error
        return replace(choices, project=made.id, bucket="", runner="", stopper="")

    def _with_billing(self, choices: Choices) -> Choices | None:
        listed = [one for one in self.doctor.billing_accounts(choices.project) if one.open]
        account = self.consent.to_pay(listed, choices.project)
        if not account:
            return None
        self.say(f"Turning billing on with {account}…")
        return self.doctor.fix("link-billing", choices, say=self.waits, account=account)

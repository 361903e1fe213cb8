"""What the Account page and ``tpu-studio doctor`` need of the cloud. Every call blocks and may take seconds.

Raises only SignedOut, CloudRefused, CloudUnclear (wire.errors), unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tpu_studio.domain.quota import sizes


@dataclass(frozen=True)
class Result:
    """What one check found.

    Attributes:
        id: signed-in, project, billing, services, permissions, org-policy, network, bucket, runner, outside-stop,
            quota, alert, test-loan.
        state: ``pass``, ``fail``, ``unknown`` (cannot tell, and why), ``waiting`` (an earlier one must pass first),
            ``optional`` (not there, and not needed).
        facts: What the sentence is made of (``domain.sentences.account``); ``raw`` is folded away; ``recent``: what it
            needs was switched on a moment ago, look again; ``page``: Google's own page where it is put right.
        fix: Id of the repair that one press does: sign-in, choose-project, link-billing, enable-services,
            request-permissions (a text to send to the owner), make-network, make-bucket, make-runner, make-queue,
            narrow-runner, narrow-stops (what an earlier version granted and is not needed is taken away), use-area,
            ask-quota, make-alert, test-loan; "" where there is none. An ``unknown`` one has the repair that
            would let it be looked at.
        cost_usd: What the step itself costs, if anything.
        undo: The repair can be taken back.
    """

    id: str
    state: str
    facts: Mapping[str, object] = field(default_factory=dict)
    fix: str = ""
    cost_usd: float = 0.0
    undo: bool = False


@dataclass(frozen=True)
class ProjectSeen:
    id: str
    name: str
    number: str = ""


@dataclass(frozen=True)
class BillingAccount:
    """*currency*: ISO 4217; "" where it is not told."""

    name: str
    title: str
    open: bool = True
    currency: str = ""


@dataclass(frozen=True)
class Allowance:
    """Quota of one generation and tier in one zone, in Google's own unit.

    Attributes:
        limit: The smaller of the zone's and the region's limit; None when it could not be read; 0 is "none allowed".
        limited_by: ``zone`` or ``region``: which of the two it is.
        used: What is in use there now; None when unknown.
        unit: ``chips`` or ``cores`` (a v5p chip counts two).
        quota_id, dimensions: What an increase is asked for.
        can_ask: Google takes requests for it; *why_not* says why otherwise (``no-billing``, ``no-history`` …).
        use: Which slices of v5e draw it, ``serving`` or ``training`` (``domain.quota``); "": all of the generation.
    """

    generation: str
    tier: str
    zone: str
    limit: int | None
    limited_by: str = "zone"
    used: int | None = None
    unit: str = "chips"
    quota_id: str = ""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    can_ask: bool = True
    why_not: str = ""
    use: str = ""

    @property
    def sizes(self) -> str:
        """The slices that it is for: `1, 4 or 8 chips`; "" for all."""
        return sizes(self.generation, self.use)

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - (self.used or 0))


@dataclass(frozen=True)
class QuotaRequest:
    """A request for more. *state*: waiting, granted, partly, denied. *generation*, *tier*, *unit*: as an `Allowance`'s;
    "" for a limit that nobody here has heard of."""

    id: str
    quota_id: str
    dimensions: Mapping[str, str]
    wanted: int
    granted: int | None
    state: str
    detail: str = ""
    asked: float | None = None
    generation: str = ""
    tier: str = ""
    unit: str = ""
    use: str = ""


@dataclass(frozen=True)
class Choices:
    """What a person has decided for the account; remembered per account in ``accounts.json``'s neighbour.

    *stopper*: the account of the shut-off timers once it is set up; "": they act as the runner. *monthly*: what the
    spending alert watches for, in whole units of *currency* (ISO 4217; "": not known yet, the billing account's own).
    *kept_days*: how long the bucket keeps, and Google charges, what was deleted: an organisation may want it so.
    """

    project: str = ""
    region: str = ""
    bucket: str = ""
    network: str = "default"
    runner: str = ""
    stopper: str = ""
    monthly: float = 25.0
    currency: str = ""
    kept_days: int = 0


class Doctor(Protocol):
    """The account seen with one set of credentials."""

    def check(
        self, choices: Choices, *, told: Callable[[Result], None] | None = None, only: Sequence[str] = ()
    ) -> Sequence[Result]:
        """All checks in order (or *only* some); *told* hears each as it is known. A check that cannot be made is
        ``unknown``; this never raises for one."""
        ...

    def fix(
        self,
        id: str,
        choices: Choices,
        *,
        say: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        **given: object,
    ) -> Choices:
        """Do the repair of `Result.fix`; the choices afterwards. Repeating it does no harm.

        It may wait minutes for what Google does not know everywhere yet: *say* hears what for, *cancelled* ends it
        (CloudUnclear ``stopped-waiting``; what was made by then stays, and the next press goes on there).
        """
        ...

    def undo(self, id: str, choices: Choices) -> Choices: ...

    def request_text(self, choices: Choices, missing: Sequence[str]) -> str:
        """The exact request to send to the project's owner: roles, and the commands that grant them."""
        ...

    def projects(self, search: str = "") -> Sequence[ProjectSeen]: ...

    def create_project(
        self,
        id: str,
        name: str,
        *,
        say: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> ProjectSeen:
        """Waits as `fix` does. Raises CloudRefused ``exists``: somebody in the world has that id."""
        ...

    def billing_accounts(self, project: str = "") -> Sequence[BillingAccount]:
        """*project*: the chosen one, whose services count for the question."""
        ...

    def allowances(self, project: str, *, told: Callable[[int, int], None] | None = None) -> Sequence[Allowance]:
        """The quota map; *told* hears (areas done, areas in all)."""
        ...

    def ask_quota(self, project: str, allowance: Allowance, wanted: int, why: str, email: str) -> QuotaRequest: ...

    def quota_requests(self, project: str) -> Sequence[QuotaRequest]: ...

"""``doctor --fix``: one repair by its name, or all of them, and what a person is asked for before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain.sentences import say as tell
from tpu_studio.wire import places
from tpu_studio.wire.errors import BadInput, CloudRefused, NotReady

if TYPE_CHECKING:
    from tpu_studio.workflow.account.ports import BillingAccount, Choices, Doctor

KNOWN = (
    "enable-services",
    "make-network",
    "make-bucket",
    "make-runner",
    "make-queue",
    "use-area",
    "link-billing",
    "make-alert",
    "narrow-runner",
    "narrow-stops",
)


def mended(
    arguments: Arguments, output: Output, seen: Doctor, choices: Choices, keep: Callable[[Choices], None]
) -> tuple[Choices, list[str]]:
    """The choices afterwards, and what was left because nobody has said yes to it (sentences).

    Raises:
        BadInput: No such repair; ``monthly-needed``.
        NotReady: ``billing-account-needed``: there are several that could pay, or none.
    """
    from tpu_studio.workflow.account.mending import Mending

    def waits(text: str) -> None:
        output.progress(None, text, same=text.partition(" (")[0])

    consent = _Answers(arguments, output)
    if arguments.fix == "all":
        done = Mending(seen, consent, output.say, waits, keep, consent.refused).run(choices)
        return done, consent.left
    if arguments.fix not in KNOWN:
        raise BadInput("command-line", raw=f"--fix takes all, {', '.join(KNOWN)}", help="tpu-studio doctor --help")
    given: dict[str, Any] = {}
    if arguments.fix == "link-billing":
        listed = [one for one in seen.billing_accounts(choices.project) if one.open]
        given = {"account": consent.one_of(listed)}
    if arguments.fix == "make-alert":
        choices = _with_amount(arguments, seen, choices)
    done = seen.fix(arguments.fix, choices, say=waits, **given)
    keep(done)
    return done, []


def _with_amount(arguments: Arguments, seen: Doctor, choices: Choices) -> Choices:
    """The month's amount, which is meant in the billing account's currency. Raises BadInput ``monthly-needed``."""
    if arguments.monthly is not None:
        if not 1 <= arguments.monthly <= 1e9 or arguments.monthly != round(arguments.monthly):
            told = f"--monthly takes a whole amount from 1, not {arguments.monthly:g}"
            raise BadInput("command-line", raw=told, help="tpu-studio doctor --help")
        return replace(choices, monthly=arguments.monthly)
    row = next((one for one in seen.check(choices, only=("alert",))), None)
    currency = str(row.facts.get("currency", "")) if row is not None else ""
    if currency not in ("USD", choices.currency) or not currency:
        raise BadInput("monthly-needed", currency=currency)
    return choices


class _Answers:
    """What the command line says yes to: by its options, or asked at the terminal. *left*: what it did not."""

    def __init__(self, arguments: Arguments, output: Output) -> None:
        self._arguments, self._output = arguments, output
        self.left: list[str] = []

    @property
    def _free(self) -> bool:
        return bool(places.by_id(self._arguments.on).rehearses or self._arguments.yes)

    def refused(self, error: CloudRefused) -> None:
        said = tell(error)
        self.left.append(f"{said.title}. {said.meaning} {said.action}")

    def to_make(self, project: str) -> bool:
        if self._free or self._output.ask(f"Make the project {project}? That costs nothing."):
            return True
        self.left.append(
            f"The project {project} was not made: add --yes to agree, or --project with one that you have."
        )
        return False

    def to_pay(self, accounts: Sequence[BillingAccount], project: str) -> str:
        account = self.one_of(accounts)
        question = f"Let {account} pay for {project}? Turning billing on costs nothing by itself."
        if self._free or self._output.ask(question):
            return account
        self.left.append(f"Billing was not turned on: add --yes to let {account} be billed for {project}.")
        return ""

    def one_of(self, accounts: Sequence[BillingAccount]) -> str:
        """The one that is named, or the only one. Raises NotReady ``billing-account-needed``."""
        if wanted := self._arguments.billing_account:
            return wanted if wanted.startswith("billingAccounts/") else f"billingAccounts/{wanted}"
        if len(accounts) == 1:
            return accounts[0].name
        for one in accounts:
            if self._output.ask(f"Several billing accounts are open. Bill {one.title or one.name} ({one.name})?"):
                return one.name
        listed = [{"name": one.name, "title": one.title, "currency": one.currency} for one in accounts]
        raise NotReady("billing-account-needed", accounts=listed)

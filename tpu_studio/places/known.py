"""What this computer knows of the account at Google without asking anybody: files only."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import secrets
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.viewmodels.home import CloudKnown
from tpu_studio.workflow.account.remembering import ChoicesFile


def cloud_known(home: Path) -> CloudKnown:
    active = Accounts(home, Endpoints(), lambda: secrets.choose(home)).active()
    if active is None:
        return CloudKnown()
    choices = ChoicesFile(home).of(active.id)
    usd = choices.monthly if choices.currency in ("", "USD") else None  # other money is not compared with dollars
    return CloudKnown(True, active.email, choices.project, bool(choices.bucket), usd, choices.region,
                      active.kind, active.until)  # fmt: skip

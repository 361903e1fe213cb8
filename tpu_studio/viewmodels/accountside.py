"""What the Account page needs of a cloud: who is signed in and how, what was chosen, and the doctor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tpu_studio.workflow.account.ports import Choices, Doctor


class AccountLike(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def email(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def since(self) -> float: ...
    @property
    def until(self) -> float: ...


class Signing(Protocol):
    """``cloud.signin.accounts.Accounts``."""

    def all(self) -> Sequence[AccountLike]: ...
    def active(self) -> AccountLike | None: ...
    def offered(self) -> Any: ...
    def use(self, id: str) -> AccountLike: ...
    def sign_in(
        self,
        client: object,
        open_browser: Callable[[str], bool],
        *,
        cancelled: Callable[[], bool],
        hint: str = "",
        told: Callable[[str, bool], None] | None = None,
    ) -> AccountLike: ...
    def add_gcloud(self) -> AccountLike: ...
    def add_key(self, path: Path) -> AccountLike: ...
    def remove(self, id: str) -> bool: ...
    def client(self, client_id: str) -> Any: ...


class ChoicesLike(Protocol):
    def of(self, account: str) -> Choices: ...
    def keep(self, account: str, choices: Choices) -> None: ...


class AccountSide(Protocol):
    """One cloud with its accounts.

    Attributes:
        place: ``cloud`` or ``practice``.
        secrets_where: ``keyring``, ``file`` or ``session``: said on the page; asking may take a moment.
    """

    place: str
    signing: Signing
    choices: ChoicesLike

    def doctor(self) -> Doctor: ...
    def parse_client(self, text: str) -> object:
        """The OAuth client in a file's text. Raises SignedOut ``client-unreadable``."""
        ...

    def own_client(self) -> object:
        """The client that this side signs in with when none was given; None where the person must bring one."""
        ...

    def open_browser(self, url: str) -> bool: ...
    def secrets_where(self) -> str: ...
    def has_gcloud(self) -> bool:
        """Whether Google's program is on this computer."""
        ...

    def gcloud_credentials(self) -> str | None:
        """Whose credentials gcloud has left here, "" where their file does not tell; None: there are none."""
        ...

    def gcloud_file(self) -> str:
        """Where they would be."""
        ...

    def practice_client(self) -> str:
        """The file of a client to rehearse with; "" at Google."""
        ...

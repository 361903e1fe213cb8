"""The accounts this program knows: how each signs in, which is in use, and their credentials. Secrets lie elsewhere.

``accounts.json`` in the home folder: kind, address, client id, path of a key file; never a token. Removing an account
revokes what was granted to us, on every computer; nothing else does. Credentials that gcloud or a key file own are
only forgotten here. Windows and command lines of one home change the file one after another; no lock is held while
Google is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import once
from tpu_studio.cloud.signin import browser, federated, gcloud
from tpu_studio.cloud.signin.secrets import Secrets
from tpu_studio.wire.claims import wait_for_lock
from tpu_studio.wire.errors import NotReady, SignedOut, StudioError
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import write_atomically

SCOPE = browser.NEEDED


@dataclass(frozen=True)
class Account:
    """One way to be somebody at Google.

    Attributes:
        id: ``oauth:<address>``, ``gcloud``, or ``key:<address>``.
        kind: oauth (signed in here), gcloud (gcloud's default credentials), key (service-account key file).
        email: "" when the credentials do not tell before they are used.
        project: The project last used with it.
        since: When it was signed in here, seconds since 1970; 0: not known, or not by us.
        until: When Google ends the sign-in, by its own word; 0: it named no end.
    """

    id: str
    kind: str
    email: str = ""
    client_id: str = ""
    path: str = ""
    project: str = ""
    since: float = 0.0
    until: float = 0.0


class Accounts:
    """May be used from any thread.

    Raises (where said):
        SignedOut: ``signed-out``, ``sign-in-…``, ``key-unreadable``, ``reauth-needed``, ``client-gone``,
            ``key-changed``, ``credentials-open``.
    """

    def __init__(
        self, home: Path, endpoints: Endpoints, secrets: Callable[[], Secrets], now: Callable[[], float] = time.time
    ) -> None:
        """*secrets* is asked for on first need: looking for a keyring takes time."""
        self._now = now
        self._file = home / "accounts.json"
        self._endpoints, self._make_secrets = endpoints, secrets
        self._secrets: Secrets | None = None
        self._lock = threading.RLock()
        self._held = False  # the lock between processes

    @property
    def secrets(self) -> Secrets:
        with self._lock:
            if self._secrets is None:
                self._secrets = self._make_secrets()
            return self._secrets

    # ------------------------------------------------------------------------------------------------------- looking

    def all(self) -> tuple[Account, ...]:
        """The known accounts, in the order in which they were added."""
        return tuple(self._read()[0])

    def active(self) -> Account | None:
        accounts, active = self._read()
        return next((one for one in accounts if one.id == active), None)

    def offered(self) -> gcloud.Found | None:
        """Credentials of gcloud that could be used and are not among the accounts yet."""
        found = gcloud.find()
        return None if found is None or any(one.kind == "gcloud" for one in self.all()) else found

    # ------------------------------------------------------------------------------------------------------ changing

    def use(self, id: str) -> Account:
        """Make it the active one. Raises SignedOut ``signed-out``."""
        with self._changing():
            accounts, _ = self._read()
            chosen = next((one for one in accounts if one.id == id), None)
            if chosen is None:
                raise SignedOut("signed-out", account=id)
            self._write(accounts, id)
            return chosen

    def remember_project(self, id: str, project: str) -> None:
        with self._changing():
            accounts, active = self._read()
            self._write([replace(one, project=project) if one.id == id else one for one in accounts], active)

    def sign_in(
        self,
        client: browser.Client,
        open_browser: Callable[[str], bool],
        *,
        cancelled: Callable[[], bool] = lambda: False,
        hint: str = "",
        told: Callable[[str, bool], None] | None = None,
    ) -> Account:
        """Sign in in the browser, keep the refresh token, and make the account the active one.

        What cannot be kept, and the token of an earlier sign-in, are only forgotten: Google would end every sign-in of
        that address to the clients of that project with them, on other computers too (`browser.revoke`).

        Raises: see `browser.sign_in`; NotReady ``secret-not-kept``.
        """
        granted = browser.sign_in(client, self._endpoints, open_browser, cancelled=cancelled, hint=hint, told=told)
        now = self._now()
        account = Account(
            f"oauth:{granted.email or client.id}",
            "oauth",
            granted.email,
            client.id,
            since=now,
            until=now + granted.lives_s if granted.lives_s else 0.0,
        )
        before = next((one for one in self.all() if one.id == account.id), None)
        self._keep(account, client, granted.refresh_token)
        return account if before is None or before.project == "" else replace(account, project=before.project)

    def add_gcloud(self, path: Path | None = None) -> Account:
        """Use gcloud's default credentials. Raises SignedOut ``gcloud-absent`` (facts: path)."""
        found = gcloud.find(path)
        if found is None:
            raise SignedOut("gcloud-absent", path=str(path or gcloud.default_file()))
        return self._add(Account("gcloud", "gcloud", found.email, path=str(found.path), project=found.project))

    def add_key(self, path: Path) -> Account:
        """Use a service-account key file; it stays where it is. Raises SignedOut ``key-unreadable``."""
        found = gcloud.find(path)
        if found is None or found.kind != "service_account":
            raise SignedOut("key-unreadable", path=str(path))
        account = Account(f"key:{found.email}", "key", found.email, path=str(path.absolute()), project=found.project)
        self.credentials(account)  # raises when the key inside is damaged
        return self._add(account)

    def remove(self, id: str) -> bool:
        """Forget the account; True when what was granted is revoked at Google too, which ends the sign-in by its client
        on every other computer (False: Google was not reached, or the credentials are not ours to revoke)."""
        with self._changing():
            accounts, active = self._read()
            gone = next((one for one in accounts if one.id == id), None)
            if gone is None:
                return False
            token = None
            if gone.kind == "oauth":
                token = self.secrets.get(f"refresh:{gone.id}")
                self.secrets.forget(f"refresh:{gone.id}")
            kept = [one for one in accounts if one.id != id]
            if gone.client_id and not any(one.client_id == gone.client_id for one in kept):
                self.secrets.forget(f"client:{gone.client_id}")
            self._write(kept, active if active != id else (kept[0].id if kept else ""))
        if not token:
            return False
        try:
            browser.revoke(self._endpoints, token)
        except StudioError:
            return False
        return True

    # --------------------------------------------------------------------------------------------------- credentials

    def client(self, client_id: str) -> browser.Client | None:
        """The OAuth client that was used before, so that signing in again asks for nothing."""
        secret = self.secrets.get(f"client:{client_id}")
        return browser.Client(client_id, secret) if secret else None

    def credentials(self, account: Account | None = None) -> Any:
        """google-auth credentials of *account* (default: the active one); nothing is asked of the network.

        A person's have all the scopes that were granted: fewer would hide who they are.
        """
        account = account or self.active()
        if account is None:
            raise SignedOut("signed-out")
        if account.kind == "oauth":
            return self._of_oauth(account)
        return once(lambda: self._of_file(account), account=account.email)

    def stamp(self, account: Account) -> str:
        """Changes when the account's credentials are replaced: signed in again, a new file. It tells nothing of them.

        Credentials that were made before keep the old ones for ever.
        """
        if account.kind == "oauth":
            token = self.secrets.get(f"refresh:{account.id}") or ""
            return hashlib.sha256(token.encode()).hexdigest()
        try:
            with open_to_read(Path(account.path)) as file:
                return hashlib.sha256(file.read(gcloud.LARGEST)).hexdigest()
        except OSError:
            return ""

    def _of_oauth(self, account: Account) -> object:
        from google.oauth2.credentials import Credentials

        token, client = self.secrets.get(f"refresh:{account.id}"), self.client(account.client_id)
        if not token or client is None:
            raise SignedOut("signed-out", account=account.email)
        return Credentials(  # type: ignore[no-untyped-call]
            token=None,
            refresh_token=token,
            client_id=client.id,
            client_secret=client.secret,
            token_uri=self._endpoints.token,
        )

    def _of_file(self, account: Account) -> object:
        path = Path(account.path)
        found = gcloud.find(path)
        if found is None or (account.kind == "key" and found.kind != "service_account"):
            raise SignedOut("gcloud-absent" if account.kind == "gcloud" else "key-unreadable", path=account.path)
        if found.kind == "service_account":
            return self._of_key(account, found)
        if found.kind == "authorized_user":
            return self._of_user(account, found)
        return federated.load(path, found.kind, found.tree, [SCOPE])

    def _of_key(self, account: Account, found: gcloud.Found) -> object:
        """Asked for at Google, whatever address the file names."""
        if account.kind == "key" and found.email != account.email:
            raise SignedOut("key-changed", path=account.path, account=account.email)
        from google.oauth2 import service_account

        try:
            return service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
                {**found.tree, "token_uri": self._endpoints.token}, scopes=[SCOPE]
            )
        except ValueError as error:
            raise SignedOut("key-unreadable", path=account.path, raw=type(error).__name__) from None

    def _of_user(self, account: Account, found: gcloud.Found) -> object:
        from google.oauth2.credentials import Credentials

        tree = found.tree
        try:
            return Credentials(  # type: ignore[no-untyped-call]
                token=None,
                refresh_token=tree["refresh_token"],
                client_id=tree["client_id"],
                client_secret=tree["client_secret"],
                token_uri=self._endpoints.token,
                quota_project_id=tree.get("quota_project_id"),
            )
        except KeyError as error:
            raise SignedOut("gcloud-absent", path=account.path, raw=str(error)) from None

    # ------------------------------------------------------------------------------------------------------- private

    def _keep(self, account: Account, client: browser.Client, token: str) -> None:
        """Raises NotReady ``secret-not-kept``: all is as it was."""
        try:
            with self._changing():
                earlier = self.secrets.get(f"refresh:{account.id}")
                self.secrets.put(f"client:{client.id}", client.secret)
                self.secrets.put(f"refresh:{account.id}", token)
                try:
                    self._add(account)
                except OSError:
                    if earlier:
                        self.secrets.put(f"refresh:{account.id}", earlier)
                    else:
                        self.secrets.forget(f"refresh:{account.id}")
                    raise
        except OSError as error:
            raise NotReady("secret-not-kept", where=str(self._file), raw=str(error)) from error

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One at a time, of this process and of all others that use this home. Raises OSError."""
        with self._lock:
            if self._held:  # by this very thread
                yield
                return
            make_private(self._file.parent)
            fd = os.open(self._file.with_name(".accounts.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                wait_for_lock(fd)
                self._held = True
                yield
            finally:
                self._held = False
                os.close(fd)

    def _add(self, account: Account) -> Account:
        with self._changing():
            accounts, _ = self._read()
            before = next((one for one in accounts if one.id == account.id), None)
            if before is not None and not account.project:
                account = replace(account, project=before.project)
            kept = [account if one.id == account.id else one for one in accounts]
            self._write(kept if before is not None else [*kept, account], account.id)
            return account

    def _read(self) -> tuple[list[Account], str]:
        try:
            tree = read_json(self._file)
            names = set(Account.__dataclass_fields__)
            known = [Account(**{k: _plain(k, v) for k, v in one.items() if k in names}) for one in tree["accounts"]]
            return known, str(tree.get("active", ""))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return [], ""  # nobody is signed in; what can be found again is offered again

    def _write(self, accounts: list[Account], active: str) -> None:
        tree = {"format": 1, "active": active, "accounts": [asdict(one) for one in accounts]}
        write_atomically(self._file, json.dumps(tree, indent=1, sort_keys=True).encode() + b"\n")


def _plain(name: str, value: Any) -> Any:
    """A field of ``accounts.json``; a damaged time is none."""
    if name not in ("since", "until"):
        return str(value)
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e12
    return float(value) if good else 0.0

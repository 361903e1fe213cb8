"""Where refresh tokens and client secrets are kept: the system's keyring, or a file that only its owner can read.

The keyring is chosen by name of backend: with ``keyrings.alt`` installed, keyring would pick a plain-text file and say
nothing. The private file protects as gcloud's own does, no better; the account page says so.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Protocol

from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.runfolder import write_atomically

SERVICE = "TPU Studio"
_TRUSTED = (
    "keyring.backends.SecretService",
    "keyring.backends.macOS",
    "keyring.backends.Windows",
    "keyring.backends.kwallet",
)
_LONGEST = 2_400  # characters: Windows' Credential Manager takes 2,560 bytes


class Secrets(Protocol):
    """Where secrets are kept; *where* is said on the account page: ``keyring``, ``file`` or ``session``."""

    @property
    def where(self) -> str: ...

    def put(self, name: str, secret: str) -> None:
        """Raises NotReady ``secret-not-kept``."""
        ...

    def get(self, name: str) -> str | None:
        """None when there is none, or it cannot be read now (a locked keyring)."""
        ...

    def forget(self, name: str) -> None: ...


class Session:
    """In memory only: gone when the program ends."""

    where = "session"

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def __repr__(self) -> str:
        return "<secrets of this session>"

    def put(self, name: str, secret: str) -> None:
        self._held[name] = secret

    def get(self, name: str) -> str | None:
        return self._held.get(name)

    def forget(self, name: str) -> None:
        self._held.pop(name, None)


class PrivateFile:
    """One JSON file, 0600 in a folder that is 0700."""

    where = "file"

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()

    def __repr__(self) -> str:
        return f"<secrets in {self.path}>"

    def put(self, name: str, secret: str) -> None:
        with self._lock:
            self._write({**self._read(), name: secret})

    def get(self, name: str) -> str | None:
        with self._lock:
            return self._read().get(name)

    def forget(self, name: str) -> None:
        with self._lock:
            held = self._read()
            if held.pop(name, None) is not None:
                self._write(held)

    def _read(self) -> dict[str, str]:
        try:
            self._close_to_others()
            held = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return {str(name): str(value) for name, value in held.items()} if isinstance(held, dict) else {}

    def _close_to_others(self) -> None:
        """Rights that somebody widened are narrowed again. Raises OSError: then nothing is read."""
        for path, rights in ((self.path.parent, 0o700), (self.path, 0o600)):
            if path.is_symlink():
                raise OSError(f"{path} is a link")
            if path.stat().st_mode & 0o077:
                path.chmod(rights)

    def _write(self, held: dict[str, str]) -> None:
        before = os.umask(0o077)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.parent.chmod(0o700)
            write_atomically(self.path, json.dumps(held, sort_keys=True).encode())
        except OSError as error:
            raise NotReady("secret-not-kept", where=str(self.path), raw=str(error)) from error
        finally:
            os.umask(before)


class Keyring:
    """The system's own: Secret Service, Keychain, Credential Manager."""

    where = "keyring"

    def put(self, name: str, secret: str) -> None:
        import keyring
        from keyring.errors import KeyringError

        if len(secret) > _LONGEST:
            raise NotReady("secret-not-kept", where="keyring", raw=f"{len(secret)} characters are too many")
        try:
            keyring.set_password(SERVICE, name, secret)
        except KeyringError as error:
            raise NotReady("secret-not-kept", where="keyring", raw=type(error).__name__) from None

    def get(self, name: str) -> str | None:
        import keyring
        from keyring.errors import KeyringError

        try:
            found: str | None = keyring.get_password(SERVICE, name)
        except KeyringError:
            return None
        return found

    def forget(self, name: str) -> None:
        import keyring
        from keyring.errors import KeyringError

        try:
            keyring.delete_password(SERVICE, name)
        except KeyringError:
            pass  # it was not there, or is locked: what it would open is revoked at Google in any case


def system_keyring() -> Keyring | None:
    """The system's keyring when there is one that can be trusted; asking may take a tenth of a second."""
    import keyring

    backend = keyring.get_keyring()
    names = [type(one).__module__ for one in getattr(backend, "backends", [backend])]
    trusted = [one for one in getattr(backend, "backends", [backend]) if type(one).__module__.startswith(_TRUSTED)]
    if not trusted or not names:
        return None
    keyring.set_keyring(trusted[0])
    return Keyring()


def choose(home: Path) -> Secrets:
    """The system's keyring, else the private file in *home*."""
    return system_keyring() or PrivateFile(home / "private" / "secrets.json")

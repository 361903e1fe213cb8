"""Where refresh tokens and client secrets are kept: the system's keyring, or a file that only its owner can read.

The keyring is chosen by name of backend: with ``keyrings.alt`` installed, keyring would pick a plain-text file and say
nothing. The private file protects as gcloud's own does, no better; the Account page says so.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tpu_studio.wire.claims import wait_for_lock
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import write_atomically

SERVICE = "TPU Studio"
_TRUSTED = (
    "keyring.backends.SecretService",
    "keyring.backends.macOS",
    "keyring.backends.Windows",
    "keyring.backends.kwallet",
)
_log = logging.getLogger(__name__)
_LONGEST = 2_400  # bytes in UTF-16, as keyring writes them: Windows' Credential Manager takes 2,560


class Secrets(Protocol):
    """Where secrets are kept; *where* is said on the Account page: ``keyring``, ``file`` or ``session``."""

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
    """One JSON file, 0600 in a folder that is 0700. Whoever changes it holds a lock that all processes share; one that
    is damaged is put aside before anything is written, so that nothing of it is lost."""

    where = "file"

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()

    def __repr__(self) -> str:
        return f"<secrets in {self.path}>"

    def put(self, name: str, secret: str) -> None:
        with self._changing() as held:
            held[name] = secret

    def get(self, name: str) -> str | None:
        with self._lock:
            try:
                return self._read().get(name)
            except (OSError, ValueError):
                return None

    def forget(self, name: str) -> None:
        if self.path.exists():
            with self._changing() as held:
                held.pop(name, None)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """What is in it, to be changed. Raises NotReady ``secret-not-kept``."""
        before = os.umask(0o077)
        try:
            with self._lock:
                make_private(self.path.parent)
                self.path.parent.chmod(0o700)
                with open(self.path.with_suffix(".lock"), "ab") as lock:
                    wait_for_lock(lock.fileno())
                    held = self._whole()
                    as_it_was = dict(held)
                    yield held
                    if held != as_it_was:
                        write_atomically(self.path, json.dumps(held, sort_keys=True).encode())
        except OSError as error:
            raise NotReady("secret-not-kept", where=str(self.path), raw=str(error)) from error
        finally:
            os.umask(before)

    def _whole(self) -> dict[str, str]:
        """As `_read`; what is damaged is put aside, and it begins empty. Raises OSError."""
        try:
            return self._read()
        except ValueError:
            aside = self.path.with_name(f"{self.path.stem}.damaged-{time.time_ns()}{self.path.suffix}")
            os.replace(self.path, aside)
            _log.warning("%s is damaged and was put aside as %s", self.path, aside.name)
            return {}

    def _read(self) -> dict[str, str]:
        """Raises OSError: it can't be read now; ValueError: it is damaged."""
        try:
            self._close_to_others()
            held = read_json(self.path)
        except FileNotFoundError:
            return {}
        if not isinstance(held, dict) or not all(isinstance(one, str) for one in held.values()):
            raise ValueError("not one object of texts")
        return dict(held)

    def _close_to_others(self) -> None:
        """Rights that somebody widened are narrowed again. Raises OSError; ValueError: it is a link."""
        if self.path.is_symlink():
            raise ValueError("a link")
        for path, rights in ((self.path.parent, 0o700), (self.path, 0o600)):
            if path.is_symlink():
                raise OSError(f"{path} is a link")
            if path.stat().st_mode & 0o077:
                path.chmod(rights)


class Keyring:
    """The system's own: Secret Service, Keychain, Credential Manager."""

    where = "keyring"

    def put(self, name: str, secret: str) -> None:
        import keyring

        if len(secret.encode("utf-16-le")) > _LONGEST:
            raise NotReady("secret-not-kept", where="keyring", raw=f"{len(secret)} characters are too many")
        try:
            keyring.set_password(SERVICE, name, secret)
        except _refusals() as error:
            raise NotReady("secret-not-kept", where="keyring", raw=type(error).__name__) from None

    def get(self, name: str) -> str | None:
        import keyring

        try:
            found: str | None = keyring.get_password(SERVICE, name)
        except _refusals():
            return None
        return found

    def forget(self, name: str) -> None:
        import keyring

        try:
            keyring.delete_password(SERVICE, name)
        except _refusals():
            pass  # it was not there, or is locked: what it would open is revoked at Google in any case


def _refusals() -> tuple[type[Exception], ...]:
    """What a keyring raises. That of Windows (keyring 25.7) lets the system's own error through, which is known only
    where its module is there."""
    from keyring.errors import KeyringError

    windows = getattr(sys.modules.get("keyring.backends.Windows"), "pywintypes", None)
    return (KeyringError,) if windows is None else (KeyringError, windows.error)


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

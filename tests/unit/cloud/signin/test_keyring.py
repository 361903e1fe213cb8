"""The system's keyring: what it does not take, or does not give, is said; no error of a system's own comes through."""

from __future__ import annotations

from types import SimpleNamespace

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import Windows
from keyring.errors import KeyringLocked

from tpu_studio.cloud.signin.secrets import SERVICE, Keyring
from tpu_studio.wire.errors import NotReady


class WindowsError(Exception):
    """As ``pywintypes.error``: no KeyringError."""


class Refusing(KeyringBackend):
    priority = 1.0  # type: ignore[assignment]

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error, self.kept = error, dict[tuple[str, str], str]()

    def set_password(self, service: str, username: str, password: str) -> None:
        self._refuse()
        self.kept[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        self._refuse()
        return self.kept.get((service, username))

    def delete_password(self, service: str, username: str) -> None:
        self._refuse()

    def _refuse(self) -> None:
        if self.error:
            raise self.error


def use(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> Refusing:
    backend = Refusing(error)
    monkeypatch.setattr(keyring.core, "_keyring_backend", backend)
    return backend


@pytest.mark.parametrize("windows", [True, False])
def test_a_keyring_that_refuses_is_told_and_no_error_of_its_own_comes_through(
    monkeypatch: pytest.MonkeyPatch, windows: bool
) -> None:
    if windows:
        monkeypatch.setattr(Windows, "pywintypes", SimpleNamespace(error=WindowsError), raising=False)
    use(monkeypatch, WindowsError(1783, "CredWrite", "The stub received bad data") if windows else KeyringLocked())
    with pytest.raises(NotReady, match="secret-not-kept"):
        Keyring().put("refresh:a", "x")
    assert Keyring().get("refresh:a") is None
    Keyring().forget("refresh:a")


@pytest.mark.parametrize(("secret", "taken"), [("x" * 1_200, True), ("x" * 1_201, False), ("\U0001f511" * 601, False)])
def test_what_is_longer_than_windows_takes_is_refused_before_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, secret: str, taken: bool
) -> None:
    """2,560 bytes of UTF-16, which has two for a letter, and four for some."""
    backend = use(monkeypatch, None)
    if taken:
        Keyring().put("refresh:a", secret)
        assert backend.kept == {(SERVICE, "refresh:a"): secret} and Keyring().get("refresh:a") == secret
    else:
        with pytest.raises(NotReady, match="secret-not-kept") as refused:
            Keyring().put("refresh:a", secret)
        assert "too many" in refused.value.facts["raw"] and not backend.kept

"""The two sides of the Account page and of ``doctor``: Google Cloud, and the practice cloud of this home."""

from __future__ import annotations

import json
import logging
import shutil
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import gcloud, secrets
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.places.standing import folder_of
from tpu_studio.wire import places
from tpu_studio.wire.homes import make_private
from tpu_studio.workflow.account.ports import Allowance
from tpu_studio.workflow.account.remembering import ChoicesFile, KeptQuota

_log = logging.getLogger(__name__)

# Any client id of this form is good at the practice cloud, and no other cloud knows it.
PRACTICE_CLIENT = Client("tpu-studio-practice.apps.googleusercontent.com", "practice-is-no-secret")


class Side:
    """Implements ``viewmodels.accountside.AccountSide``.

    Args:
        place: ``cloud`` or ``practice``.
        open_browser: Opens an address; False when it could not.
    """

    def __init__(
        self, place: str, home: Path, endpoints: Endpoints, open_browser: Callable[[str], bool] = webbrowser.open
    ) -> None:
        folder = folder_of(place, home)
        make_private(folder)
        self.place, self.endpoints, self._folder, self._browse = place, endpoints, folder, open_browser
        self.signing = Accounts(folder, endpoints, self._secrets)
        self.choices = ChoicesFile(folder)
        self._doctor: tuple[str, GoogleDoctor] | None = None

    def _secrets(self) -> secrets.Secrets:
        if places.by_id(self.place).rehearses:  # worth nothing, so the keyring is not bothered with it
            return secrets.PrivateFile(self._folder / "private" / "secrets.json")
        return secrets.choose(self._folder)

    def doctor(self) -> GoogleDoctor:
        """Of the active account; it asks anew when another has become active, or the same has signed in again."""
        active = self.signing.active()
        name = f"{active.id} {self.signing.stamp(active)}" if active else ""
        if self._doctor is None or self._doctor[0] != name:
            self._doctor = (name, GoogleDoctor(self._credentials, self.endpoints, self._offers, self._kept))
        return self._doctor[1]

    def doctor_for(self, credentials: object) -> GoogleDoctor:
        """With other credentials than the active account's."""
        return GoogleDoctor(credentials, self.endpoints, self._offers, self._kept)

    def _kept(self, project: str, rows: Sequence[Allowance], addresses: Mapping[str, tuple[int, int]]) -> None:
        try:
            KeptQuota(self._folder).keep(project, rows, addresses, time.time())
        except OSError as error:  # plans go by what was read before
            _log.warning("what Google allows cannot be kept: %s", error)

    def _credentials(self) -> object:
        return self.signing.credentials()

    @property
    def _offers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for generation in catalogue_at(self.place).offered():
            for zone in generation.zones:
                found.setdefault(zone.zone, set()).add(generation.id)
        return found

    def parse_client(self, text: str) -> Client:
        return Client.parse(text)

    def own_client(self) -> Client | None:
        if places.by_id(self.place).rehearses:
            return PRACTICE_CLIENT
        known = next((one.client_id for one in self.signing.all() if one.client_id), "")
        return self.signing.client(known) if known else None

    def browse_with(self, open_browser: Callable[[str], bool]) -> None:
        """From now on open addresses this way."""
        self._browse = open_browser

    def open_browser(self, url: str) -> bool:
        return self._browse(url)

    def has_gcloud(self) -> bool:
        return shutil.which("gcloud") is not None

    def gcloud_credentials(self) -> str | None:
        found = gcloud.find()
        return None if found is None else found.email

    def gcloud_file(self) -> str:
        return str(gcloud.default_file())

    def practice_client(self) -> str:
        if not places.by_id(self.place).rehearses:
            return ""
        inner = {
            "client_id": PRACTICE_CLIENT.id,
            "client_secret": PRACTICE_CLIENT.secret,
            "redirect_uris": ["http://localhost"],
        }
        return json.dumps({"installed": inner}, indent=1)

    def secrets_where(self) -> str:
        return self.signing.secrets.where


def side_of(place: str, home: Path) -> Side:
    return practice_side(home) if places.by_id(place).rehearses else cloud_side(home)


def cloud_side(home: Path) -> Side:
    return Side(places.charging().id, home, Endpoints())


def practice_side(home: Path, open_browser: Callable[[str], bool] = webbrowser.open) -> Side:
    """Starts the practice cloud of *home* if it does not run. Raises NotReady ``practice-failed``."""
    from tpu_studio.practice import daemon

    return Side(places.rehearsing().id, home, Endpoints.at(daemon.start_or_join(home)["url"]), open_browser)

"""Credentials that lie in files: gcloud's own, keys of service accounts, accounts elsewhere."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import gcloud
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.secrets import Session
from tpu_studio.wire.errors import SignedOut


def test_credentials_of_gcloud_are_found_where_gcloud_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    assert gcloud.find() is None
    file = tmp_path / "application_default_credentials.json"
    tree = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    file.write_text(json.dumps({**tree, "quota_project_id": "p"}))
    accounts = Accounts(tmp_path / "home", Endpoints.at("http://127.0.0.1:1"), Session)
    assert accounts.offered() is not None
    assert accounts.add_gcloud().project == "p"
    credentials = accounts.credentials()
    assert credentials.token_uri == "http://127.0.0.1:1/token" and credentials.quota_project_id == "p"
    assert accounts.offered() is None
    file.write_text("{")
    with pytest.raises(SignedOut, match="gcloud-absent"):
        accounts.credentials()


def test_a_key_file_that_is_none_is_refused(tmp_path: Path):
    accounts = Accounts(tmp_path, Endpoints(), Session)
    for content in ("", "{}", json.dumps({"type": "service_account", "client_email": "r@p", "private_key": "no key"})):
        path = tmp_path / "key.json"
        path.write_text(content)
        with pytest.raises(SignedOut, match="key-unreadable"):
            accounts.add_key(path)
    assert accounts.all() == ()


def key_file(path: Path, email: str = "r@p.iam.gserviceaccount.com", **more: str) -> Path:
    made = rsa.generate_private_key(65537, 2048)
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    tree = {"type": "service_account", "client_email": email, "private_key": pem, "token_uri": "http://a.example/t"}
    path.write_text(json.dumps({**tree, **more}))
    return path


def test_a_key_file_that_somebody_replaced_sends_nothing_anywhere(tmp_path: Path):
    """In a folder of several people its place was taken by credentials that had a private file read and sent."""
    accounts = Accounts(tmp_path / "home", Endpoints.at("http://127.0.0.1:1"), Session)
    account = accounts.add_key(file := key_file(tmp_path / "key.json"))
    assert accounts.credentials(account)._token_uri == "http://127.0.0.1:1/token"  # whatever the file says
    file.write_text(external(tmp_path / "private"))
    with pytest.raises(SignedOut, match="key-unreadable"):
        accounts.credentials(account)
    key_file(file, email="other@p.iam.gserviceaccount.com")
    with pytest.raises(SignedOut, match="key-changed"):
        accounts.credentials(account)
    file.unlink()
    os.mkfifo(file)  # it is not waited for
    with pytest.raises(SignedOut, match="key-unreadable"):
        accounts.credentials(account)
    assert accounts.stamp(account) == ""


def external(private: Path) -> str:
    private.write_text("mine alone")
    return json.dumps(
        {
            "type": "external_account",
            "audience": "//iam.googleapis.com/x",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": "https://sts.googleapis.com/v1/token",
            "credential_source": {"file": str(private)},
        }
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no modes here")
def test_credentials_that_name_a_file_and_an_address_are_ones_own(tmp_path: Path):
    accounts = Accounts(tmp_path / "home", Endpoints.at("http://127.0.0.1:1"), Session)
    folder = tmp_path / "federated"
    folder.mkdir()
    (file := folder / "adc.json").write_text(external(tmp_path / "private"))
    accounts.add_gcloud(file)
    assert accounts.credentials() is not None
    for open_to_others in (folder, file):
        mode = open_to_others.stat().st_mode
        open_to_others.chmod(0o777)
        with pytest.raises(SignedOut, match="credentials-open"):
            accounts.credentials()
        open_to_others.chmod(mode)
    assert accounts.credentials() is not None
    runs = json.loads(file.read_text()) | {"credential_source": {"executable": {"command": "/bin/true"}}}
    for odd in (runs, {"type": "external_account"}, {"type": "impersonated_service_account"}):
        file.write_text(json.dumps(odd))
        with pytest.raises(SignedOut, match="gcloud-absent"):
            accounts.credentials()

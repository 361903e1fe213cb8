"""Sign-in, held to Google's own client libraries: google-auth and google_auth_oauthlib, the browser replaced."""

from __future__ import annotations

import base64
import http.client
import json
import re
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any
from urllib import parse

import google.auth.transport.requests
import pytest
from google.auth.exceptions import RefreshError
from google.oauth2 import id_token, service_account
from google.oauth2.credentials import Credentials
from google_auth_oauthlib.flow import InstalledAppFlow

from tests.contract.conftest import Answer, Call, Start, caller
from tests.fakes.consent import Person
from tpu_studio.practice.main import Practice

CLOUD = "https://www.googleapis.com/auth/cloud-platform"
EMAIL = "https://www.googleapis.com/auth/userinfo.email"
CLIENT = "4711-abc.apps.googleusercontent.com"
HERE = "http://127.0.0.1:9/"  # nobody listens
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SignIn = Callable[..., Credentials]


@pytest.fixture
def sign_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[SignIn]:
    """``sign_in(practice, person, …)``: Google's own flow, start to end."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
    people: list[Person] = []

    def sign_in(practice: Practice, person: Person | None = None, **asked: Any) -> Credentials:
        person = person or Person()
        people.append(person)
        webbrowser.register("person", None, person, preferred=False)
        config = {
            "installed": {
                "client_id": CLIENT,
                "client_secret": "GOCSPX-secret",
                "auth_uri": f"{practice.url}/o/oauth2/v2/auth",
                "token_uri": f"{practice.url}/token",
                "redirect_uris": ["http://localhost"],
            }
        }
        flow = InstalledAppFlow.from_client_config(config, ["openid", EMAIL, CLOUD], autogenerate_code_verifier=True)
        found: Credentials = flow.run_local_server(
            host="127.0.0.1",
            bind_addr="127.0.0.1",
            port=0,
            browser="person",
            timeout_seconds=20,
            authorization_prompt_message=None,
            **{"access_type": "offline", "prompt": "consent", **asked},
        )
        return found

    yield sign_in
    for person in people:
        person.leave()


def session(credentials: Any) -> google.auth.transport.requests.AuthorizedSession:
    found = google.auth.transport.requests.AuthorizedSession(credentials)
    found.trust_env = False
    return found


def refresh(credentials: Credentials) -> None:
    with google.auth.transport.requests.requests.Session() as plain:
        credentials.refresh(google.auth.transport.requests.Request(session=plain))


def ask_token(practice: Practice, **form: str) -> Answer:
    fields = {"client_id": CLIENT, "client_secret": "x", **form}
    return caller(practice)("POST", "/token", parse.urlencode(fields).encode(), token="", headers=FORM)


def code_of(practice: Practice, **asked: str) -> str:
    """Ask for consent by hand; the code that comes back."""
    call = caller(practice)
    query = {"client_id": CLIENT, "redirect_uri": HERE, "response_type": "code", "scope": CLOUD, **asked}
    page = call("GET", f"/o/oauth2/v2/auth?{parse.urlencode(query)}", token="").raw.decode()
    ticket = re.search(r'name="ticket" value="([^"]+)"', page)
    assert ticket
    fields = {"ticket": ticket[1], "account": "you@practice.example", "scope": CLOUD, "action": "allow"}
    line = http.client.HTTPConnection("127.0.0.1", practice.server.server_port, timeout=60)
    line.request("POST", "/o/oauth2/v2/auth/consent", parse.urlencode(fields), FORM)
    reply = line.getresponse()
    reply.read()
    line.close()
    return parse.parse_qs(parse.urlsplit(reply.headers["Location"]).query)["code"][0]


def test_google_s_flow_signs_a_person_in_with_pkce_and_gets_both_tokens(practice: Practice, sign_in: SignIn):
    person = Person()
    found = sign_in(practice, person)

    assert found.refresh_token and found.valid and set(found.granted_scopes) == {"openid", EMAIL, CLOUD}
    with session(found) as web:
        projects = web.get(f"{practice.url}/v1/projects").json()["projects"]
        assert [one["projectId"] for one in projects] == [practice.cloud.settings.project]
        assert web.get(f"{practice.url}/v1/userinfo").json()["email"] == practice.cloud.settings.owner
    assert "Practice sign-in" in person.pages[0]


def test_the_identity_token_stands_up_to_google_s_own_check(practice: Practice, sign_in: SignIn):
    found = sign_in(practice)

    with google.auth.transport.requests.requests.Session() as plain:
        plain.trust_env = False
        said = id_token.verify_token(
            found.id_token,
            google.auth.transport.requests.Request(session=plain),
            audience=CLIENT,
            certs_url=f"{practice.url}/oauth2/v1/certs",
            clock_skew_in_seconds=60,
        )

    assert said["email"] == practice.cloud.settings.owner


def test_another_account_has_its_own_permissions(practice: Practice, sign_in: SignIn):
    found = sign_in(practice, Person(account="colleague@practice.example"))

    asked = {"permissions": ["tpu.nodes.list", "tpu.nodes.create"]}
    with session(found) as web:
        mine = web.post(f"{practice.url}/v3/projects/{practice.cloud.settings.project}:testIamPermissions", json=asked)

    assert mine.json() == {"permissions": ["tpu.nodes.list"]}


def test_a_scope_that_was_unticked_is_not_granted_and_calls_say_so(practice: Practice, sign_in: SignIn):
    found = sign_in(practice, Person(untick=(CLOUD,)))

    assert CLOUD not in found.granted_scopes
    with session(found) as web:
        refused = web.get(f"{practice.url}/v1/projects/{practice.cloud.settings.project}")
    assert refused.status_code == 403 and "ACCESS_TOKEN_SCOPE_INSUFFICIENT" in refused.text


def test_the_fault_unticks_the_box_once(start_practice: Start, sign_in: SignIn):
    practice = start_practice("scope-unticked")

    assert CLOUD not in sign_in(practice).granted_scopes
    assert CLOUD in sign_in(practice).granted_scopes


def test_cancelling_comes_back_as_access_denied(practice: Practice, sign_in: SignIn):
    with pytest.raises(Exception, match="access_denied"):
        sign_in(practice, Person(cancels=True))


def test_a_second_sign_in_without_asking_again_brings_no_refresh_token(practice: Practice, sign_in: SignIn):
    sign_in(practice)

    assert sign_in(practice, prompt="select_account").refresh_token is None


def test_access_tokens_live_an_hour_of_practice_time_and_are_renewed(start_practice: Start, sign_in: SignIn):
    practice = start_practice(speed=100.0)
    found = sign_in(practice)
    first = found.token
    renewed = ask_token(practice, grant_type="refresh_token", refresh_token=found.refresh_token)
    assert renewed.body["expires_in"] == 35  # an hour takes 36 s, and clients count in those; a second to be safe
    practice.cloud.db.put("token", first, {**(practice.cloud.db.get("token", first) or {}), "expires": 0.0})

    assert caller(practice)("GET", "/v1/projects", token=first).status == 401
    refresh(found)
    assert found.token != first and caller(practice)("GET", "/v1/projects", token=found.token).status == 200


def test_a_rotated_refresh_token_replaces_the_old_one(start_practice: Start, sign_in: SignIn):
    practice = start_practice("refresh-token-rotates")
    found = sign_in(practice)
    old = found.refresh_token

    refresh(found)

    assert found.refresh_token != old
    assert ask_token(practice, grant_type="refresh_token", refresh_token=old).body["error"] == "invalid_grant"
    refresh(found)


def test_a_refresh_token_of_an_app_in_testing_ends(start_practice: Start, sign_in: SignIn):
    practice = start_practice("refresh-token-expires:days=0")
    found = sign_in(practice)

    with pytest.raises(RefreshError) as refused:
        refresh(found)
    assert refused.value.args[1]["error"] == "invalid_grant"


def test_a_withdrawn_sign_in_is_refused_until_one_signs_in_again(practice: Practice, sign_in: SignIn):
    found = sign_in(practice)
    practice.cloud.faults.arm("token-revoked")

    assert caller(practice)("GET", "/v1/projects", token=found.token).status == 401
    with pytest.raises(RefreshError, match="expired or revoked"):
        refresh(found)
    refresh(sign_in(practice))


def test_re_authentication_is_asked_for_the_way_workspace_does(practice: Practice, sign_in: SignIn):
    found = sign_in(practice)
    practice.cloud.faults.arm("reauth-needed")

    with pytest.raises(RefreshError, match="Reauthentication is needed"):
        refresh(found)
    refresh(sign_in(practice))


def test_a_client_that_was_deleted_is_invalid_at_both_doors(practice: Practice, sign_in: SignIn):
    found = sign_in(practice)
    practice.cloud.faults.arm("client-gone")

    with pytest.raises(RefreshError) as refused:
        refresh(found)
    page = caller(practice)("GET", f"/o/oauth2/v2/auth?client_id={CLIENT}", token="")

    assert refused.value.args[1]["error"] == "invalid_client"
    assert page.status == 400 and b"deleted_client" in page.raw


def test_revoking_ends_the_refresh_token_and_its_access_token(practice: Practice, sign_in: SignIn):
    found = sign_in(practice)
    call = caller(practice)

    revoke = f"/revoke?token={found.refresh_token}"
    assert call("POST", revoke, b"", token="", headers=FORM).status == 200

    assert call("GET", "/v1/projects", token=found.token).status == 401
    assert call("POST", revoke, b"", token="", headers=FORM).body["error"] == "invalid_token"
    with pytest.raises(RefreshError):
        refresh(found)


def test_tokeninfo_tells_scopes_and_whose_it_is(practice: Practice, sign_in: SignIn):
    found = sign_in(practice)

    info = caller(practice)("GET", f"/tokeninfo?access_token={found.token}", token="").body

    assert (info["email"], info["aud"]) == (practice.cloud.settings.owner, CLIENT) and CLOUD in info["scope"].split()
    assert 3500 < int(info["expires_in"]) <= 3600
    assert caller(practice)("GET", "/tokeninfo?access_token=nonsense", token="").status == 400


def test_a_code_works_once(practice: Practice):
    code = code_of(practice)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": HERE}

    assert ask_token(practice, **form).status == 200
    assert ask_token(practice, **form).body == {"error": "invalid_grant", "error_description": "Malformed auth code."}


@pytest.mark.parametrize(
    ("verifier", "words"), [("wrong" * 10, "Invalid code verifier."), ("", "Missing code verifier.")]
)
def test_a_code_is_worth_nothing_without_its_verifier(practice: Practice, verifier: str, words: str):
    code = code_of(practice, code_challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method="S256")
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": HERE}

    refused = ask_token(practice, **form, **({"code_verifier": verifier} if verifier else {}))

    assert (refused.status, refused.body["error_description"]) == (400, words)


def test_the_verifier_of_rfc_7636_fits_its_challenge(practice: Practice):  # the pair of its appendix B
    code = code_of(practice, code_challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method="S256")

    taken = ask_token(
        practice,
        grant_type="authorization_code",
        code=code,
        redirect_uri=HERE,
        code_verifier="dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    )

    assert taken.status == 200


@pytest.mark.parametrize("target", ["https://evil.example/", "http://evil.example/", "urn:ietf:wg:oauth:2.0:oob", ""])
def test_only_loopback_addresses_are_sent_a_code(call: Call, target: str):
    query = parse.urlencode({"client_id": CLIENT, "redirect_uri": target, "response_type": "code", "scope": CLOUD})
    page = call("GET", f"/o/oauth2/v2/auth?{query}", token="")

    assert page.status == 400 and b"redirect_uri_mismatch" in page.raw


def test_other_web_pages_cannot_press_the_button(call: Call):
    fields = parse.urlencode({"ticket": "x", "action": "allow"}).encode()

    foreign = call(
        "POST", "/o/oauth2/v2/auth/consent", fields, token="", headers={**FORM, "Origin": "http://evil.example"}
    )
    guessed = call("POST", "/o/oauth2/v2/auth/consent", fields, token="", headers=FORM)

    assert foreign.status == 403
    assert guessed.status == 400 and b"too old" in guessed.raw


def test_the_page_escapes_what_it_is_given_and_cannot_be_framed(call: Call):
    query = parse.urlencode(
        {
            "client_id": CLIENT,
            "redirect_uri": "http://localhost:1/",
            "response_type": "code",
            "scope": '"><script>alert(1)</script>',
        }
    )
    page = call("GET", f"/o/oauth2/v2/auth?{query}", token="")

    assert b"<script" not in page.raw and page.headers["X-Frame-Options"] == "DENY"


def key_file(practice: Practice) -> dict[str, Any]:
    runner, project = practice.cloud.settings.runner, practice.cloud.settings.project
    made = caller(practice)("POST", f"/v1/projects/{project}/serviceAccounts/{runner}/keys", {})
    found: dict[str, Any] = json.loads(base64.b64decode(made.body["privateKeyData"]))
    return found


def test_a_key_file_signs_in_as_its_account_and_has_that_account_s_permissions(practice: Practice):
    credentials = service_account.Credentials.from_service_account_info(key_file(practice), scopes=[CLOUD])
    project = practice.cloud.settings.project
    asked = {"permissions": ["tpu.nodes.delete", "resourcemanager.projects.setIamPolicy"]}

    with session(credentials) as web:
        mine = web.post(f"{practice.url}/v3/projects/{project}:testIamPermissions", json=asked)

    assert mine.json() == {"permissions": ["tpu.nodes.delete"]}


def test_a_self_signed_token_of_a_key_file_is_taken_too(practice: Practice):
    signed = service_account.Credentials.from_service_account_info(
        key_file(practice), scopes=[CLOUD], always_use_jwt_access=True
    )
    with session(signed) as web:
        there = f"compute/v1/projects/{practice.cloud.settings.project}/zones/us-east5-b/instances"
        assert web.get(f"{practice.url}/{there}").status_code == 200
    assert signed.token.count(".") == 2


def test_a_key_that_was_deleted_or_whose_account_is_gone_is_refused(practice: Practice):
    file = key_file(practice)
    runner, project = practice.cloud.settings.runner, practice.cloud.settings.project
    path = f"/v1/projects/{project}/serviceAccounts/{runner}"
    credentials = service_account.Credentials.from_service_account_info(file, scopes=[CLOUD])

    assert caller(practice)("DELETE", f"{path}/keys/{file['private_key_id']}").status == 200
    with pytest.raises(RefreshError, match="Invalid JWT Signature"):
        refresh(credentials)
    assert caller(practice)("DELETE", path).status == 200
    with pytest.raises(RefreshError, match="account not found"):
        refresh(credentials)


def test_an_organisation_may_forbid_key_files(start_practice: Start):
    practice = start_practice("org-policy:constraint=iam.disableServiceAccountKeyCreation")
    runner, project = practice.cloud.settings.runner, practice.cloud.settings.project

    refused = caller(practice)("POST", f"/v1/projects/{project}/serviceAccounts/{runner}/keys", {})

    assert refused.status == 400 and refused.error["status"] == "FAILED_PRECONDITION"

"""Google's sign-in: the consent page, tokens for people and for key files, revocation, who is signed in.

Any client id of Google's form is taken with any secret: whose it is cannot be checked here. Tokens live an hour of
practice time; ``expires_in`` is said in real seconds, because clients count in those.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import secrets
import time
import urllib.parse

from tpu_studio.practice import iam, jwt
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.principals import CLOUD_PLATFORM, Principal
from tpu_studio.practice.routing import Reply, Request, Router
from tpu_studio.practice.state import Record

LIFETIME_S = 3600.0
CODE_LIFETIME_S = 600.0
EMAIL = "https://www.googleapis.com/auth/userinfo.email"
PROFILE = "https://www.googleapis.com/auth/userinfo.profile"
SHORT = {"email": EMAIL, "profile": PROFILE}
ALWAYS = ("openid", EMAIL, PROFILE)
"""Scopes without a box: Google grants them with the sign-in itself."""
WORDS = {
    CLOUD_PLATFORM: "See, edit, configure and delete your Google Cloud data, and see your account's e-mail address",
    "https://www.googleapis.com/auth/drive.file": "See, create and delete only the Google Drive files you use with it",
    "https://www.googleapis.com/auth/cloud-billing": "View and manage your Google Cloud billing accounts",
}
BLOCKED: dict[str, tuple[int, str]] = {
    "access_denied": (
        403,
        "This app has not completed the Google verification process. The app is currently being tested, and can only "
        "be accessed by developer-approved testers.",
    ),
    "admin_policy_enforced": (400, "Your organisation's policy does not let this app see your data."),
    "org_internal": (403, "This client is restricted to users within its organization."),
    "deleted_client": (401, "The OAuth client was deleted."),
    "invalid_client": (401, "The OAuth client was not found."),
    "redirect_uri_mismatch": (400, "The redirect URI in the request does not match the client's."),
    "disallowed_useragent": (403, "You can't sign in from this screen: the app does not use a secure browser."),
    "access_not_configured": (400, "Your school's administrator has not configured access to this app."),
    "invalid_request": (400, "You can't sign in to this app: it doesn't comply with Google's OAuth 2.0 policy."),
}
"""Google's page instead of the consent page, by its error code: the number before it and words
(support.google.com/accounts/answer/16668185 and the authorization errors of its OAuth pages)."""
_CLIENT = re.compile(r"[A-Za-z0-9_-]+\.apps\.googleusercontent\.com")
_PRINTABLE = re.compile(r"[!-~]+")
_CODE_GRANT = "authorization_code"
_JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all browsers send "Origin: null"
}


class OAuthError(Exception):
    """What the token endpoint says no with (RFC 6749 §5.2), in Google's words."""

    def __init__(self, error: str, description: str, code: int = 400, **more: str) -> None:
        super().__init__(description)
        self.code, self.body = code, {"error": error, "error_description": description, **more}


def install(router: Router, cloud: Cloud) -> None:
    cloud.principals.others.append(lambda token: _self_signed(cloud, token))

    @router.route("GET", r"/o/oauth2(?:/v2)?/auth", public=True, pages=True)
    def authorize(request: Request) -> Reply:
        asked = {name: values[0] for name, values in request.query.items()}
        if refused := _refusal(cloud, asked):
            status, code, words = refused
            if cloud.doubts.way("signin-blocked-page") and _at_loopback(asked):
                return _redirect(asked, {"error": code})
            shown = f"<h1>Access blocked</h1><p>{html.escape(words)}</p><p>Error {status}: {html.escape(code)}</p>"
            return _page(shown, 400)
        ticket = secrets.token_urlsafe(24)
        cloud.db.put("consent", ticket, {"asked": asked, "until": cloud.clock.now() + CODE_LIFETIME_S})
        return _page(_consent_page(cloud, asked, ticket))

    @router.route("POST", r"/o/oauth2/v2/auth/consent", public=True, pages=True)
    def consent(request: Request) -> Reply:
        origin = request.headers.get("Origin")
        if origin not in (None, cloud.url, cloud.url.replace("127.0.0.1", "localhost")):
            raise GoogleError(403, "PERMISSION_DENIED", "The consent page answers itself only.")
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise GoogleError(403, "PERMISSION_DENIED", "The consent page answers itself only.")
        form = _form(request)
        with cloud.db.transaction():
            record = cloud.db.get("consent", _first(form, "ticket"))
            cloud.db.delete("consent", _first(form, "ticket"))
        if record is None or record["until"] < cloud.clock.now():
            return _page("<h1>This page is too old</h1><p>Start the sign-in again from the program.</p>", 400)
        return _redirect(record["asked"], _decided(cloud, record["asked"], form))

    @router.route("POST", r"/token|/oauth2/v4/token", public=True)
    def token(request: Request) -> Reply:
        form = {**_basic(request), **{name: values[0] for name, values in _form(request).items()}}
        grants = {_CODE_GRANT: _by_code, "refresh_token": _by_refresh_token, _JWT_GRANT: _by_key}
        try:
            if form.get("grant_type") not in grants:
                raise OAuthError("unsupported_grant_type", f"Invalid grant_type: {form.get('grant_type', '')}")
            return _json(grants[form["grant_type"]](cloud, form))
        except OAuthError as error:
            return _json(error.body, error.code)

    @router.route("POST", r"/revoke|/o/oauth2/revoke", public=True)
    def revoke(request: Request) -> Reply:
        form = _form(request)
        return _revoke(cloud, request.one("token") or _first(form, "token"))

    @router.route("GET", r"/tokeninfo|/oauth2/v[123]/tokeninfo", public=True)
    @router.route("POST", r"/tokeninfo|/oauth2/v[123]/tokeninfo", public=True)
    def tokeninfo(request: Request) -> Reply:
        form = _form(request)
        return _tokeninfo(cloud, request.one("access_token") or _first(form, "access_token"))

    @router.route("GET", r"/v1/userinfo|/oauth2/v[123]/userinfo|/userinfo/v2/me")
    def userinfo(request: Request) -> dict[str, object]:
        who = request.principal
        if not who.is_owner and not set(who.scopes) & {"openid", EMAIL}:
            raise GoogleError(401, "UNAUTHENTICATED", "Request is missing required authentication credential.")
        subject = _subject(who.email)
        if "/v2/" in request.path:
            return {"id": subject, "email": who.email, "verified_email": True}
        return {"sub": subject, "email": who.email, "email_verified": True}

    @router.route("GET", r"/oauth2/v1/certs", public=True)
    def certs(request: Request) -> dict[str, object]:
        record = _signing_key(cloud)
        return {record["kid"]: record["public"]}


def prepare(cloud: Cloud) -> None:
    """Two people to choose from: the owner, and a colleague who may only look."""
    settings = cloud.settings
    colleague = "colleague@practice.example"
    for at, email in enumerate((settings.owner, colleague)):
        cloud.db.put("person", f"{at}", {"email": email})
    if not settings.new:
        cloud.principals.grant(f"projects/{settings.project}", "roles/viewer", f"user:{colleague}")


# ------------------------------------------------------------------------------------------------------- the browser


def _refusal(cloud: Cloud, asked: dict[str, str]) -> tuple[int, str, str] | None:
    """Why Google shows an error page instead of asking: its number, its error code, words; None = it asks."""
    if cloud.faults.armed("client-gone") is not None:
        return 401, "deleted_client", BLOCKED["deleted_client"][1]
    if (blocked := cloud.faults.take("signin-blocked")) is not None:
        code = str(blocked["code"])
        status, words = BLOCKED.get(code, (400, "This app sent an invalid request."))
        return status, code, words
    if not _CLIENT.fullmatch(asked.get("client_id", "")):
        return 401, "invalid_client", BLOCKED["invalid_client"][1]
    if not _at_loopback(asked):
        return 400, "redirect_uri_mismatch", "A desktop client is answered at a loopback address only."
    if asked.get("response_type") != "code":
        return 400, "unsupported_response_type", "Only response_type=code is offered."
    if asked.get("code_challenge_method", "plain") not in ("plain", "S256"):
        return 400, "invalid_request", "Transform algorithm not supported."
    return None if _scopes(asked.get("scope", "")) else (400, "invalid_request", "Missing required parameter: scope")


def _at_loopback(asked: dict[str, str]) -> bool:
    if not _PRINTABLE.fullmatch(asked.get("redirect_uri", "")):  # it becomes a header; urlsplit drops line ends
        return False
    try:
        target = urllib.parse.urlsplit(asked["redirect_uri"])
    except ValueError:
        return False
    return target.scheme == "http" and target.hostname in ("127.0.0.1", "localhost", "::1")


def _consent_page(cloud: Cloud, asked: dict[str, str], ticket: str) -> str:
    people = [record["email"] for _, record in cloud.db.list("person")]
    chosen = asked.get("login_hint") if asked.get("login_hint") in people else people[0]
    accounts = "".join(
        f'<label><input type="radio" name="account" value="{html.escape(email)}"'
        f"{' checked' if email == chosen else ''}> {html.escape(email)}</label>"
        for email in people
    )
    boxes = "".join(
        f'<label><input type="checkbox" name="scope" value="{html.escape(scope)}" checked> '
        f"{html.escape(WORDS.get(scope, scope))}</label>"
        for scope in _scopes(asked["scope"])
        if scope not in ALWAYS
    )
    return (
        "<h1>Practice sign-in</h1><p>This stands for Google's sign-in. Nothing leaves this computer.</p>"
        f'<form method="post" action="/o/oauth2/v2/auth/consent"><input type="hidden" name="ticket" value="{ticket}">'
        f"<h2>Choose an account</h2>{accounts}<h2>The program wants to</h2>{boxes}"
        '<p><button name="action" value="allow">Continue</button> '
        '<button name="action" value="deny">Cancel</button></p>'
        "</form>"
    )


def _decided(cloud: Cloud, asked: dict[str, str], form: dict[str, list[str]]) -> dict[str, str]:
    """What goes back to the program: a code, or why there is none."""
    email = _first(form, "account")
    known = any(record["email"] == email for _, record in cloud.db.list("person"))
    if _first(form, "action") != "allow" or not known:
        return {"error": "access_denied"}
    wanted = _scopes(asked["scope"])
    granted = [scope for scope in wanted if scope in ALWAYS or scope in form.get("scope", [])]
    if CLOUD_PLATFORM in granted and cloud.faults.take("scope-unticked") is not None:
        granted.remove(CLOUD_PLATFORM)
    code = f"4/0A{secrets.token_urlsafe(40)}"
    cloud.db.put(
        "code", code, {"asked": asked, "email": email, "scopes": granted, "until": cloud.clock.now() + CODE_LIFETIME_S}
    )
    return {"code": code, "scope": " ".join(granted), "authuser": "0", "prompt": "consent"}


def _redirect(asked: dict[str, str], answer: dict[str, str]) -> Reply:
    answer = {**({"state": asked["state"]} if "state" in asked else {}), **answer}
    target = asked["redirect_uri"]
    target += ("&" if "?" in target else "?") + urllib.parse.urlencode(answer)
    return Reply(303, b"", {"Location": target, "Referrer-Policy": "no-referrer"})


def _page(body: str, status: int = 200) -> Reply:
    style = "body{font:16px system-ui;max-width:32em;margin:3em auto}label{display:block;margin:.5em 0}"
    text = f"<!doctype html><meta charset=utf-8><title>Practice sign-in</title><style>{style}</style>{body}"
    return Reply(status, text.encode(), dict(_PAGE_HEADERS))


# ------------------------------------------------------------------------------------------------------------ tokens


def _by_code(cloud: Cloud, form: dict[str, str]) -> dict[str, object]:
    client = _client(cloud, form)
    with cloud.db.transaction():
        record = cloud.db.get("code", form.get("code", ""))
        cloud.db.delete("code", form.get("code", ""))  # whatever comes next, it has been used
    if record is None or record["until"] < cloud.clock.now():
        raise OAuthError("invalid_grant", "Malformed auth code.")
    asked = record["asked"]
    if client != asked["client_id"]:
        raise OAuthError("unauthorized_client", "Unauthorized", 401)
    if form.get("redirect_uri") != asked["redirect_uri"]:
        raise OAuthError("redirect_uri_mismatch", "Bad Request")
    if challenge := asked.get("code_challenge"):
        verifier = form.get("code_verifier", "")
        if not verifier:
            raise OAuthError("invalid_grant", "Missing code verifier.")
        if asked.get("code_challenge_method") == "S256":
            digest = hashlib.sha256(verifier.encode()).digest()
            verifier = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if not secrets.compare_digest(verifier, challenge):
            raise OAuthError("invalid_grant", "Invalid code verifier.")
    for fault in ("token-revoked", "reauth-needed"):
        cloud.faults.settle(fault)
    known = cloud.db.get("granted", f"{client}/{record['email']}")
    cloud.db.put("granted", f"{client}/{record['email']}", {"scopes": record["scopes"]})
    refresh = ""
    again = "consent" in asked.get("prompt", "")
    if asked.get("access_type") == "offline" and (known is None or again):
        refresh = _new_refresh_token(cloud, record["email"], client, record["scopes"])
    return _tokens(cloud, record["email"], record["scopes"], client, refresh, said=refresh)


def _by_refresh_token(cloud: Cloud, form: dict[str, str]) -> dict[str, object]:
    client = _client(cloud, form)
    given = form.get("refresh_token", "")
    record = cloud.db.get("refresh", given)
    ended = record is not None and record.get("until") and record["until"] < cloud.clock.now()
    if record is None or ended or cloud.faults.armed("token-revoked") is not None:
        cloud.db.delete("refresh", given)
        raise OAuthError("invalid_grant", "Token has been expired or revoked.")
    if client != record["client"]:
        raise OAuthError("unauthorized_client", "Unauthorized", 401)
    if cloud.faults.armed("two-step-needed") is not None:
        named = "Account restricted: 2-Step Verification is required for Google Cloud."
        raise OAuthError("access_denied", "Account restricted." if cloud.doubts.way("two-step-words") else named)
    if cloud.faults.armed("reauth-needed") is not None:
        raise OAuthError("invalid_grant", "reauth related error (invalid_rapt)", error_subtype="invalid_rapt")
    scopes = _scopes(form.get("scope", "")) or record["scopes"]
    if not set(scopes) <= set(record["scopes"]):
        raise OAuthError("invalid_scope", "Some requested scopes were never granted.")
    said = ""
    if cloud.faults.take("refresh-token-rotates") is not None:
        cloud.db.delete("refresh", given)
        given = said = _new_refresh_token(cloud, record["email"], client, record["scopes"])
    return _tokens(cloud, record["email"], scopes, client, given, said=said)


def _by_key(cloud: Cloud, form: dict[str, str]) -> dict[str, object]:
    """A JWT signed with a service account's key (RFC 7523)."""
    assertion = form.get("assertion", "")
    claims = _verified(cloud, assertion, f"{cloud.url}/token", "https://oauth2.googleapis.com/token")
    scopes = tuple(_scopes(str(claims.get("scope", ""))))
    if not scopes:
        raise OAuthError("invalid_scope", "Empty or missing scope not allowed.")
    token = cloud.principals.issue(claims["iss"], "serviceAccount", scopes, LIFETIME_S)
    return {"access_token": token, "expires_in": _real_lifetime_s(cloud), "token_type": "Bearer"}


def _verified(cloud: Cloud, assertion: str, *audiences: str) -> Record:
    """The claims of a JWT that one of our keys has signed. Real time counts: who signs lives in it."""
    try:
        header, claims = jwt.parts(assertion)
    except ValueError as error:
        raise OAuthError("invalid_grant", "Invalid JWT: not a well-formed token.") from error
    email = str(claims.get("iss", ""))
    key = cloud.db.get("account-key", f"{email}/{header.get('kid', '')}")
    if iam.account(cloud, email) is None:
        raise OAuthError("invalid_grant", "Invalid grant: account not found")
    if key is None or not jwt.is_signed_by(assertion, key["public"]):
        raise OAuthError("invalid_grant", "Invalid JWT Signature.")
    try:
        now, begins, ends = time.time(), float(claims.get("iat", 0)), float(claims.get("exp", 0))
    except (ValueError, TypeError, OverflowError) as error:
        raise OAuthError("invalid_grant", "Invalid JWT: iat and exp are no times.") from error
    if not (begins - 300 <= now <= ends + 300) or ends - begins > 3600:
        raise OAuthError(
            "invalid_grant",
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a "
            "reasonable timeframe. Check your iat and exp values in the JWT claim.",
        )
    if audiences and claims.get("aud") not in audiences:
        raise OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
    return claims


def _self_signed(cloud: Cloud, token: str) -> Principal | None:
    """Google's client libraries send a JWT of a key file's own instead of fetching a token, when they can."""
    if token.count(".") != 2 or token.startswith("ya29."):
        return None
    try:
        claims = _verified(cloud, token)
    except OAuthError:
        return None
    scopes = tuple(_scopes(str(claims.get("scope", "")))) or (CLOUD_PLATFORM,)
    return Principal(claims["iss"], "serviceAccount", scopes)


def _tokens(cloud: Cloud, email: str, scopes: list[str], client: str, refresh: str, *, said: str) -> dict[str, object]:
    token = cloud.principals.issue(email, "user", tuple(scopes), LIFETIME_S)
    cloud.db.put("token", token, {**(cloud.db.get("token", token) or {}), "client": client, "refresh": refresh})
    answer: dict[str, object] = {
        "access_token": token,
        "expires_in": _real_lifetime_s(cloud),
        "scope": " ".join(scopes),
        "token_type": "Bearer",
    }
    if said:
        answer["refresh_token"] = said
        until = (cloud.db.get("refresh", said) or {}).get("until")
        if until and not cloud.doubts.way("testing-token-told"):
            answer["refresh_token_expires_in"] = int(cloud.clock.real_s(until - cloud.clock.now()))
    if "openid" in scopes:
        answer["id_token"] = _id_token(cloud, email, client, EMAIL in scopes)
    return answer


def _new_refresh_token(cloud: Cloud, email: str, client: str, scopes: list[str]) -> str:
    token = f"1//0practice-{secrets.token_urlsafe(32)}"
    record: dict[str, object] = {"email": email, "client": client, "scopes": scopes}
    testing = cloud.faults.armed("refresh-token-expires")
    if testing is not None:
        record["until"] = cloud.clock.now() + float(testing["days"]) * 86400
    cloud.db.put("refresh", token, record)
    return token


def _client(cloud: Cloud, form: dict[str, str]) -> str:
    client = form.get("client_id", "")
    if not _CLIENT.fullmatch(client) or cloud.faults.armed("client-gone") is not None:
        raise OAuthError("invalid_client", "The OAuth client was not found.", 401)
    if not form.get("client_secret"):
        raise OAuthError("invalid_request", "client_secret is missing.")
    return client


def _revoke(cloud: Cloud, token: str) -> Reply:
    """Of either kind; the whole grant ends, of a person to the clients of a project."""
    access = cloud.db.get("token", token)
    refresh = (access or {}).get("refresh") or token
    record = cloud.db.get("refresh", refresh)
    if access is None and record is None:
        return _json({"error": "invalid_token", "error_description": "Token expired or revoked"}, 400)
    ended = {refresh}
    if record is not None and not cloud.doubts.way("revoke-whole-grant"):
        project = record["client"].partition("-")[0]
        ended |= {
            name
            for name, one in cloud.db.list("refresh")
            if one["email"] == record["email"] and one["client"].partition("-")[0] == project
        }
        cloud.db.delete("granted", f"{record['client']}/{record['email']}")
    for name in ended:
        cloud.db.delete("refresh", name)
    cloud.principals.revoke(token)
    for name, other in cloud.db.list("token"):
        if other.get("refresh") in ended:
            cloud.principals.revoke(name)
    return _json({})


def _tokeninfo(cloud: Cloud, token: str) -> Reply:
    who = cloud.principals.of(token) if token else None
    if who is None:
        return _json({"error": "invalid_token", "error_description": "Invalid Value"}, 400)
    record = cloud.db.get("token", token) or {}
    left_s = record["expires"] - cloud.clock.now() if record else LIFETIME_S
    client = record.get("client") or _subject(who.email)
    info = {
        "azp": client,
        "aud": client,
        "sub": _subject(who.email),
        "scope": " ".join(who.scopes),
        "expires_in": str(int(cloud.clock.real_s(left_s))),
        "access_type": "offline",
    }
    if EMAIL in who.scopes or who.is_owner or who.kind == "serviceAccount":
        info |= {"email": who.email, "email_verified": "true"}
    return _json(info)


def _id_token(cloud: Cloud, email: str, client: str, with_email: bool) -> str:
    record = _signing_key(cloud)
    now = int(time.time())
    claims: dict[str, object] = {
        "iss": "https://accounts.google.com",
        "azp": client,
        "aud": client,
        "sub": _subject(email),
        "iat": now,
        "exp": now + 3600,
    }
    if with_email:
        claims |= {"email": email, "email_verified": True}
    return jwt.signed(claims, record["private"], record["kid"])


def _signing_key(cloud: Cloud) -> Record:
    with cloud.db.transaction():
        record = cloud.db.get("practice", "signing-key")
        if record is None:
            private, public = jwt.new_key_pair()
            record = {"kid": secrets.token_hex(20), "private": private, "public": public}
            cloud.db.put("practice", "signing-key", record)
        return record


def _real_lifetime_s(cloud: Cloud) -> int:
    return max(1, int(cloud.clock.real_s(LIFETIME_S)) - 1)


def _scopes(text: str) -> list[str]:
    """Without repetition, short names spelled out."""
    return list(dict.fromkeys(SHORT.get(scope, scope) for scope in text.split()))


def _subject(email: str) -> str:
    return str(10**20 + int.from_bytes(hashlib.sha256(email.encode()).digest()[:8], "big"))


def _form(request: Request) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(request.body.decode(errors="replace"))


def _basic(request: Request) -> dict[str, str]:
    """Client id and secret where the client sends them in a header (oauthlib does)."""
    kind, _, packed = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "basic":
        return {}
    try:
        client, _, secret = base64.b64decode(packed).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": urllib.parse.unquote(client), "client_secret": urllib.parse.unquote(secret)}


def _first(form: dict[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0]


def _json(body: Record, status: int = 200) -> Reply:
    text = json.dumps(body, indent=2).encode()
    return Reply(status, text, {"Content-Type": "application/json; charset=utf-8", "Pragma": "no-cache"})

"""Words for signing in: what stopped it, and another way in."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence

_NOTHING = "Nothing was changed and nothing was charged."

GCLOUD_COMMAND = "gcloud auth application-default login"
TESTING_DAYS = 7  # support.google.com/cloud/answer/15549945

# What Google's own page says instead of asking, by the error code on it: what it means, and what ends it. Codes:
# developers.google.com/identity/protocols/oauth2/native-app (authorization errors) and
# support.google.com/accounts/answer/16668185; "access_denied" with 403 is what an address gets that is no test user.
BLOCKED: dict[str, tuple[str, str]] = {
    "access_denied": (
        "The client's consent screen is on Testing, and this address is not one of its test users.",
        "In the console, under Audience, add the address as a test user, or press Publish app. Then open the page again.",
    ),
    "admin_policy_enforced": (
        "Your organisation's administrator does not allow this client.",
        "Ask the administrator to trust the client's id, choose another account, or sign in with gcloud.",
    ),
    "org_internal": (
        "The client is for the people of one organisation, and this account is not among them.",
        "Choose the organisation's account, or set the audience to External in the console.",
    ),
    "invalid_client": (
        "Google does not know the client: its file is incomplete, or from a project that is gone.",
        "Make a client of the type “Desktop app” and give us its new file.",
    ),
    "deleted_client": (
        "The client was deleted: in the console, or by Google after six months without use.",
        "Restore it there within 30 days, or make a new one of the type “Desktop app”.",
    ),
    "redirect_uri_mismatch": (
        "The client is not of the type “Desktop app”.",
        "Make one of that type and give us its file.",
    ),
    "disallowed_useragent": (
        "The page was opened inside another program, which Google does not allow.",
        "Copy the link and open it in an ordinary browser.",
    ),
    "access_not_configured": (
        "Your school's or company's administrator has not allowed this client.",
        "Ask the administrator, choose another account, or sign in with gcloud.",
    ),
    "invalid_request": (
        "Google does not take the request of this client.",
        "Make a new client of the type “Desktop app”; if it stays, sign in with gcloud.",
    ),
}
_INSTEAD = {
    "web": "It belongs to a client of the type “Web application”.",
    "key": "It is the key of a service account: that is the third way to sign in.",
    "gcloud": "These are credentials that gcloud made: that is the first way to sign in, and it finds them by itself.",
    "no-secret": "It is one, but its id or secret is missing: it was copied incompletely.",
    "json": "It is a JSON file of something else.",
}


def _blocked(f: Facts) -> Sentence:
    meaning, action = BLOCKED.get(f.text("error"), BLOCKED["invalid_request"])
    return Sentence(f"Google blocked the sign-in ({f.text('error', 'no code')})", f"{meaning} {_NOTHING}", action)


def _minutes(f: Facts) -> str:
    seconds = f.raw("seconds")
    return figures.duration(float(seconds)) if isinstance(seconds, (int, float)) else "5 min"


ERRORS: dict[str, Entry] = {
    "sign-in-cancelled": Sentence("Signing in was cancelled", _NOTHING, "Start again when you like."),
    "sign-in-timeout": lambda f: Sentence(
        f"Google's page did not come back within {_minutes(f)}",
        f"It was closed, left open, or says “Access blocked”: that page never comes back by itself. {_NOTHING}",
        "Sign in again. If Google's page shows an error code, “Google shows an error” says what ends it.",
    ),
    "sign-in-declined": Sentence(
        "Google was told no",
        f"Cancel was pressed on its page, or it does not let this account in. {_NOTHING}",
        "Sign in again and press Continue, or choose another account. Where the page says “Access blocked”, add your "
        "address as a test user of the client.",
    ),
    "sign-in-blocked": _blocked,
    "sign-in-refused": lambda f: Sentence(
        "Google did not sign you in",
        f"Its answer ({f.text('error', 'without a reason')}) was not one that lets us go on. {_NOTHING}",
        "Try again, choose another account, or use credentials that gcloud made.",
    ),
    "no-browser": lambda f: Sentence(
        "No browser could be opened",
        f"You sign in on a page of Google's, in a browser on this computer. {_NOTHING}",
        "Choose a browser in your system's settings, sign in from a terminal or the window, which name a page to open by "
        "hand, or use credentials that gcloud made.",
    ),
    "client-unreadable": lambda f: Sentence(
        "This is not the file of a desktop sign-in client",
        f"{_INSTEAD.get(f.text('what'), 'It cannot be read as one.')} {_NOTHING}",
        "In the Google console, create an OAuth client of the type “Desktop app” and choose the file it offers.",
    ),
    "gcloud-absent": lambda f: Sentence(
        "gcloud has left no credentials on this computer",
        f"They would be in {f.file('path')}. {_NOTHING}",
        f"Run “{GCLOUD_COMMAND}” once, or sign in here.",
    ),
    "key-unreadable": lambda f: Sentence(
        f"{f.file('path')} is not a service-account key",
        f"It is missing, damaged, or something else. {_NOTHING}",
        "Choose the JSON file that was made with the key. Signing in as yourself needs no such file.",
    ),
    "key-changed": lambda f: Sentence(
        f"{f.file('path')} is the key of another account now",
        f"You chose it as the key of {f.text('account', 'one')}; since then somebody has replaced it. {_NOTHING}",
        "Choose it again under Account & quota if you know why; else ask who may write into its folder.",
    ),
    "credentials-open": lambda f: Sentence(
        f"{f.file('path')} could be changed by others",
        "Credentials of this kind name a file of this computer, and an address that it is sent to. Whoever may write "
        f"this file, or into its folder, could name any of yours. {_NOTHING}",
        "Move it into a folder of your own, with rights for you alone (`chmod 600 FILE`), and sign in again.",
    ),
    "secret-not-kept": lambda f: Sentence(
        "The sign-in could not be kept",
        f"{'The keyring of this computer' if f.text('where') == 'keyring' else f.text('where', 'Its file')} did not take it. "
        f"You are not signed in here. {_NOTHING} What you granted stays granted at Google, and is not used: "
        "myaccount.google.com/permissions takes it back, with the sign-in of your other computers.",
        "Unlock the keyring, or make the folder writable, and sign in again.",
    ),
}

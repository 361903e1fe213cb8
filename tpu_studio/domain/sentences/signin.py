"""Words for signing in: what stopped it, and another way in."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

_NOTHING = "Nothing was changed and nothing was charged."

ERRORS: dict[str, Entry] = {
    "sign-in-cancelled": Sentence("Signing in was cancelled", _NOTHING, "Start again when you like."),
    "sign-in-timeout": lambda f: Sentence(
        "No answer came from the browser",
        f"We waited {f.text('seconds', '300')} seconds for the page to be confirmed. {_NOTHING}",
        "Sign in again; keep the browser's tab open until it says that you can close it.",
    ),
    "sign-in-refused": lambda f: Sentence(
        "Google did not sign you in",
        (
            "You, or your organisation's administrator, said no. "
            if f.text("error") in ("access_denied", "admin_policy_enforced")
            else "The answer was not one that lets us go on. "
        )
        + _NOTHING,
        "Try again, choose another account, or use credentials that gcloud made.",
    ),
    "no-browser": lambda f: Sentence(
        "No browser could be opened",
        f"The page to confirm would be {f.text('url', 'at Google')}. {_NOTHING}",
        "Choose a browser in your system's settings, or use credentials that gcloud made.",
    ),
    "client-unreadable": lambda f: Sentence(
        "This is not the file of a desktop sign-in client",
        ("It belongs to a client of the type “Web application”. " if f.raw("web") else "It cannot be read as one. ")
        + _NOTHING,
        "In the Google console, create an OAuth client of the type “Desktop app” and choose the file it offers.",
    ),
    "gcloud-absent": lambda f: Sentence(
        "gcloud has left no credentials on this computer",
        f"They would be in {f.file('path')}. {_NOTHING}",
        "Run “gcloud auth application-default login” once, or sign in here.",
    ),
    "key-unreadable": lambda f: Sentence(
        f"{f.file('path')} is not a service-account key",
        f"It is missing, damaged, or something else. {_NOTHING}",
        "Choose the JSON file that was made with the key. Signing in as yourself needs no such file.",
    ),
    "secret-not-kept": lambda f: Sentence(
        "The sign-in could not be kept",
        f"{'The keyring of this computer' if f.text('where') == 'keyring' else f.text('where', 'Its file')} did not take it. "
        f"You are not signed in. {_NOTHING}",
        "Unlock the keyring, or make the folder writable, and sign in again.",
    ),
}

"""``doctor``: what Google Cloud still needs before it can lend a TPU, each with its fix. Looking costs nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.mending import KNOWN, mended
from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.wire import places
from tpu_studio.wire.errors import BadInput, SignedOut
from tpu_studio.wire.homes import home_folder
from tpu_studio.wire.plainfiles import plainly
from tpu_studio.workflow.consent import is_imported

if TYPE_CHECKING:
    from tpu_studio.places.accounts import Side
    from tpu_studio.workflow.account.ports import Allowance, Choices, Doctor, Result

NOT_READY = 4
_CLIENT = 1 << 20  # letters of a client's file
_MARK = {"pass": "✓", "fail": "✗", "unknown": "?", "waiting": "·", "optional": "-"}


def doctor(arguments: Arguments, output: Output) -> int:
    """Exit code 4 while something that a launch needs is missing."""
    from tpu_studio.places import accounts
    from tpu_studio.places.livechecking import in_use
    from tpu_studio.places.reaching import PRACTICE_OWNER, practice_owner
    from tpu_studio.viewmodels.livecheck import used_words

    home = home_folder()
    side = accounts.side_of(arguments.on, home)
    if arguments.sign_out:
        _sign_out(arguments, output, side)
    _sign_in(arguments, output, side)
    active = side.signing.active()
    seen: Doctor
    practice = places.by_id(arguments.on).rehearses
    account = active.id if active else PRACTICE_OWNER if practice else ""
    if active is None and practice:
        seen, known = practice_owner(home, side)
    else:
        seen, known = side.doctor(), side.choices.of(account)
    choices = _chosen(arguments, known)
    left: list[str] = []

    def keep(now: Choices) -> None:
        if account and now != side.choices.of(account):
            side.choices.keep(account, now)

    if active is not None:
        keep(choices)
    if arguments.fix:
        choices, left = mended(arguments, output, seen, choices, keep)
    results = seen.check(choices, told=lambda one: output.progress(None, f"Looking at {one.id}…"))
    passed = {one.id for one in results if one.state == "pass"}
    if "project" in passed and choices != known:
        keep(choices)
    rows = list(seen.allowances(choices.project)) if {"project", "services"} <= passed else []
    ready = all(one.state in ("pass", "optional") for one in results if one.id not in ("alert", "test-loan"))
    email = next((str(one.facts.get("email", "")) for one in results if one.id == "signed-in"), "")
    used = in_use(arguments.on, home)
    output.answer(
        {
            "place": arguments.on,
            "account": email,
            "project": choices.project,
            "region": choices.region,
            "bucket": choices.bucket,
            "ready": ready,
            "left": left,
            "checks": [_as_json(one, practice) for one in results],
            "quota": [_quota_json(row) for row in rows],
            "observed": [{"doubt": one.doubt, "way": one.way, "at": one.at, "words": one.words} for one in used],
        },
        "\n".join([_as_text(results, rows, choices, arguments.on), *map(used_words, used), *left]),
    )
    return 0 if ready else NOT_READY


def _sign_out(arguments: Arguments, output: Output, side: Side) -> None:
    """Raises SignedOut: nobody is signed in; BadInput ``signing-out-under-a-run``, where nothing was changed."""
    from tpu_studio.cli.studio import studio
    from tpu_studio.domain.sentences import say
    from tpu_studio.domain.sentences.account import signing_out

    active = side.signing.active()
    if active is None:
        raise SignedOut("signed-out")
    with studio() as services:
        rows = services.reading.list()
    going_on = signing_out(
        arguments.on,
        [
            row.name
            for row in rows
            if row.place == arguments.on and (row.unread or not row.settled) and not is_imported(row.folder)
        ],
    )
    if going_on and places.by_id(arguments.on).charges and not arguments.yes:
        raise BadInput("signing-out-under-a-run", runs=going_on)
    revoked = side.signing.remove(active.id)
    output.say(f"{active.email or 'The account'} is signed out here. {going_on}".rstrip())
    if revoked:
        output.say("Google ended the sign-in by the same client on every other computer, too.")
    if not revoked and active.kind == "oauth":
        output.say(str(say(SignedOut("not-revoked", account=active.email))))


def _sign_in(arguments: Arguments, output: Output, side: Side) -> None:
    if arguments.use_gcloud:
        side.signing.add_gcloud()
    elif arguments.key:
        side.signing.add_key(Path(arguments.key))
    elif arguments.sign_in is not None:
        from tpu_studio.cloud.signin.browser import Client

        client = side.own_client() if not arguments.sign_in else Client.parse(_text(arguments.sign_in))
        if client is None:
            raise BadInput(
                "command-line",
                raw="--sign-in needs the file of a sign-in client of your own (Google console, type “Desktop app”)",
                help="tpu-studio doctor --help",
            )

        def told(url: str, opened: bool) -> None:
            if not opened and not output.is_terminal:
                raise SignedOut("no-browser")
            first = "Confirm in your browser." if opened else "No browser could be opened."
            output.say(f"{first} The page, should you want to open it by hand on this computer: {url}")

        side.signing.sign_in(client, side.open_browser, told=told)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", opener=plainly) as file:
            return file.read(_CLIENT)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("command-line", raw=f"{path}: {error}", help="tpu-studio doctor --help") from error


def _chosen(arguments: Arguments, choices: Choices) -> Choices:
    given = {name: value for name in ("project", "region", "bucket") if (value := getattr(arguments, name))}
    if "project" in given and given["project"] != choices.project:
        choices = replace(choices, bucket="", runner="", stopper="")
    return replace(choices, **given)


def _as_json(result: Result, practice: bool) -> dict[str, object]:
    from tpu_studio.domain.sentences.account import say_account

    said = say_account(result.id, result.state, {**result.facts, "cost_usd": result.cost_usd, "rehearsed": practice})
    return {
        "id": result.id,
        "state": result.state,
        "title": said.title,
        "text": said.meaning,
        "action": said.action,
        "fix": result.fix,
        "cost_usd": result.cost_usd,
        "page": str(result.facts.get("page", "")),
        "facts": dict(result.facts),
    }


def _quota_json(row: Allowance) -> dict[str, object]:
    return {
        "generation": row.generation,
        "tier": row.tier,
        "zone": row.zone,
        "limit": row.limit,
        "used": row.used,
        "unit": row.unit,
        "limited_by": row.limited_by,
        "quota_id": row.quota_id,
        "use": row.use,
        "sizes": row.sizes,
    }


def _as_text(results: Any, rows: list[Allowance], choices: Choices, on: str) -> str:
    lines, mendable = [], 0
    where = (
        f"--on {on} " if places.by_id(on).rehearses else ""
    )  # a hint that is typed as it stands changes no real project
    for result in results:
        said = _as_json(result, places.by_id(on).rehearses)
        lines.append(f"{_MARK[result.state]} {said['title']}: {said['text']}")
        offered = result.state in ("optional", "unknown") and result.fix in KNOWN and said["action"]
        if result.state == "fail" or offered:
            ways = {"sign-in": "--use-gcloud, --sign-in FILE or --key FILE", "choose-project": "--project ID"}
            asked = f"--fix {result.fix}" if result.fix in KNOWN else ways.get(result.fix, "")
            way = f"  (tpu-studio doctor {where}{asked})" if asked else ""
            lines.append(f"    {said['action']}{way}")
            mendable += result.state == "fail" and result.fix in KNOWN
    if mendable > 1:
        lines.append(f"All of these in their order: tpu-studio doctor {where}--fix all")
    usable = [row for row in rows if row.left]
    near = [row for row in usable if row.zone.startswith(choices.region)] or usable
    if near:
        near.sort(key=lambda row: row.use == "training")
        shown = [
            [
                row.generation,
                row.tier,
                row.zone,
                f"{row.left} of {row.limit} {row.unit} left",
                f"for TPUs of {row.sizes}" if row.sizes else "",
            ]
            for row in near[:8]
        ]
        lines += ["", table(shown)]
    return "\n".join(lines)

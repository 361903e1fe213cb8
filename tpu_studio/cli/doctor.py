"""``doctor``: what Google Cloud still needs before it can lend a TPU, each with its fix. Looking costs nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.wire.errors import BadInput, SignedOut
from tpu_studio.wire.homes import home_folder

if TYPE_CHECKING:
    from tpu_studio.places.accounts import Side
    from tpu_studio.workflow.account.ports import Allowance, Choices, Doctor, Result

NOT_READY = 4
_MARK = {"pass": "✓", "fail": "✗", "unknown": "?", "waiting": "·", "optional": "-"}


def doctor(arguments: Arguments, output: Output) -> int:
    """Exit code 4 while something that a launch needs is missing."""
    from tpu_studio.places import accounts
    from tpu_studio.places.reaching import practice_owner

    home = home_folder()
    side = accounts.practice_side(home) if arguments.on == "practice" else accounts.cloud_side(home)
    if arguments.sign_out:
        _sign_out(arguments, output, side)
    _sign_in(arguments, side)
    active = side.signing.active()
    seen: Doctor
    if active is None and arguments.on == "practice":
        seen, choices = practice_owner(home, side)
    else:
        seen, choices = side.doctor(), side.choices.of(active.id if active else "")
    choices = _chosen(arguments, choices)
    if active is not None:
        side.choices.keep(active.id, choices)
    if arguments.fix:
        choices = _fix(arguments, output, seen, choices)
        if active is not None:
            side.choices.keep(active.id, choices)
    results = seen.check(choices, told=lambda one: output.progress(None, f"Looking at {one.id} …"))
    passed = {one.id for one in results if one.state == "pass"}
    rows = list(seen.allowances(choices.project)) if {"project", "services"} <= passed else []
    ready = all(one.state in ("pass", "optional") for one in results if one.id not in ("alert", "test-loan"))
    email = next((str(one.facts.get("email", "")) for one in results if one.id == "signed-in"), "")
    output.answer(
        {
            "place": arguments.on,
            "account": email,
            "project": choices.project,
            "region": choices.region,
            "bucket": choices.bucket,
            "ready": ready,
            "checks": [_as_json(one) for one in results],
            "quota": [_quota_json(row) for row in rows],
        },
        _as_text(results, rows, choices, arguments.on),
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
    going_on = signing_out(arguments.on, [row.name for row in rows if row.place == arguments.on and not row.settled])
    if going_on and arguments.on == "cloud" and not arguments.yes:
        raise BadInput("signing-out-under-a-run", runs=going_on)
    revoked = side.signing.remove(active.id)
    output.say(f"{active.email or 'The account'} is signed out here. {going_on}".rstrip())
    if not revoked and active.kind == "oauth":
        output.say(str(say(SignedOut("not-revoked", account=active.email))))


def _sign_in(arguments: Arguments, side: Side) -> None:
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
        side.signing.sign_in(client, side.open_browser)


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("command-line", raw=f"{path}: {error}", help="tpu-studio doctor --help") from error


def _chosen(arguments: Arguments, choices: Choices) -> Choices:
    given = {name: value for name in ("project", "region", "bucket") if (value := getattr(arguments, name))}
    if "project" in given and given["project"] != choices.project:
        choices = replace(choices, bucket="", runner="", stopper="")
    return replace(choices, **given)


def _fix(arguments: Arguments, output: Output, seen: Doctor, choices: Choices) -> Choices:
    """One repair, or with ``all`` whatever is offered until nothing more can be done here."""
    given: dict[str, Any] = {"account": arguments.billing_account} if arguments.billing_account else {}
    if arguments.fix != "all":
        return _mended(seen, arguments.fix, choices, given)
    tried: set[str] = set()
    while True:
        broken = next((one for one in seen.check(choices) if one.state == "fail" and one.fix in _ALONE), None)
        if broken is None or broken.fix in tried:
            return choices
        tried.add(broken.fix)
        output.say(f"Mending {broken.id} …")
        choices = _mended(seen, broken.fix, choices, given)


_ALONE = ("enable-services", "make-network", "make-bucket", "make-runner", "make-queue")
_KNOWN = (*_ALONE, "link-billing", "make-alert")


def _mended(seen: Doctor, fix: str, choices: Choices, given: dict[str, Any]) -> Choices:
    if fix not in _KNOWN:
        raise BadInput("command-line", raw=f"--fix takes all, {', '.join(_KNOWN)}", help="tpu-studio doctor --help")
    if fix == "link-billing" and not given:
        open_ones = [one for one in seen.billing_accounts() if one.open]
        if len(open_ones) != 1:
            names = ", ".join(one.name for one in open_ones) or "you have none"
            raise BadInput("command-line", raw=f"--billing-account is needed: {names}", help="tpu-studio doctor --help")
        given = {"account": open_ones[0].name}
    return seen.fix(fix, choices, **(given if fix == "link-billing" else {}))


def _as_json(result: Result) -> dict[str, Any]:
    from tpu_studio.domain.sentences.account import say_account

    said = say_account(result.id, result.state, {**result.facts, "cost_usd": result.cost_usd})
    return {
        "id": result.id,
        "state": result.state,
        "title": said.title,
        "text": said.meaning,
        "action": said.action,
        "fix": result.fix,
        "cost_usd": result.cost_usd,
        "facts": dict(result.facts),
    }


def _quota_json(row: Allowance) -> dict[str, Any]:
    return {
        "generation": row.generation, "tier": row.tier, "zone": row.zone, "limit": row.limit, "used": row.used,
        "unit": row.unit, "limited_by": row.limited_by, "quota_id": row.quota_id, "use": row.use, "sizes": row.sizes,
    }  # fmt: skip


def _as_text(results: Any, rows: list[Allowance], choices: Choices, on: str) -> str:
    lines = []
    where = "--on practice " if on == "practice" else ""  # a hint that is typed as it stands changes no real project
    for result in results:
        said = _as_json(result)
        lines.append(f"{_MARK[result.state]} {said['title']}: {said['text']}")
        if result.state == "fail" or (result.state == "optional" and result.fix in _KNOWN and said["action"]):
            ways = {"sign-in": "--use-gcloud, --sign-in FILE or --key FILE", "choose-project": "--project ID"}
            asked = f"--fix {result.fix}" if result.fix in _KNOWN else ways.get(result.fix, "")
            way = f"  (tpu-studio doctor {where}{asked})" if asked else ""
            lines.append(f"    {said['action']}{way}")
    usable = [row for row in rows if row.left]
    near = [row for row in usable if row.zone.startswith(choices.region)] or usable
    if near:
        near.sort(key=lambda row: row.use == "training")
        shown = [
            [row.generation, row.tier, row.zone, f"{row.left} of {row.limit} {row.unit} left",
             f"for TPUs of {row.sizes}" if row.sizes else ""]
            for row in near[:8]
        ]  # fmt: skip
        lines += ["", table(shown)]
    return "\n".join(lines)

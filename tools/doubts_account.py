"""One world of `make doubts` that trains nothing: an account, the lists of a whole project, or the live check.

    python tools/doubts_account.py SCENE FOLDER CELL.json      prints the verdict as one JSON object

*account*: a bare project, by the repairs that are offered: every row passes, or says what is in the way and what to do.
*new*: a person without a project, as `tpu-studio doctor --fix all` does it; a closed account is tried to pay first.
*signin*: by the browser, twice: credentials that work, or a sentence.
*asking*: for more quota: what Google answers is told.
*lists*: a sweep finds what is there or says that it could not look, and never says that nothing is left when it could
not; the catalogue and prices are refreshed, or say why not.
*live*: `tpu-studio live-check` finds the other way of what it can settle, and leaves nothing.
Nothing may be billed by the first four.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos_judge import Verdict
from doubts_met import watch_doubts
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import Request
from google.oauth2.credentials import Credentials

from tests.fakes.consent import Person
from tpu_studio.cloud.compute import ComputeMachines
from tpu_studio.cloud.connection import bearer, practice_side
from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.livecheck.asking import Side
from tpu_studio.cloud.livecheck.prober import GoogleProber
from tpu_studio.cloud.offers import read
from tpu_studio.cloud.prices import live_catalogue
from tpu_studio.cloud.session import Api, plain_session, session
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.cloud.signin.secrets import PrivateFile
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.cloud.sweep import Sweep
from tpu_studio.cloud.tpu import TpuMachines
from tpu_studio.domain.sentences import say
from tpu_studio.domain.sentences.account import say_account
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError
from tpu_studio.workflow.account.mending import ALONE, Mending
from tpu_studio.workflow.account.ports import BillingAccount, Choices, Result
from tpu_studio.workflow.cloudruns.ports import Ref, Wanted
from tpu_studio.workflow.livecheck.checking import check
from tpu_studio.workflow.livecheck.left import Left

OFFERS = {"us-west4-a": {"v5e"}, "us-east5-b": {"v5e", "v6e"}, "us-central2-b": {"v4"}}
PRESSED = (*ALONE, "link-billing")
SPEED = 100.0  # practice seconds in a real one
PATIENCE_S = 60.0  # real seconds
REPAIRS = 20
IMAGE = "v2-alpha-tpuv5-lite"
OPTIONAL = ("alert", "test-loan")
CLIENT = Client("4711-abc.apps.googleusercontent.com", "GOCSPX-secret")


@dataclass(frozen=True)
class Cell:
    """Attributes:
    tier: Of the machine that is there (*lists*).
    then: Faults that are armed once somebody has signed in (*signin*).
    """

    folder: Path
    tier: str
    then: Sequence[str]


def account(practice: Practice, verdict: Verdict, cell: Cell) -> None:
    """Every repair that is offered is made, in order, until nothing more is."""
    doctor = _doctor(practice)
    choices = Choices(region="us-west4")
    try:
        choices = replace(choices, project=doctor.projects("practice")[0].id)
    except StudioError as error:  # no project can be chosen: before anything was made
        _has_words(verdict, error)
        verdict.facts["reason"] = error.id
        return
    if "queue-tombstone" in practice.cloud.doubts.armed():  # somebody has only just deleted the queue
        name = f"projects/{choices.project}/locations/us-west4/queues/{practice.cloud.settings.queue}"
        practice.cloud.db.put("queue-gone", name, {"at": practice.cloud.clock.now()})
    give_up, made = time.monotonic() + PATIENCE_S, list[str]()
    results: list[Result] = []
    while time.monotonic() < give_up and len(made) < REPAIRS:
        results = list(doctor.check(choices))
        broken = [one for one in results if one.state in ("fail", "unknown") and one.id not in OPTIONAL]
        mend = next((one for one in broken if one.fix in PRESSED and one.state == "fail"), None)
        if all(one.id == "quota" for one in broken):  # that is asked for, and waited for, by a person
            break
        if mend is None or made.count(mend.fix) > 2:
            time.sleep(0.1)  # what was only just switched on goes on refusing for a while
            continue
        given: dict[str, Any] = {}
        if mend.fix == "link-billing":
            given = {"account": doctor.billing_accounts()[0].name}
        try:
            choices = doctor.fix(mend.fix, choices, **given)
        except StudioError as error:
            _has_words(verdict, error)
        made.append(mend.fix)
    _rows_told(results, verdict)
    try:
        doctor.fix("make-alert", choices)
    except StudioError as error:
        _has_words(verdict, error)


def _doctor(practice: Practice) -> GoogleDoctor:
    make: Any = Credentials
    return GoogleDoctor(make(token=practice.token), Endpoints.at(practice.url), OFFERS)


def _rows_told(results: Sequence[Result], verdict: Verdict) -> None:
    """Each row that does not pass has its sentence and what to do."""
    left = [one for one in results if one.state != "pass" and one.id not in OPTIONAL]
    verdict.facts["reason"] = "ready" if not left else f"{left[0].id} {left[0].state}"
    for one in left:
        said = say_account(one.id, one.state, {**one.facts, "cost_usd": one.cost_usd})
        verdict.check("words", bool(said.title and said.meaning), f"{one.id} is {one.state} without words")
        told = one.state == "waiting" or bool(said.action)
        verdict.check("words", told, f"{one.id} is {one.state}, and nothing to do")


class Willing:
    """A person who agrees to everything, and lets a closed account pay first."""

    def __init__(self, doctor: GoogleDoctor) -> None:
        self._doctor, self._closed = doctor, True

    def to_make(self, project: str) -> bool:
        return True

    def to_pay(self, accounts: Sequence[BillingAccount], project: str) -> str:
        every = self._doctor.billing_accounts(project) if self._closed else accounts
        found = next((one.name for one in every if one.open != self._closed), accounts[0].name)
        self._closed = False
        return found


def new(practice: Practice, verdict: Verdict, cell: Cell) -> None:
    doctor = _doctor(practice)
    kept = [Choices(region="us-west4")]
    for _ in range(2):  # what was refused to one press is pressed once more
        mending = Mending(
            doctor,
            Willing(doctor) if len(kept) == 1 else Paying(),
            say=lambda text: None,
            waits=lambda text: None,
            keep=kept.append,
            refused=lambda error: _has_words(verdict, error),
            sleep=lambda seconds: time.sleep(0.1),
        )
        kept.append(mending.run(kept[-1]))
    _rows_told(list(doctor.check(kept[-1])), verdict)


class Paying:
    """A person who agrees to everything."""

    def to_make(self, project: str) -> bool:
        return True

    def to_pay(self, accounts: Sequence[BillingAccount], project: str) -> str:
        return accounts[0].name if accounts else ""


def signin(practice: Practice, verdict: Verdict, cell: Cell) -> None:
    ends, home = Endpoints.at(practice.url), Path(cell.folder) / "home"
    home.mkdir(parents=True)
    accounts = Accounts(home, ends, lambda: PrivateFile(home / "secrets.json"))
    told = []
    elsewhere = _another_computer(Path(cell.folder) / "elsewhere", ends)
    for turn in range(2):
        person = Person()
        try:
            accounts.sign_in(CLIENT, person.open, cancelled=partial(_is_blocked, person))
            doctor = GoogleDoctor(accounts.credentials(), ends, OFFERS)
            [row] = doctor.check(Choices(practice.cloud.settings.project, "us-west4"), only=("signed-in",))
            _rows_told([row], verdict)
            told.append(row.state if row.state == "pass" else str(row.facts.get("why") or row.state))
        except StudioError as error:
            _has_words(verdict, error)
            told.append(error.id)
        finally:
            person.leave()
        if turn == 0:
            for text in cell.then:
                practice.cloud.faults.arm_text(text)
    if elsewhere is not None and "scope-unticked" in cell.then:
        verdict.check("end", _lives(elsewhere), "a sign-in that failed here ended that of another computer")
    for one in accounts.all():
        accounts.remove(one.id)
    verdict.facts["reason"] = ", ".join(told)


def _another_computer(home: Path, ends: Endpoints) -> Accounts | None:
    """Where the same person is signed in by the same client; None: nobody can sign in."""
    home.mkdir(parents=True)
    accounts, person = Accounts(home, ends, lambda: PrivateFile(home / "secrets.json")), Person()
    try:
        accounts.sign_in(CLIENT, person.open, cancelled=partial(_is_blocked, person))
    except StudioError:
        return None
    finally:
        person.leave()
    return accounts


def _lives(accounts: Accounts) -> bool:
    try:
        accounts.credentials().refresh(Request(plain_session()))
    except RefreshError:
        return False
    return True


def _is_blocked(person: Person) -> bool:
    """Then the person closes the sheet."""
    return bool(person.pages) and "Access blocked" in person.pages[0]


def asking(practice: Practice, verdict: Verdict, cell: Cell) -> None:
    """As from the quota sheet, for the first limit that may be raised."""
    doctor, project = _doctor(practice), practice.cloud.settings.project
    rows = doctor.allowances(project)
    mine = next((one for one in rows if one.can_ask), None)
    if mine is None:
        whys = {one.why_not for one in rows}
        verdict.facts["reason"] = f"may not ask: {', '.join(sorted(whys))}"
        verdict.check("words", "" not in whys, "nothing may be asked for, and no reason")
        return
    try:
        doctor.ask_quota(project, mine, (mine.limit or 0) + 8, "to learn", "me@practice.example")
    except StudioError as error:
        _has_words(verdict, error)
        verdict.facts["reason"] = error.id
        return
    give_up, states = time.monotonic() + PATIENCE_S, list[str]()
    while time.monotonic() < give_up and "waiting" in (states or ["waiting"]):
        time.sleep(0.05)
        states = [one.state for one in doctor.quota_requests(project)]
    verdict.facts["reason"] = ", ".join(states)
    verdict.check("end", bool(states) and set(states) <= {"granted", "denied", "partly"}, f"ended as {states}")


def live(practice: Practice, verdict: Verdict, cell: Cell) -> None:
    settings, ends = practice.cloud.settings, Endpoints.at(practice.url)
    with session(bearer(practice.token)) as http, plain_session() as plain:
        targets = {"tpu": ends.tpu, "compute": ends.compute}
        stops = TaskStops(http, ends.tasks, ends.orgpolicy, settings.project, settings.stopper, targets)
        side = Side(
            http,
            plain,
            ends,
            settings.project,
            settings.zone,
            settings.region,
            settings.bucket,
            settings.runner,
            settings.stopper,
            account=settings.owner,
            left=Left(cell.folder, settings.project),
            now=practice.cloud.clock.now,
            speed=practice.cloud.clock.speed,
        )
        outcome = check(GoogleProber(side, stops), True, 1.0)
    armed = practice.cloud.doubts.armed()
    wrong = {one.doubt: one.way for one in outcome.seen if one.way is not None and one.way != armed.get(one.doubt, "")}
    verdict.check("end", not wrong, f"found wrongly: {wrong}")
    unseen = [one.doubt for one in outcome.seen if one.way is None]
    verdict.facts["reason"] = "settled" if not unseen else f"settled but {len(unseen)}"
    verdict.check("leaked", not outcome.left, f"left over: {outcome.left}")
    billed = sum(float(line["usd"] or 0.0) for line in practice.cloud.meter.bill())
    verdict.check("cap", billed <= outcome.usd <= 1.0, f"${billed:.3f} billed, ${outcome.usd:.3f} said")
    verdict.facts.update(billed=round(billed, 5), cap=round(outcome.usd, 5))


def lists(practice: Practice, verdict: Verdict, cell: Cell) -> None:
    """One machine of ours is there: it is found, or the sweep says that it could not look."""
    settings = practice.cloud.settings
    side = practice_side(practice.url, practice.token, settings.project, settings.bucket)
    tier, flex = cell.tier, cell.tier == "flex-start"
    machines, ref = side.machines["tpu"], Ref("ts-digits-abcd-a1-t1", settings.zone, "tpu", alpha=flex)
    give_up = time.monotonic() + PATIENCE_S
    wanted = Wanted(
        ref=ref,
        request_id=str(uuid.uuid4()),
        accelerator="v5litepod-1",
        runtime=IMAGE,
        tier=tier,
        valid_for_s=600.0,
        run_s=3600.0 if flex else None,
        metadata={},
        service_account=settings.runner,
        labels={"tpu-studio": "run", "run-id": "digits-abcd"},
    )
    try:
        machines.create(wanted)
    except CloudRefused as error:
        _has_words(verdict, error)
        verdict.facts["reason"] = "refused"
        return
    except CloudUnclear as error:  # it may have been made: looked for by name
        _has_words(verdict, error)
    while (machine := machines.look(ref)) is None or machine.state != "ready":
        if time.monotonic() > give_up:
            break
        time.sleep(0.05)
    try:
        verdict.check("played", machine is not None and machine.state == "ready", "the machine never came")
        _swept(practice, verdict, ref)
    finally:
        machines.delete(ref)
        while machines.look(ref) is not None and time.monotonic() < give_up:
            time.sleep(0.05)
    verdict.check("leaked", machines.look(ref) is None, "it is there after its deletion")


def _swept(practice: Practice, verdict: Verdict, ref: Ref) -> None:
    project, ends = practice.cloud.settings.project, Endpoints.at(practice.url)
    with session(bearer(practice.token)) as http:
        targets = {"tpu": ends.tpu, "compute": ends.compute}
        machines: dict[str, Any] = {
            "tpu": TpuMachines(http, ends.tpu, project),
            "compute": ComputeMachines(http, ends.compute, project),
        }
        stops = TaskStops(http, ends.tasks, ends.orgpolicy, project, practice.cloud.settings.stopper, targets)
        stops.set(ref, "b", [practice.cloud.clock.now() + 3600.0])
        swept = Sweep(http, ends, project, machines, stops, practice.cloud.clock.now).look()
        found = any(item.ours and item.name == ref.name for item in swept.items)
        unread = {kind for kind, _ in swept.unclear}
        told = found or bool(unread & {"node", "queued-resource"})
        verdict.check("leaked", told, "a sweep says that no machine is there")
        stood = any(item.kind == "task" for item in swept.items) or "task" in unread
        verdict.check("leaked", stood, "a sweep says that no stop is there")
        for _, error in swept.unclear:
            _has_words(verdict, error)
        verdict.facts["reason"] = "found" if found else "could not look"
        tpu, compute = Api(ends.tpu, http), Api(ends.compute, http)
        offers = read(tpu, compute, project, tuple(OFFERS), date.today())
        try:
            rates = live_catalogue(Api(ends.billing, http), date.today())
        except StudioError as error:  # the dated prices do then
            _has_words(verdict, error)
        else:
            price = rates.price("v5e", 1, ref.zone, "on-demand")
            verdict.check("played", price is not None, "v5e has no price any more")
        verdict.facts["unread"] = [str(one) for one in offers.unread]


def _has_words(verdict: Verdict, error: StudioError) -> None:
    said = say(error)
    verdict.check("words", bool(said.title and said.meaning and said.action), f"{error.id} has no words or next action")


SCENES: dict[str, Callable[[Practice, Verdict, Cell], None]] = {
    "account": account,
    "new": new,
    "signin": signin,
    "asking": asking,
    "lists": lists,
    "live": live,
}
FREE = ("account", "new", "signin", "asking")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", choices=sorted(SCENES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("cell", type=Path)
    parser.add_argument("--speed", type=float, default=1.0)
    arguments = parser.parse_args()
    raw: dict[str, Any] = json.loads(arguments.cell.read_bytes())
    began, verdict = time.monotonic(), Verdict()
    settings = Settings(
        arguments.folder / "practice",
        speed=SPEED * arguments.speed,
        machines=False,
        ready=arguments.scene not in ("account", "new"),
        new=arguments.scene == "new",
    )
    faults = [(phase, text) for phase, text in raw["faults"]]
    cell = Cell(arguments.folder, str(raw["tier"]), [text for phase, text in faults if phase != "submit"])
    early, met = tuple(text for phase, text in faults if phase == "submit"), watch_doubts()
    with Practice(settings, early, doubts=tuple(raw["doubts"])) as practice:
        try:
            SCENES[arguments.scene](practice, verdict, cell)
        except StudioError as error:
            verdict.check("end", False, f"not handled: {error.id} {dict(error.facts)}")
        if arguments.scene in FREE:
            billed = [line for line in practice.cloud.meter.bill() if "begin" in line]
            verdict.check("cap", not billed, f"setting up was billed: {billed}")
    verdict.facts["doubts_met"] = sorted(met)
    record = {
        "name": raw["name"],
        "passed": not verdict.failures,
        "seconds": round(time.monotonic() - began, 1),
        **verdict.record(),
    }
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "verdict.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record))
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())

"""One world of `make doubts` that needs no machine: setting a new account up, or the lists of a whole project.

    python tools/doubts_account.py account|lists FOLDER CELL.json      prints the verdict as one JSON object

*account*: from nothing, by the repairs that are offered: every row passes, or says what is in the way and what to do.
*lists*: a sweep finds what is there or says that it could not look, and never says that nothing is left when it could
not; the catalogue and prices are refreshed, or say why not. Nothing may be billed by either.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos_judge import Verdict
from google.oauth2.credentials import Credentials

from tpu_studio.cloud.compute import ComputeMachines
from tpu_studio.cloud.connection import bearer, practice_side
from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.offers import read
from tpu_studio.cloud.prices import live_catalogue
from tpu_studio.cloud.session import Api, session
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.cloud.sweep import Sweep
from tpu_studio.cloud.tpu import TpuMachines
from tpu_studio.domain.sentences import say
from tpu_studio.domain.sentences.account import say_account
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError
from tpu_studio.workflow.account.ports import Choices, Result
from tpu_studio.workflow.cloudruns.ports import Ref, Wanted

OFFERS = {"us-west4-a": {"v5e"}, "us-east5-b": {"v5e", "v6e"}, "us-central2-b": {"v4"}}
SPEED = 100.0  # practice seconds in a real one
PATIENCE_S = 60.0  # real seconds
REPAIRS = 20
IMAGE = "v2-alpha-tpuv5-lite"
OPTIONAL = ("alert", "test-loan")


def account(practice: Practice, verdict: Verdict) -> None:
    """Every repair that is offered is made, in order, until nothing more is."""
    doctor = GoogleDoctor(Credentials(token=practice.token), Endpoints.at(practice.url), OFFERS)  # type: ignore[no-untyped-call]
    choices = Choices(region="us-west4")
    try:
        choices = replace(choices, project=doctor.projects("practice")[0].id)
    except StudioError as error:  # no project can be chosen: before anything was made
        _has_words(verdict, error)
        verdict.facts["reason"] = error.id
        return
    give_up, made = time.monotonic() + PATIENCE_S, list[str]()
    results: list[Result] = []
    while time.monotonic() < give_up and len(made) < REPAIRS:
        results = list(doctor.check(choices))
        broken = [one for one in results if one.state in ("fail", "unknown") and one.id not in OPTIONAL]
        mend = next((one for one in broken if one.fix and one.state == "fail"), None)
        if not broken:
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
    left = [one for one in results if one.state != "pass" and one.id not in OPTIONAL]
    verdict.facts["reason"] = "ready" if not left else f"{left[0].id} {left[0].state}"
    for one in left:
        said = say_account(one.id, one.state, {**one.facts, "cost_usd": one.cost_usd})
        verdict.check("words", bool(said.title and said.meaning), f"{one.id} is {one.state} without words")
        told = one.state == "waiting" or bool(said.action)
        verdict.check("words", told, f"{one.id} is {one.state}, and nothing to do")
    try:
        doctor.fix("make-alert", choices)
    except StudioError as error:
        _has_words(verdict, error)


def lists(practice: Practice, verdict: Verdict) -> None:
    """One machine of ours is there: it is found, or the sweep says that it could not look."""
    settings = practice.cloud.settings
    side = practice_side(practice.url, practice.token, settings.project, settings.bucket)
    machines, ref = side.machines["tpu"], Ref("ts-digits-abcd-a1-t1", settings.zone, "tpu")
    give_up = time.monotonic() + PATIENCE_S
    wanted = Wanted(
        ref=ref, request_id=str(uuid.uuid4()), accelerator="v5litepod-1", runtime=IMAGE, tier="on-demand",
        valid_for_s=600.0, run_s=None, metadata={}, labels={"tpu-studio": "run", "run-id": "digits-abcd"},
        service_account=settings.runner,
    )  # fmt: skip
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


SCENES: dict[str, Callable[[Practice, Verdict], None]] = {"account": account, "lists": lists}


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
        arguments.folder / "practice", speed=SPEED * arguments.speed, machines=False, ready=arguments.scene != "account"
    )
    with Practice(settings, doubts=tuple(raw["doubts"])) as practice:
        try:
            SCENES[arguments.scene](practice, verdict)
        except StudioError as error:
            verdict.check("end", False, f"not handled: {error.id} {dict(error.facts)}")
        if arguments.scene == "account":
            billed = [line for line in practice.cloud.meter.bill() if "begin" in line]
            verdict.check("cap", not billed, f"setting up was billed: {billed}")
    record = {"name": raw["name"], "passed": not verdict.failures, "seconds": round(time.monotonic() - began, 1),
              **verdict.record()}  # fmt: skip
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "verdict.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record))
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())

"""What can go wrong, by name, with one sentence for people each; armed at start, by HTTP or in the window.

A service that meets the place where a fault belongs asks `take`: an armed fault of that name that fits counts down and
is written into the list of what happened. `armed` asks without counting.

    --fault preempted-at-step:step=40,times=2        NAME[:key=value,…]

``times`` (0 = until disarmed) and ``after_s`` (practice seconds from arming) fit every fault. The other keys are the
fault's own; one that the caller of `take` names too must be equal, and ``match`` is a regular expression that the
caller's ``call`` ("POST /v2/projects/…") must contain.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpu_studio.practice.clock import Clock
from tpu_studio.practice.state import Database, Record

_log = logging.getLogger(__name__)
_LENGTHS = ("times", "after_s", "seconds", "notice", "delay", "days")
_LARGEST = 1_000_000_000
_TPU_OR_VM = r"/(queuedResources|nodes|instances)\b"


@dataclass(frozen=True)
class Fault:
    """Attributes:
    sentence: For people: what will happen.
    group: The heading under which the window lists it.
    times: How often, unless said otherwise; 0 = until disarmed.
    defaults: Its own keys.
    """

    name: str
    group: str
    sentence: str
    times: int = 1
    defaults: dict[str, object] = field(default_factory=dict)


_CALL = "API calls"
_ROOM = "Capacity and quota"
_ACCOUNT = "Account"
_MACHINE = "While it runs"
_STORE = "Files and clocks"

FAULTS = {
    fault.name: fault
    for fault in (
        Fault("stockout-at-submit", _ROOM, "The zone has no capacity and says so at once."),
        Fault("stockout-in-operation", _ROOM, "The request is taken, and a moment later it fails: no capacity."),
        Fault("stockout-for-ever", _ROOM, "The request waits in the queue, and no capacity ever appears.", 0),
        Fault("capacity-later", _ROOM, "No capacity for two minutes, then some.", 1, {"seconds": 132.0}),
        Fault("quota-zero", _ROOM, "Your project has no quota for this kind of TPU.", 0),
        Fault("quota-region-limit", _ROOM, "The zone's quota would do, but the region's limit is zero.", 0),
        Fault(
            "quota-raised-after-request",
            _ROOM,
            "Quota is zero until you ask for more; then it is granted.",
            0,
            {"after": 60.0},
        ),
        Fault("not-entitled", _ROOM, "Google does not lend this kind of TPU, tier and zone to your project.", 0),
        Fault("address-limit", _ROOM, "The region has no external IP address left for the TPU VMs.", 0, {"limit": 0}),
        Fault("type-not-in-zone", _ROOM, "This zone does not have TPUs of this kind."),
        Fault("create-rate", _ROOM, "Too many create calls in this minute; Google asks to slow down."),
        Fault("provisioning-flap", _ROOM, "The TPU appears, vanishes again and the request goes back to waiting.", 2),
        Fault(
            "provisioning-stalls",
            _ROOM,
            "Google goes on making the TPU for hours, and takes no deletion meanwhile.",
            1,
            {"seconds": 14_400.0},
        ),
        Fault("operation-never-ends", _ROOM, "Google's “working on it” never ends, though the TPU is ready.", 0),
        Fault("unknown-enum", _ROOM, "The TPU reports a state that nobody has heard of."),
        Fault(
            "foreign-metadata-type", _ROOM, "The answer carries a message type that Google's own client cannot read."
        ),
        Fault(
            "preempted-at-step",
            _MACHINE,
            "Google takes the TPU back (preemption) once training has reached a step.",
            1,
            {"step": 20, "notice": 30.0},
        ),
        Fault(
            "preempted",
            _MACHINE,
            "Google takes the TPU back (preemption), half a minute after it is ready.",
            1,
            {"seconds": 30.0, "notice": 30.0},
        ),
        Fault("node-gone", _MACHINE, "The TPU VM vanishes without notice.", 1, {"seconds": 30.0}),
        Fault("vm-hung", _MACHINE, "The TPU VM lives on and costs money, but does nothing and says nothing."),
        Fault("vm-without-network", _MACHINE, "The TPU VM cannot reach anything."),
        Fault("environment-install-fails", _MACHINE, "Installing the training software on the TPU VM fails."),
        Fault("disk-full", _MACHINE, "The TPU VM's disk is full."),
        Fault("delete-fails", _MACHINE, "Deleting the TPU fails a few times.", 3),
        Fault("too-many-requests", _CALL, "Google answers “too many requests” (429).", 3, {"match": _TPU_OR_VM}),
        Fault("server-error", _CALL, "Google answers with an internal error (500).", 3, {"match": _TPU_OR_VM}),
        Fault("unavailable", _CALL, "Google answers “service unavailable” (503).", 3, {"match": _TPU_OR_VM}),
        Fault("gateway-timeout", _CALL, "Google answers “deadline exceeded” (504).", 3, {"match": _TPU_OR_VM}),
        Fault(
            "connection-cut",
            _CALL,
            "The call is carried out, but the line is cut in the middle of the answer.",
            1,
            {"match": _TPU_OR_VM},
        ),
        Fault("slow-replies", _CALL, "Every answer takes some seconds.", 20, {"seconds": 3.0, "match": "."}),
        Fault(
            "apply-then-fail",
            _CALL,
            "The call is carried out, but the answer says that it failed (503).",
            1,
            {"match": r"^(POST|DELETE|PATCH|PUT) .*" + _TPU_OR_VM},
        ),
        Fault(
            "answered-twice",
            _CALL,
            "A create call is delivered twice, and the second answer comes back.",
            1,
            {"match": r"^POST .*" + _TPU_OR_VM},
        ),
        Fault(
            "no-answer",
            _CALL,
            "The call is carried out, but no answer ever comes.",
            1,
            {"seconds": 90.0, "match": r"^(POST|DELETE) .*" + _TPU_OR_VM},
        ),
        Fault("partial-listing", _CALL, "A list over all zones lacks some zones.", 1),
        Fault(
            "service-disabled",
            _ACCOUNT,
            "One of Google's APIs is not enabled; once enabled it takes a while to work.",
            0,
            {"service": "tpu.googleapis.com", "delay": 60.0},
        ),
        Fault("billing-off", _ACCOUNT, "The project has no billing account.", 0),
        Fault("project-deleted", _ACCOUNT, "Your project is marked for deletion.", 0),
        Fault(
            "permission-missing",
            _ACCOUNT,
            "Your account lacks a permission.",
            0,
            {"permission": "tpu.nodes.create"},
        ),
        Fault("project-id-taken", _ACCOUNT, "The id of the new project is somebody else's already."),
        Fault("client-project-bare", _ACCOUNT, "The project of your own sign-in client has few APIs enabled.", 0),
        Fault("quota-project-needed", _ACCOUNT, "Some of Google's APIs want a quota project: which project asks.", 0),
        Fault("quota-not-eligible", _ACCOUNT, "Your project is too new to ask for more quota.", 0),
        Fault("quota-request-denied", _ACCOUNT, "Google says no when you ask for more quota."),
        Fault("quota-request-partial", _ACCOUNT, "Google grants only a part of the quota that you ask for."),
        Fault("tasks-refused", _ACCOUNT, "Google refuses to set the shut-off timers (Cloud Tasks).", 3),
        Fault("spend-cap-not-offered", _ACCOUNT, "Google offers no hard spending cap for your account.", 0),
        Fault("act-as-missing", _ACCOUNT, "Your account may not act as the service account for the TPU VM.", 0),
        Fault("org-policy", _ACCOUNT, "An organisation policy forbids this zone.", 0),
        Fault("token-expired", _ACCOUNT, "Your sign-in has run out and must be renewed."),
        Fault("token-revoked", _ACCOUNT, "Your sign-in was withdrawn: you must sign in again.", 0),
        Fault(
            "signin-blocked",
            _ACCOUNT,
            "Google shows “Access blocked” instead of asking at the sign-in, and never comes back.",
            0,
            {"code": "access_denied"},
        ),
        Fault("scope-unticked", _ACCOUNT, "At sign-in the box for Google Cloud was not ticked."),
        Fault("refresh-token-rotates", _ACCOUNT, "Google hands out a new key to your sign-in and ends the old one."),
        Fault("refresh-token-expires", _ACCOUNT, "Your sign-in ends after seven days.", 0, {"days": 7}),
        Fault("terms-not-accepted", _ACCOUNT, "Your account never accepted Google Cloud's terms of service.", 0),
        Fault("two-step-needed", _ACCOUNT, "Google lets you in only with two-step verification.", 0),
        Fault("billing-account-closed", _ACCOUNT, "Your billing account was closed.", 0),
        Fault("free-trial", _ACCOUNT, "Your billing account is in a free trial, which has no TPUs.", 0),
        Fault("no-billing-account", _ACCOUNT, "You have no billing account at all.", 0),
        Fault(
            "billing-currency",
            _ACCOUNT,
            "Your billing account is in another currency than dollars.",
            0,
            {"currency": "EUR"},
        ),
        Fault("iam-slow", _ACCOUNT, "What you grant or create in IAM takes minutes to work.", 0, {"seconds": 120.0}),
        Fault("policy-race", _ACCOUNT, "Somebody else changes who may do what at the same moment."),
        Fault("reauth-needed", _ACCOUNT, "Your organisation wants you to sign in again (re-authentication).", 0),
        Fault("client-gone", _ACCOUNT, "The sign-in client of this program was deleted.", 0),
        Fault(
            "runner-may-not-delete",
            _ACCOUNT,
            "The service account for the TPU VM may not delete the machine.",
            0,
            {"account": "tpu-studio-runner"},
        ),
        Fault("bucket-gone", _STORE, "The bucket for results has been deleted.", 0),
        Fault("object-write-refused", _STORE, "The bucket refuses to be written to.", 0),
        Fault("storage-unavailable", _STORE, "Cloud Storage answers “service unavailable” (503).", 3),
        Fault("storage-write-unavailable", _STORE, "Cloud Storage answers “service unavailable” (503) to a write."),
        Fault("storage-full", _STORE, "Cloud Storage has no room for another object for a while (503).", 3),
        Fault("clock-skew", _STORE, "The TPU VM's clock is wrong by some minutes.", 0, {"seconds": -600.0}),
    )
}


def armed_in(database: Path) -> list[dict[str, object]]:
    """What is armed in the practice cloud of that *database*, read beside its server or without one; () when it cannot
    be read now. A server is neither started nor kept awake by it."""
    if not database.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=1)) as db:
            rows = db.execute("SELECT record FROM records WHERE kind = 'fault' ORDER BY name").fetchall()
        return [dict(json.loads(text)) for (text,) in rows]
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
        _log.info("the armed faults could not be read: %s", error)
        return []


def read_fault(text: str) -> tuple[str, Record]:
    """Name and keys of ``NAME[:key=value,…]``. Raises ValueError."""
    name, _, rest = text.partition(":")
    about: dict[str, object] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part}: expected key=value")
        about[key.strip()] = _value(value.strip())
    return name.strip(), about


class Faults:
    """Those that are armed; state in the database, so that they outlive a restart."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock

    def arm(self, name: str, times: int | None = None, after_s: float = 0.0, **about: object) -> dict[str, object]:
        """Raises ValueError: unknown name; a value that is none, by which every later call would fail."""
        fault = FAULTS.get(str(name))
        if fault is None:
            raise ValueError(f"there is no fault called {name}; there are: {', '.join(FAULTS)}")
        _check_values({"times": fault.times if times is None else times, "after_s": after_s, **about}, fault.defaults)
        record = {
            "name": name,
            "id": "",
            "times": fault.times if times is None else int(times),
            "taken": 0,
            "from": self._clock.now() + float(after_s),
            "about": {**fault.defaults, **about},
        }
        with self._db.transaction():
            record["id"] = f"{self._db.count('fault'):06d}"
            self._db.put("fault", str(record["id"]), record)
        self.note("armed", name, **about)
        return record

    def arm_text(self, text: str) -> dict[str, object]:
        """``NAME[:key=value,…]``. Raises ValueError."""
        name, about = read_fault(text)
        return self.arm(name, **about)

    def disarm(self, name: str = "") -> None:
        """One fault by name or by id; "" = all."""
        for key, record in self._db.list("fault"):
            if name in ("", record["name"], key):
                self._db.delete("fault", key)
                self.note("disarmed", record["name"])

    def listed(self) -> list[dict[str, object]]:
        return [record for _, record in self._db.list("fault")]

    def armed(self, name: str, **about: Any) -> Record | None:
        """The keys of an armed fault of that name that applies here; it does not count."""
        record = self._find(name, about)
        return None if record is None else dict(record["about"])

    def take(self, name: str, **about: Any) -> Record | None:
        """The same, and it has happened once more: after ``times`` it is disarmed."""
        if self._find(name, about) is None:  # nearly always: without a transaction
            return None
        with self._db.transaction():
            record = self._find(name, about)
            if record is None:
                return None
            taken = {**record, "taken": record["taken"] + 1}
            if taken["times"] and taken["taken"] >= taken["times"]:
                self._db.lasting(lambda: self._db.delete("fault", taken["id"]))
            else:
                self._db.lasting(lambda: self._db.put("fault", taken["id"], taken))
            self._db.lasting(lambda: self.note("happened", name, **about))
        return dict(record["about"])

    def settle(self, name: str, **about: Any) -> Record | None:
        """What the fault broke has been put right by the person: it is disarmed. Its keys, None: it was not armed."""
        record = self._find(name, about)
        if record is None:
            return None
        self._db.delete("fault", record["id"])
        self.note("settled", name, **about)
        return dict(record["about"])

    def _find(self, name: str, about: dict[str, object]) -> Record | None:
        now = self._clock.now()
        for _, record in self._db.peek("fault"):  # some ten times a request
            if record["name"] == name and record["from"] <= now and _fits(record["about"], about):
                return record
        return None

    def note(self, what: str, name: str, **about: object) -> None:
        """Into the list of what happened (`/practice/events`), of which the last 500 are kept."""
        with self._db.transaction():
            number = self._db.count("event")
            self._db.put("event", f"{number:09d}", {"t": self._clock.now(), "what": what, "name": name, "about": about})
            self._db.delete("event", f"{number - 500:09d}")

    def events(self, after: int = 0) -> list[Record]:
        return [{"number": int(key), **record} for key, record in self._db.list("event", start=f"{after + 1:09d}")]


def _check_values(values: Record, defaults: Record) -> None:
    """Raises ValueError."""
    kinds = {"times": 0, "after_s": 0.0, "match": "", **defaults}
    for key, value in values.items():
        wants_number = isinstance(kinds.get(key), (int, float))
        if isinstance(value, (bool, str)):
            if wants_number:
                raise ValueError(f"{key}={value}: a number is expected")
        elif not isinstance(value, (int, float)):
            raise ValueError(f"{key}: a word or a number is expected")
        elif not -_LARGEST <= value <= _LARGEST:  # NaN is not either
            raise ValueError(f"{key}: a number up to {_LARGEST:,} is expected")
        elif key in _LENGTHS and value < 0 <= defaults.get(key, 0):
            raise ValueError(f"{key}={value}: less than nothing")
    try:
        re.compile(str(values.get("match", "")))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"match: {error}") from error


def _fits(wanted: dict[str, object], about: dict[str, object]) -> bool:
    if "match" in wanted and "call" in about and not re.search(str(wanted["match"]), str(about["call"])):
        return False
    return all(about[key] == value for key, value in wanted.items() if key in about)


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)

"""Small writes of a live check: tasks that delete nothing, an object and a bucket that are gone at once.

Each is written down before it is made (`left`) and taken away by the step that made it; `gone` does so later.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from tpu_studio.cloud import errors
from tpu_studio.cloud.doctor.names import NOBODY
from tpu_studio.cloud.doctor.repairs import bucket_body
from tpu_studio.cloud.livecheck.asking import Answer, Side
from tpu_studio.cloud.session import SCOPES
from tpu_studio.workflow.livecheck.ports import Seen

FAR_S = 29 * 86400.0
NEAR_S = 86400.0
FIRES_WITHIN_S = 90.0  # of the cloud's time
_UNAUTHENTICATED, _NOT_FOUND, _DENIED = 16, 5, 7


def task_names(side: Side, queue: str) -> Sequence[Seen]:
    """One far ahead, taken away, and its name used again."""
    name = f"{queue}/tasks/ts-live-check-{secrets.token_hex(6)}"
    found: list[Seen] = []
    with side.left.making("task", name):
        made = _set(side, queue, name, FAR_S)
        found.append(_settled("tasks-far-ahead", made, "refused", side, (400,)))
        if not made.ok:
            made = side.need(_set(side, queue, name, NEAR_S))
        gone(side, "task", name)
    with side.left.making("task", name):
        again = _set(side, queue, name, NEAR_S)
        way = "" if again.status == 409 else "allowed" if again.ok else None
        found.append(Seen("task-name-reuse", way, side.kept(again)))
        gone(side, "task", name)
    return found


def task_fires(side: Side, queue: str) -> Sequence[Seen]:
    """A stop that is due now, at a name that was never made: what it is answered, and whether it is tried again.

    That it may delete is shown only beside the same task as an account without rights, which must be refused: else
    everybody is told that there is nothing.
    """
    code, raw = _fires(side, queue, side.stopper or side.runner)
    if code is None:
        return [Seen("task-oauth-delete", None, raw), Seen("task-404-retried", "gone" if raw == "404" else None, raw)]
    if code == _UNAUTHENTICATED:
        return [Seen("task-oauth-delete", "unauthenticated", raw), Seen("task-404-retried", None, raw)]
    if code != _NOT_FOUND:
        return [Seen("task-oauth-delete", None, raw), Seen("task-404-retried", None, raw)]
    control, said = _fires(side, queue, _nobody(side))
    raw = f"{raw}; as an account without rights: {said}"
    shown = control == _DENIED
    return [Seen("task-oauth-delete", "" if shown else None, raw), Seen("task-404-retried", "", raw)]


def _fires(side: Side, queue: str, account: str) -> tuple[int | None, str]:
    """As `_fired`, of a task for now as *account*. One that was just made is not known to all of Google: waited for."""
    give_up = time.monotonic() + FIRES_WITHIN_S / min(side.speed, 10.0)
    while True:
        name = f"{queue}/tasks/ts-live-check-{secrets.token_hex(6)}"
        target = f"{side.place()}/queuedResources/ts-proof-{secrets.token_hex(6)}?force=true"
        with side.left.making("task", name):
            made = _set(side, queue, name, 0.0, target, account)
            if made.ok:
                code, raw = _fired(side, name)
                gone(side, "task", name)
                return code, raw
            gone(side, "task", name)
        if made.status not in (400, 403, 404) or time.monotonic() > give_up:
            side.need(made)
        time.sleep(max(0.05, 5.0 / side.speed))


def _nobody(side: Side) -> str:
    """The account without rights, made where it is not there, as a launch makes it. Raises StudioError."""
    account = {"accountId": NOBODY, "serviceAccount": {"displayName": "TPU Studio, without rights"}}
    made = side.ask("POST", f"{side.ends.iam}/v1/projects/{side.project}/serviceAccounts", account)
    if made.status != 409:
        side.need(made)
    return f"{NOBODY}@{side.project}.iam.gserviceaccount.com"


def _fired(side: Side, name: str) -> tuple[int | None, str]:
    """The code of its last attempt, while it still stands; None: it is gone, or has not fired in time."""
    give_up = time.monotonic() + FIRES_WITHIN_S / min(side.speed, 10.0)
    while time.monotonic() < give_up:
        answer = side.ask("GET", f"{side.ends.tasks}/v2/{name}")
        if answer.status == 404:
            return None, "404"
        last = side.need(answer).body.get("lastAttempt") or {}
        status = last.get("responseStatus") if last.get("responseTime") else None  # or it means nothing yet
        if status:
            return int(status.get("code", 0)), side.without_names(str(dict(status)))
        time.sleep(max(0.05, 2.0 / side.speed))
    return None, "it has not fired"


def _set(side: Side, queue: str, name: str, ahead_s: float, target: str = "", account: str = "") -> Answer:
    at = datetime.fromtimestamp(round(side.now() + ahead_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    url = target or f"{side.place()}/queuedResources/ts-proof-{secrets.token_hex(6)}?force=true"
    request: dict[str, object] = {"url": url, "httpMethod": "DELETE"}
    if account:
        request["oauthToken"] = {"serviceAccountEmail": account, "scope": SCOPES[0]}
    task = {"name": name, "scheduleTime": at, "httpRequest": request}
    return side.ask("POST", f"{side.ends.tasks}/v2/{queue}/tasks", {"task": task})


def objects(side: Side) -> Sequence[Seen]:
    """Nothing is made but an upload that is begun and given up."""
    name = f"live-check/{secrets.token_hex(8)}"
    home = f"{side.ends.storage}/storage/v1/b/{side.bucket}"
    missing = side.ask("GET", f"{home}/o/{name.replace('/', '%2F')}", query={"ifGenerationMatch": "1234"})
    found = [_settled("missing-with-generation", missing, "precondition", side, (412,), (404,))]
    begun = side.need(
        side.ask(
            "POST",
            f"{side.ends.storage}/upload/storage/v1/b/{side.bucket}/o",
            {"name": name},
            {"uploadType": "resumable"},
        )
    )
    session = str(begun.headers.get("Location", ""))
    side.ask("DELETE", session, headers={"Content-Length": "0"}, again=False)
    ended = side.ask("PUT", session, headers={"Content-Range": "bytes */*"}, again=False)
    found.append(_settled("upload-statuses", ended, "ended-404", side, (404,), (410, 499)))
    return found


def bucket_rules(side: Side) -> Sequence[Seen]:
    """A bucket as the Account page makes it, deleted at once."""
    name = f"tpu-studio-{secrets.token_hex(6)}"
    with side.left.making("bucket", name):
        made = side.ask(
            "POST", f"{side.ends.storage}/storage/v1/b", bucket_body(name, side.region), {"project": side.project}
        )
        gone(side, "bucket", name)
    return [_settled("bucket-rules", made, "soft-delete-refused", side, (400, 412))]


def gone(side: Side, kind: str, name: str) -> None:
    """Take *name* away, and note that it is gone. Raises StudioError: it may still be there."""
    url = f"{side.ends.tasks}/v2/{name}" if kind == "task" else f"{side.ends.storage}/storage/v1/b/{name}"
    answer = side.ask("DELETE", url)
    if not answer.ok and answer.status != 404:
        raise errors.of_reply(answer.status, answer.text)
    side.left.gone(kind, name)


def _settled(
    doubt: str, answer: Answer, way: str, side: Side, other: Sequence[int], assumed: Sequence[int] = ()
) -> Seen:
    as_assumed = answer.status in assumed if assumed else answer.ok
    found = "" if as_assumed else way if answer.status in other else None
    return Seen(doubt, found, side.kept(answer))

"""The part of a sitting that is the same for the demo and the pictures: an account at the practice cloud, made ready
on the Account page by pressing what it offers.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

from driving import Driver, GaveUp

READY_S = 180.0
LOOK_S = 60.0


def allow(url: str) -> bool:
    """Stand for the person at the practice sign-in: open the page, keep what it suggests, press Continue."""
    threading.Thread(target=_visit, args=(url,), name="person", daemon=True).start()
    return True


def _visit(url: str) -> None:
    opener = build_opener(HTTPCookieProcessor(), ProxyHandler({}))
    with opener.open(url, timeout=30) as reply:
        url, page = reply.url, reply.read().decode()
    action = re.search(r'action="([^"]+)"', page)
    if action is None:
        return
    fields = [
        (_attribute(tag, "name"), _attribute(tag, "value"))
        for tag in re.findall(r"<input[^>]*>", page)
        if 'type="hidden"' in tag or "checked" in tag
    ]
    sent = urlencode([*fields, ("action", "allow")]).encode()
    opener.open(Request(urljoin(url, action.group(1)), sent), timeout=30).close()


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'{name}="([^"]*)"', tag)
    return found.group(1) if found else ""


def be_ready(driver: Driver, say: Callable[[str], None] = lambda words: None) -> None:
    """Sign in to the practice cloud and do each repair that the Account page offers, until all is ready."""
    studio = driver.studio
    account = studio.account
    studio.shell.go("account")
    say("Opening the practice cloud…")
    account.show("practice")
    driver.wait(lambda: account.state.value.connected or account.state.value.problem, LOOK_S, "It did not answer.")
    driver.wait(lambda: _quiet(account), LOOK_S, "The account was not looked at in time.")
    side: Any = account.side
    side.browse_with(allow)
    until_tries = 14
    for _ in range(until_tries):
        view = account.state.value
        if view.problem is not None:
            raise GaveUp(f"{view.problem.title}. {view.problem.text}")
        row = next((one for one in view.rows if one.primary or (one.id == "outside-stop" and one.button)), None)
        if view.ready and row is None:
            say(f"Signed in as {view.who}; everything is ready.")
            return
        if row is None:
            raise GaveUp(f"The account is not ready, and nothing is offered: {view.heading}.")
        say(f"  {row.title}: {row.button.lower()}")
        before = view.checked_at
        if row.fix == "sign-in":
            account.sign_in()
            driver.wait(lambda: not account.state.value.signing_in, LOOK_S, "The sign-in was not confirmed.")
        elif row.fix == "choose-project":
            account.search_projects()
            driver.wait(lambda: account.state.value.projects is not None, LOOK_S, "No projects were listed.")
            projects = account.state.value.projects
            if not projects:
                raise GaveUp("There is no project to choose.")
            account.choose_project(projects[0].id)
        else:
            account.fix(row.fix)
        driver.wait(_checked_since(account, before), READY_S, f"“{row.button}” was not done in time.")
    raise GaveUp(f"The account is not ready after {until_tries} repairs: {account.state.value.heading}.")


@contextmanager
def leave_behind(driver: Driver) -> Iterator[None]:
    """Two TPUs at the practice cloud that no run of this window has asked for: one with our label, one of a stranger's.
    Both are gone afterwards."""
    from tpu_studio.practice import daemon

    found = daemon.start_or_join(driver.studio.home)
    parent = f"projects/{found['project']}/locations/{found['zone']}"
    ours = {"tpu-studio": "run", "run-id": "tulips-q7ma", "install": "a"}
    left = {"ts-tulips-q7ma-a1-t1": ours, "video-lab": {"team": "video"}}
    for name, labels in left.items():
        node = {"acceleratorType": "v5litepod-8", "runtimeVersion": "v2-alpha-tpuv5-lite", "labels": labels}
        spec = {"tpu": {"nodeSpec": [{"parent": parent, "nodeId": name, "node": node}]}}
        _call(found, "POST", f"/v2/{parent}/queuedResources?queuedResourceId={name}", spec)
    there = f"/v2/{parent}/queuedResources"
    driver.wait(lambda: _active(_call(found, "GET", there), set(left)), LOOK_S, "The two TPUs were not made in time.")
    try:
        yield
    finally:
        for name in left:
            _call(found, "DELETE", f"{there}/{name}?force=true")


def _active(told: dict[str, Any], names: set[str]) -> bool:
    states = {one["name"].rpartition("/")[2]: one["state"]["state"] for one in told.get("queuedResources", ())}
    return all(states.get(name) == "ACTIVE" for name in names)


def _call(found: Mapping[str, Any], method: str, path: str, body: Any = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {found['token']}", "Content-Type": "application/json"}
    with build_opener(ProxyHandler({})).open(Request(found["url"] + path, data, headers, method=method)) as reply:
        told: dict[str, Any] = json.loads(reply.read())
        return told


def _checked_since(account: Any, before: float | None) -> Callable[[], bool]:
    return lambda: _quiet(account) and account.state.value.checked_at != before


def _quiet(account: Any) -> bool:
    view = account.state.value
    return bool(view.problem) or (view.checked_at is not None and not view.checking and not account.busy)

"""The Account page of somebody who has just signed up, from the first row to ready, by its buttons only; photographed.

    python tools/pictures_account.py [--out FOLDER] [--all]

A practice cloud of its own (``--account new``), Google's minutes passing fast. `--all` keeps a picture of each step;
without it only ``account-new`` is kept: a project is there, and the services come next.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driving import ROOT, Driver, GaveUp
from pictures import HEIGHT, WIDTH, both, shrink

SPEED = 60.0
KEPT = "account-new"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--all", action="store_true", help="a picture of each step")
    asked = parser.parse_args(argv)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    with tempfile.TemporaryDirectory(prefix="tpu-studio-") as home:
        os.environ["TPU_STUDIO_HOME"] = home
        from tpu_studio.practice import daemon

        daemon.start_or_join(Path(home), options=("--account=new", f"--speed={SPEED}"))
        driver = Driver()
        try:
            driver.window.resize(WIDTH, HEIGHT)
            driver.open()
            walk(driver, asked.out, every=asked.all)
        except GaveUp as problem:
            print(f"The way was not finished. {problem}")
            return 1
        finally:
            driver.end()
            daemon.stop(Path(home))
    for file in sorted(asked.out.glob("account-new*.png")):
        print(f"{file.name:28} {shrink(file) / 1000:6.0f} kB")
    return 0


def walk(driver: Driver, out: Path, *, every: bool) -> None:
    """Press the one filled button until nothing is left."""
    from practising import allow

    account = driver.studio.account
    driver.studio.shell.go("account")
    account.show("practice")
    driver.wait(lambda: account.state.value.connected, 60, "The practice cloud did not start.")
    side: Any = account.side
    side.browse_with(allow)
    seen: list[str] = []
    for step in range(40):
        settled(driver)
        view = account.state.value
        name = f"{step:02}-{view.row_to_press.fix if view.row_to_press else 'waits'}"
        print(f"{view.heading}: {view.next_press} {[one.id for one in view.rows if one.state not in ('pass',)]}")
        if every:
            both(driver, out, f"{KEPT}-{name}")
        if view.ready:
            print("Pressed:", " → ".join(seen))
            return
        if (row := view.row_to_press) is None:
            driver.linger(2)
            account.look(quota=False)
            continue
        seen.append(row.button)
        press(driver, row)
        if row.fix == "choose-project" and not every:
            settled(driver)
            both(driver, out, KEPT)
    raise GaveUp(f"After {len(seen)} presses it is not ready: {' → '.join(seen)}.")


def press(driver: Driver, row: Any) -> None:
    """The row's button, and the sheet that it opens."""
    page: Any = driver.window.page("account")
    if row.fix == "sign-in":
        account = driver.studio.account
        account.sign_in()
        driver.wait(lambda: account.state.value.signed_in or account.state.value.problem, 120, "Nobody was signed in.")
        if (problem := account.state.value.problem) is not None:
            raise GaveUp(f"{problem.title}. {problem.text}")
        return
    page._mend(row)
    driver.linger(0.5)
    if row.fix == "choose-project":
        driver.answer("Create a new project")
    elif row.fix == "link-billing":
        driver.wait(lambda: driver.studio.account.state.value.billing_accounts, 30, "No account was listed.")
        driver.linger(0.3)
        driver.answer("Turn billing on")


def settled(driver: Driver) -> None:
    """Wait until no repair and no look is under way."""
    account = driver.studio.account
    idle: Callable[[], bool] = lambda: not account.busy and not account.state.value.checking  # noqa: E731
    for _ in range(3):
        driver.wait(idle, 120, "The account was not looked at in time.")
        driver.linger(0.3)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

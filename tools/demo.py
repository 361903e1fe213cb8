"""`make demo`: a rehearsal of everything in the real window, on real photographs: signs in to the practice cloud,
repairs what the account needs, plans, reviews, rents, watches the run to its end, and shows the receipt.

A script stands for the person: it presses the buttons, and allows the sign-in on the page that a browser would show.
With a display the window stays open until it is closed; without one it is drawn offscreen. Ends with 0 when the run has
finished and its machine is proved deleted, else with 1 and a sentence. The run stays in your list; Ctrl-C leaves it
running.

    python tools/demo.py [--example NAME] [--place practice|computer]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driving import ROOT, Driver, GaveUp, choose_platform
from practising import be_ready

PICTURE = ROOT / "out" / "demo.png"
ENGINE_S = 3600.0
PLAN_S = 120.0
RUN_S = 3600.0
PROOF_S = 600.0
EVERY_S = 2.0
PRACTICE = {"where.place": "practice", "training.framework": "tensorflow"}  # convolutions in JAX are slow on a CPU


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools/demo.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--example", default="sign-digits")
    parser.add_argument("--place", choices=("practice", "computer"), default="practice")
    asked = parser.parse_args(argv)
    seen = choose_platform()
    driver = Driver()
    driver.studio.settings.told("runs-go-on")
    try:
        driver.open()
        have_engine(driver)
        job = ROOT / "resources" / "examples" / f"{asked.example}.tpujob"
        if asked.place == "practice":
            be_ready(driver, say)
        row = train(driver, job, PRACTICE if asked.place == "practice" else {})
        driver.linger(2.0)  # the report's curves and its model to try
        driver.picture(PICTURE)
        say(f"Finished: {row.metric_name} {row.metric} in {row.time}. The picture is {PICTURE.relative_to(ROOT)}.")
        if asked.place == "practice":
            say(f"The receipt: {receipt(driver)}")
        if seen:
            say("The window stays open. Close it to end the demo.")
            driver.app.exec()
        return 0
    except GaveUp as problem:
        driver.picture(PICTURE)
        say(f"The demo did not get to its end. {problem}")
        return 1
    except KeyboardInterrupt:
        say("Left. A run that was started goes on; open the app to watch or stop it.")
        return 130
    finally:
        driver.end()


def have_engine(driver: Driver) -> None:
    """Create or repair the training engine, as Settings does, and wait for it."""
    engine = driver.studio.engine
    driver.wait(lambda: engine.state.value.status != "unknown", 30, "The training engine could not be looked at.")
    if engine.state.value.ready:
        return
    say("Creating the training engine (about 470 MB to download) …")
    told = [0.0]

    def tell() -> None:
        bar = engine.state.value.bar
        if bar is not None and time.monotonic() - told[0] >= EVERY_S:
            told[0] = time.monotonic()
            say(f"  engine {bar.share:4.0%}  {bar.title.lower()}  {bar.detail}")

    if engine.state.value.remedy[0] == "repair":
        engine.repair()
    else:
        engine.install()
    driver.wait(lambda: not engine.state.value.doing, ENGINE_S, "The training engine took more than an hour.", tell)
    view = engine.state.value
    if not view.ready:
        raise GaveUp(f"{view.problem.title}. {view.problem.text}" if view.problem else view.sentence)


def train(driver: Driver, job: Path, changes: dict[str, Any] | None = None) -> Any:
    """Open *job* on the Plan page, make *changes*, press Start (and, for a rented machine, confirm the review), watch
    the run; its row in the list when it is over."""
    studio = driver.studio
    say(f"Planning {job.stem}…")
    studio.shell.open_path(job)
    holder: Any = driver.window.page("plan")
    driver.wait(lambda: holder.page is not None, 30, "The Plan page did not open.")
    model = holder.model

    def settled() -> bool:
        view = model.state.value
        ready = view.file == job and view.plan is not None and not view.stale and not view.looking
        return bool(view.problem or view.look_problem or ready)

    driver.wait(settled, PLAN_S, "The plan was not ready in time.")
    view = model.state.value
    problem = view.problem or view.look_problem
    if problem is not None:
        raise GaveUp(f"{problem.title}. {problem.text}")
    if changes:
        model.apply(changes)
        driver.wait(settled_with(model, changes), PLAN_S, "The changed plan was not ready in time.")
    driver.linger(1.0)
    page = holder.page
    driver.click(page.card.start.button if page.card.isVisible() else page.bar.button)
    if model.state.value.job.where.place != "computer":
        say("Reviewing: what is rented, what it would cost, what ends it…")
        driver.wait(lambda: driver.sheet() is not None or model.state.value.problem, 30, "The review did not open.")
        if model.state.value.reviewing:
            driver.agree(model)
    driver.wait(
        lambda: studio.shell.state.value.page == "run" or model.state.value.problem or driver.complaint(),
        60,
        "Start was pressed, but no run began.",
    )
    if studio.shell.state.value.page != "run":
        problem = model.state.value.problem
        raise GaveUp(f"{problem.title}. {problem.text}" if problem else driver.complaint())
    return watch(driver, studio.shell.state.value.run)


def settled_with(model: Any, changes: dict[str, Any]) -> Callable[[], bool]:
    def settled() -> bool:
        view = model.state.value
        done = all(view.job[path] == value for path, value in changes.items())
        return bool(view.problem) or (done and view.plan is not None and not view.stale and not view.looking)

    return settled


def receipt(driver: Driver) -> str:
    """What the receipt of the run on screen says, in one line."""
    page: Any = driver.window.run_page
    record = json.loads((page.page.model.state.value.folder / "result" / "receipt.json").read_bytes())
    made = ", ".join(f"{one['name']} ({one['proof']})" for one in record["made"])
    return f"{made}; it would have cost ${record['usd']:.2f}"


def watch(driver: Driver, run: str) -> Any:
    runs = driver.studio.runs
    page: Any
    say(f"Run {run} has started.")
    told = [0.0]

    def row() -> Any:
        return runs.state.value.row(run)

    def tell() -> None:
        now = row()
        if now is None or time.monotonic() - told[0] < EVERY_S:
            return
        told[0] = time.monotonic()
        figure = f"  {now.metric_name} {now.metric}" if now.metric else ""
        loss = f"  loss {now.losses[-1]:.3f}" if now.losses else ""
        say(f"  {now.status.lower():<18} {now.time:>12}{loss}{figure}  {now.left}".rstrip())

    driver.wait(lambda: (seen := row()) is not None and seen.over, RUN_S, "The run took more than an hour.", tell)
    page = driver.window.run_page
    if page is not None and page.page is not None and page.page.model.plan.place != "computer":
        say("It has ended. Waiting for the proof that its machine is deleted…")
        shown = page.page.model
        proved = "The machine was not proved deleted in time."
        driver.wait(lambda: shown.state.value.view.settled and not row().unproved, PROOF_S, proved)
    over = row()
    if over.status != "Finished":
        ending = page.page.model.state.value.ending if page is not None and page.page is not None else None
        raise GaveUp(f"The run ended as “{over.status.lower()}”. {ending or ''}".strip())
    return over


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

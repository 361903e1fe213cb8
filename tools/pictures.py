"""`make pictures`: photographs every page, light and dark, into docs/pictures, from real runs in a home of its own.

Two examples are trained to their end, a third is photographed while it trains; a fourth goes over the practice cloud,
from account, quota and review over a TPU that is taken back to the receipt, one more waits there for a machine, and the
sweep finds what somebody left. Nothing on the pictures is made up. Takes about ten minutes.
Each file stays under 300 KB.

    python tools/pictures.py [--out FOLDER] [--practice]
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

LARGEST_BYTES = 300_000
TRAIN_S = 1800.0
WIDTH, HEIGHT = 1440, 900


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools/pictures.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--practice", action="store_true", help="only those of the practice cloud")
    asked = parser.parse_args(argv)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"  # the same picture on every machine
    from tpu_studio.local.engine import engine_root

    os.environ.setdefault("TPU_STUDIO_ENGINE", str(engine_root()))
    with tempfile.TemporaryDirectory(prefix="tpu-studio-") as home:
        os.environ["TPU_STUDIO_HOME"] = home
        driver = Driver()
        driver.studio.settings.told("runs-go-on")
        try:
            driver.window.resize(WIDTH, HEIGHT)
            driver.open()
            if not asked.practice:
                photograph(driver, asked.out)
            practise(driver, asked.out)
        except GaveUp as problem:
            print(f"The pictures were not finished. {problem}")
            return 1
        finally:
            driver.end()
            from tpu_studio.practice import daemon

            daemon.stop(Path(home))
    for file in sorted(asked.out.glob("*.png")):
        print(f"{file.name:28} {shrink(file) / 1000:6.0f} kB")
    return 0


def photograph(driver: Driver, out: Path) -> None:
    import demo
    import pictures_help
    import pictures_learn
    import pictures_models
    import pictures_plan

    studio, shell = driver.studio, driver.studio.shell
    demo.have_engine(driver)
    shell.go("home")
    driver.wait(lambda: studio.runs.state.value.rows is not None, 20, "The list of runs was not read.")
    both(driver, out, "home-first")
    pictures_models.photograph(driver, out)
    pictures_learn.photograph(driver, out)
    pictures_learn.photograph_step(driver, out)
    finished = [demo.train(driver, example(name)).run for name in ("digits", "diamonds")]
    planned(driver, "sign-digits")
    driver.linger(2)
    both(driver, out, "plan")
    pictures_plan.photograph(driver, out)
    planned(driver, "sign-digits")
    live = start(driver)
    shell.open_run(finished[1], "diamonds")
    page = opened(driver)
    driver.wait(lambda: page.model.state.value.over, 30, "The finished run was not read.")
    driver.linger(2)
    both(driver, out, "report")
    shell.open_run(live, "sign-digits")
    page = opened(driver)
    driver.wait(lambda: page.model.state.value.view.progress > 0.4, TRAIN_S, "The live run did not get on.")
    both(driver, out, "run")
    shell.go("home")
    driver.linger(1.5)
    both(driver, out, "home")
    shell.go("runs")
    driver.linger(1.5)
    both(driver, out, "runs")
    shell.go("settings")
    driver.linger(1.5)
    both(driver, out, "settings")
    pictures_help.photograph(driver, out)
    pictures_help.photograph_comparison(driver, out, finished)
    studio.runs.stop(live, keep=False)
    over: Callable[[], Any] = lambda: (row := studio.runs.state.value.row(live)) is not None and row.over  # noqa: E731
    driver.wait(over, 120, "The live run did not stop.")


def practise(driver: Driver, out: Path) -> None:
    """The account and its quota, the review, a rented run live, taken back and resumed, and with its receipt, one that
    waits, and what may cost money."""
    import demo
    from practising import be_ready, leave_behind

    from tpu_studio.gui.sweep.sheet import SweepPanel
    from tpu_studio.places.faults import PracticeFaults

    studio, shell = driver.studio, driver.studio.shell
    demo.have_engine(driver)
    be_ready(driver)
    driver.linger(2)
    both(driver, out, "account")
    quota(driver, out)
    model = planned(driver, "digits")
    changes = {"where.place": "practice", "training.framework": "tensorflow"}
    model.apply(changes)
    driver.wait(demo.settled_with(model, changes), 60, "The practice plan was not ready.")
    driver.linger(1)
    both(driver, out, "plan-practice")
    changes = {"where.tier": "spot"}  # only such a TPU is taken back
    model.apply(changes)
    driver.wait(demo.settled_with(model, changes), 60, "The practice plan was not ready.")
    arm(driver, f"preempted-at-step:step={round(0.6 * model.state.value.plan.steps)}")
    run = rent(driver, out)
    page = opened(driver)
    driver.wait(lambda: page.model.state.value.view.progress > 0.3, TRAIN_S, "The practice run did not get on.")
    both(driver, out, "run-practice")
    seen = page.model.state
    driver.wait(lambda: seen.value.view.attempt == 2 and seen.value.view.progress > 0.75, TRAIN_S, "It did not resume.")
    both(driver, out, "preempted")
    driver.wait(lambda: page.model.state.value.view.settled, TRAIN_S, "The practice run was not proved ended.")
    driver.linger(2)
    both(driver, out, "receipt")
    arm(driver, "stockout-for-ever")
    shell.plan_again(page.model.plan.job)
    driver.linger(2)
    waiting = rent(driver, None)
    page = opened(driver)
    driver.wait(page.waiting.isVisible, 120, "The run that waits did not say so.")
    both(driver, out, "waiting")
    studio.runs.stop(waiting, keep=False)
    driver.wait(lambda: page.model.state.value.view.settled, 180, "The run that waited did not end.")
    assert run != waiting
    PracticeFaults(studio.home).disarm("stockout-for-ever")
    with leave_behind(driver):
        studio.open_sheet("sweep")
        panel = driver.sheet().findChild(SweepPanel)
        driver.wait(lambda: panel.table.model().rowCount() > 0, 60, "The sweep did not come back.")
        driver.linger(0.5)
        both(driver, out, "sweep")
        driver.answer("Close")


def quota(driver: Driver, out: Path) -> None:
    """The Account page of a new project: no TPU is allowed yet, and more has been asked for."""
    from tpu_studio.places.faults import PracticeFaults

    account = driver.studio.account
    holder: Any = driver.window.page("account")
    arm(driver, "quota-zero:times=0")
    account.look()
    looked(driver)
    holder.quota.ask_best()
    driver.linger(0.5)
    driver.answer("Send the request")
    driver.wait(lambda: account.state.value.requests, 60, "The request was not taken.")
    account.look()
    looked(driver)
    both(driver, out, "quota")
    PracticeFaults(driver.studio.home).disarm("quota-zero")
    account.look()
    looked(driver)


def looked(driver: Driver) -> None:
    """Wait until the account has been looked at."""
    view = driver.studio.account.state
    driver.wait(lambda: view.value.checking or view.value.quota_reading, 10, "The account is not looked at.")
    done: Callable[[], bool] = lambda: not view.value.checking and not view.value.quota_reading  # noqa: E731
    driver.wait(done, 60, "The account was not looked at in time.")


def rent(driver: Driver, out: Path | None) -> str:
    """Start what stands on the Plan page through its review, photographed where *out* says; the run's id."""
    studio = driver.studio
    before = studio.shell.state.value.run
    holder: Any = driver.window.page("plan")
    driver.click(holder.page.card.start.button)
    driver.wait(lambda: driver.sheet() is not None, 30, "The review did not open.")
    driver.linger(0.5)
    if out is not None:
        both(driver, out, "review")
    driver.agree(holder.model)
    driver.wait(lambda: studio.shell.state.value.run != before, 60, "The run did not start.")
    return studio.shell.state.value.run


def arm(driver: Driver, fault: str) -> None:
    """Make something go wrong at the practice cloud from now on."""
    from tpu_studio.practice import daemon

    daemon.arm(driver.studio.home, [fault])


def planned(driver: Driver, name: str | Path) -> Any:
    """The Plan page's model with the plan of an example, or of a job file elsewhere, ready."""
    file = example(name) if isinstance(name, str) else name
    holder: Any = driver.window.page("plan")
    model = holder.model
    before = model.state.value.plan  # perhaps the same example's, changed
    driver.studio.shell.open_path(file)

    def ready() -> bool:
        view = model.state.value
        done = view.plan is not None and view.plan is not before and not view.looking and not view.stale
        return bool(view.file == file and done)

    driver.wait(ready, 60, "The plan was not ready.")
    return model


def start(driver: Driver) -> str:
    """Start what stands on the Plan page without waiting for its end; the run's id."""
    studio = driver.studio
    before = studio.shell.state.value.run
    holder: Any = driver.window.page("plan")
    driver.click(holder.page.card.start.button)
    driver.wait(lambda: studio.shell.state.value.run != before, 60, "The run did not start.")
    return studio.shell.state.value.run


def opened(driver: Driver) -> Any:
    """The page of the run that is being opened, once it is there."""
    driver.wait(lambda: getattr(driver.window.run_page, "page", None) is not None, 30, "The run's page did not open.")
    return driver.window.run_page.page  # type: ignore[union-attr]


def both(driver: Driver, out: Path, name: str) -> None:
    """The window as it stands, light and dark."""
    for notice in driver.studio.shell.state.value.notices:
        driver.studio.shell.close_notice(notice.number)
    for theme in ("light", "dark"):
        driver.studio.settings.set(theme=theme)
        driver.linger(0.6)
        driver.picture(out / f"{name}-{theme}.png")


def example(name: str) -> Path:
    return ROOT / "resources" / "examples" / f"{name}.tpujob"


def shrink(file: Path) -> int:
    """Rewrite *file* as small as it gets without visible loss; its size in bytes."""
    from PIL import Image

    with Image.open(file) as picture:
        plain = picture.convert("RGB")
    plain.save(file, optimize=True)
    if file.stat().st_size > LARGEST_BYTES:
        plain.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, optimize=True)
    if file.stat().st_size > LARGEST_BYTES:
        raise GaveUp(f"{file.name} is larger than {LARGEST_BYTES / 1000:.0f} kB.")
    return file.stat().st_size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

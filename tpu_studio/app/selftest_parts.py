"""What `tpu-studio --self-test` tries, in this order: each function returns what it saw or raises what is wrong."""

from __future__ import annotations

import gzip
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import tpu_studio
from tpu_studio.app import selftest_cloud, selftest_reach
from tpu_studio.app.selftest import Part, Skipped
from tpu_studio.wire.homes import home_folder
from tpu_studio.wire.resources import resource_path

if TYPE_CHECKING:
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QApplication

WINDOW_S = 20.0
JOB_QUIET_S, JOB_S = 300.0, 1200.0  # a busy computer takes minutes to load the engine


def modules() -> str:
    """Everything the app can reach, and everything that this imports at its top or when it is needed."""
    ours = list(selftest_reach.names(tpu_studio.__path__, "tpu_studio"))
    if len(ours) < 300:
        raise RuntimeError(f"only {len(ours)} modules were found")
    for name in ours:
        importlib.import_module(name)
    wanted = {pair for name in ours for pair in selftest_reach.imported_by(name)}
    brought = {module for module, name in sorted(wanted) if selftest_reach.bring(module, name)}
    others = {module.partition(".")[0] for module in brought} - {"tpu_studio"} - sys.stdlib_module_names
    return f"{len(ours)} modules of ours, {len(brought)} that they ask for, of {', '.join(sorted(others))}"


def training_program() -> str:
    """The sources that the engine's Python imports, with the resources they look for."""
    from tpu_studio.local.computer import package_folder

    package = package_folder() / "tpu_studio"
    sources = sorted(package.rglob("*.py"))
    for source in sources:
        compile(source.read_bytes(), str(source), "exec")
    for needed in ("trainer/__main__.py", "trainer/guardian/__main__.py", "wire/plan.py", "data/look.py"):
        if not (package / needed).is_file():
            raise FileNotFoundError(package / needed)
    beside = [package / "resources", package.parent / "resources"]  # as wire.resources looks for them there
    if not any((folder / "engine" / "lock.txt").is_file() for folder in beside):
        raise FileNotFoundError(f"resources, as {package} looks for them")
    return f"{len(sources)} source files in {package.parent}"


def fonts() -> str:
    from PySide6.QtGui import QFontDatabase

    _application()
    families = set()
    files = sorted(resource_path("fonts").glob("*.ttf"))
    for file in files:
        handle = QFontDatabase.addApplicationFont(str(file))
        if handle < 0:
            raise RuntimeError(f"Qt cannot read {file.name}")
        families.update(QFontDatabase.applicationFontFamilies(handle))
    if not {"Inter", "JetBrains Mono"} <= families:
        raise RuntimeError(f"the families are {sorted(families)}")
    return f"{len(files)} files: {', '.join(sorted(families))}"


def icons() -> str:
    from PySide6.QtGui import QColor

    from tpu_studio.gui.kit import icons as drawn

    _application()
    files = sorted(resource_path("icons").glob("*.svg"))
    for file in files:
        if file.stem == "app":
            continue
        if _colours(drawn.pixmap(file.stem, QColor("#123456"), 24).toImage()) < 2:
            raise RuntimeError(f"{file.name} draws nothing")
    return f"{len(files)} drawings"


def resources() -> str:
    """Every file, read the way it is meant to be read."""
    from PIL import Image

    from tpu_studio.domain import jobfile

    kinds: Counter[str] = Counter()
    for file in sorted(resource_path().rglob("*")):
        if not file.is_file():
            continue
        match file.suffix:
            case ".jpg" | ".png":
                with Image.open(file) as picture:
                    picture.load()
            case ".tpujob":
                jobfile.load(file)
            case ".json":
                json.loads(file.read_bytes())
            case ".gz":
                gzip.decompress(file.read_bytes())
            case _:
                if not file.read_bytes():
                    raise RuntimeError(f"{file} is empty")
        kinds[file.suffix.lstrip(".") or "other"] += 1
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def plots() -> str:
    from tpu_studio.gui.plots.specimen import specimen_plots

    _application()
    sizes = []
    for name, plot in specimen_plots().items():
        plot.resize(640, 320)
        plot.canvas.show_all()
        colours = _colours(plot.grab().toImage())
        if colours < 8:
            raise RuntimeError(f"the plot {name} has only {colours} colours")
        sizes.append(f"{name} {colours} colours")
        plot.deleteLater()
    return ", ".join(sizes)


def window() -> str:
    """The whole window with what works behind it (SQLite, the background loop), opened and closed."""
    from PySide6.QtCore import QDeadlineTimer, QEventLoop

    from tpu_studio.app.studio import Studio

    app = _application()
    studio = Studio(app, home_folder())
    studio.show()
    deadline = QDeadlineTimer(int(WINDOW_S * 1000))
    while studio.services is None and not deadline.hasExpired():
        app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50)
    colours = _colours(studio.window.grab().toImage())
    size = studio.window.size()
    ready = studio.services is not None
    studio.end()
    if not ready:
        raise RuntimeError(f"what works behind the window was not there after {WINDOW_S:.0f} s")
    if colours < 20:
        raise RuntimeError(f"Home has only {colours} colours")
    return f"Home, {size.width()} × {size.height()}, {colours} colours"


def other_programs() -> str:
    """A file manager or the engine's Python must not load our libraries in place of its own."""
    environment = subprocess.run(
        [sys.executable, "-I", "-c", "import os; print(dict(os.environ))"] if not _frozen() else ["/usr/bin/env"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout
    ours = getattr(sys, "_MEIPASS", None)
    if ours and ours in environment:
        lines = [line for line in environment.splitlines() if ours in line]
        raise RuntimeError(f"they inherit {lines[0][:200]}")
    return "start with their own libraries"


def workers() -> str:
    """Big data sets are converted by processes of our own."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = {pool.submit(os.getpid).result(timeout=60) for _ in range(4)}
    if os.getpid() in found:
        raise RuntimeError("the work was done in this process")
    return f"{len(found)} worker {'process' if len(found) == 1 else 'processes'} answered"


def parquet() -> str:
    """Tables in Parquet are read by a process of our own, with a library that has to have travelled."""
    import arro3.core
    import arro3.io

    from tpu_studio.data.columnar import rows_of
    from tpu_studio.data.watching import Watch

    path = home_folder() / "numbers.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = arro3.core.Array(list(range(100)), arro3.core.DataType.int64())
    arro3.io.write_parquet(arro3.core.Table.from_pydict({"number": numbers}), path, compression="zstd(1)")
    lines = rows_of(path, Watch()).file.read_text("utf-8").splitlines()
    if (lines[0], lines[-1], len(lines)) != ('["number"]', '["99"]', 101):
        raise RuntimeError(f"its rows came out as {lines[:2]} and {len(lines) - 2} more")
    return "100 rows came back as they were"


def small_job() -> str:
    """Train the digits for one epoch on this computer, from the plan to the written model."""
    from tpu_studio.app.compose import compose

    services = compose(home_folder())
    try:
        state = services.engine.state()
        if not state.is_ready:
            raise Skipped(f"the training engine is {state.status} ({services.engine.root})")
        return _train(services)
    finally:
        services.close()


def _train(services: object) -> str:
    from tpu_studio.app.compose import Services
    from tpu_studio.data.look import look
    from tpu_studio.domain import jobfile
    from tpu_studio.planner.make import make_plan
    from tpu_studio.wire import tasks
    from tpu_studio.wire.job import set_values

    assert isinstance(services, Services)
    job = set_values(jobfile.load(resource_path("examples", "digits.tpujob")), {"training.epochs": 1.0})
    plan = make_plan(job, look(job), now=time.time())
    run = services.runs.launch(plan, beside=True)
    following = services.runs.follow(run)
    heard = began = time.monotonic()
    try:
        while not following.view.over:
            now, news = time.monotonic(), following.poll()
            heard = now if news else heard
            if now - heard > JOB_QUIET_S or now - began > JOB_S:
                services.runs.stop(run, keep=False)
                quiet = f"nothing new for {now - heard:.0f} s"
                raise RuntimeError(f"no end after {now - began:.0f} s, {quiet}; it was {following.view.phase.value}")
            if not news:
                time.sleep(0.1)
                services.runs.settle(run)
        view, end = following.view, following.view.end
    finally:
        following.close()
    if end is None or view.status != "finished":
        lines = " | ".join(str(event.get("text", "")) for event in following.recent_logs(3))
        raise RuntimeError(f"the run ended as {view.status}: {end.reason if end else ''} {lines}")
    result = Path(services.runs.folder(run)) / "result"
    written = sum(1 for file in result.rglob("*") if file.is_file())
    if not written:
        raise RuntimeError(f"nothing was written into {result}")
    accuracy = view.last.get(tasks.by_id(plan.task).metric, float("nan"))
    return f"digits, {end.steps} steps, accuracy {accuracy:.2f}, {written} files written"


PARTS: tuple[Part, ...] = (
    ("modules", modules),
    ("training program", training_program),
    ("fonts", fonts),
    ("icons", icons),
    ("resources", resources),
    ("plots", plots),
    ("window", window),
    ("other programs", other_programs),
    ("worker processes", workers),
    ("parquet", parquet),
    ("keyring", selftest_cloud.keyrings),
    ("program of VMs", selftest_cloud.vm_program),
    ("practice cloud", selftest_cloud.practice_cloud),
    ("practice machine", selftest_cloud.practice_machine),
    ("small job", small_job),
)


@cache
def _application() -> QApplication:
    from PySide6.QtWidgets import QApplication

    from tpu_studio.gui.kit import theme

    app = QApplication.instance() or QApplication(["tpu-studio"])
    assert isinstance(app, QApplication)
    theme.install(app)
    return app


def _colours(image: QImage) -> int:
    """How many different colours a picture has, of a sample of its pixels; an empty one has one."""
    across, down = max(1, image.width() // 160), max(1, image.height() // 160)
    return len({image.pixel(x, y) for x in range(0, image.width(), across) for y in range(0, image.height(), down)})


def _frozen() -> bool:
    return bool(getattr(sys, "frozen", False))

#!/usr/bin/python3
"""Try the *installed* TPU Studio as a person would: from the menu entry to a model that answers, by mouse and keys.

    sudo apt install ./tpu-studio_*.deb xvfb openbox xdotool x11-utils imagemagick dbus at-spi2-core python3-pyatspi \
        libglib2.0-bin desktop-file-utils shared-mime-info
    /usr/bin/python3 packaging/linux/try_installed.py [--pictures FOLDER] [--figures] [--create-engine]

Needs the system's Python (for its accessibility library) and no display: it brings a screen of its own. The home folder
is a temporary one with spaces and letters beyond ASCII in its name. What is clicked is found by the name that a screen
reader would say, and clicked where the screen shows it. Without --create-engine the training engine that this user
has is used; with it, one is created by the window, which downloads 470 MB.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SCREEN = "1600x1000x24"
MENU_ENTRY = "/usr/share/applications/tpu-studio.desktop"
EXAMPLES = Path("/usr/lib/tpu-studio/_internal/resources/examples")
STARTS = 7
IDLE_S = 15.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pictures", type=Path, help="folder for installed-*.png")
    options.add_argument("--figures", action="store_true", help="also measure start, memory and idle processor time")
    options.add_argument("--create-engine", action="store_true", help="let the window create a fresh training engine")
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if not given.inside:
        command = [sys.executable, *sys.argv, "--inside"]
        screen = ["xvfb-run", "-a", "-s", f"-screen 0 {SCREEN} -nolisten tcp"]
        return subprocess.run([*screen, "dbus-run-session", "--", *command], check=False).returncode
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "tpu-studio"
    os.environ.setdefault("TPU_STUDIO_ENGINE", str(data / "engine"))
    os.environ["QT_LINUX_ACCESSIBILITY_ALWAYS_ON"] = "1"
    with tempfile.TemporaryDirectory(prefix="tpu-studio-", ignore_cleanup_errors=True) as folder:
        home = Path(folder) / "Zuhause für Übungen ✋"
        os.environ["TPU_STUDIO_HOME"] = str(home)
        if given.create_engine:
            os.environ["TPU_STUDIO_ENGINE"] = str(home / "engine")
        if given.figures:
            tell_starts(home)
        with helpers():
            return journey(home, given)


def journey(home: Path, given: argparse.Namespace) -> int:
    desk = Desk(given.pictures)
    try:
        subprocess.run(["gio", "launch", MENU_ENTRY], check=True)
        desk.wait_for("frame", "TPU Studio", 20)
        told("the menu entry opens the window")
        desk.wait_for("label", "Ready", 20) if not given.create_engine else time.sleep(2)
        desk.picture("home")
        if given.figures:
            desk.tell_idle()
        desk.click("push button", "Handwritten digits")
        start = desk.wait_for("push button", "Start training", 30, enabled=True)
        told("the example leads to its plan")
        desk.picture("plan")
        desk.click_at(start)
        if given.create_engine:
            desk.click("push button", "Create it & start")
            time.sleep(8)
            desk.picture("engine")
        desk.wait_for("push button", "Stop & keep model", 900 if given.create_engine else 60)
        desk.wait_for("label", "First training step", 120)
        time.sleep(2)
        told("the run is training")
        desk.picture("run")
        desk.wait_for("label", "Finished", 300)
        told("the run is finished")
        desk.click("push button", ".png", of=-1)
        desk.wait_for("label", "This is", 90)
        told("the model answers")
        time.sleep(1)
        desk.picture("tried")
        desk.keys("ctrl+2")
        desk.wait_for("table", "Runs", 10)
        desk.keys("ctrl+k")
        time.sleep(0.5)
        desk.type("settings")
        desk.keys("Return")
        desk.wait_for("label", "Appearance", 10)
        told("keys lead to Runs, to the palette and to Settings")
        second_start(desk, home)
        desk.keys("ctrl+q")
        desk.wait(lambda: not programs(), 10, "the program to end")
        told("Ctrl+Q ends the program")
        log = home / "logs" / "window.log"
        complaints = log.read_text() if log.exists() else ""
        if complaints:
            raise GaveUp(f"the window's log has: {complaints[-500:]}")
        return 0
    except GaveUp as error:
        print(f"failed   {error}", flush=True)
        desk.picture("failed")
        desk.print_tree()
        return 1
    finally:
        for pid in programs():
            os.kill(pid, signal.SIGTERM)


def second_start(desk: Desk, home: Path) -> None:
    """A double click on a job file brings the minimised window back, with that job on its Plan page."""
    job = home.parent / "meine Blumen – größer.tpujob"
    job.write_text((EXAMPLES / "digits.tpujob").read_text().replace('"digits"\n', '"tulips"\n', 1))
    subprocess.run(["xdotool", "windowminimize", desk.window], check=True)
    time.sleep(1)
    asked = ["gio", "info", "-a", "standard::content-type", str(job)]
    kind = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if "application/x-tpujob" not in kind:
        raise GaveUp(f"{job.name} is not known as a job: {kind}")
    subprocess.run(["gio", "open", str(job)], check=True)
    desk.wait_for("label", "tulips", 30)
    desk.wait_for("push button", "Start training", 30, enabled=True)
    desk.wait(lambda: said("xdotool", "getactivewindow").strip() == desk.window, 10, "the first window to come back")
    desk.wait(lambda: len(programs()) == 1, 10, "the second program to leave")
    told("a double click on a job opens it in the first window, which comes to the front")
    time.sleep(2)
    desk.picture("second-start")


class GaveUp(Exception):
    """What was waited for and did not come."""


class Desk:
    """The screen with the window on it."""

    def __init__(self, pictures: Path | None) -> None:
        import pyatspi  # of the system's Python

        self.atspi = pyatspi
        self._pictures = pictures

    @property
    def window(self) -> str:
        return said("xdotool", "search", "--name", "TPU Studio").split()[-1]

    @property
    def pid(self) -> int:
        return int(said("xdotool", "getwindowpid", self.window))

    def widgets(self) -> Iterator[Any]:
        """Everything that is shown, outermost first."""
        waiting = [app for app in self.atspi.Registry.getDesktop(0) if app and app.name == "TPU Studio"]
        while waiting:
            it = waiting.pop(0)
            try:
                shown = it.getRoleName() == "application" or it.getState().contains(self.atspi.STATE_SHOWING)
                if not shown:
                    continue
                yield it
                waiting += [child for child in it if child]
            except Exception:  # noqa: BLE001  the bus's errors for a widget that has just gone; the next look tells
                continue

    def find(self, role: str, name: str, *, enabled: bool = False, of: int = 0) -> Any:
        found = []
        for it in self.widgets():
            if it.getRoleName() == role and name.casefold() in (it.name or "").casefold():
                if enabled and not it.getState().contains(self.atspi.STATE_ENABLED):
                    continue
                box = it.queryComponent().getExtents(self.atspi.DESKTOP_COORDS)
                if box.width and box.height:
                    found.append(it)
        return found[of] if found else None

    def wait(self, until: Callable[[], Any], seconds: float, what: str) -> Any:
        give_up = time.monotonic() + seconds
        while not (got := until()):
            if time.monotonic() > give_up:
                raise GaveUp(f"waited {seconds:.0f} s for {what}")
            time.sleep(0.2)
        return got

    def wait_for(self, role: str, name: str, seconds: float, **how: Any) -> Any:
        return self.wait(lambda: self.find(role, name, **how), seconds, f"the {role} “{name}”")

    def click(self, role: str, name: str, **how: Any) -> None:
        self.click_at(self.wait_for(role, name, 30, enabled=True, **how))

    def click_at(self, widget: Any) -> None:
        """A real click of the mouse in the middle of it."""
        box = widget.queryComponent().getExtents(self.atspi.DESKTOP_COORDS)
        x, y = box.x + box.width // 2, box.y + box.height // 2
        subprocess.run(["xdotool", "mousemove", str(x), str(y)], check=True)
        time.sleep(0.15)
        subprocess.run(["xdotool", "click", "1"], check=True)

    def keys(self, combination: str) -> None:
        subprocess.run(["xdotool", "key", combination], check=True)

    def type(self, text: str) -> None:
        subprocess.run(["xdotool", "type", "--delay", "40", text], check=True)

    def picture(self, name: str) -> None:
        if self._pictures is None:
            return
        self._pictures.mkdir(parents=True, exist_ok=True)
        file = self._pictures / f"installed-{name}.png"
        small = ["-trim", "+repage", "-resize", "1100x", "+dither", "-colors", "96", "-strip"]
        subprocess.run(["import", "-window", "root", *small, f"PNG8:{file}"], check=True)

    def print_tree(self) -> None:
        for it in self.widgets():
            if it.name:
                print(f"  {it.getRoleName()}: {it.name[:100]}", file=sys.stderr)

    def tell_idle(self) -> None:
        """Memory on Home, and processor time while nobody does anything."""
        pid = self.pid
        time.sleep(5)
        begun = processor_s(pid)
        time.sleep(IDLE_S)
        share = (processor_s(pid) - begun) / IDLE_S
        memory = {
            line.split(":")[0]: int(line.split()[1]) / 1024
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        }
        print(f"figure   memory on Home {memory['Rss']:.0f} MB resident, {memory['Pss']:.0f} MB proportional")
        print(f"figure   processor while idle {share:.2%} of one core over {IDLE_S:.0f} s", flush=True)


class helpers:
    """A window manager and the accessibility bus, for the length of a with."""

    def __enter__(self) -> None:
        launcher = "/usr/libexec/at-spi-bus-launcher"
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._started = [
            subprocess.Popen([launcher, "--launch-immediately", "--a11y=1"], **quiet),
            subprocess.Popen(["openbox"], **quiet),
        ]
        give_up = time.monotonic() + 20
        while "window id" not in said("xprop", "-root", "_NET_SUPPORTING_WM_CHECK"):
            if time.monotonic() > give_up:
                raise SystemExit("the window manager did not start")
            time.sleep(0.2)
            if self._started[1].poll() is not None:  # it gives up at once when the screen is not quite there yet
                self._started[1] = subprocess.Popen(["openbox"], **quiet)

    def __exit__(self, *error: object) -> None:
        for process in self._started:
            process.terminate()
            process.wait()


def tell_starts(home: Path) -> None:
    """Seconds from starting the program to its first painted window, warm."""
    seconds = [start_once() for _ in range(STARTS + 1)][1:]
    shown = ", ".join(f"{value:.2f}" for value in seconds)
    print(f"figure   start to first painted window {statistics.median(seconds):.2f} s (median of {shown})", flush=True)
    shutil.rmtree(home, ignore_errors=True)


def start_once() -> float:
    """One start, watched on the screen: it counts when the middle of the window has a picture with several colours."""
    watch = Screen()
    begun = time.perf_counter()
    process = subprocess.Popen(["tpu-studio"], stderr=subprocess.DEVNULL)
    try:
        while watch.colours() < 4:
            if time.perf_counter() - begun > 30:
                raise GaveUp("no window was painted within 30 s")
            time.sleep(0.005)
        return time.perf_counter() - begun
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        watch.wait_for_black()


class Screen:
    """Reads pixels of the root window; all black until a program paints."""

    def __init__(self) -> None:
        self._x = ctypes.CDLL("libX11.so.6")
        for name in ("XOpenDisplay", "XDefaultRootWindow", "XGetImage"):
            getattr(self._x, name).restype = ctypes.c_void_p
        self._x.XGetPixel.restype = ctypes.c_ulong
        self._display = ctypes.c_void_p(self._x.XOpenDisplay(None))
        self._root = ctypes.c_void_p(self._x.XDefaultRootWindow(self._display))

    def colours(self) -> int:
        """How many colours a strip across the screen has: 300, 110 to 900, 150 in steps of 3."""
        image = ctypes.c_void_p(
            self._x.XGetImage(self._display, self._root, 300, 110, 600, 40, ctypes.c_ulong(0xFFFFFFFF), 2)
        )
        found = {self._x.XGetPixel(image, x, y) for x in range(0, 600, 3) for y in range(0, 40, 4)}
        self._x.XDestroyImage(image)
        return len(found)

    def wait_for_black(self) -> None:
        give_up = time.monotonic() + 10
        while self.colours() > 1 and time.monotonic() < give_up:
            time.sleep(0.05)


def programs() -> list[int]:
    """Processes of the installed program that belong to us."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "exe") == "/usr/lib/tpu-studio/tpu-studio":
                found.append(int(folder.name))
        except OSError:
            continue  # gone, or another user's
    return found


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def told(what: str) -> None:
    print(f"ok       {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

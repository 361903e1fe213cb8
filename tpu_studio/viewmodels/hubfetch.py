"""A model of the Hugging Face Hub: looked up, then its weights downloaded, while the window stays as it is.

One at a time. It goes on while its sheet is closed; `tick` takes over how far it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import hub
from tpu_studio.wire.hub import Entry

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks

CARD = "https://huggingface.co"
WANTS_TOKEN = frozenset({"hub-gated", "hub-token-refused", "hub-not-found"})


class Remote(Protocol):
    """`cloud.hub.Hub`."""

    def look_up(self, preset: str, progress: Callable[[int, int], object], cancelled: Callable[[], bool]) -> Entry: ...

    def download(self, preset: str, progress: Callable[[int, int], object], cancelled: Callable[[], bool]) -> None: ...


@dataclass(frozen=True)
class HubView:
    """Attributes:
    preset: `hf:owner/name`; "": none was asked for.
    doing: What is under way.
    done, total: Bytes of it; 0 of 0 until the first arrive.
    entry: What the Hub said.
    whole: Its weights are here.
    problem: Why the last step ended.
    """

    preset: str = ""
    doing: Literal["", "look-up", "download"] = ""
    done: int = 0
    total: int = 0
    entry: Entry | None = None
    whole: bool = False
    problem: Problem | None = None

    @property
    def name(self) -> str:
        return self.preset.removeprefix(hub.PREFIX)

    @property
    def card(self) -> str:
        """Where a person reads of it, and accepts its terms."""
        return f"{CARD}/{self.name}"

    @property
    def wants_token(self) -> bool:
        gated = self.entry is not None and self.entry.gated and not self.whole
        return gated or (self.problem is not None and self.problem.id in WANTS_TOKEN)

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of it, a line each."""
        if self.entry is None:
            return (
                "First its description and its tokenizer, a few MB: with them the plan is exact.",
                f"They come from {CARD.removeprefix('https://')}, which hears the model's name and no more of you.",
            )
        size = figures.size(self.entry.weights_bytes)
        licence = (
            f"Licence, as its card states it: {self.entry.licence}"
            if self.entry.licence
            else "Its card states no licence"
        )
        return (
            f"{size} of weights, "
            + ("which are on this computer." if self.whole else "to be downloaded before it trains."),
            f"{licence}. Whether it lets you do what you plan is for you to read.",
            f"Version {self.entry.revision[:8]}: each file is held to the sum that Hugging Face lists.",
        )

    @property
    def words(self) -> str:
        """How far it is."""
        if not self.doing:
            return ""
        what = "Looking it up" if self.doing == "look-up" else "Downloading"
        return f"{what}: {figures.size(self.done)} of {figures.size(self.total)}" if self.total else f"{what}…"

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


class HubFetch:
    """Args:
    remote: Of a token, "" for none; made in the thread that asks.
    there: Called when a description or weights have come: plans are to be made anew.
    """

    def __init__(self, tasks: Tasks, remote: Callable[[str], Remote], there: Callable[[HubView], None]) -> None:
        self.state = Observable(HubView())
        self._tasks, self._remote, self._there = tasks, remote, there
        self._cancelled = False
        self._at = (0, 0)

    def show(self, preset: str) -> None:
        """Begin with *preset*; what is under way goes on, and is shown instead."""
        if not self.state.value.doing:
            entry = hub.entry(hub.folder(preset))
            whole = entry is not None and entry.is_whole(hub.folder(preset))
            self.state.set(HubView(preset, entry=entry, whole=whole))

    def look_up(self, token: str = "") -> None:
        self._begin("look-up", token)

    def download(self, token: str = "") -> None:
        self._begin("download", token)

    def stop(self) -> None:
        """What has arrived is kept."""
        self._cancelled = True

    def tick(self) -> None:
        done, total = self._at
        if self.state.value.doing:
            self.state.set(replace(self.state.value, done=done, total=total))

    def _begin(self, doing: Literal["look-up", "download"], token: str) -> None:
        view = self.state.value
        if view.doing:
            return
        self._cancelled, self._at = False, (0, 0)
        self.state.set(replace(view, doing=doing, done=0, total=0, problem=None))

        def heard(done: int, total: int) -> None:
            self._at = done, total

        def work() -> None:
            remote = self._remote(token)
            ask = remote.look_up if doing == "look-up" else remote.download
            ask(view.preset, heard, lambda: self._cancelled)

        self._tasks.submit(work, done=lambda _: self._came(), failed=self._failed)

    def _came(self) -> None:
        preset = self.state.value.preset
        self.state.set(HubView())
        self.show(preset)
        self._there(self.state.value)

    def _failed(self, error: BaseException) -> None:
        problem = problem_of(error)
        view = replace(self.state.value, doing="", done=0, total=0)
        self.state.set(replace(view, problem=None if problem.id == "hub-cancelled" else problem))

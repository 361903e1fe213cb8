"""A model of the Hugging Face Hub: looked up, then its weights downloaded. What it shares with data: `fetching`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tpu_studio.domain import figures
from tpu_studio.viewmodels.fetching import SITE, Cancelled, Doing, Fetch, FetchView, Progress
from tpu_studio.wire import hub
from tpu_studio.wire.hub import Entry

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks


class Remote(Protocol):
    """`cloud.hub.Hub`."""

    def look_up(self, preset: str, progress: Progress, cancelled: Cancelled) -> Entry: ...

    def download(self, preset: str, progress: Progress, cancelled: Cancelled) -> None: ...


@dataclass(frozen=True)
class HubView(FetchView):
    """Attributes:
    preset: `hf:owner/name`; "": none was asked for.
    entry: What the Hub said.
    whole: Its weights are here.
    """

    preset: str = ""
    entry: Entry | None = None
    whole: bool = False

    @property
    def name(self) -> str:
        return self.preset.removeprefix(hub.PREFIX)

    @property
    def card(self) -> str:
        """Where a person reads of it, and accepts its terms."""
        return f"{SITE}/{self.name}"

    @property
    def wants_token(self) -> bool:
        gated = self.entry is not None and self.entry.gated and not self.whole
        return gated or self.asks_for_token

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of it, a line each."""
        if self.entry is None:
            return (
                "First its description and its tokenizer, a few MB: with them the plan is exact.",
                f"They come from {SITE.removeprefix('https://')}, which hears the model's name and no more of you.",
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


class HubFetch(Fetch[HubView]):
    """Args:
    remote: Of a token, "" for none; made in the thread that asks.
    there: Called when a description or weights have come: plans are to be made anew.
    """

    def __init__(self, tasks: Tasks, remote: Callable[[str], Remote], there: Callable[[HubView], None]) -> None:
        super().__init__(tasks, HubView())
        self._remote, self._there = remote, there

    def show(self, preset: str) -> None:
        """Begin with *preset*; what is under way goes on, and is shown instead."""
        if not self.state.value.doing:
            entry = hub.entry(hub.folder(preset))
            whole = entry is not None and entry.is_whole(hub.folder(preset))
            self.state.set(HubView(preset=preset, entry=entry, whole=whole))

    def look_up(self, token: str = "") -> None:
        self._ask("look-up", token)

    def download(self, token: str = "") -> None:
        self._ask("download", token)

    def _ask(self, doing: Doing, token: str) -> None:
        preset = self.state.value.preset

        def work(heard: Progress, cancelled: Cancelled) -> None:
            remote = self._remote(token)
            (remote.look_up if doing == "look-up" else remote.download)(preset, heard, cancelled)

        self._begin(doing, work, lambda _: self._came())

    def _came(self) -> None:
        preset = self.state.value.preset
        self.state.set(HubView())
        self.show(preset)
        self._there(self.state.value)

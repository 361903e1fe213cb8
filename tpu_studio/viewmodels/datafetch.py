"""A data set of the Hugging Face Hub: its name typed, looked up, a subset and splits chosen, downloaded.

What it shares with a model: `fetching`. What has come is data as any folder: `Came` says where it lies and what kind it
is, and the plan takes it as what is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tpu_studio.domain import figures, hubwords
from tpu_studio.viewmodels.fetching import SITE, Cancelled, Fetch, FetchView, Progress
from tpu_studio.wire import hub, hubdata
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.hubdata import Dataset, Split, Subset

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks


class Remote(Protocol):
    """`cloud.hubdata.DataHub`."""

    def look_up(self, name: str, progress: Progress, cancelled: Cancelled) -> Dataset: ...

    def download(
        self, name: str, subset: str, splits: tuple[str, ...], progress: Progress, cancelled: Cancelled
    ) -> Path: ...


@dataclass(frozen=True)
class Came:
    """*name*: of the data set; *kind*: a job's `data.kind`, "" where a look has to tell."""

    name: str
    path: Path
    kind: str


@dataclass(frozen=True)
class DataView(FetchView):
    """Attributes:
    name: As it was typed, without `hf:`.
    found: What the Hub said of it.
    subset: The chosen one's name.
    splits: The chosen ones' names.
    is_here: They were fetched already, of this revision.
    """

    name: str = ""
    found: Dataset | None = None
    subset: str = ""
    splits: tuple[str, ...] = ()
    is_here: bool = False

    @property
    def words(self) -> str:
        """How far it is."""
        all_here = self.doing == "download" and 0 < self.total <= self.done
        return "All of it is here; looking at it…" if all_here else super().words

    @property
    def page(self) -> str:
        return f"{SITE}/datasets/{self.found.name if self.found else self.name}"

    @property
    def chosen(self) -> Subset | None:
        return self.found.subset(self.subset) if self.found else None

    @property
    def wants_token(self) -> bool:
        return (self.found is not None and self.found.gated and not self.is_here) or self.asks_for_token

    @property
    def size(self) -> int:
        """Bytes of what is chosen."""
        return sum(one.size for one in self._picked)

    @property
    def too_much(self) -> str:
        """Why what is chosen is not fetched; "" where it is."""
        if self.size > hubdata.MOST_BYTES or sum(len(one.parts) for one in self._picked) > hubdata.MOST_FILES:
            return "At most 20 GB and 1,000 files are fetched: choose another subset, or fewer splits."
        return ""

    @property
    def may_download(self) -> bool:
        return bool(self.splits) and not self.too_much

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of it, a line each."""
        if self.found is None:
            return (
                "Its subsets, splits and sizes come first, some kB, from "
                f"{SITE.removeprefix('https://')}, which hears the data set's name and no more of you.",
            )
        licence = f"Licence, as its card states it: {self.found.licence}" if self.found.licence else ""
        whose = "the Hub's conversion to Parquet" if self.found.converted else "its owner's own files"
        return (
            f"{licence or 'Its card states no licence'}. Whether it lets you do what you plan is for you to read.",
            f"Version {self.found.revision[:8]}, {whose}: each file is held to the sum that Hugging Face lists.",
        )

    @property
    def columns(self) -> str:
        """What its card says of the chosen subset's."""
        subset = self.chosen
        if subset is None:
            return ""
        words = hubwords.columns_words(subset)
        return " ".join(one for one in (f"{words[0].upper()}{words[1:]}.", hubwords.unread_words(subset)) if one)

    @property
    def advice(self) -> str:
        """What several splits, or none, come to."""
        subset = self.chosen
        if subset is None or self.too_much:
            return self.too_much
        if not self.splits:
            return "Choose a split."
        learned = set(subset.learned)
        if len(self.splits) > 1 and learned & set(self.splits) and len(learned) < len(self.splits):
            return f"The plan learns from {' and '.join(subset.learned)}; the others lie beside it."
        return ""

    @property
    def _picked(self) -> tuple[Split, ...]:
        subset = self.chosen
        return subset.chosen(self.splits) if subset and self.splits else ()


def subset_label(subset: Subset) -> str:
    return f"{subset.name}, {figures.size(subset.size)}"


class DataFetch(Fetch[DataView]):
    """Args:
    remote: Of a token, "" for none; made in the thread that asks.
    there: Called with what has come.
    """

    def __init__(self, tasks: Tasks, remote: Callable[[str], Remote], there: Callable[[Came], None]) -> None:
        super().__init__(tasks, DataView())
        self._remote, self._there = remote, there

    def rename(self, name: str) -> None:
        """Another one is meant. What a page's address has before the name is taken off."""
        view = self.state.value
        name = name.strip().removeprefix(f"{SITE}/").removeprefix("datasets/").removeprefix(hub.PREFIX).strip("/")
        if not view.doing and name != view.name:
            self.state.set(DataView(name=name))

    def choose(self, subset: str) -> None:
        view = self.state.value
        one = view.found.subset(subset) if view.found else None
        if one is not None and not view.doing:
            self._choose(one, one.learned)

    def pick(self, split: str, on: bool) -> None:
        view = self.state.value
        subset = view.chosen
        if subset is None or view.doing:
            return
        kept = view.splits if subset.mixes or not on else ()
        names = [one.name for one in subset.splits if (on if one.name == split else one.name in kept)]
        self._choose(subset, tuple(names))

    def _choose(self, subset: Subset, splits: tuple[str, ...]) -> None:
        view = self.state.value
        here = bool(view.found and splits and view.found.is_here(subset, splits))
        self.state.set(replace(view, subset=subset.name, splits=splits, is_here=here, problem=None))

    def look_up(self, token: str = "") -> None:
        name = hub.PREFIX + self.state.value.name
        self._begin("look-up", lambda heard, cancelled: self._remote(token).look_up(name, heard, cancelled), self._told)

    def download(self, token: str = "") -> None:
        """What is chosen, as far as it is not here; then it is told to whoever waits for it."""
        view = self.state.value
        if view.found is None or not view.may_download:
            return
        name = view.found.name

        def work(heard: Progress, cancelled: Cancelled) -> Came:
            remote = self._remote(token)
            path = remote.download(hub.PREFIX + name, view.subset, view.splits, heard, cancelled)
            return Came(name, path, _kind(path))

        self._begin("download", work, self._came)

    def _told(self, found: Dataset) -> None:
        self.state.set(DataView(name=found.name, found=found))
        self.choose(found.subsets[0].name)

    def _came(self, came: Came) -> None:
        self.state.set(replace(self.state.value, doing="", done=0, total=0, is_here=True))
        self._there(came)


def _kind(path: Path) -> str:
    """By its columns, which are read here already: the look that follows finds its rows written."""
    from tpu_studio.data.guess import guess_kind

    try:
        return guess_kind(path)
    except StudioError:
        return ""

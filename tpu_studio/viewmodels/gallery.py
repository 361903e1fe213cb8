"""The gallery: every model as a card, found by words and filters, and what each comes to on the data of the plan.

What is known of the data comes from the Plan page (`plan_is`). What a card comes to there is worked out away from the
window, one card at a time and only for cards that are seen (`see`); leaving the page gives up what is still to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels import draft, planwords
from tpu_studio.viewmodels.gallerycards import SOURCES, Card, Source
from tpu_studio.viewmodels.galleryways import Outlook, Planner
from tpu_studio.wire import kinds, measured, models, places, tasks
from tpu_studio.wire.job import Job

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.recommended import Recommendation
    from tpu_studio.viewmodels.planstate import PlanView
    from tpu_studio.workflow.ports import Handle, Tasks

NOT_MEASURED = "Not measured yet on such data."
_BEGINS_WELL = {
    "": ("nothing", "weights", "folder", "hub", "own"),
    "weights": ("weights", "folder", "hub"),
    "hub": ("hub",),
    "nothing": ("nothing",),
}


@dataclass(frozen=True)
class Data:
    """The plan's data, once it was looked at. *examples*: that it learns from; of text to continue, characters."""

    title: str
    note: str
    kind: str
    task: str
    examples: int

    @property
    def words(self) -> str:
        return f"{self.title} · {self.note}"


@dataclass(frozen=True)
class Filters:
    """*words*: searched for; *example*: what it learns from; *begins*: "", ``weights``, ``hub`` or ``nothing``;
    *fits*: the plan's data alone. Empty: all."""

    words: str = ""
    example: str = ""
    task: str = ""
    begins: str = ""
    fits: bool = False

    @property
    def empty(self) -> bool:
        return self == Filters()


@dataclass(frozen=True)
class GalleryView:
    """Attributes:
    data: None until the plan has some that was looked at.
    recommended: For that data.
    chosen, preset: The plan's model and its pretrained weights.
    problems: Of pretrained weights, by key; "" where they are here. Without a key: not looked yet.
    outlooks: By key, as far as they were worked out.
    asking: The card that was pressed and does not learn from the plan's data.
    """

    cards: tuple[Card, ...] = ()
    filters: Filters = Filters()
    data: Data | None = None
    recommended: Recommendation | None = None
    chosen: str = ""
    preset: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)
    outlooks: Mapping[str, Outlook] = field(default_factory=dict)
    asking: str = ""

    def card(self, key: str) -> Card | None:
        return next((card for card in self.cards if card.key == key), None)

    @property
    def shown(self) -> tuple[Card, ...]:
        """What words and filters leave: the recommended one first, then those that fit the data, as the Plan page has
        them, then the rest."""
        found = [card for card in self.cards if self._passes(card)]
        data = self.data
        usual = [one.name for one in models.fitting(data.kind, data.task)] if data else []

        def place(card: Card) -> tuple[bool, bool, int]:
            at = usual.index(card.model) if card.model in usual else len(usual)
            return not self.is_recommended(card), not self.fits(card), at

        return tuple(sorted(found, key=place))

    def _passes(self, card: Card) -> bool:
        wanted = self.filters
        return (
            all(word in card.searched for word in wanted.words.casefold().split())
            and (not wanted.example or not card.examples or wanted.example in card.examples)
            and (not wanted.task or not card.tasks or wanted.task in card.tasks)
            and card.begins in _BEGINS_WELL[wanted.begins]
            and (not wanted.fits or self.fits(card))
        )

    def fits(self, card: Card) -> bool:
        """Whether it learns from the plan's data; without any, each does."""
        return self.data is None or card.takes(self.data.kind, self.data.task)

    def is_recommended(self, card: Card) -> bool:
        return self.recommended is not None and bool(card.model) and card.model == self.recommended.model

    def why(self, card: Card) -> str:
        """Why it is recommended; "" where it is not."""
        return self.recommended.why if self.recommended is not None and self.is_recommended(card) else ""

    def mark(self, card: Card) -> tuple[str, str]:
        """Words and tone of its pill."""
        if self.is_recommended(card):
            return "Recommended", "accent"
        if self.is_chosen(card):
            return "In your plan", "ok"
        return ("", "neutral") if self.fits(card) else ("Other data", "neutral")

    def missing(self, card: Card) -> bool:
        """Whether its pretrained weights have to be fetched first."""
        return bool(self.problems.get(card.key))

    def size(self, card: Card) -> str:
        known = self.outlooks.get(card.key)
        return (known.size if known else "") or card.size

    def expected(self, card: Card) -> str:
        """What to expect, by what was measured: nearest to the plan's number of examples."""
        if not card.examples:
            return "What it reaches is up to your code."
        if self.data is None or not self.fits(card):
            return f"Measured on unseen examples: {card.measured[0].words}." if card.measured else NOT_MEASURED
        near = measured.nearest(card.measured, self.data.task, self.data.examples)
        if near is None:
            return NOT_MEASURED
        return f"Nearest measured, on unseen examples: {near.words}. Yours: {self.data.note.split(' · ')[0]}."

    def is_chosen(self, card: Card) -> bool:
        """Whether the plan has it."""
        if self.preset in self._presets:
            return card.changes.get("model.preset") == self.preset
        return bool(self.chosen) and card.model == self.chosen

    @property
    def _presets(self) -> set[object]:
        """Weights that have a card of their own."""
        return {preset for card in self.cards if (preset := card.changes.get("model.preset"))}

    def needs(self, card: Card) -> str:
        """What to say of a card that does not learn from the plan's data; "" where it does."""
        if self.data is None or self.fits(card):
            return ""
        kind, doing = kinds.by_id(self.data.kind), tasks.by_id(self.data.task).doing
        if kind.example in card.examples or kind.is_converted:
            learns = " and ".join(tasks.by_id(task).doing for task in card.tasks)
            return f"It does not learn {doing}, which is what “{self.data.title}” is for. It learns {learns}."
        return f"It learns from {card.wants}, and your plan has {kind.material}."


class GalleryViewModel:
    """Commands: `search`, `filter`, `clear`, `plan_is`, `see`, `leave`, `use`, `picked`, `choose_data`, `dismiss`,
    `show_fitting`, `look_again`, `fetch`.

    Args:
        planned: What a card comes to on a job's data; blocks.

    *apply* makes changes of the plan and shows it; *pick* asks for a file or folder, which is then `picked`;
    *open_weights* asks whether pretrained weights may be fetched, and calls back when they are there. Others set them.
    """

    def __init__(self, tasks: Tasks, planned: Planner, sources: Sequence[Source] = SOURCES) -> None:
        self._tasks, self._planned, self._sources = tasks, planned, sources
        self.apply: Callable[[Mapping[str, object]], None] = lambda changes: None
        self.pick: Callable[[Card], None] = lambda card: None
        self.open_weights: Callable[[Callable[[], None]], None] = lambda then: None
        self._job: Job | None = None
        self._look: Look | None = None
        self._known: object = None  # what the outlooks rest on
        self._seen: list[str] = []
        self._now: Handle | None = None
        self.state = Observable(GalleryView(tuple(card for source in sources for card in source())))

    # ------------------------------------------------------------------------------------------------------- finding

    def search(self, words: str) -> None:
        self._filter(words=words)

    def filter(self, **changes: str | bool) -> None:
        """Change filters by their names in `Filters`."""
        self._filter(**changes)

    def clear(self) -> None:
        """Show all again."""
        self._draw(filters=Filters())

    def _filter(self, **changes: object) -> None:
        self._draw(filters=replace(self.state.value.filters, **changes))  # type: ignore[arg-type]

    # ------------------------------------------------------------------------------------------------------ the data

    def plan_is(self, view: PlanView) -> None:
        """The Plan page has changed."""
        there = draft.has_data(view.job) and view.look is not None and not view.looking and view.look_problem is None
        look = view.look if there else None
        known = view.job, look, view.timing == "ready"
        if known == self._known:
            return
        self._forget()
        self._known, self._job, self._look = known, view.job, look
        plan = {"chosen": str(view.job.model.name or ""), "preset": str(view.job.model.preset or "")}
        if look is None:
            filters = replace(self.state.value.filters, fits=False)
            self._draw(data=None, recommended=None, outlooks={}, filters=filters, **plan)
            return
        from tpu_studio.planner.recommended import recommended

        told = recommended(look, places.by_id(view.job.where.place))
        self._draw(data=data_of(view.job, look), recommended=told, outlooks={}, **plan)

    def look_again(self) -> None:
        """Which pretrained weights are here: read away from the window, for each is read whole, once."""
        self._tasks.submit(weights_here, done=lambda found: self._draw(problems=found), failed=lambda error: None)

    def see(self, keys: Iterable[str]) -> None:
        """These cards are in sight, the first first: what they come to is worked out, and of no others any more."""
        self._seen = list(keys)
        self._next()

    def leave(self) -> None:
        """The page is not shown any more."""
        self._seen = []
        self._forget()

    def _forget(self) -> None:
        if self._now is not None:
            self._now.cancel()
            self._now = None

    def _next(self) -> None:
        """One at a time: two would slow each other, and the window, down."""
        job, look, view = self._job, self._look, self.state.value
        if self._now is not None or job is None or look is None:
            return
        wanted = (card for key in self._seen if (card := view.card(key)) and key not in view.outlooks)
        card = next((one for one in wanted if view.fits(one)), None)
        if card is None:
            return
        self._now = _Waiting()
        handle = self._tasks.submit(
            lambda: self._planned(card, job, look),
            done=lambda told: self._told(card.key, told),
            failed=lambda error: self._told(card.key, Outlook(why="It could not be worked out.")),
        )
        if isinstance(self._now, _Waiting):
            self._now = handle

    def _told(self, key: str, told: Outlook) -> None:
        self._now = None
        self._draw(outlooks={**self.state.value.outlooks, key: told})
        self._next()

    # -------------------------------------------------------------------------------------------------------- acting

    def use(self, key: str) -> None:
        """Plan with this card; where it does not learn from the plan's data, ask."""
        view = self.state.value
        card = view.card(key)
        if card is None:
            return
        if view.needs(card):
            self._draw(asking=key)
        elif view.is_chosen(card):
            self.apply({})
        elif card.picks:
            self.pick(card)
        else:
            self.apply(card.changes)

    def picked(self, key: str, path: str) -> None:
        """The file or folder that a card was waiting for."""
        card = self.state.value.card(key)
        if card is not None:
            own: Mapping[str, object] = {"model.file": path}
            self.apply(own if card.picks == "file" else {**card.changes, "model.preset": path})

    def choose_data(self) -> None:
        """The card that was asked about, with other data, which is chosen on the Plan page."""
        card = self.state.value.card(self.state.value.asking)
        self._draw(asking="")
        if card is not None:
            self.apply({**NO_DATA, **card.changes})

    def dismiss(self) -> None:
        self._draw(asking="")

    def show_fitting(self) -> None:
        """Instead: those that learn from the plan's data."""
        self._draw(asking="", filters=Filters(fits=True))

    def fetch(self) -> None:
        """Ask whether pretrained weights may be fetched."""
        self.open_weights(self.look_again)

    def _draw(self, **changes: object) -> None:
        self.state.set(replace(self.state.value, **changes))  # type: ignore[arg-type]


class _Waiting:
    """Stands for work that is being handed over: some do it at once."""

    def cancel(self) -> None: ...


NO_DATA: Mapping[str, object] = dict.fromkeys(
    ("data.kind", "data.path", "data.target", "data.columns", "data.task"), None
)


def data_of(job: Job, look: Look) -> Data:
    from tpu_studio.planner.recommended import text_length

    continues = tasks.by_id(look.task).continues
    count = text_length(look) if continues else look.train or look.examples
    return Data(planwords.data_title(job, look), planwords.data_note(look), look.kind, look.task, count)


def weights_here() -> Mapping[str, str]:
    """By model, the problem of its starter weights; "" where they are here."""
    return {model.name: model.starter.problem() for model in models.MODELS if model.starter}


def filter_words(view: GalleryView) -> str:
    """How many are shown, for a screen reader and beside the filters."""
    shown, all_of_them = len(view.shown), len(view.cards)
    return f"All {all_of_them} models" if shown == all_of_them else f"{figures.count(shown)} of {all_of_them} models"

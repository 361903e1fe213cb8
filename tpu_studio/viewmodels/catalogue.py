"""What is known of TPUs, from where and of which day; and its renewal from the account's own lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain import offers as offered
from tpu_studio.domain.observable import Observable
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks


class CataloguePort(Protocol):
    """``places.renewing.Renewing``; blocks, a refresh for up to a minute."""

    def kept(self, place: str) -> Any:
        """``places.renewing.Renewed``"""
        ...

    def refresh(self, place: str, told: Callable[[int, int, str], None], cancelled: Callable[[], bool]) -> Any:
        """Raises StudioError: nothing was read, what was there counts on."""
        ...


@dataclass(frozen=True)
class CatalogueView:
    """*share* of the questions that are answered and *asking*, what is asked now, while *busy*; *prices*: their age."""

    place: str = field(default_factory=lambda: places.charging().id)
    age: str = ""
    prices: str = ""
    differs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    busy: bool = False
    share: float = 0.0
    asking: str = ""
    problem: Problem | None = None
    fixed: str = offered.fixed_line()


class CatalogueViewModel:
    """Commands: `show`, `refresh`, `cancel`; `tick` takes over the progress. `renewed` counts what plans should see."""

    def __init__(self, tasks: Tasks, port: Callable[[], CataloguePort], today: Callable[[], date] = date.today) -> None:
        self.state = Observable(CatalogueView())
        self.renewed = Observable(0)
        self._tasks, self._port, self._today = tasks, port, today
        self._told: tuple[float, str] = (0.0, "")
        self._cancelled = False

    def show(self, place: str) -> None:
        if not self.state.value.busy:
            self.state.set(CatalogueView(place))
            self._tasks.submit(lambda: self._port().kept(place), done=self._known, failed=self._failed)

    def refresh(self) -> None:
        view = self.state.value
        if view.busy:
            return
        self._cancelled, self._told = False, (0.0, "")
        self.state.set(replace(view, busy=True, share=0.0, asking="", problem=None))
        self._tasks.submit(
            lambda: self._port().refresh(view.place, self._take, lambda: self._cancelled),
            done=self._refreshed,
            failed=self._failed,
        )

    def cancel(self) -> None:
        """The question under way is ended; what was read by then is kept."""
        self._cancelled = True

    def tick(self) -> None:
        view = self.state.value
        if view.busy:
            share, what = self._told
            asking = "Ending the question under way…" if self._cancelled else f"Asking {what}…" if what else ""
            self.state.set(replace(view, share=share, asking=asking))

    def _take(self, done: int, total: int, what: str) -> None:
        self._told = (done / total, what)  # one assignment, from another thread; `tick` takes it over

    def _refreshed(self, found: object) -> None:
        self._known(found)
        self.renewed.set(self.renewed.value + 1)

    def _known(self, found: Any) -> None:
        today, known = self._today(), catalogue_at(found.place)
        live = "Google's list" if places.by_id(found.place).charges else "the practice cloud's list"
        problem = None if found.priced.error is None else problem_of(found.priced.error)
        prices = f"Prices: built in, {offered.day_words(known.prices_as_of)}."
        if found.priced.live:
            prices = f"Prices: {live}, {offered.day_words(known.prices_as_of, today)}."
        if problem is not None and not found.priced.live:
            prices += f" {problem.title}."
        self.state.set(
            CatalogueView(
                found.place,
                offered.age(found.offers, today),
                prices,
                tuple(offered.lines(found.changes)),
                tuple(offered.unread_lines(found.offers)),
            )
        )

    def _failed(self, error: Exception) -> None:
        self.state.set(replace(self.state.value, busy=False, problem=problem_of(error)))

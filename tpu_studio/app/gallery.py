"""The gallery of models, connected to the plan: what it plans with, and where a press on a card leads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tpu_studio.app.holders import PlanHolder, ask_for_weights
from tpu_studio.gui.models.page import ModelsPage
from tpu_studio.viewmodels.gallery import GalleryViewModel
from tpu_studio.viewmodels.galleryways import Outlook, outlook_of

if TYPE_CHECKING:
    from tpu_studio.app.compose import Services
    from tpu_studio.app.studio import Studio
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.own import OwnRuns
    from tpu_studio.planner.timing import Timing
    from tpu_studio.viewmodels.gallerycards import Card
    from tpu_studio.wire.job import Job
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.planning import Sources


class Gallery:
    """Lives as long as its page."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._end: Callable[[], None] = lambda: None
        self.model = GalleryViewModel(studio.tasks, self._planned)
        self.model.apply = self._apply
        self.model.open_weights = lambda then: studio.with_services(lambda one: ask_for_weights(studio, one, then))

    def follow(self) -> None:
        """Know the plan's data, as long as the page is in sight: an edit of the plan draws no cards."""
        self._end()
        if (plan := self._plan) is not None:
            self._end = plan.model.state.subscribe(self.model.plan_is)

    def rest(self) -> None:
        end, self._end = self._end, lambda: None
        end()

    @property
    def _plan(self) -> PlanHolder | None:
        page = self._studio.window.kept_page("plan")
        return page if isinstance(page, PlanHolder) else None

    def _apply(self, changes: Mapping[str, object]) -> None:
        plan = self._plan
        if plan is None or plan.page is None:
            self._studio.shell.new_run_with(changes)
            return
        plan.model.close_section("model")
        plan.model.apply(changes)
        self._studio.shell.go("plan")

    def _planned(self, card: Card, job: Job, look: Look) -> Outlook:
        """Away from the window."""
        sources = sources_of(self._studio.services, self._studio.runs.state.value.taught)
        return outlook_of(card, job, look, sources, time.time())


def models_page(studio: Studio) -> ModelsPage:
    gallery = Gallery(studio)
    page = ModelsPage(gallery.model)
    page.appeared, page.vanished = gallery.follow, gallery.rest
    return page


def sources_of(services: Services | None, taught: OwnRuns | None) -> Sources:
    """What is known without building or timing anything: earlier timings and counts of the same work."""
    from tpu_studio.domain.renewed import catalogues
    from tpu_studio.workflow.planning import Sources

    if services is None:
        return Sources(catalogues(), own=taught)
    stopwatch = services.stopwatch

    def timing(plan: Plan) -> Timing | None:
        from tpu_studio.planner.timing import Timing

        try:
            return Timing.from_json(told) if (told := stopwatch.known(plan)) else None
        except ValueError:
            return None

    return Sources(catalogues(), timing=timing, model=stopwatch.counted, own=taught)

"""Data sets of the Hugging Face Hub in the window: their sheet over the Plan page, and what has come from there.

What comes while the sheet is open is the plan's data at once. Behind a closed one a notice says so, and a press takes
it: by then the plan may be about something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_studio.cloud.hubdata import DataHub
from tpu_studio.gui.plan.hubdata_sheet import HubDataSheet
from tpu_studio.viewmodels.datafetch import Came, DataFetch

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio
    from tpu_studio.viewmodels.plan import PlanViewModel


class Datasets:
    def __init__(self, studio: Studio, plan: PlanViewModel) -> None:
        self._studio, self._plan = studio, plan
        self._fetch = DataFetch(studio.tasks, DataHub, self._came)
        self._sheet: HubDataSheet | None = None

    def show(self) -> None:
        self._sheet = HubDataSheet(self._studio.window, self._fetch)
        self._sheet.closed = self._closed
        self._sheet.open()

    def stop(self) -> None:
        self._fetch.stop()

    def _closed(self) -> None:
        self._sheet = None

    def _came(self, came: Came) -> None:
        if self._sheet is not None:
            self._sheet.close()
            self._take(came)
            return
        self._studio.shell.notify(
            f"The data set {came.name} is here",
            "It was downloaded from Hugging Face.",
            tone="ok",
            action="Plan with it",
            act=lambda: self._take_there(came),
        )

    def _take_there(self, came: Came) -> None:
        self._studio.shell.go("plan")
        self._take(came)

    def _take(self, came: Came) -> None:
        self._plan.choose_path(came.path, came.kind, came.name.rpartition("/")[2])

"""Makes the pages of the window, each when it is first gone to, and gives each what it asks of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from tpu_studio.gui.home.page import HomePage
from tpu_studio.gui.shell.window import Pages

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio
    from tpu_studio.gui.settings.page import SettingsPage


class PageMaker:
    """What a page draws with is imported with it: the first picture waits for none of it."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    def pages(self) -> Pages:
        return Pages(
            home=self._home,
            runs=self._runs,
            settings=self._settings,
            account=self._account,
            help=self._help,
            compare=self._compare,
            learn=self._learn,
            models=self._models,
            saved=self._saved,
            plan=self._plan,
            run=self._run,
        )

    def _home(self) -> QWidget:
        page = HomePage(self._studio.home_model, self._studio.shell)
        page.open_account = self._studio.open_account
        return page

    def _runs(self) -> QWidget:
        from tpu_studio.gui.runs.page import RunsPage

        return RunsPage(self._studio.runs, self._studio.shell, self._studio.window.choose_run_folder)

    def _settings(self) -> QWidget:
        from tpu_studio.gui.settings.page import SettingsPage

        studio = self._studio
        page = SettingsPage(studio.settings, studio.engine, studio.shell, studio.runs)
        studio.with_services(lambda _: self._offer_notifications(page))
        return page

    def _offer_notifications(self, page: SettingsPage) -> None:
        from tpu_studio.app.notifying import TRIED, can_show, way

        notifying = self._studio.watch_money()
        page.offer_notifications(way(), (lambda told: notifying.show(TRIED, told)) if can_show() else None)

    def _account(self) -> QWidget:
        from tpu_studio.gui.account.page import AccountPage

        page = AccountPage(self._studio.account, self._studio.shell, self._studio.prices)
        page.test_loan = self._test_loan
        page.plan_run = self._plan_run
        page.open_sheet = self._studio.open_sheet
        return page

    def _plan_run(self, place: str) -> None:
        """A new plan at *place*, or the one that waits until the account is ready."""
        from tpu_studio.app.holders import PlanHolder

        holder = self._studio.window.page("plan")
        if not (isinstance(holder, PlanHolder) and holder.come_back(place)):
            self._studio.shell.new_run_at(place)

    def _test_loan(self, place: str) -> None:
        """A plan for one minute on the smallest TPU; starting it shows what it costs first."""
        from tpu_studio.viewmodels.account import test_loan

        self._studio.shell.plan_again(test_loan(place))

    def _help(self) -> QWidget:
        from tpu_studio.gui.help.page import HelpPage
        from tpu_studio.viewmodels.helping import HelpViewModel

        page = HelpPage(HelpViewModel(self._studio.tasks))
        page.acted.connect(self._studio.window.act)
        return page

    def _compare(self) -> QWidget:
        from tpu_studio.app.holders import CompareHolder

        return CompareHolder(self._studio)

    def _learn(self) -> QWidget:
        from tpu_studio.gui.learn.page import LearnPage
        from tpu_studio.gui.learn.widgets import make

        return LearnPage(self._studio.lessons().model, make)

    def _models(self) -> QWidget:
        from tpu_studio.app.gallery import models_page

        return models_page(self._studio)

    def _saved(self) -> QWidget:
        from tpu_studio.gui.saved.page import SavedPage
        from tpu_studio.viewmodels.saved import SavedViewModel

        return SavedPage(SavedViewModel(self._studio.tasks))

    def _plan(self) -> QWidget:
        from tpu_studio.app.holders import PlanHolder

        return PlanHolder(self._studio)

    def _run(self, run: str) -> QWidget:
        from tpu_studio.app.holders import RunHolder

        return RunHolder(self._studio, run)

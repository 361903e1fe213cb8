"""A person who has just signed up, at the practice cloud: ready by the page's one filled button, from the top."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import Start
from tests.contract.test_doctor import doctor_of
from tests.fakes.tasks import InlineTasks
from tests.unit.viewmodels.test_account import Me
from tpu_studio.practice.main import Practice
from tpu_studio.viewmodels.account import AccountViewModel
from tpu_studio.viewmodels.accountview import Row
from tpu_studio.workflow.account.remembering import ChoicesFile


class Side:
    """One who is signed in already; the doctor and what is remembered are the real ones."""

    place = "practice"

    def __init__(self, practice: Practice, home: Path) -> None:
        self._doctor, self.choices = doctor_of(practice), ChoicesFile(home)

    @property
    def signing(self) -> Any:
        return self

    def doctor(self) -> Any:
        return self._doctor

    def active(self) -> Me:
        return Me()

    def all(self) -> list[Me]:
        return [Me()]

    def own_client(self) -> str:
        return "client"

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: ""


def press(model: AccountViewModel, row: Row) -> None:
    """The row's button, and the answer that its sheet has chosen."""
    if row.fix == "choose-project":
        model.create_project("Learning TPUs")
    elif row.fix == "link-billing":
        model.list_billing_accounts()
        [account] = model.state.value.billing_accounts or ()
        model.fix("link-billing", account=account.name)
    else:
        model.fix(row.fix)


@pytest.mark.parametrize("doubt", ["", "api-made-project", "service-lag=minutes", "iam-lag=minutes"])
def test_pressing_the_filled_button_from_the_top_makes_everything_ready(
    start_practice: Start, tmp_path: Path, doubt: str
):
    practice = start_practice(new=True, speed=300.0)
    if doubt:
        practice.cloud.doubts.arm(doubt)
    model = AccountViewModel(InlineTasks())
    model.connect({"cloud": lambda: Side(practice, tmp_path)})
    model.open()
    pressed: list[str] = []
    while not model.state.value.ready:
        view = model.state.value
        assert view.problem is None and view.next_press, (pressed, view.problem)
        assert len(pressed) < 14, pressed
        if view.row_to_press is None:
            assert model.settles, view.next_press
            time.sleep(0.05)  # the page's own timer
            model.look(quota=False)
            continue
        pressed.append(view.row_to_press.fix)
        press(model, view.row_to_press)
    once = list(dict.fromkeys(pressed))
    assert once[:3] == ["choose-project", "enable-services", "link-billing"] and "make-queue" in once
    assert pressed.count("make-runner") == pressed.count("make-queue") == 1
    assert model.state.value.passed == len(model.state.value.needed)

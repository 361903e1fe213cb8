"""Live prices: read in the background where somebody is signed in; a failure is said and the dated table stays."""

from __future__ import annotations

from datetime import date, timedelta

from tests.fakes.tasks import InlineTasks
from tpu_studio.places.pricing import Priced
from tpu_studio.viewmodels.prices import AGAIN_S, PricesViewModel
from tpu_studio.wire.errors import CloudUnclear, SignedOut

NOW = 1_795_300_000.0
TODAY = date.fromtimestamp(NOW)


class List:
    def __init__(self) -> None:
        self.now, self.read, self.answer = NOW, 0, Priced(TODAY)

    def __call__(self) -> Priced:
        self.read += 1
        return self.answer

    def model(self) -> PricesViewModel:
        return PricesViewModel(InlineTasks(), self, now=lambda: self.now)


def test_the_list_is_read_once_a_day():
    prices = List()
    model = prices.model()
    model.look()
    model.look()
    assert prices.read == 1
    assert model.state.value.sentence(TODAY) == "Plans use Google's price list, read today."
    prices.now += 86_400
    model.look()
    assert prices.read == 2


def test_a_failure_is_said_and_asked_again_later_or_when_wanted():
    prices = List()
    prices.answer = Priced(None, CloudUnclear("network-down"))
    model = prices.model()
    model.look()
    model.look()
    assert prices.read == 1
    assert model.state.value.trouble == "Google's price list could not be read today: Google cannot be reached."
    assert "dated table" in model.state.value.sentence(TODAY)
    model.look(again=True)
    prices.now += AGAIN_S
    prices.answer = Priced(TODAY)
    model.look()
    assert prices.read == 3 and model.state.value.trouble == ""


def test_a_kept_list_says_its_age():
    prices = List()
    prices.answer = Priced(TODAY - timedelta(days=3), CloudUnclear("timed-out"))
    model = prices.model()
    model.look()
    assert "read 3 days ago" in model.state.value.sentence(TODAY)
    assert "could not be read today" in model.state.value.sentence(TODAY)


def test_without_an_account_there_is_nothing_to_complain_of():
    prices = List()
    prices.answer = Priced(None, SignedOut("signed-out"))
    model = prices.model()
    model.look()
    assert model.state.value.problem is None and model.state.value.sentence(TODAY) == ""

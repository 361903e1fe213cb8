"""The places where a run can train: what is asked of each, once. Data only.

A place differs from the next in how the trainer gets started, in who lends the machine and in whether that costs;
trainer, events and screens are the same. How it is reached: ``cloud.places``, ``workflow``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """One place, as ``where.place`` names it.

    Attributes:
        title: Its name as a heading; *short*: within a line.
        icon: In lists.
        way: The module of `planner.places` and of `workflow.places` that knows how a run there is planned, begun and
            ended.
        rents: A machine is asked for, watched and given back, with every net.
        charges: For money. Without it a price is pretended, or there is none.
        rehearses: Plays a rented machine on this computer.
        local: This computer's own processor: no TPU is meant.
        on_this_computer: The trainer is a process here.
        has_chips: A TPU works, and lasts as Google's do.
        notebook: The trainer is started by hand, in a notebook.
        free: There is nothing to pay and nothing to return.
        side: On the control that chooses whose account is shown.
        tab: On the control that chooses the place; *about* it and its *promise* (a title, a sentence) stand below.
        stay: The answer to "is a TPU worth renting?" where this place does it as well.
        drift: How much the pace of the steps to come may differ from that of those made, as a standard deviation of
            the logarithm: a chip keeps its pace, on this computer other programs come and go.
        noise: From run to run, likewise: a chip's step varies little (a judgement), a computer's more.
        person: What is one person's own on a chip (program, data, habits), beside what the model states of a work:
            about as much as training programs differ from each other. Of a processor the model has it already.
    """

    id: str
    title: str
    short: str
    icon: str
    way: str
    rents: bool = False
    charges: bool = False
    rehearses: bool = False
    local: bool = False
    on_this_computer: bool = False
    has_chips: bool = False
    notebook: bool = False
    free: bool = False
    side: str = ""
    tab: str = ""
    about: str = ""
    promise: tuple[str, str] = ("", "")
    stay: str = ""
    drift: float = 0.12
    noise: float = 0.18
    person: float = 0.0


_PROVED = "The TPU is deleted at the end, and verified to be gone"
_PLACES = (
    Place(
        "computer",
        "This computer",
        "this computer",
        "laptop",
        "computer",
        local=True,
        on_this_computer=True,
        free=True,
        tab="This computer",
        promise=(
            "Everything stays on this computer",
            "Always. Your data does not leave it; the model and the charts are saved in the run's folder.",
        ),
        stay="No: train on this computer.",
    ),
    Place(
        "practice",
        "Practice cloud",
        "the practice cloud",
        "flask-conical",
        "rented",
        rents=True,
        rehearses=True,
        on_this_computer=True,
        side="Practice",
        tab="Practice cloud",
        about="Every step of renting a TPU, from the request to its verified deletion. The machine is a process "
        "on this computer: nothing is real, nothing is charged.",
        promise=(
            _PROVED,
            "Always, as on Google Cloud. The model and charts are copied here; those in the practice bucket stay 30 "
            "days.",
        ),
    ),
    Place(
        "cloud",
        "Google Cloud TPU",
        "Google Cloud",
        "cloud",
        "rented",
        rents=True,
        charges=True,
        has_chips=True,
        side="Google Cloud",
        tab="Google Cloud",
        about="TPU chips of Google, paid by the second from the moment the machine is there.",
        promise=(
            _PROVED,
            "Always. The model and charts are copied to this computer; those in your bucket stay 30 days, then its "
            "own rule deletes them.",
        ),
        drift=0.03,
        noise=0.05,
        person=0.25,
    ),
    Place(
        "colab",
        "Colab",
        "free Colab",
        "notebook-pen",
        "notebook",
        has_chips=True,
        notebook=True,
        free=True,
        tab="Free Colab",
        about="One v5e chip in your browser, lent by Google for nothing. This app writes a notebook of exactly this "
        "plan; its zip comes home as a run with curve and model.",
        promise=(
            "Nothing is charged, and nothing here is lost",
            "Always. What was saved before a free session ends is not lost; the notebook goes on from its last copy.",
        ),
        stay="Try free Colab first.",
        drift=0.05,
        noise=0.08,
        person=0.25,
    ),
)
_BY_ID = {place.id: place for place in _PLACES}
IDS = tuple(_BY_ID)


def all_places() -> tuple[Place, ...]:
    return _PLACES


def default() -> Place:
    """Where a job trains that names none: this computer."""
    return _PLACES[0]


def renting() -> tuple[Place, ...]:
    """Where a TPU is rented, for money first."""
    return tuple(sorted((place for place in _PLACES if place.rents), key=lambda place: not place.charges))


def charging() -> Place:
    """Where a TPU is rented for money."""
    return renting()[0]


def rehearsing() -> Place:
    """Where that is practised."""
    return next(place for place in _PLACES if place.rehearses)


def lending() -> Place:
    """Where a TPU is lent for nothing, to a notebook."""
    return next(place for place in _PLACES if place.notebook)


def by_id(name: object) -> Place:
    """The place of that id; of a word that is none, a place of that name with no trait at all."""
    known = _BY_ID.get(name) if isinstance(name, str) else None
    return known or Place(str(name), str(name), str(name), "monitor", "computer")

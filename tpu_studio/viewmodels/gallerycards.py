"""The cards of the gallery: what there is to know of a model before there is any data. Plain records, no Qt.

A source is a function that gives cards; `SOURCES` lists them. One more kind of model (one by its name on a hub, say) is
one more function there: what pressing it does is its `changes` of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tpu_studio.domain import figures
from tpu_studio.viewmodels import planwords
from tpu_studio.wire import families, kinds, presets, tasks
from tpu_studio.wire.families import Family, ModelSpec
from tpu_studio.wire.kinds import Example
from tpu_studio.wire.measured import Measured
from tpu_studio.wire.models import MODELS

if TYPE_CHECKING:
    from tpu_studio.wire.pretrained.known import Known

Begins = Literal["nothing", "weights", "folder", "hub", "own"]
BEGINS: Mapping[Begins, str] = {
    "nothing": "Begins from scratch",
    "weights": "Begins from pretrained weights",
    "folder": "Begins from pretrained weights of yours",
    "hub": "A model of the Hugging Face Hub",
    "own": "Your own code",
}
EXAMPLES: tuple[tuple[Example, str], ...] = (("row", "Tables"), ("picture", "Pictures"), ("text", "Texts"))
"""What one example can be, with what such data is called: a filter of the page."""
OWN_FILE = "own-file"


@dataclass(frozen=True)
class Weights:
    """Pretrained weights that a card begins from. *learned_from*: what they have seen, "" where only their page says
    it; *size*: to be fetched."""

    learned_from: str
    licence: str
    owner: str
    page: str
    size: str


@dataclass(frozen=True)
class Card:
    """One model.

    Attributes:
        key: Told apart by.
        text: What it is for.
        drawing: How it is pictured (`gui.models.drawings`); *rank*: how large it is among those drawn alike, from 1.
        examples, tasks: What it learns from, and what to do; empty: whatever its own code can.
        begins: What it begins from.
        size: What is known of its size without data; "" where it follows from the data.
        weights: Those that it begins from, where they are published ones.
        networks: Titles of the networks that it can be.
        options: Its options, in words.
        measured: What it reached.
        changes: Of a plan, `table.key` → value: what choosing it does.
        picks: A file or a folder of the person's is chosen then, too.
        model: Its name on the command line and in job files, "" for none.
    """

    key: str
    title: str
    text: str
    icon: str
    drawing: str
    examples: tuple[Example, ...]
    tasks: tuple[str, ...]
    begins: Begins
    rank: int = 1
    size: str = ""
    weights: Weights | None = None
    networks: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()
    changes: Mapping[str, object] = field(default_factory=dict)
    picks: Literal["", "file", "folder"] = ""
    model: str = ""

    @property
    def learns_from(self) -> str:
        """`Pictures`, `Tables and pictures`"""
        named = [words for example, words in EXAMPLES if example in self.examples]
        return " and ".join(named).capitalize() if named else "Any data"

    @property
    def learns(self) -> str:
        """The tasks in the field's terms."""
        return ", ".join(tasks.by_id(task).title for task in self.tasks) or "Any task"

    @property
    def use_words(self) -> str:
        """On its button."""
        return {"": "Use this model", "file": "Choose your file…", "folder": "Choose its folder…"}[self.picks]

    @property
    def begins_words(self) -> str:
        return BEGINS[self.begins]

    @property
    def searched(self) -> str:
        """All that a search looks in, in small letters."""
        own = (self.title, self.text, self.key, self.begins_words, self.learns_from, self.learns)
        more = (*self.networks, *((self.weights.licence, self.weights.owner) if self.weights else ()))
        return " ".join((*own, *more)).casefold()

    def takes(self, kind: str, task: str) -> bool:
        """Whether it learns *task* from data of *kind*; own code may take anything."""
        known = kinds.find(kind)
        fits = not self.examples or known is None or known.is_converted or known.example in self.examples
        return fits and (not self.tasks or task in self.tasks)

    @property
    def wants(self) -> str:
        """The data that it needs, within a sentence: `pictures`, `tables or pictures`."""
        return " or ".join(words.lower() for example, words in EXAMPLES if example in self.examples)


Source = Callable[[], tuple[Card, ...]]


def of_catalogue() -> tuple[Card, ...]:
    """Every model that comes with TPU Studio."""
    return tuple(_card(model) for model in MODELS)


def of_own_file() -> tuple[Card, ...]:
    """The person's own Keras file."""
    return (
        Card(
            OWN_FILE,
            "Your own Keras file",
            "A Python file with build_model(job), for whatever else you have in mind. It is read and shown first, and "
            "runs only after you agree.",
            families.own_family().icon,
            "code",
            (),
            (),
            "own",
            picks="file",
        ),
    )


def of_hub() -> tuple[Card, ...]:
    """Language models of the Hugging Face Hub that are planned with before anything of them is fetched."""
    from tpu_studio.wire.pretrained.known import all_known

    return tuple(_of_hub(one) for one in all_known() if one.is_read)


def _of_hub(one: Known) -> Card:
    network = presets.NETWORKS[str(one.config["model_type"])]
    model = next(model for model in MODELS if model.from_folder and network.reads in model.examples)
    owner, _, title = one.name.partition("/")
    does = "Has learned to answer in chats." if one.instruct else "Continues texts; it has not learned to answer."
    asks = " Its owner wants its terms to be accepted first." if one.gated else ""
    size = figures.size(one.size_bytes)
    return Card(
        key=one.preset,
        title=title,
        text=f"{does} {size} come from Hugging Face when you ask for them; it is planned and priced before.{asks}",
        icon=families.by_id(model.family).icon,
        drawing=_drawing(model, families.by_id(model.family)),
        examples=model.examples,
        tasks=model.tasks,
        begins="hub",
        size=f"{planwords.weights(one.parameters)} weights",
        weights=Weights("", one.licence, owner, f"https://huggingface.co/{one.name}", size),
        networks=(network.title,),
        changes={"model.name": model.name, "model.preset": one.preset},
    )


SOURCES: tuple[Source, ...] = (of_catalogue, of_own_file, of_hub)


def _card(model: ModelSpec) -> Card:
    family = families.by_id(model.family)
    starter = model.starter
    weights = None
    if starter is not None:
        size = figures.size(starter.size_bytes)
        weights = Weights(starter.learned_from, starter.licence, starter.owner, starter.upstream, size)
    return Card(
        key=model.name,
        title=model.title,
        text=model.help,
        icon=family.icon,
        drawing=_drawing(model, family),
        examples=model.examples,
        tasks=model.tasks,
        begins="weights" if starter else "folder" if model.from_folder else "nothing",
        rank=1 + family.models.index(model) if family.reads_tokens else 1,
        size=_size(model, weights),
        weights=weights,
        networks=_networks(model),
        options=tuple(f"{one.name} = {one.default}: {one.help}" for one in model.options),
        measured=model.measured,
        changes={"model.name": model.name, "model.preset": None},
        picks="folder" if model.from_folder else "",
        model=model.name,
    )


def _size(model: ModelSpec, weights: Weights | None) -> str:
    from tpu_studio.planner.modelwork import usual_params

    if (params := usual_params(model.name)) is not None:
        return f"{planwords.weights(params)} weights"
    return f"{weights.size} of weights" if weights else ""


def _networks(model: ModelSpec) -> tuple[str, ...]:
    if not model.from_folder:
        return ()
    return tuple(network.title for network in presets.NETWORKS.values() if network.reads in model.examples)


def _drawing(model: ModelSpec, family: Family) -> str:
    """By what it is: no drawing belongs to a name."""
    sees = "picture" if any(kind.has_pictures for kind in map(kinds.by_id, model.takes)) else "text"
    if model.from_folder:
        return f"folder-{sees}"
    if model.starter:
        return f"known-{sees}"
    if family.reads_tokens:
        return "letters"
    return "layers" if family.looks_at_pixels else "filters" if family.convolves else "sorted"

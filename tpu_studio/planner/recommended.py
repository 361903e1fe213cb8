"""Which model to begin with on the data at hand, and why, in one sentence. Pure.

The facts that it goes by stand in the project's pages: a network that begins from nothing needs thousands of pictures,
one that has seen a million learns new kinds from a hundred (docs/decisions/0045-starter-weights-are-data.md; measured:
docs/training.md, "Beginning from what a network knows" and "Texts to tell apart"); below a hundred examples there is
little to learn from (`DataKind.few`); a language model gains nothing from weights that forty times through the text do
not fill (docs/advice.md, `advice-smaller-model`); a notebook does not begin from starter weights (the plan's check
`starter-not-in-notebook`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.data.looked import Look
from tpu_studio.domain import figures
from tpu_studio.planner import rules
from tpu_studio.planner.modelwork import usual_params
from tpu_studio.wire import families, kinds, models, tasks
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.places import Place

THOUSANDS = 2_000  # examples, from which on a network that begins from nothing has enough
EACH = 100  # examples of each class, likewise


@dataclass(frozen=True)
class Recommendation:
    """*model*: its name; *why*: one sentence."""

    model: str
    why: str


def recommended(look: Look, place: Place) -> Recommendation | None:
    """None where no model of the catalogue learns from such data.

    Args:
        place: Where it is planned to train.
    """
    fitting = models.fitting(look.kind, look.task)
    if not fitting:
        return None
    task = tasks.by_id(look.task)
    if task.has_chats:
        return Recommendation(
            fitting[0].name, "To answer questions it must know language before: it begins from a folder."
        )
    if task.continues:
        return _writer(look, place, fitting)
    begins = next((one for one in fitting if one.starter), None)
    usual = _usual(look, fitting)
    if task.has_names and begins is not None:
        return _teller(look, place, begins, usual)
    return Recommendation(usual.name, f"The first choice for {kinds.by_id(look.kind).plural}.")


def is_few(look: Look) -> bool:
    """Whether there are too few examples for a network that begins from nothing."""
    return look.examples < max(THOUSANDS, EACH * len(look.classes))


def _usual(look: Look, fitting: tuple[ModelSpec, ...]) -> ModelSpec:
    """That of its kind of data; data that was converted tells by its shape whether it is pictures."""
    if kinds.by_id(look.kind).is_converted and len(look.input_shape) == 3:
        wanted = kinds.first(lambda kind: kind.has_pictures).model
        return next((one for one in fitting if one.name == wanted), fitting[0])
    return next((one for one in fitting if not one.starter and not one.from_folder), fitting[0])


def _teller(look: Look, place: Place, begins: ModelSpec, usual: ModelSpec) -> Recommendation:
    """Of pictures or texts to tell apart: from starter weights or from nothing."""
    count = f"{figures.count(look.examples)} {figures.noun(look.kind, look.task)}"
    side, least = _side(look), families.by_id(begins.family).image_sizes[0]
    if side and side < least / 2:
        return Recommendation(usual.name, f"Your pictures are tiny ({side} pixels): a small network sees all there is.")
    if place.notebook:
        return Recommendation(usual.name, "A Colab notebook begins from nothing: weights are not brought there yet.")
    if not is_few(look):
        return Recommendation(usual.name, f"{count} are enough to learn from nothing.")
    has_read = "has seen" if side else "has read"
    unless = "" if side else ", if they are in English"
    known = begins.starter.learned_from if begins.starter else ""
    return Recommendation(
        begins.name, f"{count} are few for a network that begins from nothing; it {has_read} {known}{unless}."
    )


def _side(look: Look) -> int:
    """Pixels of the shorter side of the usual picture; 0 of other data."""
    if sizes := look.image_sizes:
        return min(sizes.median_width, sizes.median_height)
    return min(look.input_shape[:2]) if len(look.input_shape) == 3 else 0


def _writer(look: Look, place: Place, fitting: tuple[ModelSpec, ...]) -> Recommendation:
    """Of a text to go on with: as large a model as the text fills and the place trains."""
    sized = sorted((params, one.name) for one in fitting if (params := usual_params(one.name)) is not None)
    if not sized:
        return Recommendation(fitting[0].name, "It learns to write like your text.")
    tokens = text_length(look)
    filled = [one for one in sized if one[0] <= tokens * rules.GPT_TIMES_THROUGH] or sized[:1]
    length = f"{figures.count(tokens)} characters"
    if not place.has_chips:
        return Recommendation(
            sized[0][1], f"Small enough to learn your {length} on this computer; larger ones want a TPU."
        )
    if len(filled) == len(sized):
        return Recommendation(filled[-1][1], f"Your {length} are enough for the largest, and a TPU is planned.")
    return Recommendation(
        filled[-1][1], f"The largest that your {length} fill; a larger one would learn them by heart."
    )


def text_length(look: Look) -> int:
    """Characters of a text to go on with, as well as they are known; tokens of converted text."""
    numbers = look.numbers
    return numbers.get("characters") or numbers.get("tokens") or look.examples * (look.sequence_length or 1)

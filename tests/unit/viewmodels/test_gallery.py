"""The gallery: its cards, what words and filters find, what is told of the plan's data, and where a press leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, NOW, PLAYS, counted
from tests.fakes.looks import job as whole_job
from tests.fakes.planning import TOLD, World
from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.planner.timing import Timing
from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.gallery import NOT_MEASURED, GalleryViewModel, filter_words
from tpu_studio.viewmodels.gallerycards import OWN_FILE, SOURCES, Card, of_catalogue, of_own_file
from tpu_studio.viewmodels.galleryways import ESTIMATED, GUESSED, MEASURED, Outlook, Way, outlook_of
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.wire import places
from tpu_studio.wire.job import Job
from tpu_studio.wire.models import MODELS
from tpu_studio.workflow.planning import Sources

FEW = replace(HANDS, examples=480, train=384)


def job_of(model: str | None, kind: str, **tables: object) -> Job:
    """With *model* None: not chosen yet."""
    job = whole_job(model or MODELS[0].name, kind, **tables)
    return job if model else draft.edited(job, {"model.name": None})


class Gallery:
    def __init__(self, tasks: InlineTasks | LaterTasks | None = None) -> None:
        self.planned: list[str] = []
        self.applied: list[Mapping[str, object]] = []
        self.picked: list[str] = []
        self.model = GalleryViewModel(tasks or InlineTasks(), self._plan)
        self.model.apply = self.applied.append
        self.model.pick = lambda card: self.picked.append(card.key)

    def _plan(self, card: Card, job: Job, look: Look) -> Outlook:
        self.planned.append(card.key)
        return Outlook((Way("here", "Here", "1 min", "free"),), "5 weights")

    @property
    def view(self):
        return self.model.state.value

    @property
    def shown(self) -> list[str]:
        return [card.key for card in self.view.shown]

    def plan(self, kind: str, look: Look, model: str | None = None, **tables: object) -> None:
        self.model.plan_is(PlanView(job=job_of(model, kind, **tables), look=look))

    def card(self, key: str) -> Card:
        found = self.view.card(key)
        assert found is not None
        return found


# ------------------------------------------------------------------------------------------------------------ the cards


def of_ours(keys: Sequence[str]) -> list[str]:
    """Without the models of the Hugging Face Hub."""
    return [key for key in keys if not key.startswith("hf:")]


def test_there_is_a_card_for_every_model_and_one_for_a_file_of_ones_own():
    one = Gallery()
    assert of_ours(one.shown) == [*(model.name for model in MODELS), OWN_FILE]
    assert filter_words(one.view) == f"All {len(one.view.cards)} models"


def test_a_card_says_what_its_records_say():
    one = Gallery()
    known, tiny, own = one.card("efficientnet-lite0"), one.card("gpt-nano"), one.card(OWN_FILE)
    assert (known.learns_from, known.learns) == ("Pictures", "Classification, Multi-label classification")
    assert known.weights is not None and (known.weights.licence, known.weights.size) == ("Apache-2.0", "18.8 MB")
    assert tiny.size == "636 thousand weights" and tiny.begins_words == "Begins from scratch"
    assert one.card("mlp").learns_from == "Tables and pictures"
    assert one.card("small-cnn").size == ""  # it follows from the data
    assert (own.learns_from, own.learns, own.use_words) == ("Any data", "Any task", "Choose your file…")
    assert "Gemma 3" in one.card("pretrained-lm").networks


def test_each_of_a_kind_drawn_alike_is_drawn_larger_than_the_one_before():
    cards = {card.key: card for card in of_catalogue()}
    assert [cards[name].rank for name in ("gpt-nano", "gpt-mini", "gpt-124m")] == [1, 2, 3]
    assert len({card.drawing for card in (*cards.values(), *of_own_file())}) == 9


def test_a_further_source_is_one_more_function():
    def hub() -> tuple[Card, ...]:
        changes = {"model.name": "pretrained-lm", "model.preset": "hf:somebody/small"}
        first = of_catalogue()[-1]
        return (replace(first, key="hf:somebody/small", title="Somebody's", changes=changes, model=""),)

    told: list[Mapping[str, object]] = []
    model = GalleryViewModel(InlineTasks(), lambda *_: Outlook(), (*SOURCES, hub))
    model.apply = told.append
    model.use("hf:somebody/small")
    assert told == [{"model.name": "pretrained-lm", "model.preset": "hf:somebody/small"}]


# -------------------------------------------------------------------------------------------------------------- finding


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("gemma", ["pretrained-lm"]),
        ("ml illustrated", ["efficientnet-lite0"]),
        ("MULTI-LABEL scratch", ["small-cnn"]),
        ("apache", ["efficientnet-lite0", "all-minilm-l6-v2"]),
        ("build_model", [OWN_FILE]),
        ("no such thing", []),
    ],
)
def test_words_are_looked_for_in_titles_texts_networks_and_licences(words: str, found: list[str]):
    one = Gallery()
    one.model.search(words)
    assert of_ours(one.shown) == found


def test_models_of_the_hub_come_last_and_can_be_shown_alone():
    one = Gallery()
    assert all(key.startswith("hf:") for key in one.shown[len(MODELS) + 1 :]) and len(one.shown) > len(MODELS) + 30
    one.model.filter(begins="hub")
    assert "hf:Qwen/Qwen2.5-0.5B-Instruct" in one.shown and not of_ours(one.shown)
    card = one.card("hf:google/gemma-3-1b-it")
    assert "accepted first" in card.text and "2.0 GB come from Hugging Face" in card.text
    assert card.changes == {"model.name": "pretrained-lm", "model.preset": "hf:google/gemma-3-1b-it"}
    assert card.weights is not None and card.weights.licence == "gemma"


def test_filters_narrow_and_all_of_them_are_taken_back_at_once():
    one = Gallery()
    one.model.filter(example="text", begins="weights")
    assert of_ours(one.shown) == ["pretrained-lm", "all-minilm-l6-v2"]
    one.model.filter(begins="nothing")
    assert one.shown == ["gpt-nano", "gpt-mini", "gpt-124m", "text-classifier"]
    one.model.filter(task="text-classification")
    assert one.shown == ["text-classifier"] and filter_words(one.view) == f"1 of {len(one.view.cards)} models"
    one.model.clear()
    assert len(of_ours(one.shown)) == len(MODELS) + 1 and one.view.filters.empty


def test_what_fits_the_plan_s_data_can_be_shown_alone_while_there_is_data():
    one = Gallery()
    one.plan("text", PLAYS)
    one.model.filter(fits=True)
    assert of_ours(one.shown) == ["gpt-nano", "gpt-mini", "gpt-124m", "pretrained-lm", OWN_FILE]
    one.model.plan_is(PlanView())
    assert not one.view.filters.fits and len(of_ours(one.shown)) == len(MODELS) + 1


# ----------------------------------------------------------------------------------------------------- the plan's data


def test_without_data_nothing_is_recommended_and_nothing_is_planned():
    one = Gallery()
    one.model.see(["mlp", "small-cnn"])
    assert one.view.data is None and one.view.recommended is None and one.planned == []
    assert not any(one.view.why(card) for card in one.view.cards)


def test_the_recommended_card_comes_first_with_its_reason_then_those_that_fit():
    one = Gallery()
    one.plan("images", FEW, "small-cnn")
    best, chosen, simple = one.view.shown[:3]
    assert (best.key, one.view.mark(best)) == ("efficientnet-lite0", ("Recommended", "accent"))
    assert one.view.why(best).startswith("480 pictures are few")
    assert (chosen.key, one.view.mark(chosen)) == ("small-cnn", ("In your plan", "ok"))
    assert simple.key == "mlp" and one.view.mark(simple) == ("", "neutral")
    assert one.view.mark(one.card("gpt-nano")) == ("Other data", "neutral")
    assert one.view.data is not None and one.view.data.words == "somewhere, 10 classes · 480 pictures · 0 bytes"


def test_what_to_expect_is_what_was_measured_nearest_to_ones_own_number_of_examples():
    one = Gallery()
    assert one.view.expected(one.card("gpt-mini")) == NOT_MEASURED
    assert one.view.expected(one.card("small-cnn")).startswith("Measured on unseen examples: 99.8 % right, from 2,062")
    one.plan("images", FEW)
    assert one.view.expected(one.card("efficientnet-lite0")) == (
        "Nearest measured, on unseen examples: 96.7 % right, from 480 photographs of ten hand signs. "
        "Yours: 480 pictures."
    )
    assert one.view.expected(one.card("mlp")) == NOT_MEASURED  # tables it was
    assert "1.1 MB of plays" in one.view.expected(one.card("gpt-nano"))  # of no use to pictures
    one.plan("images", replace(FEW, train=90, examples=110))
    assert "94.5 % right, from 100 photographs" in one.view.expected(one.card("efficientnet-lite0"))


def test_data_that_is_being_looked_at_or_cannot_be_is_none_yet():
    one = Gallery()
    one.model.plan_is(PlanView(job=job_of("mlp", "table"), look=DIAMONDS, looking=True))
    assert one.view.data is None and one.view.chosen == "mlp"


# ---------------------------------------------------------------------------------------- what a card comes to, in turn


def test_cards_in_sight_are_planned_one_at_a_time_and_only_those_that_fit():
    tasks = LaterTasks()
    one = Gallery(tasks)
    one.plan("images", HANDS)
    one.model.see(["gpt-nano", "small-cnn", "mlp"])
    assert len(tasks.waiting) == 1
    tasks.finish()
    assert one.planned == ["small-cnn"] and len(tasks.waiting) == 1
    one.model.see(["efficientnet-lite0"])  # scrolled on: what is under way ends, the rest is not begun
    tasks.finish_all()
    assert one.planned == ["small-cnn", "mlp", "efficientnet-lite0"]
    assert one.view.size(one.card("small-cnn")) == "5 weights"
    one.model.see(["small-cnn"])
    assert tasks.waiting == []  # known


def test_leaving_the_page_gives_up_what_is_still_to_do():
    tasks = LaterTasks()
    one = Gallery(tasks)
    one.plan("images", HANDS)
    one.model.see(["small-cnn", "mlp"])
    one.model.leave()
    tasks.finish_all()
    assert one.view.outlooks == {}
    one.model.see(["mlp"])
    tasks.finish_all()
    assert list(one.view.outlooks) == ["mlp"]


def test_other_data_makes_what_was_planned_void():
    tasks = LaterTasks()
    one = Gallery(tasks)
    one.plan("images", HANDS)
    one.model.see(["small-cnn", "mlp"])
    tasks.finish()
    one.plan("digits", DIGITS)
    assert one.view.outlooks == {}
    tasks.finish_all()
    assert one.view.outlooks == {}  # the one under way was of the old data


def test_steps_that_were_timed_meanwhile_make_what_was_planned_void_and_nothing_else_does():
    one = Gallery()
    view = PlanView(job=job_of("mlp", "table"), look=DIAMONDS)
    one.model.plan_is(view)
    one.model.see(["mlp"])
    one.model.plan_is(replace(view, opened=frozenset({"model"})))
    assert list(one.view.outlooks) == ["mlp"]
    one.model.plan_is(replace(view, timing="ready"))
    assert one.view.outlooks == {}


def test_a_plan_that_fails_is_told_on_its_card():
    def broken(card: Card, job: Job, look: Look) -> Outlook:
        raise OSError("the disk")

    model = GalleryViewModel(InlineTasks(), broken)
    model.plan_is(PlanView(job=job_of(None, "table"), look=DIAMONDS))
    model.see(["mlp"])
    assert model.state.value.outlooks["mlp"].why == "It could not be worked out."


# ---------------------------------------------------------------------------------------------------------- planning it


def outlook(key: str, look: Look, job: Job, **more: object) -> Outlook:
    card = next(card for source in SOURCES for card in source() if card.key == key)
    return outlook_of(card, job, look, Sources(SHIPPED, **more), NOW)  # type: ignore[arg-type]


def test_a_card_is_planned_here_in_colab_and_on_a_tpu():
    told = outlook("small-cnn", HANDS, job_of(None, "images"))
    assert (told.size, told.basis) == ("391 thousand weights", ESTIMATED) and told.told.startswith("From the size")
    here, colab, tpu = told.ways
    assert (here.title, here.cost) == ("This computer", "free") and here.time
    assert (colab.title, colab.cost) == ("Free Colab", "free") and colab.time
    assert tpu.title.startswith("TPU v") and tpu.cost.startswith(("$", "about $")) and tpu.words.count(" · ") == 1


def test_weights_that_nobody_has_counted_are_not_guessed_and_a_notebook_says_why_not():
    told = outlook("efficientnet-lite0", FEW, job_of(None, "images"))
    assert (told.size, told.basis) == ("", GUESSED) and told.told.startswith("From the size of the data only")
    here, colab, _ = told.ways
    assert here.time and not here.why  # that they are not fetched yet keeps nobody from planning
    assert colab.why == "Pretrained weights are not brought into a notebook, in this version"


def test_what_was_timed_or_counted_before_makes_it_truer():
    timing = Timing.from_json(TOLD)
    told = outlook("small-cnn", HANDS, job_of(None, "images"), timing=lambda plan: timing)
    assert told.basis == MEASURED
    seen = outlook("efficientnet-lite0", FEW, job_of(None, "images"), model=lambda plan: counted(3_400_000, 2e9))
    assert (seen.size, seen.basis) == ("3.4 million weights", ESTIMATED)


def test_the_plan_s_own_settings_count_and_those_of_another_model_do_not():
    mine = job_of("small-cnn", "images", training={"epochs": 1}).with_values({"model.options": {"blocks": 2}})
    more = job_of("small-cnn", "images", training={"epochs": 50}).with_values({"model.options": {"blocks": 2}})
    assert outlook("mlp", HANDS, mine).ways[0].time != outlook("mlp", HANDS, more).ways[0].time
    assert all(not way.why for way in outlook("mlp", HANDS, mine).ways)
    assert outlook("small-cnn", HANDS, mine).size != outlook("small-cnn", HANDS, job_of(None, "images")).size


def test_what_cannot_be_there_says_why():
    wrong = job_of(None, "images", training={"framework": "tensorflow"}, where={"accelerator": "v6e-1"})
    here, _, tpu = outlook("small-cnn", HANDS, wrong).ways
    assert here.time and not tpu.time and tpu.why


@pytest.mark.parametrize(("key", "word"), [(OWN_FILE, "file"), ("kerashub-backbone", "folder")])
def test_what_is_picked_first_is_planned_afterwards(key: str, word: str):
    told = outlook(key, HANDS, job_of(None, "images"))
    assert (
        told.ways == ()
        and told.why == f"Time and price are told once {'your' if word == 'file' else 'its'} {word} is chosen."
    )


# --------------------------------------------------------------------------------------------------------------- acting


def test_a_press_plans_with_the_model():
    one = Gallery()
    one.model.use("mlp")
    assert one.applied == [{"model.name": "mlp", "model.preset": None}]
    one.plan("table", DIAMONDS, "mlp")
    one.model.use("mlp")
    assert one.applied[1:] == [{}]  # it is there: only to the plan


def test_a_model_for_other_data_says_what_it_needs_and_takes_the_plan_s_data_away_only_when_asked():
    one = Gallery()
    one.plan("images", HANDS, "small-cnn")
    one.model.use("gpt-nano")
    assert one.view.asking == "gpt-nano" and one.applied == []
    assert one.view.needs(one.card("gpt-nano")) == "It learns from texts, and your plan has pictures."
    one.model.dismiss()
    assert one.view.asking == ""
    one.model.use("gpt-nano")
    one.model.choose_data()
    (changes,) = one.applied
    assert (changes["model.name"], changes["data.kind"], changes["data.path"]) == ("gpt-nano", None, None)
    one.model.use("gpt-nano")
    one.model.show_fitting()
    assert one.view.asking == "" and one.view.filters.fits and "gpt-nano" not in one.shown


def test_a_model_of_the_same_data_with_another_task_says_so():
    one = Gallery()
    one.plan("text", PLAYS)
    assert one.view.needs(one.card("text-classifier")) == (
        "It does not learn language modelling, which is what “somewhere” is for. It learns text classification."
    )


def test_a_file_or_a_folder_is_picked_first():
    one = Gallery()
    one.model.use(OWN_FILE)
    one.model.use("pretrained-lm")
    assert one.picked == [OWN_FILE, "pretrained-lm"] and one.applied == []
    one.model.picked(OWN_FILE, "/mine/net.py")
    one.model.picked("pretrained-lm", "/mine/SmolLM2-135M")
    assert one.applied == [
        {"model.file": "/mine/net.py"},
        {"model.name": "pretrained-lm", "model.preset": "/mine/SmolLM2-135M"},
    ]


def test_of_cards_with_one_network_the_one_whose_weights_the_plan_has_is_in_it():
    one = Gallery()
    hub, folder = one.card("hf:HuggingFaceTB/SmolLM2-135M"), one.card("pretrained-lm")
    for preset, chosen, other in ((hub.key, hub, folder), ("/mine/SmolLM2-135M", folder, hub)):
        job = draft.edited(job_of("pretrained-lm", "text"), {"model.preset": preset})
        one.model.plan_is(PlanView(job=job, look=PLAYS))
        assert one.view.is_chosen(chosen) and not one.view.is_chosen(other)
    job = draft.edited(job_of("pretrained-lm", "text"), {"model.preset": hub.key})
    one.model.plan_is(PlanView(job=job, look=PLAYS))
    one.model.use("pretrained-lm")
    assert one.picked == ["pretrained-lm"] and one.applied == []


def test_what_a_card_changes_makes_a_plan(tmp_path: Path):
    world, one = World(), Gallery()
    world.model.choose_data("images", tmp_path)
    one.model.apply = world.model.apply
    one.model.plan_is(world.view)
    one.model.use("mlp")
    assert world.view.plan is not None and world.view.job.model.name == "mlp"
    one.model.plan_is(world.view)
    one.model.use("gpt-mini")
    one.model.choose_data()
    assert world.view.plan is None and world.view.job.model.name == "gpt-mini" and not world.view.job.data.kind


def test_weights_are_looked_for_away_from_the_window_and_again_once_they_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path))
    tasks, waits = LaterTasks(), []
    one = Gallery(tasks)
    one.model.open_weights = waits.append
    assert not one.view.missing(one.card("all-minilm-l6-v2"))  # nobody looked
    one.model.look_again()
    tasks.finish_all()
    assert one.view.missing(one.card("all-minilm-l6-v2")) and not one.view.missing(one.card("mlp"))
    one.model.fetch()
    waits[0]()
    assert len(tasks.waiting) == 1


def test_each_place_that_there_is_to_choose_between_is_told_of():
    told = outlook("mlp", DIAMONDS, job_of(None, "table")).ways
    assert [way.place for way in told] == [places.default().id, places.lending().id, places.charging().id]

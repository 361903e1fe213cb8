"""Texts on the Plan page: which model they begin with, and a table that turns out to hold text."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tpu_studio.data.look import look
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.wire.errors import DataError


@pytest.mark.parametrize(
    ("names", "model"),
    [(("good/1.txt", "bad/1.txt"), "text-classifier"), (("1.txt", "2.txt"), "gpt-nano")],
)
def test_how_texts_lie_decides_the_model(
    names: tuple[str, ...], model: str, page: PlanPage, world: World, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Once upon a time.")
    page.data_section.zone.chosen.emit(tmp_path)

    assert (world.view.job.data.kind, world.view.job.model.name) == ("text", model)
    world.model.choose_model("gpt-nano")  # on one's own wish it stays, whatever lies there
    assert world.view.job.model.name == "gpt-nano"


def test_a_table_that_was_chosen_stays_when_it_is_to_be_text(
    qtbot: QtBot, page: PlanPage, world: World, tmp_path: Path
) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("review,stars\nFine,5\n")
    world.model.choose_data("table", path)
    world.model.open_section("data")
    for kind, kept in (("text", str(path)), ("images", None)):
        qtbot.mouseClick(page.data_section.kinds.card(kind), Qt.MouseButton.LeftButton)
        assert (world.view.job.data.kind, world.view.job.data.path) == (kind, kept)
        if kind == "text":
            assert world.view.job.model.name == "text-classifier"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet", "set/data/train-00000-of-00001.parquet"])
def test_a_table_may_be_json_lines_parquet_or_a_folder_of_it_and_stays_when_it_is_to_be_text(
    name: str, qtbot: QtBot, page: PlanPage, world: World, tmp_path: Path
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text('{"size": 1, "price": 2}\n' * 20)
    path = tmp_path / name.split("/")[0]
    page.data_section.zone.chosen.emit(path)
    assert (world.view.job.data.kind, world.view.job.data.path) == ("table", str(path))
    world.model.open_section("data")
    qtbot.mouseClick(page.data_section.kinds.card("text"), Qt.MouseButton.LeftButton)
    assert (world.view.job.data.kind, world.view.job.data.path) == ("text", str(path))
    assert world.view.job.model.name == "text-classifier"
    page.data_section.zone.chosen.emit(path)  # again: the kind that was chosen holds
    assert world.view.job.data.kind == "text"


def test_a_text_to_continue_may_be_cut_into_pieces_and_the_form_shows_how_many(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "tale.txt"
    path.write_text("".join(f"{number}: It was the best of times.\n" for number in range(20_000)))
    world = World()
    world.model = PlanViewModel(world.tasks, world.engine, world.runs, look=lambda job, **_: look(job))
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    world.model.choose_data("text", path)
    world.model.choose_model("gpt-nano")
    letters = world.view.plan

    world.model.apply({"data.tokenizer": "bpe"})

    view = world.view
    fields = {one.path: one for _, group in view.more_fields for one in group}
    pieces = view.plan
    assert letters is not None and pieces is not None
    assert (letters.options["vocabulary"], pieces.options["vocabulary"]) == (
        256,
        1024,
    )  # of 551,112 bytes, in multiples of 128
    assert fields["model.options.vocabulary"].text == "1,024"
    assert "bytes need no learning" in fields["data.tokenizer"].hint
    assert pieces.steps_per_epoch < letters.steps_per_epoch  # fewer tokens, so fewer steps each time through
    assert pieces.memory.params > letters.memory.params
    page.settings_section.more.unfold(True)
    assert page.settings_section.box("data.tokenizer") is not None


def test_questions_and_answers_take_a_model_that_answers_and_unclear_columns_are_chosen(
    qtbot: QtBot, page: PlanPage, world: World, tmp_path: Path
) -> None:
    pairs, unclear = tmp_path / "pairs.jsonl", tmp_path / "unclear.jsonl"
    pairs.write_text('{"prompt": "Is it so?", "completion": "It is."}\n' * 20)
    unclear.write_text('{"what": "Is it so?", "said": "It is.", "by": "me"}\n' * 20)
    page.data_section.zone.chosen.emit(pairs)
    assert (world.view.job.data.kind, world.view.job.model.name) == ("text", "pretrained-lm")
    assert not page.data_section.chats.isVisible()

    world.trouble = DataError("data-no-chats", path=str(unclear), columns=["what", "said", "by"])
    world.model.choose_data("text", unclear)
    world.model.choose_model("pretrained-lm")
    chats = page.data_section.chats
    assert chats.isVisible() and chats.question.value == chats.answer.value == ""
    chats.question.set_value("what")
    chats.question.chosen.emit("what")
    world.trouble = None
    chats.answer.chosen.emit("said")
    assert (world.view.job.data.target, dict(world.view.job.data.columns)) == ("said", {"what": "text"})
    assert not chats.isVisible() and world.view.look_problem is None

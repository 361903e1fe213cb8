"""What the Run page asks: stop and keep or discard, train longer, in which format to export, and the full log."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.card import Scroll
from tpu_studio.gui.kit.choose import ChoiceCard, ChoiceGroup
from tpu_studio.gui.kit.fields import Field
from tpu_studio.gui.kit.numberedit import DecimalBox
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels import runnumbers
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.wire import exports

_FOLDER, _RUN = "folder", "zip"  # beside the ids of ``wire.exports``


def ask_stop(over: QWidget, model: RunViewModel) -> Sheet:
    """Keep, discard, or go on; going on is the safe answer."""
    state = model.state.value
    sheet = Sheet(over, f"Stop {state.facts.name}?", "")
    gone, cost = _money(model)
    if state.view.step:
        steps = figures.count(state.view.step)
        kept = f"The model as it is then, after {steps} steps or a few more, is saved, with its curves and report."
        sheet.facts([kept, "You can resume from there later.", *gone])
        sheet.answer("Discard the model", lambda: model.stop(keep=False), kind="quiet", left=True)
    else:
        sheet.facts(["It has not trained a step yet, so there is no model to keep."], "info", "text_2")
        sheet.facts(["Its plan stays: you can start it again later.", *gone])
    sheet.facts(cost, "info", "accent")
    sheet.answer("Keep training" if state.view.step else "Let it go on", safe=True)
    sheet.answer(state.stop_words, lambda: model.stop(keep=True), kind="danger")
    sheet.open()
    return sheet


def _money(model: RunViewModel) -> tuple[list[str], list[str]]:
    """What stopping does to what costs, and what it comes to."""
    state = model.state.value
    if not state.facts.rented:
        return ["Nothing is charged: it runs on this computer."], []
    if not state.view.unproved:
        return ["Nothing is rented at the moment, so nothing is charged."], []
    usd = state.view.usd_now(state.now) + (state.view.usd_per_hour or state.facts.usd_per_hour or 0.0) / 60
    given_back = "The TPU is given back, and checked to be gone."
    if not (state.view.usd_per_hour or state.facts.usd_per_hour):
        return [given_back], ["The price is not known; charging ends with the deletion."]
    if state.facts.practice:
        cost = f"It would have cost about {figures.money(usd)}, more if saving takes over a minute; nothing is charged."
    else:
        cost = f"You pay about {figures.money(usd)} in all, more if saving takes over a minute."
    return [given_back], [f"{cost} Once the TPU is verified to be gone, the receipt says what it came to."]


def ask_extend(over: QWidget, model: RunViewModel) -> Sheet:
    """How many more epochs."""
    state = model.state.value
    facts = state.facts
    done = facts.steps / facts.steps_per_epoch if facts.steps_per_epoch else 1.0
    if state.over:
        title = "Train longer?"
        words = "It goes on from the last checkpoint. One run, one curve; the saved model is replaced at the end."
    else:
        title, words = "Add to this run?", "It trains on where it would have ended. One run, one curve, one model."
    sheet = Sheet(over, title, words)
    box = DecimalBox(max(1.0, round(done / 4)), 0.1, 100_000, step=1, decimals=1, name="More epochs", suffix="passes")
    field = Field("More epochs", box)

    def tell(epochs: float) -> None:
        field.set_help(runnumbers.extension_words(facts, state.view, epochs))

    tell(box.value())
    box.valueChanged.connect(tell)
    sheet.body.addWidget(field)
    sheet.answer("Leave it", safe=True)
    go = sheet.answer("Train longer", lambda: model.extend(box.value()), kind="primary")
    sheet.needs(box, go)
    if not facts.rented:
        sheet.ask(box, go)
    sheet.open()
    return sheet


def ask_export(over: QWidget, model: RunViewModel) -> Sheet:
    """In which format, then where."""
    sheet = Sheet(over, "Export", "A copy for elsewhere: the run keeps its own.", width=600)
    whole = ChoiceCard(
        "Folder", "The result: Keras file, SavedModel, curves and report.", key=_FOLDER, icon="folder-open"
    )
    singles = [
        ChoiceCard(
            one.title,
            f"{one.about[0].upper()}{one.about[1:]}; checked beside Keras first. {one.note}".rstrip(),
            key=one.id,
            icon="folder-open" if one.is_folder else "file-text",
        )
        for one in exports.offered(model.plan.job.model.id)
    ]
    run = ChoiceCard(
        "The whole run, to send",
        "One zip that TPU Studio takes in on another computer: plan, curves, checkpoints and model. Of your data it "
        "holds what the plan shows: the first rows or texts, some values, names of classes.",
        key=_RUN,
        icon="package",
    )
    group = ChoiceGroup([whole, run, *singles], name="Format", columns=1)
    group.set_value(_FOLDER)
    sheet.body.addWidget(Tall(Scroll(group), lambda width: group.heightForWidth(width) + 4), 1)
    sheet.answer("Cancel", safe=True)
    sheet.answer("Choose where…", lambda: _with_packages(over, model, group.value), kind="primary")
    sheet.open()
    return sheet


def _with_packages(over: QWidget, model: RunViewModel, format: str) -> None:
    """Where, once what writes it is there."""
    if format in (_FOLDER, _RUN):
        _choose_where(over, model, format)
    else:
        model.with_packages(format, lambda: _choose_where(over, model, format))


def _choose_where(over: QWidget, model: RunViewModel, format: str) -> None:
    dialog = QFileDialog(over, "Where shall the model go?")
    if format == _FOLDER:
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda path: model.export(Path(path)))
    elif format != _RUN and exports.by_id(format).is_folder:
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda path: model.export_as(format, Path(path)))
    elif format == _RUN:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("zip")
        dialog.setNameFilter("A run of TPU Studio (*.zip)")
        dialog.selectFile(f"{model.state.value.run}.zip")
        dialog.fileSelected.connect(lambda path: model.save_whole(Path(path)))
    else:
        ending = exports.by_id(format).ending
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(ending)
        dialog.setNameFilter(f"{exports.by_id(format).title} (*.{ending})")
        dialog.selectFile(f"{model.state.value.run}.{ending}")
        dialog.fileSelected.connect(lambda path: model.export_as(format, Path(path)))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


def show_log(over: QWidget, model: RunViewModel) -> Sheet:
    """Everything the trainer said, to read and to copy."""
    sheet = Sheet(over, "Full log", "What the trainer printed and every event, oldest first.", width=900)
    text = QPlainTextEdit()
    text.setReadOnly(True)
    text.setFont(fonts.font("mono"))
    text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    text.setPlaceholderText("Reading…")
    text.setAccessibleName("Full log")
    sheet.body.addWidget(Tall(text, lambda _: soft_px(480)), 1)

    def shown(log: str) -> None:
        text.setPlainText(log or "Nothing has been written yet.")
        bar = text.verticalScrollBar()
        bar.setValue(bar.maximum())

    sheet.answer("Explain it", lambda: model.ask_explain(text.toPlainText()), left=True)
    sheet.answer("Copy it", lambda: QGuiApplication.clipboard().setText(text.toPlainText()), left=True, stays=True)
    sheet.answer("Close", safe=True)
    sheet.closed = model.read_log(shown)
    sheet.open()
    return sheet

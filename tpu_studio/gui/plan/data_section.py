"""Section Data: which kind, where it is, what is in it, and what should be looked at before training."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.data import textlayout
from tpu_studio.domain import figures
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import clear_layout
from tpu_studio.gui.kit.choose import ChoiceCard, ChoiceGroup
from tpu_studio.gui.kit.fields import ComboBox, Field
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.chatcolumns import ChatColumns
from tpu_studio.gui.plan.dropzone import DropZone
from tpu_studio.gui.plan.notes import note_of
from tpu_studio.gui.plan.preview import Preview
from tpu_studio.gui.plan.sections import FoldingSection
from tpu_studio.viewmodels import draft, planwords
from tpu_studio.viewmodels.examples import shipped
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.wire import kinds
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Check

NOTES_AT_MOST = 6


class DataSection(FoldingSection):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__("Data", "database", parent)
        self._model = model
        self._findings: tuple[Check, ...] | None = None
        cards = [ChoiceCard(kind.title, kind.hint, icon=kind.icon, key=kind.id) for kind in kinds.all_kinds()]
        self.kinds = ChoiceGroup(cards, name="Kind of data", columns=3)
        self.kinds.changed.connect(self._choose_kind)
        self.zone = DropZone()
        self.zone.chosen.connect(model.choose_path)
        self.samples: dict[str, Button] = {}
        self._samples = QWidget()
        samples = FlowLayout(self._samples)
        hover = "A data set of the Hugging Face Hub, by its name. Nothing is asked before you look one up."
        self.hub = Button("From Hugging Face…", "quiet", size="small", icon="download", hover=hover)
        self.hub.clicked.connect(lambda: model.open_datasets())
        samples.addWidget(self.hub)
        samples.addWidget(Line("Or a sample:", "secondary", "text_2", fit=True))
        for example in shipped():
            button = Button(example.title, "quiet", size="small", icon=example.icon, hover=example.text)
            button.clicked.connect(lambda _=False, e=example: model.choose_sample(e.path))
            self.samples[example.name] = button
            samples.addWidget(button)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self._samples.setSizePolicy(policy)

        self._looking = QWidget()
        self._count = Text("", "secondary", "text_2", numbers=True)
        self.bar = ProgressBar(name="Looking at the data")
        self.stop = Button("Stop looking", size="small")
        self.stop.clicked.connect(model.stop_looking)
        line = QHBoxLayout()
        line.addWidget(self._count, 1)
        line.addWidget(self.stop)
        looking = QVBoxLayout(self._looking)
        looking.setContentsMargins(0, 0, 0, 0)
        looking.addWidget(self.bar)
        looking.addLayout(line)

        self.problem = Note("", "", "bad", action="Look again")
        self.problem.acted.connect(model.look_again)
        self._learned = Text("", "secondary", "text_2")
        self.target = ComboBox(name="Target column")
        self.target.chosen.connect(lambda name: model.set("data.target", name))
        self._target = Field("Target column", self.target, "What to predict.")
        self.chats = ChatColumns(model)
        self.preview = Preview()
        self.preview.column_changed.connect(model.set_column)
        self._notes = QVBoxLayout()
        self._notes.setSpacing(Space.m)
        for widget in (
            self.kinds,
            self.zone,
            self._samples,
            self._looking,
            self.problem,
            self._learned,
            self._target,
            self.chats,
            self.preview,
        ):
            self.card.body.addWidget(widget)
        self.card.body.addLayout(self._notes)
        self.opened.connect(lambda: model.open_section("data"))
        self.closed.connect(lambda: model.close_section("data"))

    def draw(self, view: PlanView) -> None:
        is_open, look = view.is_open("data"), view.look
        self.show_open(is_open, view.plan is not None and not view.looking)
        kind = view.job.data.kind
        note = planwords.data_note(look) if look else "Looking at it" if view.looking else ""
        known = kinds.find(kind)
        self.row.set_summary(planwords.data_title(view.job, look), note, known.icon if known else "database")
        if not is_open:
            return
        self.kinds.set_value(kind)
        self.zone.set_kind(kind, view.job.data.path or "")
        self.zone.setVisible(known is None or not known.is_built_in)
        self._draw_looking(view)
        shown = look is not None and not view.look_problem
        self.preview.setVisible(shown)
        self._learned.setVisible(shown)
        self._target.setVisible(shown and bool(look and look.columns))
        self.chats.draw(view)
        if look is not None and shown:
            kept = _kept(look.validation, figures.noun(look.kind, look.task))
            self._learned.setText(f"{planwords.data_note(look)}. {planwords.learned(look)} {kept}")
            self.preview.draw(look, view.thumbnails)
            if look.columns:
                self.target.set_options([(column.name, column.name) for column in look.columns])
                self.target.set_value(look.target)
        self._draw_findings(view.findings if shown else ())

    def _draw_looking(self, view: PlanView) -> None:
        self._looking.setVisible(view.looking and view.look_slow)
        if view.looking:
            share = view.look_done / view.look_total if view.look_total else 0.0
            noun = figures.noun(view.job.data.kind)
            words = (
                f"Looking at {view.look_done:,} of {view.look_total:,} {noun}"
                if view.look_total
                else "Looking at the data"
            )
            self._count.setText(words)
            self.bar.set_share(share, words)
        problem = view.look_problem
        self.problem.setVisible(problem is not None)
        if problem is not None:
            self.problem.set_words(problem.title, problem.text)

    def _draw_findings(self, findings: tuple[Check, ...]) -> None:
        if findings == self._findings:
            return
        self._findings = findings
        clear_layout(self._notes)
        for check in findings[:NOTES_AT_MOST]:
            self._notes.addWidget(note_of(check, self._model))
        if len(findings) > NOTES_AT_MOST:
            rest = findings[NOTES_AT_MOST:]
            self._notes.addWidget(Text(f"And: {'; '.join(check.title for check in rest)}.", "caption", "text_2"))

    def _choose_kind(self, kind: str) -> None:
        job = self._model.state.value.job
        if kind != job.data.kind:
            self._model.choose_data(kind, draft.absolute(job, "data.path") if _both_read(job, kind) else None)


def _both_read(job: Job, kind: str) -> bool:
    """Whether the file that was chosen is one that data of *kind* can be as well: a table of texts."""
    now, then = kinds.find(job.data.kind), kinds.by_id(kind)
    alike = now is not None and {now.example, then.example} == {"row", "text"}
    path = draft.absolute(job, "data.path")
    return alike and path is not None and (path.suffix.lower() in textlayout.TABLES or textlayout.has_shards(path))


def _kept(count: int, noun: str) -> str:
    if count == 1:
        return "One of them is kept aside for validation."
    return f"{count:,} {noun} are kept aside for validation." if count else ""

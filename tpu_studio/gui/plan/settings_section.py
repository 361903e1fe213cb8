"""Section Settings: the four that matter, and everything else of the schema behind "More settings"."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Divider, clear_layout
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Line
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.fieldbox import FieldBox
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planform import FieldView
from tpu_studio.viewmodels.planstate import PlanView, Step
from tpu_studio.wire import kinds

SEGMENTS = ("training.precision",)


class FieldGrid(QWidget):
    """Fields two by two; built anew only when other fields are shown."""

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.boxes: dict[str, FieldBox] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.card)
        self._grid.setVerticalSpacing(Space.l)
        for column in (0, 1):
            self._grid.setColumnStretch(column, 1)
            self._grid.setColumnMinimumWidth(column, 0)

    def draw(self, fields: Sequence[FieldView]) -> None:
        if [field.path for field in fields] != list(self.boxes):
            self._build(fields)
        for field in fields:
            self.boxes[field.path].draw(field)

    def _build(self, fields: Sequence[FieldView]) -> None:
        focused = next((path for path, box in self.boxes.items() if box.has_focus), "")
        clear_layout(self._grid)
        self.boxes = {}
        model = self._model
        for place, field in enumerate(fields):
            box = FieldBox(field, segments=field.path in SEGMENTS)
            path = field.path
            box.typed.connect(lambda text, path=path: model.set_text(path, text))
            box.chosen.connect(lambda value, path=path: model.set(path, value or None))
            box.switched.connect(lambda on, path=path: model.set(path, on))
            box.reset.connect(lambda path=path: model.reset(path))
            self.boxes[path] = box
            self._grid.addWidget(box, place // 2, place % 2)
        if focused in self.boxes:
            self.boxes[focused].focus_box()


class SettingsSection(QWidget):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.card = Card(spacing=Space.l)
        self.recommended = Button("Use recommended", "link", size="small", icon="wand-sparkles")
        self.recommended.clicked.connect(model.use_recommended)
        self.step = Pill("")
        self.title = self.card.title("Settings", self.step, self.recommended)
        self.main = FieldGrid(model)
        self.more = MoreSettings(model)
        self.card.body.addWidget(self.main)
        self.card.body.addWidget(Divider())
        self.card.body.addWidget(self.more)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.card)

    def draw(self, view: PlanView) -> None:
        self.main.draw(view.main_fields)
        self.more.draw(view)
        self.recommended.setEnabled(any(path.startswith("training.") for path in view.job.given) or bool(view.problems))

    def show_step(self, step: Step, rail_is_hidden: bool) -> None:
        """Where there is no rail, its word for this section stands in the heading."""
        self.step.setVisible(rail_is_hidden and step.summary != "Recommended")
        tone = "bad" if step.state == "problem" else "warn" if "suggestion" in step.summary else "neutral"
        words = f"{step.summary} below" if tone == "warn" else step.summary
        self.step.set_pill(words, tone)  # type: ignore[arg-type]

    def box(self, path: str) -> FieldBox | None:
        """The field of a setting, wherever it is shown."""
        return self.main.boxes.get(path) or self.more.box(path)

    def show_problem(self) -> bool:
        """Put the focus into the first field whose value is wrong, unfolding for it; False when all are right."""
        view = self.more.view
        if view is not None and any(field.error for _, fields in view.more_fields for field in fields):
            self.more.unfold(True)
        wrong = next((box for box in self.boxes if box.view.error), None)
        if wrong is not None:
            wrong.focus_box()
        return wrong is not None

    @property
    def boxes(self) -> list[FieldBox]:
        return [*self.main.boxes.values(), *(box for grid in self.more.grids.values() for box in grid.boxes.values())]


class MoreSettings(QWidget):
    """Folded at first: a chevron, the word, and what is inside. Unfolding builds the fields."""

    unfolded = Signal(bool)

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.view: PlanView | None = None
        self.grids: dict[str, FieldGrid] = {}
        self.button = Button("More settings", "quiet", size="small", icon="chevron-right")
        self.button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.button.clicked.connect(lambda: self.unfold(not self.is_unfolded))
        self._inside = Line("", "secondary", "text_2")
        self._body = QWidget()
        self._column = QVBoxLayout(self._body)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.l)
        self._body.hide()
        head = QGridLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(self.button, 0, 0)
        head.addWidget(self._inside, 0, 1)
        head.setColumnStretch(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.l)
        column.addLayout(head)
        column.addWidget(self._body)

    @property
    def is_unfolded(self) -> bool:
        return not self._body.isHidden()

    def unfold(self, open: bool) -> None:
        self._body.setVisible(open)
        self._inside.setVisible(not open)
        self.button.setText("Fewer settings" if open else "More settings")
        self.button.set_icon("chevron-down" if open else "chevron-right")
        if open and self.view is not None:
            self._draw(self.view)
        self.unfolded.emit(open)

    def draw(self, view: PlanView) -> None:
        self.view = view
        kind = kinds.find(view.job.data.kind)
        pictures = kind is not None and (kind.has_pictures or kind.is_converted)
        self._inside.setText(f"optimizer, {'random changes, ' if pictures else ''}saving, limits")
        if self.is_unfolded:
            self._draw(view)

    def box(self, path: str) -> FieldBox | None:
        return next((grid.boxes[path] for grid in self.grids.values() if path in grid.boxes), None)

    def _draw(self, view: PlanView) -> None:
        groups = view.more_fields
        if [title for title, _ in groups] != list(self.grids):
            clear_layout(self._column)
            self.grids = {}
            for title, _ in groups:
                self._column.addWidget(Line(title, "label-strong", "text_2"))
                self.grids[title] = FieldGrid(self._model)
                self._column.addWidget(self.grids[title])
        for title, fields in groups:
            self.grids[title].draw(fields)

"""One setting on screen, whatever its kind: drawn from a `FieldView`, told back as typed text or a chosen value."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.choose import Segmented, SwitchRow
from tpu_studio.gui.kit.explainer import Explainer, Help
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.planform import FieldView

_AUTO = ""


class FieldBox(QWidget):
    """`typed` carries the text of a field, `chosen` the value of a choice ("" for the recommended one), `switched` on
    or off, `reset` the wish for the recommended value."""

    typed = Signal(str)
    chosen = Signal(str)
    switched = Signal(bool)
    reset = Signal()

    def __init__(self, field: FieldView, *, segments: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = field
        self.path = field.path
        self.line: LineEdit | None = None
        self.combo: ComboBox | None = None
        self.segmented: Segmented | None = None
        self.switch: SwitchRow | None = None
        self.field: Field | None = None
        self._drawing = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        box = self._make_box(field, segments)
        if isinstance(box, SwitchRow):
            column.addWidget(box)
            column.addStretch(1)
        else:
            self.field = Field(field.title, box, field.hint, explain=True)
            self.field.help_asked.connect(self.explain)
            self.field.offered.connect(self._take)
            column.addWidget(self.field)
        self._draw_now(field)

    def _make_box(self, field: FieldView, segments: bool) -> QWidget:
        if field.kind == "switch":
            self.switch = SwitchRow(field.title, field.hint, field.on)
            self.switch.toggled.connect(lambda on: None if self._drawing else self.switched.emit(on))
            return self.switch
        if field.kind == "choice" and segments:
            self.segmented = Segmented(field.choices, field.text or field.choices[-1][0], name=field.title)
            self.segmented.changed.connect(self.chosen)
            return self.segmented
        if field.kind == "choice":
            self.combo = ComboBox(_options(field), name=field.title)
            self.combo.chosen.connect(self.chosen)
            return self.combo
        self.line = LineEdit(field.text, name=field.title, suffix=field.unit)
        self.line.textEdited.connect(self.typed)
        self.line.editingFinished.connect(self._settle)
        return self.line

    def draw(self, field: FieldView) -> None:
        if field != self.view:
            self.view = field
            self._draw_now(field)

    def explain(self) -> None:
        """What the setting is, what we recommend here and why, and the way back to that."""
        view = self.view
        explainer = Explainer(view.title, view.help, _helps(view), parent=self)
        explainer.acted.connect(lambda _key: self.reset.emit())
        explainer.open_at((self.field.question if self.field else None) or self, keeps=self)

    def focus_box(self) -> None:
        (self.line or self.combo or (self.switch.switch if self.switch else None) or self).setFocus()

    @property
    def has_focus(self) -> bool:
        focused: QWidget | None = self.window().focusWidget()
        return focused is not None and self.isAncestorOf(focused)

    def _draw_now(self, field: FieldView) -> None:
        self._drawing = True
        hover = field.why if field.recommended else ""
        if self.field is not None:
            self.field.label.setText(field.title)
            self.field.set_help(field.hint)
            self.field.set_error(field.error, field.offers)
        if self.line is not None:
            self.line.set_suffix(field.unit)
            self.line.setToolTip(plain(hover))
            if not self.line.hasFocus() or (field.error and self.line.text() != field.text):
                self.line.setText(field.text)
        if self.combo is not None:
            self.combo.set_options(_options(field))
            self.combo.set_value(_AUTO if field.recommended and _has_auto(field) else field.text)
        if self.segmented is not None and field.text:
            self.segmented.set_value(field.text)
            self.segmented.setToolTip(plain(hover))
        if self.switch is not None:
            self.switch.setChecked(field.on)
            self.switch.explanation.setText(field.hint or hover)
            self.switch.setToolTip(plain(hover))
        self._drawing = False

    def _take(self, text: str) -> None:
        """One of two readings was chosen."""
        if self.line is not None:
            self.line.setText(text)
            self.line.setFocus(Qt.FocusReason.OtherFocusReason)
        self.typed.emit(text)

    def _settle(self) -> None:
        """Leaving the field shows the value as it is understood; a wrong one stays as it was typed."""
        if self.line is not None:
            self.line.setText(self.view.text)


def _has_auto(field: FieldView) -> bool:
    return bool(field.recommended_text) or field.recommended


def _options(field: FieldView) -> list[tuple[str, str]]:
    """The choices, with the recommended one first under its own name."""
    words = dict(field.choices)
    recommended = words.get(field.recommended_text, field.recommended_text)
    first = [(_AUTO, f"Recommended: {recommended}" if recommended else "Recommended")]
    return [*first, *field.choices]


def _helps(field: FieldView) -> list[Help]:
    if not field.recommended_text:
        return [Help("Back to the usual value", "Use it", "reset")] if field.may_reset else []
    words = dict(field.choices).get(field.recommended_text, field.recommended_text)
    if field.kind == "switch":
        words = "on" if field.recommended_text == "true" else "off"
    told = f"{words} is recommended here. {field.why}".strip()
    return [Help(told[:1].upper() + told[1:], "Use it" if field.may_reset else "", "reset")]

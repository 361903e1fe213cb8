"""A number in a field: `SpinBox` for whole ones, `DecimalBox` for those with decimals. Read by ``wire.numerals``."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.wire.numerals import readings, spelled


class NumberEdit(LineEdit):
    """A number typed as people write it (``wire.numerals``), stepped with Up and Down or the wheel while focused.

    What has two readings ("2,500") or is no whole number where one is wanted stays as it was typed and changes
    nothing: `doubted` says why, and "" once it is clear again. A `Field` shows it, with the readings as buttons; a
    sheet whose button uses the number keeps it disabled meanwhile (`Sheet.needs`).
    """

    doubted = Signal(str)

    def __init__(
        self,
        number: float,
        low: float,
        high: float,
        step: float,
        decimals: int,
        *,
        name: str,
        suffix: str,
        doubling: bool,
        parent: QWidget | None,
    ) -> None:
        self._low, self._high, self._step, self._decimals, self._doubling = low, high, step, decimals, doubling
        self._number, self.doubt = number, ""
        super().__init__(self._spelled(number), name=name, suffix=suffix, parent=parent)
        self.setValidator(_NumberValidator(self))
        self.textEdited.connect(lambda _text: self._edited())

    def _spelled(self, number: float) -> str:
        if self._decimals == 0:
            return f"{round(number):,}"
        text = f"{number:.{self._decimals}f}".rstrip("0").rstrip(".")
        if not (number == 0 or float(text) == number or abs(number) >= 10**-self._decimals):
            text = f"{number:g}"
        return f"{text}0" if len(readings(text)) == 2 else text

    @property
    def offers(self) -> tuple[tuple[str, str], ...]:
        """Both readings of what is typed, (words, text to type instead) each; () while it has one."""
        found = self._readings()
        return tuple((spelled(one), spelled(one)) for one in found) if len(found) == 2 else ()

    def _readings(self) -> tuple[float, ...]:
        return readings(self.text(), whole=self._decimals == 0)

    def _typed(self) -> float | None:
        found = self._readings()
        return found[0] if len(found) == 1 and not self._is_broken(found[0]) else None

    def _is_broken(self, number: float) -> bool:
        """A decimal where a whole number is wanted."""
        return self._decimals == 0 and number != round(number)

    def _read(self) -> float | None:
        number = self._typed()
        return number if number is not None and self._low <= number <= self._high else None

    def _look(self) -> None:
        """Say what cannot be understood, and that it is clear again."""
        found = self._readings()
        doubt = ""
        if len(found) == 2:
            small, large = (spelled(one) for one in sorted(found, key=abs))
            doubt = f"That can mean {small} or {large}: which one?"
        elif found and self._is_broken(found[0]):
            doubt = "A whole number is needed here."
        if doubt != self.doubt:
            self.doubt = doubt
            self.doubted.emit(doubt)

    def take(self, text: str) -> None:
        """Type *text*, as one of the `offers`, and settle on it."""
        self.setText(text)
        self._settle()

    def _edited(self) -> None:
        self._look()
        number = self._read()
        if number is not None and number != self._number:
            self._number = number
            self._tell()

    def _settle(self) -> None:
        """On leaving and on Enter: spelled well; out of range the nearest allowed; nothing typed, the old one; what
        is in doubt stays as it was typed."""
        self._look()
        if self.doubt:
            return
        number = self._typed()
        before = self._number
        if number is not None:
            self._number = min(max(number, self._low), self._high)
        self.setText(self._spelled(self._number))
        if self._number != before:
            self._tell()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._settle()
        super().focusOutEvent(event)

    def _tell(self) -> None:
        raise NotImplementedError

    def step_by(self, steps: int) -> None:
        if self._doubling:
            number = self._number * 2.0**steps
        else:
            number = self._number + steps * self._step
        number = min(max(number, self._low), self._high)
        if number != self._number or self.doubt:
            self._number = round(number) if self._decimals == 0 else number
            self.setText(self._spelled(self._number))
            self._look()
            self._tell()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()), 0)
        if steps and not self.isReadOnly():
            self.step_by(steps)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat():
            as_typed = self._read() is not None
            self._settle()
            if as_typed:  # else Enter only corrects the number: nobody has seen yet what it would confirm
                super().keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # a page that scrolls must not change a number on the way


class SpinBox(NumberEdit):
    """A whole number. *doubling*: Up and Down double and halve it (batch sizes). `valueChanged` while typing."""

    valueChanged = Signal(int)

    def __init__(
        self,
        value: int = 0,
        low: int = 0,
        high: int = 1_000_000_000,
        *,
        step: int = 1,
        name: str = "",
        suffix: str = "",
        doubling: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(value, low, high, step, 0, name=name, suffix=suffix, doubling=doubling, parent=parent)

    def value(self) -> int:
        return round(self._number)

    def setValue(self, value: int) -> None:
        if value != self.value():
            self._number = value
            self.setText(self._spelled(value))
            self.valueChanged.emit(value)

    def _tell(self) -> None:
        self.valueChanged.emit(self.value())


class DecimalBox(NumberEdit):
    """A number with decimals (learning rate, money)."""

    valueChanged = Signal(float)

    def __init__(
        self,
        value: float = 0.0,
        low: float = 0.0,
        high: float = 1e9,
        *,
        step: float = 0.1,
        decimals: int = 6,
        name: str = "",
        suffix: str = "",
        doubling: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(value, low, high, step, decimals, name=name, suffix=suffix, doubling=doubling, parent=parent)

    def value(self) -> float:
        return self._number

    def setValue(self, value: float) -> None:
        if value != self._number:
            self._number = value
            self.setText(self._spelled(value))
            self.valueChanged.emit(value)

    def _tell(self) -> None:
        self.valueChanged.emit(self._number)


class _NumberValidator(QValidator):
    def __init__(self, edit: NumberEdit) -> None:
        super().__init__(edit)
        self._edit = edit

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        allowed = "0123456789,. \u00a0\u2009\u202f'\u2019_"
        allowed += "eE-+" if self._edit._decimals else "-" if self._edit._low < 0 else ""
        if any(character not in allowed for character in text):
            return QValidator.State.Invalid, text, position
        found = readings(text, whole=self._edit._decimals == 0)
        good = len(found) == 1 and self._edit._low <= found[0] <= self._edit._high
        return (QValidator.State.Acceptable if good else QValidator.State.Intermediate), text, position

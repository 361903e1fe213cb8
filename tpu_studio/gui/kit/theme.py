"""The theme in force: which colours, how big the text, and the one signal that says it changed.

`install(app)` is called once, before the first widget. Widgets ask `ink("text_2")`, `px(36)` and
`fonts.font("body")` each time they paint, and repaint when `controller().changed` fires (`Themed` does that for them).
The system's light or dark is only read: setting it has no effect on many Linux desktops.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache
from typing import Any, Final, Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from tpu_studio.gui.kit import tokens
from tpu_studio.gui.kit.tokens import DARK, LIGHT, Theme

Mode = Literal["system", "light", "dark"]
Contrast = Literal["system", "normal", "high"]
TEXT_SCALES: Final = (0.9, 1.0, 1.15, 1.3, 1.5)


class ThemeController(QObject):
    """Owns mode, contrast, text size and motion; `changed` fires after palette, style sheet and font are in place."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.mode: Mode = "light"
        self.contrast: Contrast = "normal"
        self.text_scale = 1.0
        self.reduce_motion = (
            os.environ.get("QT_QPA_PLATFORM") == "offscreen"
        )  # nobody watches there; pictures are final
        self.theme: Theme = LIGHT
        self._watching = False

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode
        self.apply()

    def set_contrast(self, contrast: Contrast) -> None:
        self.contrast = contrast
        self.apply()

    def set_text_scale(self, scale: float) -> None:
        """One of `TEXT_SCALES`; anything else is refused, so that a hand-edited setting cannot break the layout."""
        if scale not in TEXT_SCALES:
            raise ValueError(f"text scale {scale} is not one of {TEXT_SCALES}")
        self.text_scale = scale
        self.apply()

    def set_reduce_motion(self, reduce: bool) -> None:
        self.reduce_motion = reduce

    def apply(self) -> None:
        from tpu_studio.gui.kit import fonts, qss

        self.theme = _chosen(self.mode, self.contrast)
        _ink.cache_clear()
        fonts.forget()
        app = QApplication.instance()
        if isinstance(app, QApplication):
            self._watch_system()
            app.setPalette(_palette(self.theme))
            app.setFont(fonts.font("body"))
            app.setStyleSheet(qss.sheet(self.theme))
        self.changed.emit()

    def _watch_system(self) -> None:
        if self._watching:
            return
        self._watching = True
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)
        hints = _accessibility_hints()
        if hints is not None:
            hints.contrastPreferenceChanged.connect(self._system_changed)

    def _system_changed(self) -> None:
        if "system" in (self.mode, self.contrast):
            self.apply()


_controller: ThemeController | None = None


def controller() -> ThemeController:
    global _controller
    if _controller is None:
        _controller = ThemeController()
    return _controller


def install(
    app: QApplication, *, mode: Mode = "system", text_scale: float = 1.0, contrast: Contrast = "system"
) -> ThemeController:
    """Load the fonts, set Fusion, and put the theme in force. Call once, before the first widget."""
    from tpu_studio.gui.kit import access, focus, fonts

    access.install()
    fonts.load()
    focus.watch_keys(app)
    app.setStyle("Fusion")
    it = controller()
    it.mode, it.contrast = mode, contrast
    it.text_scale = text_scale if text_scale in TEXT_SCALES else 1.0
    it.apply()
    return it


def theme() -> Theme:
    return controller().theme


def ink(token: str, alpha: float = 1.0) -> QColor:
    """The colour of a token of `Theme` (``"text_2"``, ``"s1"`` … ``"s6"``), or of a literal ``#RRGGBB``."""
    value = QColor(_ink(token))
    if alpha < 1.0:
        value.setAlphaF(alpha)
    return value


def px(length: float) -> int:
    """A control height or icon size at the person's text size. Margins and radii do not grow."""
    return math.floor(length * controller().text_scale + 0.5)


def soft_px(length: float) -> int:
    """Like `px` for lengths that need only part of the growth (sidebar, rails, columns of words)."""
    return math.floor(length * (1 + (controller().text_scale - 1) * 0.72) + 0.5)


class Themed:
    """Mix-in for widgets: call `follow_theme()` last in ``__init__``; override `restyle` for fonts and sizes."""

    def follow_theme(self) -> None:
        controller().changed.connect(self._theme_changed)
        self.restyle()

    def restyle(self) -> None:
        """Take fonts, sizes and palette from the theme anew. Called once at the start and after each change."""

    def _theme_changed(self) -> None:
        assert isinstance(self, QWidget)
        self.ensurePolished()  # a widget polished later would get the font back that it had before this change
        self.restyle()
        self.updateGeometry()
        self.update()


@lru_cache(maxsize=512)
def _ink(token: str) -> QColor:
    if token.startswith("#"):
        return QColor(token)
    if len(token) == 2 and token[0] == "s" and token[1] in "123456":
        return QColor(theme().series[int(token[1]) - 1])
    return QColor(getattr(theme(), token))


def _chosen(mode: Mode, contrast: Contrast) -> Theme:
    dark = mode == "dark"
    if mode == "system":
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    base = DARK if dark else LIGHT
    high = contrast == "high"
    if contrast == "system":
        hints = _accessibility_hints()
        high = hints is not None and hints.contrastPreference() == Qt.ContrastPreference.HighContrast
    return tokens.high_contrast(base) if high else base


_kept_alive: list[object] = []  # PySide deletes the accessibility hints with the Python object they were asked from


def _accessibility_hints() -> Any:
    """Qt's accessibility hints, or None before Qt 6.10, which has none."""
    hints = QGuiApplication.styleHints()
    _kept_alive[:] = [hints]
    read = getattr(hints, "accessibility", None)
    return read() if read is not None else None


def _palette(of: Theme) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for name, value in (
        (role.Window, of.window),
        (role.WindowText, of.text),
        (role.Base, of.card),
        (role.AlternateBase, of.hover),
        (role.Text, of.text),
        (role.Button, of.card),
        (role.ButtonText, of.text),
        (role.BrightText, of.on_accent),
        (role.ToolTipBase, of.card),
        (role.ToolTipText, of.text),
        (role.PlaceholderText, of.text_3),
        (role.Highlight, of.accent),
        (role.HighlightedText, of.on_accent),
        (role.Link, of.accent_text),
        (role.LinkVisited, of.accent_text),
        (role.Accent, of.accent),
        (role.Light, of.card),
        (role.Midlight, of.border),
        (role.Mid, of.border_strong),
        (role.Dark, of.control),
        (role.Shadow, of.border_strong),
    ):
        palette.setColor(name, QColor(value))
    disabled = QPalette.ColorGroup.Disabled
    for name in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(disabled, name, QColor(of.text_3))
    return palette

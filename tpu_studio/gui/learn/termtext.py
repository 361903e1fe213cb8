"""Words in which the glossary's terms are underlined: pressed, or by Tab and Enter, each explains itself."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from tpu_studio.domain.learning import glossary
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.theme import Themed, ink
from tpu_studio.gui.kit.tooltip import plain


class TermText(Themed, QLabel):
    """*text* with marks (`domain.learning.glossary`)."""

    def __init__(self, text: str = "", role: str = "body", tone: str = "text", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marked, self._role, self._tone = text, role, tone
        self._heights: dict[int, int] = {}  # by width: Qt lays the text out anew for each of many questions
        self._hints: tuple[QSize, QSize] | None = None
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.linkActivated.connect(self.explain)
        self.linkHovered.connect(self._hover)
        self.follow_theme()

    def set_marked(self, text: str) -> None:
        if text != self._marked:
            self._marked = text
            self._theme_changed()

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = super().heightForWidth(width)
        return self._heights[width]

    def sizeHint(self) -> QSize:
        return self._sizes()[0]

    def minimumSizeHint(self) -> QSize:
        return self._sizes()[1]

    def _sizes(self) -> tuple[QSize, QSize]:
        if self._hints is None:
            self._hints = super().sizeHint(), super().minimumSizeHint()
        return self._hints

    def changeEvent(self, event: QEvent) -> None:
        """Its font, for one."""
        self._heights, self._hints = {}, None
        super().changeEvent(event)

    def restyle(self) -> None:
        self.setFont(fonts.font(self._role))
        words, link = ink(self._tone).name(), ink("accent_text").name()
        parts = [
            f'<a href="{piece.term}" style="color:{link}">{escape(piece.words)}</a>'
            if piece.term
            else escape(piece.words)
            for piece in glossary.pieces(self._marked)
        ]
        self.setText(f'<span style="color:{words}">{"".join(parts)}</span>')
        self._heights, self._hints = {}, None
        has_terms = any(piece.term for piece in glossary.pieces(self._marked))
        keys = Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        self.setTextInteractionFlags(keys if has_terms else Qt.TextInteractionFlag.NoTextInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if has_terms else Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(glossary.plain(self._marked))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tab comes to the first term at once, Shift+Tab to the last: Qt alone stops at the text before."""
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.focusNextPrevChild(event.reason() is Qt.FocusReason.TabFocusReason)

    def explain(self, term: str) -> None:
        explain_term(term, self)

    def _hover(self, term: str) -> None:
        self.setToolTip(plain(glossary.glossary()[term].hint) if term else "")


def explain_term(term: str, beside: QWidget) -> None:
    """The entry of *term* under the widget *beside*."""
    entry = glossary.glossary()[term]
    Explainer(entry.title, f"{entry.hint} {glossary.plain(entry.text)}", parent=beside).open_at(beside)

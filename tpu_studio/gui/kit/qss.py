"""The one style sheet, for what is not painted by the kit itself: menus, hover texts, scroll bars, text areas.

Kit widgets paint themselves with the theme's colours; a rule here that names QWidget or QLabel would override them
and slow every widget down, so there is none.
"""

from __future__ import annotations

from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Theme


def sheet(of: Theme) -> str:
    caption, label, row = px(12), px(13), px(28)
    return f"""
QToolTip {{
    background: {of.card}; color: {of.text}; border: 1px solid {of.border_strong};
    padding: 3px 5px; font-size: {caption}px;
}}
QMenu {{
    background: {of.card}; color: {of.text}; border: 1px solid {of.border_strong}; border-radius: 8px;
    padding: 5px; font-size: {label}px;
}}
QMenu::item {{ padding: 7px 24px 7px 12px; border-radius: 6px; background: transparent; }}
QMenu::item:selected {{ background: {of.hover}; color: {of.text}; }}
QMenu::item:disabled {{ color: {of.text_3}; }}
QMenu::separator {{ height: 1px; background: {of.border}; margin: 5px 6px; }}
QMenu::icon {{ padding-left: 8px; }}
QLineEdit {{ background: transparent; border: none; padding: 0; }}
QFileDialog QLineEdit {{
    background: {of.card}; border: 1px solid {of.control}; border-radius: 6px; padding: 4px 6px;
}}
QScrollArea, QScrollArea > QWidget > QWidget#scrolled {{ background: transparent; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
QScrollBar::handle {{ background: {of.border_strong}; border-radius: 4px; margin: 2px; }}
QScrollBar::handle:vertical {{ min-height: 32px; }}
QScrollBar::handle:horizontal {{ min-width: 32px; }}
QScrollBar::handle:hover {{ background: {of.control}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; border: none; background: none; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
QPlainTextEdit, QTextEdit {{
    background: {of.card}; color: {of.text}; border: 1px solid {of.control}; border-radius: 8px; padding: 6px;
    placeholder-text-color: {of.text_3};
    selection-background-color: {of.accent}; selection-color: {of.on_accent};
}}
QComboBox {{ combobox-popup: 0; }}
QComboBox QAbstractItemView {{
    background: {of.card}; color: {of.text}; border: 1px solid {of.border_strong}; padding: 4px; outline: none;
}}
QComboBox QAbstractItemView::item {{ min-height: {row}px; padding: 0 8px; border-radius: 6px; }}
QComboBox QAbstractItemView::item:hover, QComboBox QAbstractItemView::item:selected {{
    background: {of.hover}; color: {of.text};
}}
QComboBox QAbstractItemView::item:disabled {{ color: {of.text_3}; }}
QSplitter::handle {{ background: {of.border}; }}
"""

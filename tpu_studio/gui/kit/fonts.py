"""Type: Inter and JetBrains Mono from the app's own files, and one font per role.

Roles are the rows of the type table in the design: ask `font("body")`, never a size. Numbers that change or stand in
a column take ``numbers=True`` (tabular figures). Sizes are logical pixels times the person's text size.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

from PySide6.QtGui import QFont, QFontDatabase

from tpu_studio.wire.resources import resource_path


class Role(NamedTuple):
    size: float
    weight: int
    tracking: float = 100.0  # percent
    numbers: bool = False
    mono: bool = False


ROLES: Final[dict[str, Role]] = {
    "page-title": Role(24, 600, 98),
    "big-number": Role(30, 600, 98, numbers=True),
    "medium-number": Role(24, 600, 98, numbers=True),
    "card-title": Role(18, 600),
    "section": Role(16, 600),
    "plot-title": Role(15, 600),
    "body": Role(14, 400),
    "body-medium": Role(14, 500),
    "row-title": Role(14, 600),
    "label": Role(13, 500),
    "label-strong": Role(13, 600),
    "secondary": Role(13, 400),
    "button": Role(13, 500),
    "button-primary": Role(13, 600),
    "button-main": Role(14, 600),
    "caption": Role(12, 400),
    "caption-medium": Role(12, 500),
    "caption-strong": Role(12, 600),
    "mono": Role(12, 400, mono=True),
}

_FILES: Final = ("Inter-Regular", "Inter-Medium", "Inter-SemiBold", "Inter-Bold", "JetBrainsMono-Regular")
_families: dict[str, bool] = {}


def load() -> bool:
    """Make the shipped fonts known to Qt, once. False when a file is missing: the system's interface font steps in."""
    if not _families:
        for name in _FILES:
            handle = QFontDatabase.addApplicationFont(str(resource_path("fonts", f"{name}.ttf")))
            _families[name] = handle >= 0
        forget()
    return all(_families.values())


@lru_cache(maxsize=128)
def _font(role: str, numbers: bool) -> QFont:
    from tpu_studio.gui.kit.theme import controller

    size, weight, tracking, always_numbers, mono = ROLES[role]
    font = QFont()
    font.setFamilies(["JetBrains Mono", "monospace"] if mono else ["Inter", *_system_families()])
    font.setPixelSize(max(math.floor(size * controller().text_scale + 0.5), 9))
    font.setWeight(QFont.Weight(weight))
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    if tracking != 100.0:
        font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, tracking)
    if numbers or always_numbers:
        font.setFeature(QFont.Tag("tnum"), 1)
    return font


def font(role: str, *, numbers: bool = False) -> QFont:
    return QFont(_font(role, numbers))


def forget() -> None:
    """Drop the fonts made for the previous text size."""
    _font.cache_clear()


def _system_families() -> list[str]:
    return [QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family(), "sans-serif"]

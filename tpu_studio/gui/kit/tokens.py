"""Every colour of the window by name, in light, dark and high contrast, and the names of spaces and corners.

The values are measured (WCAG 2): text reaches 4.5 on every surface it can stand on, meaningful lines and outlines 3.0;
tests/gui/kit/test_theme.py measures them again. No other module of the window writes a colour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Theme:
    """One set of colours, ``#RRGGBB`` each. `tint` is the pale ground on which a meaning's own colour is written."""

    name: str
    dark: bool

    window: str
    sidebar: str
    card: str
    nav_selected: str
    hover: str
    neutral_tint: str
    track: str
    border: str
    border_strong: str
    control: str

    text: str
    text_2: str
    text_3: str  # plain surfaces only; on a tint use text_2

    accent: str
    accent_hover: str
    on_accent: str
    accent_text: str
    accent_tint: str

    ok: str
    ok_tint: str
    ok_bar: str
    warn: str
    warn_tint: str
    warn_bar: str
    bad: str
    bad_tint: str
    bad_bar: str
    bad_row: str
    violet: str
    violet_tint: str

    band: str  # the filled part of the cost limit slider, on which the estimate lies
    memory: tuple[str, str, str]
    series: tuple[str, str, str, str, str, str]

    high_contrast: bool = False  # tints become outlines


LIGHT: Final = Theme(
    name="light",
    dark=False,
    window="#F5F6F8",
    sidebar="#ECEEF2",
    card="#FFFFFF",
    nav_selected="#FFFFFF",
    hover="#F0F2F5",
    neutral_tint="#EDEFF3",
    track="#E4E7ED",
    border="#E1E4EA",
    border_strong="#C9CED8",
    control="#858D9C",
    text="#15181E",
    text_2="#4A5160",
    text_3="#626A79",
    accent="#3457D5",
    accent_hover="#2A48B8",
    on_accent="#FFFFFF",
    accent_text="#2A48B8",
    accent_tint="#EBEFFD",
    ok="#12754A",
    ok_tint="#E4F4EC",
    ok_bar="#1F9D66",
    warn="#8F5200",
    warn_tint="#FDF1DD",
    warn_bar="#C27A08",
    bad="#B9302A",
    bad_tint="#FCEAE8",
    bad_bar="#D4483F",
    bad_row="#FDF3F2",
    violet="#6B3FA8",
    violet_tint="#F1EAFB",
    band="#A6B4E4",
    memory=("#3457D5", "#7C93EC", "#BCC8F7"),
    series=("#3457D5", "#B65306", "#0F8265", "#8E44AD", "#B02A6B", "#5B6474"),
)

DARK: Final = Theme(
    name="dark",
    dark=True,
    window="#0E1014",
    sidebar="#13161B",
    card="#181B21",
    nav_selected="#22262E",
    hover="#22262E",
    neutral_tint="#262B34",
    track="#2A2F39",
    border="#282D36",
    border_strong="#3C434F",
    control="#6B7484",
    text="#EDEFF3",
    text_2="#B4BBC8",
    text_3="#929BAA",
    accent="#8EA6FF",
    accent_hover="#A6B9FF",
    on_accent="#0D1330",
    accent_text="#B3C3FF",
    accent_tint="#1E2744",
    ok="#5FD39B",
    ok_tint="#14301F",
    ok_bar="#3FBF84",
    warn="#F0B454",
    warn_tint="#33260D",
    warn_bar="#E5A53A",
    bad="#FF8F86",
    bad_tint="#3A1B19",
    bad_bar="#F0756B",
    bad_row="#271A1C",
    violet="#C9A6F5",
    violet_tint="#2B2140",
    band="#4D597F",
    memory=("#8EA6FF", "#5C74D6", "#3A4A8C"),
    series=("#8EA6FF", "#F2994A", "#4CC9A4", "#C792EA", "#F27EB2", "#8A94A6"),
)


def high_contrast(base: Theme) -> Theme:
    """*base* with borders as strong as controls, pale grounds turned into outlines, captions as dark as text."""
    ground = "#000000" if base.dark else "#FFFFFF"
    return replace(
        base,
        name=f"{base.name}-contrast",
        high_contrast=True,
        window=ground,
        sidebar=ground,
        card=ground,
        border=base.control,
        border_strong=base.text_2,
        control=base.text_2,
        text="#FFFFFF" if base.dark else "#000000",
        text_2=base.text,
        text_3=base.text_2,
        neutral_tint=ground,
        accent_tint=ground,
        ok_tint=ground,
        warn_tint=ground,
        bad_tint=ground,
        bad_row=ground,
        violet_tint=ground,
    )


class Space:
    """Steps between things, in logical pixels. Inside a card `card`; between cards `gap`; page margin `page`."""

    hair = 2
    xs = 4
    s = 6
    m = 8
    l = 12  # noqa: E741
    gap = 14
    xl = 16
    card = 20
    xxl = 24
    page = 32
    dashboard = 28
    title = 20  # from the page title to the content


class Radius:
    card = 12
    inner = 10  # choice card, note, icon tile
    control = 8  # button, field, navigation row
    thumb = 7


class Height:
    """Control heights before the person's text size is applied; see `theme.px`."""

    button = 36
    button_small = 30
    button_main = 42
    field = 36
    row = 52
    checklist_row = 62
    pill = 24
    bar = 6
    bar_quota = 8
    bar_memory = 10


SIDEBAR_WIDTH: Final = 224
SIDEBAR_FOLDED: Final = 64
FOLD_SIDEBAR_BELOW: Final = 1240
FOLD_ESTIMATE_BELOW: Final = 1160
FORM_WIDTH: Final = 640  # forms and running text take no more, whatever the window offers

"""Colours, type and icons."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFontInfo
from PySide6.QtWidgets import QApplication, QPlainTextEdit

import tpu_studio
from tpu_studio.gui.kit import brand, fonts, icons, theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.tokens import DARK, LIGHT, Theme, high_contrast
from tpu_studio.wire.resources import resource_path

THEMES = [LIGHT, DARK, high_contrast(LIGHT), high_contrast(DARK)]


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio of two #RRGGBB."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    x, y = sorted((light(a), light(b)), reverse=True)
    return (x + 0.05) / (y + 0.05)


def test_the_ratio_is_the_one_the_design_measured():
    assert contrast(LIGHT.text, LIGHT.card) == pytest.approx(17.8, abs=0.1)
    assert contrast(DARK.control, DARK.card) == pytest.approx(3.7, abs=0.1)


@pytest.mark.parametrize("of", THEMES, ids=lambda of: of.name)
def test_text_reaches_4_5_on_every_surface_it_stands_on(of: Theme):
    for ground in (of.card, of.window, of.sidebar):
        for words in (of.text, of.text_2, of.text_3):
            assert contrast(words, ground) >= 4.5
    for kind in ("accent", "ok", "warn", "bad", "violet"):
        tint = getattr(of, f"{kind}_tint")
        words = of.accent_text if kind == "accent" else getattr(of, kind)
        assert contrast(words, tint) >= 4.5, kind
        assert contrast(of.text_2, tint) >= 4.5, kind
    assert contrast(of.text_2, of.neutral_tint) >= 4.5
    assert contrast(of.on_accent, of.accent) >= 4.5
    assert contrast(of.on_accent, of.accent_hover) >= 4.5
    assert contrast(of.bad, of.bad_row) >= 4.5
    for line in of.series:
        assert contrast(line, of.card) >= 4.5


WORDS = ("text", "text_2", "text_3", "accent_text", "accent", "ok", "warn", "bad")
TINTS = ("neutral_tint", "accent_tint", "ok_tint", "warn_tint", "bad_tint")
GROUNDS = ("card", "window", "sidebar", "nav_selected", "hover", "bad_row", "track", *TINTS)
WHERE_NOBODY_READS = {("text_3", "track")}  # what cannot be pressed now


@pytest.mark.parametrize("of", THEMES, ids=lambda of: of.name)
def test_any_words_on_any_ground_reach_4_5_so_no_pair_has_to_be_chosen(of: Theme):
    low = {
        (words, ground): round(contrast(getattr(of, words), getattr(of, ground)), 2)
        for words in WORDS
        for ground in GROUNDS
        if contrast(getattr(of, words), getattr(of, ground)) < 4.5
    }
    assert set(low) <= WHERE_NOBODY_READS, low


@pytest.mark.parametrize("of", THEMES, ids=lambda of: of.name)
def test_outlines_and_bars_that_mean_something_reach_3(of: Theme):
    for mark in (of.control, of.accent, of.ok_bar, of.warn_bar, of.bad_bar):
        assert contrast(mark, of.card) >= 3.0


def test_the_shipped_type_is_used_and_follows_the_persons_text_size(kit):
    assert fonts.load()
    assert QFontInfo(fonts.font("body")).family() == "Inter"
    assert fonts.font("body").pixelSize() == 14
    kit.set_text_scale(1.5)
    assert fonts.font("body").pixelSize() == 21
    with pytest.raises(ValueError):
        kit.set_text_scale(7.0)


def test_tabular_figures_make_all_digits_equally_wide():
    from PySide6.QtGui import QFontMetricsF

    numbers = QFontMetricsF(fonts.font("body", numbers=True))
    assert numbers.horizontalAdvance("1111") == numbers.horizontalAdvance("8888")


def test_a_theme_change_reaches_palette_and_widgets(qtbot, kit):
    button = Button("Check again")
    qtbot.addWidget(button)
    button.show()
    before = button.grab().toImage().pixelColor(3, 18)
    with qtbot.waitSignal(kit.changed):
        kit.set_mode("dark")
    assert QApplication.palette().window().color().name().upper() == DARK.window
    assert button.grab().toImage().pixelColor(3, 18) != before


def test_every_icon_file_draws_in_the_asked_colour():
    for path in resource_path("icons").glob("*.svg"):
        if path.stem == "app":
            continue
        pixels = icons.pixmap(path.stem, "bad", 18, 2.0).toImage()
        assert pixels.width() == 36
        drawn = [pixels.pixelColor(x, y) for x in range(36) for y in range(36)]
        assert any(p.alpha() > 200 and p.name().upper() == LIGHT.bad for p in drawn), path.stem


def icons_named_in(file: Path) -> Iterator[str]:
    """Literals that stand where an icon's name stands: `icon=…`, in tables called …ICONS, and of lines and numbers."""
    place = {"Icon": 0, "IconButton": 0} if "gui" in file.parts else {"Line": 1, "Number": 4}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        found: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            found += [word.value for word in node.keywords if word.arg == "icon"]
            at = place.get(node.func.id) if isinstance(node.func, ast.Name) else None
            if at is not None and not any(isinstance(word, ast.Starred) for word in node.args):
                found += node.args[at : at + 1]
        elif (
            isinstance(node, ast.Assign)
            and "ICONS" in ast.unparse(node.targets[0])
            and isinstance(node.value, ast.Dict)
        ):
            found += [value.elts[0] if isinstance(value, ast.Tuple) else value for value in node.value.values]
        yield from (one.value for one in found if isinstance(one, ast.Constant) and isinstance(one.value, str))


def test_every_icon_that_a_page_names_is_there():
    package = Path(tpu_studio.__file__).parent
    files = [*package.joinpath("gui").rglob("*.py"), *package.joinpath("viewmodels").rglob("*.py")]
    named = {name: file.name for file in files for name in icons_named_in(file) if name}
    assert {"circle-dollar-sign", "gauge", "x", "search", "clock", "circle-check"} <= named.keys()
    there = {path.stem for path in resource_path("icons").glob("*.svg")}
    assert {name: file for name, file in named.items() if name not in there} == {}


def test_a_misspelled_icon_does_not_pass_silently():
    with pytest.raises(FileNotFoundError):
        icons.pixmap("no-such-icon")


def test_licences_stand_beside_what_they_license():
    assert "SIL OPEN FONT LICENSE" in resource_path("fonts", "Inter-LICENSE.txt").read_text().upper()
    assert "SIL OPEN FONT LICENSE" in resource_path("fonts", "JetBrainsMono-LICENSE.txt").read_text().upper()
    assert "ISC" in resource_path("icons", "LICENSE.txt").read_text()


def test_the_app_icon_file_is_the_painted_mark():
    assert resource_path("icons", "app.svg").read_text() == brand.mark_svg()


def test_system_mode_without_a_system_hint_is_light(kit):
    kit.set_mode("system")
    assert theme.theme() is LIGHT


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_stands_in_an_empty_box_is_as_dark_as_a_caption(qtbot, qapp: QApplication, mode: theme.Mode):
    """Qt alone takes the half of the text's colour, 3.4:1 on white."""
    theme.install(qapp, mode=mode)
    box = QPlainTextEdit()
    qtbot.addWidget(box)
    box.show()
    assert box.palette().placeholderText().color() == theme.ink("text_3")
    theme.install(qapp, mode="light")

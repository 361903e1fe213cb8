"""The Settings page: a change is seen at once in the window and kept."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit

from tpu_studio.gui.kit.theme import controller
from tpu_studio.gui.settings.licences import licence_text, open_licences
from tpu_studio.viewmodels.settings_file import load


def test_dark_is_put_on_at_once_and_kept(studio, home, qtbot):
    studio.shell.go("settings")
    qtbot.mouseClick(studio.page.theme.segment("dark"), Qt.MouseButton.LeftButton)
    assert controller().theme.dark
    assert load(home / "settings.toml").settings.theme == "dark"
    studio.studio.settings.set(theme="light")


def test_high_contrast_is_put_on_at_once_and_kept(studio, home, qtbot):
    studio.shell.go("settings")
    lines = controller().theme.border
    qtbot.mouseClick(studio.page.contrast.segment("high"), Qt.MouseButton.LeftButton)
    assert controller().theme.border != lines
    assert load(home / "settings.toml").settings.contrast == "high"
    qtbot.mouseClick(studio.page.contrast.segment("normal"), Qt.MouseButton.LeftButton)
    assert controller().theme.border == lines


def test_the_text_size_grows_from_the_keyboard_anywhere_and_the_page_shows_it(studio, qtbot):
    studio.shell.go("settings")
    studio.window.act("bigger")
    assert controller().text_scale == 1.15
    assert studio.page.text_size.value == "115"
    studio.window.act("smaller")
    assert controller().text_scale == 1.0
    studio.window.act("bigger")
    studio.window.act("bigger")
    studio.window.act("usual-size")
    assert controller().text_scale == 1.0


def test_folders_show_where_they_are_and_their_size(studio, home, qtbot):
    (home / "runs" / "x").mkdir(parents=True)
    (home / "runs" / "x" / "big").write_bytes(b"x" * 2_000_000)
    studio.shell.go("settings")
    qtbot.waitUntil(lambda: studio.studio.settings.state.value.folders[0].size == "2.0 MB", timeout=5000)


def test_a_file_of_a_newer_version_is_told_and_nothing_of_it_is_lost(qtbot, home):
    from tests.gui.studios import open_studio

    (home / "settings.toml").write_text('format = 9\n[appearance]\ntheme = "light"\nglow = true\n')
    with open_studio(qtbot, home) as opened:
        assert "newer TPU Studio" in opened.window.notices.cards[0].accessibleName()
        opened.studio.settings.set(text_size=115)
        opened.studio.settings.set(text_size=100)
    assert "glow = true" in (home / "settings.toml").read_text()


def test_an_agreement_to_an_own_model_is_listed_and_can_be_taken_back(studio, qtbot):
    studio.studio.services.consents.agree("ab" * 32, "/models/mine.py")
    studio.shell.go("settings")
    qtbot.waitUntil(lambda: bool(studio.studio.settings.state.value.agreed))
    assert studio.page._consent_card.isVisible()
    studio.studio.settings.revoke("ab" * 32)
    qtbot.waitUntil(lambda: studio.studio.settings.state.value.agreed == ())
    assert not studio.page._consent_card.isVisible()
    assert not studio.studio.services.consents.agreed("ab" * 32)


def test_the_licences_of_all_that_is_shipped_can_be_read(studio):
    text = licence_text()
    shipped_and_fetched = ("pyside6-essentials 6.", "jaxlib 0.", "libtpu 0.", "Inter", "JetBrains Mono", "Lucide")
    for shipped in (*shipped_and_fetched, "SIL OPEN FONT LICENSE", "ISC AND MIT"):
        assert shipped.casefold() in text.casefold(), shipped
    sheet = open_licences(studio.window)
    assert sheet.findChild(QPlainTextEdit).toPlainText() == text
    sheet.close()

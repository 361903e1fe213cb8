"""settings.toml: read tolerantly, written without losing what another version or the person put there."""

import pytest

from tpu_studio.viewmodels.settings_file import Settings, changed, load, save


def test_without_a_file_the_usual_settings_hold_and_nothing_is_said(tmp_path):
    loaded = load(tmp_path / "settings.toml")
    assert loaded.settings == Settings() and loaded.problem == ""


def test_what_is_saved_is_read_again(tmp_path):
    wanted = Settings(theme="dark", text_size=130, contrast="high", motion="reduced", told=("run-goes-on",))
    save(tmp_path / "settings.toml", wanted)
    assert load(tmp_path / "settings.toml").settings == wanted


def test_a_newer_versions_file_is_used_as_far_as_known_and_keeps_its_own_keys_and_comments(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('format = 7\n# mine\n[appearance]\ntheme = "dark"\nglow = true\n[clouds]\nbest = "cirrus"\n')
    loaded = load(path)
    assert loaded.settings.theme == "dark"
    assert "newer TPU Studio" in loaded.problem
    save(path, changed(loaded.settings, text_size=115))
    text = path.read_text()
    assert "format = 7" in text and "# mine" in text and "glow = true" in text and 'best = "cirrus"' in text
    assert load(path).settings == Settings(theme="dark", text_size=115)


def test_a_value_only_a_newer_version_knows_survives_a_change_of_another_setting(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('format = 2\n[appearance]\ntheme = "sepia"\n')
    assert load(path).settings.theme == "system"
    save(path, changed(load(path).settings, text_size=150))
    assert 'theme = "sepia"' in path.read_text()


@pytest.mark.parametrize("damage", [b"theme = = 3", b"\xff\xfe\x00", b"\x00\x01\x02"])
def test_a_damaged_file_gives_the_usual_settings_a_sentence_and_is_kept_aside(tmp_path, damage):
    path = tmp_path / "settings.toml"
    path.write_bytes(damage)
    loaded = load(path)
    assert loaded.settings == Settings() and "not affected" in loaded.problem
    save(path, changed(loaded.settings, theme="light"))
    assert path.with_name("settings.toml.broken").read_bytes() == damage
    assert load(path).settings.theme == "light"


@pytest.mark.parametrize(("written", "used"), [("97", 100), ("1000", 150), ('"big"', 100), ("true", 100), ("89.0", 90)])
def test_a_text_size_that_is_no_step_becomes_the_nearest_step(tmp_path, written, used):
    (tmp_path / "settings.toml").write_text(f"[appearance]\ntext_size = {written}\n")
    assert load(tmp_path / "settings.toml").settings.text_size == used


def test_a_setting_cannot_take_a_value_it_does_not_have():
    with pytest.raises(ValueError, match="theme"):
        changed(Settings(), theme="pink")

"""The Settings page: changes hold at once and are written; folders are measured; consents are revoked."""

from types import SimpleNamespace

from tpu_studio.viewmodels.settings import SettingsViewModel, folder_size
from tpu_studio.viewmodels.settings_file import load
from tpu_studio.workflow.background import InlineTasks


def model(home):
    return SettingsViewModel(home, load(home / "settings.toml"), InlineTasks())


def test_a_change_holds_at_once_and_is_there_at_the_next_start(tmp_path):
    seen = []
    settings = model(tmp_path)
    settings.appearance.subscribe(lambda now: seen.append(now.theme), now=False)
    settings.set(theme="dark", text_size=130)
    assert seen == ["dark"]
    assert model(tmp_path).state.value.settings.text_size == 130


def test_a_disk_that_refuses_is_told_and_the_change_holds_all_the_same(tmp_path):
    (tmp_path / "blocked").write_text("a file where a folder should be")
    settings = SettingsViewModel(tmp_path / "blocked", load(tmp_path / "none"), InlineTasks())
    settings.set(theme="dark")
    assert settings.state.value.problem is not None
    assert settings.state.value.settings.theme == "dark"


def test_a_hint_is_shown_once_for_ever(tmp_path):
    assert model(tmp_path).told("runs-go-on") is False
    assert model(tmp_path).told("runs-go-on") is True


def test_folders_show_their_sizes_after_measuring(tmp_path):
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "model").write_bytes(b"x" * 1_500_000)
    settings = model(tmp_path)
    settings.measure()
    assert [folder.size for folder in settings.state.value.folders] == ["1.5 MB", "0 bytes", "0 bytes"]
    assert not settings.state.value.measuring


def test_a_link_out_of_a_folder_is_not_followed_when_it_is_measured(tmp_path):
    (tmp_path / "big").write_bytes(b"x" * 100_000)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "big")
    assert folder_size(tmp_path / "runs") < 1000


def test_an_agreement_can_be_taken_back(tmp_path):
    class Consents:
        def __init__(self):
            self.known = [SimpleNamespace(path="/home/mina/model.py", sha256="ab" * 32, agreed=5.0)]

        def all(self):
            return list(self.known)

        def revoke(self, sha256):
            self.known = [one for one in self.known if one.sha256 != sha256]

    settings = model(tmp_path)
    settings.connect(Consents())
    settings.measure()
    assert [one.name for one in settings.state.value.agreed] == ["model.py"]
    settings.revoke("ab" * 32)
    assert settings.state.value.agreed == ()

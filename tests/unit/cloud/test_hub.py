"""Models of the Hugging Face Hub: looked up, downloaded, and refused, on a Hub of this computer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import hub as fakes
from tests.fakes import presets as samples
from tpu_studio.cloud.hub import Hub, delete
from tpu_studio.cloud.session import Patience
from tpu_studio.wire import hub
from tpu_studio.wire.errors import ModelError, StudioError
from tpu_studio.wire.pretrained import reading

NAME = "hf:owner/small-llama"
AT_ONCE = Patience(tries=3, sleep=lambda seconds: None, first_s=0.0, most_s=0.0)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Fake]:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    with fakes.running() as found:
        found.repositories["owner/small-llama"] = fakes.Repository(samples.decoder("llama", tmp_path))
        yield found


def remote(fake: fakes.Fake, token: str = "") -> Hub:
    return Hub(token, endpoint=fake.address, patience=AT_ONCE)


def refused(fake: fakes.Fake, token: str = "", preset: str = NAME) -> StudioError:
    with pytest.raises(StudioError) as raised:
        remote(fake, token).look_up(preset)
    return raised.value


def weights_of(fake: fakes.Fake) -> list[Path]:
    return sorted(fake.repositories["owner/small-llama"].folder.glob("*.safetensors"))


def test_what_is_looked_up_is_planned_with_before_a_weight_is_downloaded(fake: fakes.Fake) -> None:
    """The hash of the base is the one that it has afterwards, so a plan stays the same."""
    source = fake.repositories["owner/small-llama"].folder
    entry = remote(fake).look_up(NAME)
    assert entry.licence == "apache-2.0" and entry.revision == "a" * 40 and not entry.gated
    assert not list(hub.folder(NAME).glob("*.safetensors"))
    before = reading.read(hub.folder(NAME))
    assert before.absent == entry.weights_bytes == sum(one.stat().st_size for one in weights_of(fake))
    told = list[tuple[int, int]]()
    remote(fake).download(NAME, lambda done, total: told.append((done, total)))
    after = reading.read(hub.folder(NAME))
    assert after.absent == 0 and after.sha256 == before.sha256 == reading.read(source).sha256
    assert after.files_bytes == before.files_bytes
    assert told[-1] == (entry.weights_bytes, entry.weights_bytes) and told == sorted(told)
    assert hub.entries() == [entry] and entry.is_whole(hub.folder(NAME))


def test_what_is_there_is_not_fetched_again(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    remote(fake).download(NAME)
    fake.asked.clear()
    remote(fake).look_up(NAME)
    remote(fake).download(NAME)
    assert [path for path, _ in fake.asked] == ["/api/models/owner/small-llama/revision/main"]


def test_a_cut_is_gone_on_with(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    (name, *_) = (one.name for one in weights_of(fake))
    fake.faults[name] = ["", "half", "", "cut"]
    fake.asked.clear()
    remote(fake).download(NAME)
    ranges = {headers["Range"] for path, headers in fake.asked if path.endswith(name) and "Range" in headers}
    assert ranges == {"bytes=16384-"}  # what came before the cut, but for the last piece
    assert reading.read(hub.folder(NAME)).absent == 0


def test_a_server_that_begins_anew_is_followed(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    (name, *_) = (one.name for one in weights_of(fake))
    fake.faults[name] = ["", "half", "", "whole"]
    remote(fake).download(NAME)
    assert reading.read(hub.folder(NAME)).absent == 0


def test_cancelled_what_came_is_kept(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    seen = list[int]()
    with pytest.raises(StudioError) as raised:
        remote(fake).download(NAME, lambda done, total: seen.append(done), cancelled=lambda: bool(seen))
    assert raised.value.id == "hub-cancelled"
    assert reading.read(hub.folder(NAME)).absent
    remote(fake).download(NAME)
    assert reading.read(hub.folder(NAME)).absent == 0


@pytest.mark.parametrize("fault", ["differs", "more"])
def test_other_bytes_than_listed_are_thrown_away(fake: fakes.Fake, fault: str) -> None:
    remote(fake).look_up(NAME)
    (name, *_) = (one.name for one in weights_of(fake))
    fake.faults[name] = ["", fault]
    with pytest.raises(StudioError) as raised:
        remote(fake).download(NAME)
    assert raised.value.id == {"differs": "hub-differs", "more": "hub-refused"}[fault]
    assert not (hub.folder(NAME) / name).exists()
    remote(fake).download(NAME)
    assert reading.read(hub.folder(NAME)).absent == 0


def test_a_small_file_is_held_to_its_sum_too(fake: fakes.Fake) -> None:
    fake.faults["config.json"] = ["differs"]
    assert refused(fake).id == "hub-differs"
    assert hub.entry(hub.folder(NAME)) is None


def test_a_token_goes_to_the_hub_alone(fake: fakes.Fake) -> None:
    fake.repositories["owner/small-llama"].token = "hf_right"
    remote(fake, "hf_right").look_up(NAME)
    remote(fake, "hf_right").download(NAME)
    sent = [("Authorization" in headers, path.startswith("storage:")) for path, headers in fake.asked]
    assert (True, False) in sent and (False, True) in sent and (True, True) not in sent
    assert "hf_right" not in json.dumps([one.read_text("utf-8", "replace") for one in hub.folder(NAME).iterdir()])
    assert "hf_right" not in repr(remote(fake, "hf_right"))


def test_refusals_say_what_to_do(fake: fakes.Fake) -> None:
    repository = fake.repositories["owner/small-llama"]
    assert refused(fake, preset="hf:owner/none").id == "hub-not-found"
    assert refused(fake, "bad").id == "hub-token-refused"
    repository.token = "hf_right"
    assert refused(fake).id == refused(fake, "hf_other").id == "hub-gated"
    repository.private = True
    assert refused(fake).id == refused(fake, "hf_other").id == "hub-not-found"


@pytest.mark.parametrize(
    ("faults", "id"),
    [
        (["status 503"] * 9, "hub-unreachable"),
        (["cut"] * 9, "hub-unreachable"),
        (["status 429"] * 9, "hub-too-often"),
        (["page"], "hub-refused"),
        (["odd"], "hub-refused"),
        (["status 418"], "hub-refused"),
        (["raw packed"], "hub-refused"),
        (["raw going on"] * 9, "hub-unreachable"),
        (["raw trailing"] * 9, "hub-unreachable"),
    ],
)
def test_what_the_network_answers(fake: fakes.Fake, faults: list[str], id: str) -> None:
    fake.faults["/revision/main"] = faults
    assert refused(fake).id == id


def test_a_hub_that_is_slow_to_answer_is_asked_again(fake: fakes.Fake) -> None:
    fake.faults["/revision/main"] = ["status 503", "cut"]
    assert remote(fake).look_up(NAME).name == "owner/small-llama"


@pytest.mark.parametrize(
    "name",
    ["hf:none", "hf:a/b/c", "hf:../x", "hf:a--b/c", "hf:a/..", "hf:a/b.git", "gpt2", "hf:a b/c", "hf:/x", "hf:a/"],
)
def test_what_is_no_name_is_not_asked_for(fake: fakes.Fake, name: str) -> None:
    assert not hub.is_name(name)
    assert refused(fake, preset=name).id == "hub-name"
    assert not fake.asked


def test_models_without_safetensors_are_refused(fake: fakes.Fake) -> None:
    folder = fake.repositories["owner/small-llama"].folder
    for one in weights_of(fake):
        one.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80")
    error = refused(fake)
    assert error.id == "hub-no-model" and error.facts["pickled"]


def test_another_revision_replaces_what_was_there(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    remote(fake).download(NAME)
    repository = fake.repositories["owner/small-llama"]
    repository.revision = "b" * 40
    (repository.folder / "config.json").write_text((repository.folder / "config.json").read_text() + "\n")
    before = reading.read(hub.folder(NAME)).sha256
    fake.asked.clear()
    assert remote(fake).look_up(NAME).revision == "b" * 40
    found = reading.read(hub.folder(NAME))
    assert found.sha256 != before and not found.absent  # the same weights are not fetched again
    assert [path for path, _ in fake.asked if path.endswith(".safetensors")] == []


def test_a_changed_weight_is_not_used(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    remote(fake).download(NAME)
    (name, *_) = (one.name for one in weights_of(fake))
    path = hub.folder(NAME) / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ModelError) as raised:
        reading.read(hub.folder(NAME))
    assert raised.value.id == "preset-differs"


def test_what_was_not_looked_up_is_said_so(fake: fakes.Fake) -> None:
    with pytest.raises(ModelError) as raised:
        reading.read(hub.folder(NAME))
    assert raised.value.id == "preset-not-looked-up" and raised.value.facts["preset"] == NAME
    with pytest.raises(StudioError) as missing:
        remote(fake).download(NAME)
    assert missing.value.id == "hub-not-looked-up"


def test_no_listing_elsewhere_lends_a_folder_weights(fake: fakes.Fake, tmp_path: Path) -> None:
    """A stranger's folder cannot say that its weights are only absent."""
    remote(fake).look_up(NAME)
    stranger = tmp_path / "owner--small-llama"
    hub.folder(NAME).rename(stranger)
    with pytest.raises(ModelError) as raised:
        reading.read(stranger)
    assert raised.value.id == "preset-in-part"


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"format":2}', b"\xff", b'{"format":1,"files":{"../x":{}}}'])
def test_a_damaged_listing_is_looked_up_again(fake: fakes.Fake, damage: bytes) -> None:
    remote(fake).look_up(NAME)
    (hub.folder(NAME) / hub.FILE).write_bytes(damage)
    assert hub.entry(hub.folder(NAME)) is None
    remote(fake).look_up(NAME)
    assert hub.entry(hub.folder(NAME)) is not None


def test_deleted_it_is_gone(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    assert delete(NAME) > 10_000
    assert not hub.folder(NAME).exists() and delete(NAME) == 0


@pytest.mark.parametrize("status", [404, 302, 500])
def test_of_a_refusal_and_of_a_redirect_little_is_read(fake: fakes.Fake, status: int) -> None:
    fake.faults["/revision/main"] = [f"endless {status}"] * 3
    fake.faults["/elsewhere"] = ["status 404"]
    refused(fake)
    assert fake.sent < 60 << 20  # what lies in the buffers of three connections; of 1,200 MB


@pytest.mark.parametrize(
    "to", ["http://other.example/x", "ftp://127.0.0.1/x", "http://[::1", "file:///etc/passwd", "//x.example"]
)
def test_no_redirect_leads_to_what_is_not_asked(fake: fakes.Fake, to: str) -> None:
    fake.faults["/revision/main"] = [f"to {to}"]
    assert refused(fake).id == "hub-refused"


def test_redirects_without_end_are_left(fake: fakes.Fake) -> None:
    fake.faults["/revision/main"] = ["to /api/models/owner/small-llama/revision/main"] * 30
    assert refused(fake).id == "hub-refused"
    assert len(fake.asked) <= 6


def test_a_question_that_was_given_up_is_not_asked_again(fake: fakes.Fake) -> None:
    fake.faults["/revision/main"] = ["status 503"] * 9
    with pytest.raises(StudioError) as raised:
        remote(fake).look_up(NAME, cancelled=lambda: True)
    assert raised.value.id == "hub-cancelled" and len(fake.asked) == 1


def test_licences_are_few_and_small(fake: fakes.Fake) -> None:
    folder = fake.repositories["owner/small-llama"].folder
    for number in range(2**7):  # one spelling each
        name = "".join(sign.upper() if number >> place & 1 else sign for place, sign in enumerate("license"))
        (folder / name).write_text("terms")
    remote(fake).look_up(NAME)
    assert len([one for one in hub.folder(NAME).iterdir() if one.name.lower() == "license"]) == 2
    (folder / "LICENSE").write_bytes(bytes(2_000_000))
    assert refused(fake).id == "hub-refused"


def test_until_the_new_one_is_described_the_former_stays(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    remote(fake).download(NAME)
    before = reading.read(hub.folder(NAME)).sha256
    repository = fake.repositories["owner/small-llama"]
    repository.revision = "b" * 40
    (repository.folder / "config.json").write_text((repository.folder / "config.json").read_text() + "\n")
    for one in weights_of(fake):
        one.write_bytes(one.read_bytes() + b"")
    fake.faults["config.json"] = ["status 418"]
    assert refused(fake).id == "hub-refused"
    assert reading.read(hub.folder(NAME)).sha256 == before


@pytest.mark.parametrize(
    "change",
    [
        {"sha": "../../../../etc?x#"},
        {"sha": 7},
        {"siblings": [{"rfilename": "config.json", "size": 1e999, "blobId": "a" * 40}]},
        {"siblings": [{"rfilename": "config.json", "size": 3, "lfs": {"sha256": "x"}}]},
        {"siblings": [{"rfilename": "config.json", "size": -1, "blobId": "a" * 40}]},
        {"siblings": {"a": 1}},
    ],
    ids=str,
)
def test_odd_answers_are_refused_in_a_sentence(fake: fakes.Fake, change: dict[str, object]) -> None:
    told = {"sha": "a" * 40, "siblings": [], **change}
    fake.faults["/revision/main"] = [f"said {json.dumps(told)}"]
    assert refused(fake).id in ("hub-refused", "hub-no-model")
    assert len(fake.asked) == 1 and not hub.folder(NAME).exists()


def test_a_licence_writes_no_line_of_its_own(fake: fakes.Fake) -> None:
    fake.repositories["owner/small-llama"].licence = "mit\nRUN COMPLETE\u202e\x1b[2J"
    assert remote(fake).look_up(NAME).licence == "mit RUN COMPLETE"


@pytest.mark.parametrize("token", ["hf_ü", "hf_a\nb", "hf a", "x" * 501])
def test_what_no_header_can_have_is_no_token(fake: fakes.Fake, token: str) -> None:
    with pytest.raises(StudioError) as raised:
        remote(fake, token)
    assert raised.value.id == "hub-token-refused" and not fake.asked


def test_a_mirrors_password_is_shown_nowhere() -> None:
    known = Hub(endpoint="https://ada:s3cret@mirror.example:8443/hf")
    assert known.address == "https://mirror.example:8443/hf" and known.endpoint.startswith("https://ada:s3cret@")
    shown = (repr(known), known.page("a/b"), str(known._unreachable(OSError("refused"), "a/b").facts))
    with pytest.raises(StudioError) as raised:
        Hub(endpoint="http://ada:s3cret@mirror.example")
    assert not any("s3cret" in one for one in (*shown, str(raised.value.facts)))


def test_only_https_or_this_computer_is_asked() -> None:
    with pytest.raises(StudioError) as raised:
        Hub(endpoint="http://mirror.example")
    assert raised.value.id == "hub-not-https"

"""Data sets of the Hugging Face Hub: looked up, downloaded, and refused, on a Hub of this computer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import hub as fakes
from tests.fakes import hubdata as samples
from tpu_studio.cloud import hubsplits
from tpu_studio.cloud.hubdata import DataHub, delete
from tpu_studio.cloud.session import Patience
from tpu_studio.data import columnar
from tpu_studio.data.guess import guess
from tpu_studio.data.watching import Watch
from tpu_studio.wire import hubdata
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.hub import Listed

NAME = "hf:owner/reviews"
AT_ONCE = Patience(tries=3, sleep=lambda seconds: None, first_s=0.0, most_s=0.0)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Fake]:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    with fakes.running() as found:
        found.datasets["owner/reviews"] = samples.reviews(tmp_path / "hub")
        yield found


def remote(fake: fakes.Fake, token: str = "") -> DataHub:
    return DataHub(token, endpoint=fake.address, patience=AT_ONCE)


def refused(fake: fakes.Fake, name: str = NAME, token: str = "") -> StudioError:
    with pytest.raises(StudioError) as raised:
        remote(fake, token).look_up(name)
    return raised.value


def download_refused(fake: fakes.Fake, subset: str = "plain_text", splits: tuple[str, ...] = ()) -> StudioError:
    with pytest.raises(StudioError) as raised:
        remote(fake).download(NAME, subset, splits)
    return raised.value


def converted(fake: fakes.Fake) -> Path:
    found = fake.datasets["owner/reviews"].converted
    assert found is not None
    return found


def own(fake: fakes.Fake, *names: str) -> None:
    """The data set has no conversion, and these files."""
    repository = fake.datasets["owner/reviews"]
    repository.converted = None
    for name in names:
        (repository.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (repository.folder / name).write_text("a,b\n1,2\n3,4\n")


def files(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_subsets_splits_columns_sizes_and_licence_are_told_before_anything_comes(fake: fakes.Fake) -> None:
    found = remote(fake).look_up(NAME)
    assert (found.licence, found.gated, found.converted, found.revision) == ("mit", False, True, "c" * 40)
    assert [one.name for one in found.subsets] == ["plain_text", "the numbers"]
    reviews = found.subsets[0]
    assert dict(reviews.columns) == {"text": "string", "label": "class_label"}
    told = {one.name: (one.rows, len(one.parts), one.partial) for one in reviews.splits}
    assert told == {"train": (160, 2, False), "test": (160, 1, False), "unsupervised": (None, 1, True)}
    sizes = [one.stat().st_size for one in (converted(fake) / "plain_text" / "train").iterdir()]
    assert reviews.splits[0].size == sum(sizes)
    assert [path for path, _ in fake.asked if path.endswith(".parquet") and "/resolve/" in path] == []
    assert hubdata.entries() == [found]


def test_what_comes_is_data_as_a_dropped_folder_is(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    told = list[tuple[int, int]]()
    path = remote(fake).download(NAME, "plain_text", progress=lambda done, total: told.append((done, total)))
    assert files(path) == ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    assert told[-1][0] == told[-1][1] == sum(one.stat().st_size for one in path.iterdir()) and told == sorted(told)
    assert guess(path) == {"data.kind": "text", "data.path": str(path)}
    assert len(columnar.rows_of(path, Watch()).file.read_text().splitlines()) == 161
    found = hubdata.entry(NAME)
    assert found is not None and found.is_here(found.subsets[0]) and not found.is_here(found.subsets[0], ["test"])


def test_of_several_splits_the_one_to_learn_from_is_read(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    path = remote(fake).download(NAME, "plain_text", ["train", "test"])
    assert files(path)[0] == "test-00000-of-00001.parquet" and len(files(path)) == 3
    assert columnar.rows_of(path, Watch()).left_out == ("test",)


def test_a_subset_whose_name_is_no_folders_is_one_too(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    path = remote(fake).download(NAME, "the numbers")
    assert path.name.startswith("the_numbers-") and path.parent == hubdata.folder(NAME)
    assert guess(path)["data.kind"] == "table"


def test_what_is_there_is_not_fetched_again(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    remote(fake).download(NAME, "plain_text")
    fake.asked.clear()
    remote(fake).download(NAME, "plain_text")
    assert fake.asked == []
    remote(fake).download(NAME, "plain_text", ["train", "test"])
    assert [path[-17:] for path, _ in fake.asked if "/resolve/" in path] == ["test/0000.parquet"]


def test_another_revision_takes_the_place_of_what_was_there(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    both = ["train", "test"]
    path = remote(fake).download(NAME, "plain_text", both)
    repository = fake.datasets["owner/reviews"]
    repository.converted_revision = "d" * 40
    (converted(fake) / "plain_text" / "train" / "0001.parquet").unlink()
    found = remote(fake).look_up(NAME)
    assert not found.is_here(found.subsets[0], both) and len(files(path)) == 3  # until the new one is asked for
    fake.asked.clear()
    remote(fake).download(NAME, "plain_text", both)
    assert files(path) == ["test-00000-of-00001.parquet", "train-00000-of-00001.parquet"]


def test_each_choice_of_splits_is_learned_alone_whatever_was_fetched_before(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    train = remote(fake).download(NAME, "plain_text")
    fake.asked.clear()
    both = remote(fake).download(NAME, "plain_text", ["train", "test"])
    test = remote(fake).download(NAME, "plain_text", ["test"])
    assert sum("/resolve/" in path for path, _ in fake.asked) == 1  # what is here is not fetched again
    assert [len(files(path)) for path in (train, both, test)] == [2, 3, 1]
    rows = columnar.rows_of(test, Watch())
    assert rows.left_out == () and files(test) == ["test-00000-of-00001.parquet"]
    found = hubdata.entry(NAME)
    assert found is not None
    subset = found.subsets[0]
    assert found.path(subset, ["test"]) == test and found.path(subset, ["train"]) == found.path(subset) == train
    assert [found.has(one, found.copies()) for one in subset.splits[:2]] == [True, True]


def test_a_record_of_what_was_fetched_leads_nowhere_else(fake: fakes.Fake, tmp_path: Path) -> None:
    remote(fake).look_up(NAME)
    found = hubdata.entry(NAME)
    assert found is not None
    part = found.subsets[0].splits[1].parts[0]
    (tmp_path / "secret").write_bytes(b"x" * part.listed.size)
    for key in (f"../../../../{tmp_path.name}/secret", str(tmp_path / "secret"), "../secret", "plain_text/../secret"):
        (hubdata.folder(NAME) / hubdata.FETCHED).write_text(json.dumps({key: part.checksum}))
        assert not found.copies() and not found.has(found.subsets[0].splits[1], found.copies())


def test_what_was_looked_up_and_is_gone_is_looked_up_again(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    fake.datasets["owner/reviews"].converted_revision = "d" * 40
    assert download_refused(fake).id == "hub-changed"


def test_a_cut_download_goes_on_and_a_cancelled_one_too(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    fake.faults["0000.parquet"] = ["", "half"]
    seen = list[int]()
    with pytest.raises(StudioError) as raised:
        remote(fake).download(NAME, "plain_text", (), lambda done, total: seen.append(done), lambda: len(seen) > 1)
    assert raised.value.id == "hub-cancelled"
    path = remote(fake).download(NAME, "plain_text")
    sources = sorted((converted(fake) / "plain_text" / "train").iterdir())
    assert [(path / one).read_bytes() for one in files(path)] == [one.read_bytes() for one in sources]


@pytest.mark.parametrize("fault", ["differs", "more"])
def test_other_bytes_than_listed_are_thrown_away(fake: fakes.Fake, fault: str) -> None:
    remote(fake).look_up(NAME)
    fake.faults["0001.parquet"] = [fault, fault]
    assert download_refused(fake).id == {"differs": "hub-differs", "more": "hub-refused"}[fault]
    found = hubdata.entry(NAME)
    assert found is not None and not found.is_here(found.subsets[0])
    fake.faults.clear()
    remote(fake).download(NAME, "plain_text")
    assert found.is_here(found.subsets[0])


def test_an_old_name_is_answered_by_the_one_that_it_has_now(fake: fakes.Fake) -> None:
    fake.moved["reviews"] = "owner/reviews"
    found = remote(fake).look_up("hf:reviews")
    assert found.name == "owner/reviews" and hubdata.entry("hf:reviews") is None
    remote(fake).download("hf:owner/reviews", "plain_text")


def test_without_a_conversion_its_own_parquet_is_taken_by_the_names_of_splits(fake: fakes.Fake) -> None:
    own(fake, "data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "fr/dev.parquet", "notes.csv")
    found = remote(fake).look_up(NAME)
    assert not found.converted and found.revision == "a" * 40
    told = {one.name: {each.name: len(each.parts) for each in one.splits} for one in found.subsets}
    assert told == {"default": {"train": 2}, "fr": {"validation": 1}}


def test_without_parquet_a_file_a_split_is_taken_and_named_itself(fake: fakes.Fake) -> None:
    own(fake, "my_train_file.csv", "test.csv")
    found = remote(fake).look_up(NAME)
    path = remote(fake).download(NAME, "")
    assert (
        path == hubdata.folder(NAME) / "default" / "train-00000-of-00001.csv" and found.path(found.subsets[0]) == path
    )
    assert guess(path)["data.kind"] == "table"


def test_of_files_without_one_to_learn_from_the_largest_is_and_several_are_refused(fake: fakes.Fake) -> None:
    own(fake, "validation.csv", "test.csv")
    (fake.datasets["owner/reviews"].folder / "test.csv").write_text("a,b\n" + "1,2\n" * 50)
    found = remote(fake).look_up(NAME)
    subset = found.subsets[0]
    assert subset.learned == ("test",)
    path = remote(fake).download(NAME, subset.name)
    assert path.read_text().count("\n") == 51 and found.path(subset) == path
    assert download_refused(fake, subset.name, ("test", "validation")).id == "hub-one-split"


@pytest.mark.parametrize("names", [("photo.jpg", "script.py"), ("train-1.csv", "train-2.csv"), (".hidden.csv",)])
def test_a_data_set_that_is_no_table_is_refused_with_what_to_do(fake: fakes.Fake, names: tuple[str, ...]) -> None:
    own(fake, *names)
    error = refused(fake)
    assert error.id == "hub-no-data" and str(error.facts["page"]).endswith("/datasets/owner/reviews")


def test_refusals_say_what_to_do(fake: fakes.Fake) -> None:
    repository = fake.datasets["owner/reviews"]
    error = refused(fake, "hf:owner/none")
    assert error.id == "hub-not-found" and error.facts["data"] is True
    assert refused(fake, token="bad").id == "hub-token-refused"
    repository.token = "hf_right"
    assert remote(fake).look_up(NAME).gated  # what it has is told to everybody
    assert download_refused(fake).id == "hub-gated"
    remote(fake, "hf_right").download(NAME, "plain_text")
    repository.private = True
    assert refused(fake).id == "hub-not-found"


def test_a_token_goes_to_the_hub_alone(fake: fakes.Fake, tmp_path: Path) -> None:
    fake.datasets["owner/reviews"].token = "hf_right"
    converted_file = converted(fake) / "plain_text" / "test" / "0000.parquet"
    converted_file.write_bytes(b"x" * fakes.LARGE)
    remote(fake, "hf_right").look_up(NAME)
    remote(fake, "hf_right").download(NAME, "plain_text", ["test"])
    sent = [("Authorization" in headers, path.startswith("storage:")) for path, headers in fake.asked]
    assert (True, False) in sent and (False, True) in sent and (True, True) not in sent
    assert all(b"hf_right" not in one.read_bytes() for one in (tmp_path / "home").rglob("*") if one.is_file())


@pytest.mark.parametrize(
    ("faults", "id"),
    [(["cut"] * 9, "hub-unreachable"), (["status 429"] * 9, "hub-too-often"), (["page"], "hub-refused")],
)
@pytest.mark.parametrize("branch", ["main", fakes.CONVERTED])
def test_what_the_network_answers(fake: fakes.Fake, faults: list[str], id: str, branch: str) -> None:
    fake.faults[f"/revision/{branch}"] = list(faults)
    assert refused(fake).id == id


def test_a_listing_without_sums_is_refused(fake: fakes.Fake) -> None:
    own(fake)
    fake.faults["/revision/main"] = ["", "odd"]
    assert refused(fake).id == "hub-refused"


@pytest.mark.parametrize("name", ["hf:a/b/c", "hf:../x", "hf:a--b/c", "imdb", "hf:", "hf:a/", "hf:a b", "hf:x.git"])
def test_what_is_no_name_is_not_asked_for(fake: fakes.Fake, name: str) -> None:
    assert refused(fake, name).id == "hub-data-name" and not fake.asked


def test_what_is_not_there_or_too_much_is_not_fetched(fake: fakes.Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert download_refused(fake).id == "hub-data-not-looked-up"
    remote(fake).look_up(NAME)
    assert download_refused(fake, "other").id == download_refused(fake, "").id == "hub-no-subset"
    error = download_refused(fake, splits=("dev",))
    assert error.id == "hub-no-split" and error.facts["splits"] == ["train", "test", "unsupervised"]
    monkeypatch.setattr(hubdata, "MOST_FILES", 1)
    assert download_refused(fake).id == "hub-data-large"
    monkeypatch.setattr(hubdata, "MOST_FILES", 9)
    monkeypatch.setattr(hubdata, "MOST_BYTES", 500)
    assert download_refused(fake).id == "hub-data-large"
    assert not list(hubdata.folder(NAME).rglob("*.parquet"))


@pytest.mark.parametrize(
    "card",
    [
        {"dataset_info": 7},
        {"dataset_info": [{"features": "x", "splits": [3]}]},
        {"license": {"a": 1}},
        {"license": ["a", 2]},
    ],
)
def test_a_strange_card_says_nothing(fake: fakes.Fake, card: dict[str, object]) -> None:
    fake.datasets["owner/reviews"].card = card
    assert remote(fake).look_up(NAME).subsets[0].columns == {}


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"format":2}', b"\xff", b'{"format":1,"subsets":[{"name":"../x"}]}'])
def test_a_damaged_listing_is_looked_up_again(fake: fakes.Fake, damage: bytes) -> None:
    remote(fake).look_up(NAME)
    (hubdata.folder(NAME) / hubdata.FILE).write_bytes(damage)
    (hubdata.folder(NAME) / hubdata.FETCHED).write_bytes(damage)
    assert hubdata.entry(NAME) is None and hubdata.entries() == []
    found = remote(fake).look_up(NAME)
    remote(fake).download(NAME, "plain_text")
    assert found.is_here(found.subsets[0])


def test_deleted_it_is_gone(fake: fakes.Fake) -> None:
    remote(fake).look_up(NAME)
    path = remote(fake).download(NAME, "plain_text")
    assert delete(NAME) > 1_000
    assert not path.parent.exists() and delete(NAME) == 0


@pytest.mark.parametrize(
    ("names", "learned"),
    [
        (["test", "train", "validation"], ["train"]),
        (["test_sft", "train_gen", "train_sft"], ["train_gen"]),
        (["de", "fr"], ["de", "fr"]),
        (["test"], ["test"]),
    ],
)
def test_what_is_fetched_unless_splits_are_named(names: list[str], learned: list[str]) -> None:
    splits = tuple(hubdata.Split(name, ()) for name in names)
    assert list(hubdata.Subset("x", splits).learned) == learned


@pytest.mark.parametrize(
    "file",
    [
        "../train/0000.parquet",
        "a/../0000.parquet",
        "../../0000.parquet",
        "a/tra in/0000.parquet",
        "/x/train/0000.parquet",
    ],
)
def test_no_name_of_the_hub_leads_out_of_its_folder(file: str) -> None:
    files = {file: Listed(5, "0" * 64), "C:\\x/train/0000.parquet": Listed(5, "0" * 64)}
    for subsets in (hubsplits.converted(files, hubsplits.Card()), hubsplits.own(files, hubsplits.Card())):
        found = hubdata.Dataset("owner/x", "a" * 40, True, "", False, 0.0, subsets)
        for subset in found.subsets:
            inside = found.folder(subset)
            assert inside.resolve().parent == hubdata.folder("hf:owner/x").resolve() and "\\" not in inside.name
            names = [part.name for split in subset.splits for part in split.parts]
            assert names and all(Path(name).name == name and name.startswith(("train-", "a-")) for name in names)


def answered(fake: fakes.Fake, files: list[str]) -> None:
    """The conversion lists these, of whatever size."""
    listed = [{"rfilename": one, "size": 3, "blobId": "a" * 40} for one in files]
    told = json.dumps({"id": "owner/reviews", "sha": "c" * 40, "siblings": listed})
    fake.faults["/revision/refs/convert/parquet"] = [f"said {told}"]


@pytest.mark.parametrize(
    "files",
    [
        [f"default/s{number}/0000.parquet" for number in range(101)],
        [f"c{number}/train/0000.parquet" for number in range(1_001)],
        [f"default/train/{number:05d}.parquet" for number in range(20_001)],
    ],
    ids=["splits", "subsets", "files"],
)
def test_of_more_splits_subsets_or_files_than_any_none_are_shown(fake: fakes.Fake, files: list[str]) -> None:
    answered(fake, files)
    assert refused(fake).id == "hub-data-large"


def test_paths_that_cannot_be_shown_or_are_longer_than_any_are_no_data(fake: fakes.Fake) -> None:
    odd = ["a\nCost 0/train/0000.parquet", "a\ud800/train/0000.parquet", f"{'x' * 300}/train/0000.parquet"]
    answered(fake, [*odd, "plain/train/0000.parquet"])
    assert [one.name for one in remote(fake).look_up(NAME).subsets] == ["plain"]


@pytest.mark.parametrize("name", [hubdata.FILE, hubdata.FETCHED, "lock"])
def test_no_subset_takes_the_name_of_a_record(name: str) -> None:
    assert hubdata.folder_name(name) != name


def test_rows_and_columns_of_a_card_stay_in_bounds() -> None:
    features = [{"name": "a\nRUN COMPLETE", "dtype": "str\x1b[2Jing"}]
    splits = [{"name": "train", "num_examples": 10**4000}]
    card = hubsplits.card({"dataset_info": {"features": features, "splits": splits}})
    assert card.columns == {"default": {"a RUN COMPLETE": "string"}} and not card.rows


def test_of_a_card_and_of_paths_without_end_some_count() -> None:
    """Thirteen megabytes of a mirror's answers took as many seconds."""
    info = {"features": [{"name": "a", "dtype": "string"}] * 900}
    card = hubsplits.card({"dataset_info": [{**info, "config_name": str(n)} for n in range(5000)]})
    assert 0 < len(card.columns) <= 1000 and sum(900 for _ in card.columns) <= 50_000
    assert hubsplits.is_plain("data/en/train.csv") and not hubsplits.is_plain("b/" * 144 + "train.csv")

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tpu_studio.data.look import look
from tpu_studio.data.predicting import decode_outputs, encode_inputs, inputs_in, unread_in
from tpu_studio.data.sources import open_data
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import DataError, RunError


def kept(description: dict) -> dict:
    """As a result keeps it: through JSON."""
    return json.loads(json.dumps(description))


def refused(description, items) -> DataError:
    with pytest.raises(DataError) as caught:
        encode_inputs(description, items)
    return caught.value


def test_pictures_are_encoded_as_in_training(job_of, picture_folder):
    root = picture_folder({"cats": 10, "dogs": 10})
    opened = open_data(job_of("images", root))
    everything = opened.train.batch(np.arange(len(opened.train)))["x"]

    x = encode_inputs(kept(opened.description), [root / "cats" / "0.png", root / "cats" / "1.png"])["x"]

    assert (x.shape, x.dtype) == ((2, 20, 20, 3), np.uint8)
    found = [(everything == picture).all(axis=(1, 2, 3)).any() for picture in x]
    assert any(found)


def test_a_picture_of_a_digit_comes_back_to_the_values_it_was_made_of(job_of):
    opened = open_data(job_of("digits"))
    pictures = look(job_of("digits")).preview["pictures"]

    x = encode_inputs(kept(opened.description), [item["path"] for item in pictures])["x"]

    assert x.max() == 16
    train = np.concatenate([part.batch(np.arange(len(part)))["x"] for part in (opened.train, opened.validation)])
    for picture in x:
        assert (train == picture).all(axis=(1, 2, 3)).any()


def test_a_broken_picture_is_refused_by_name(job_of, picture_folder, tmp_path):
    description = open_data(job_of("images", picture_folder({"cats": 5, "dogs": 5}))).description
    (tmp_path / "no.png").write_bytes(b"no")

    error = refused(description, [tmp_path / "no.png"])

    assert (error.id, error.facts["why"]) == ("data-unreadable-picture", "not-an-image")


@pytest.fixture
def flats(tmp_path) -> Path:
    rows = ""
    for number in range(120):
        area, zone, rooms = 20 + number * 13 % 61, "abc"[number % 3], "" if number % 9 == 0 else number % 5
        rows += f"{area},{zone},2020-{number % 12 + 1:02d}-01,{rooms},{1000 * area * (1 + number % 3)}\n"
    path = tmp_path / "flats.csv"
    path.write_text("area,zone,built,rooms,price\n" + rows)
    return path


def test_rows_are_encoded_as_in_training_from_a_file_or_from_values(job_of, flats):
    opened = open_data(job_of("table", flats, target="price"))
    description = kept(opened.description)
    by_file = encode_inputs(description, [flats])["x"]

    expected = np.concatenate([part.batch(np.arange(len(part)))["x"] for part in (opened.train, opened.validation)])
    assert sorted(map(bytes, by_file)) == sorted(map(bytes, expected))
    by_values = encode_inputs(description, [{"area": 20, "zone": "a", "built": "2020-01-01", "rooms": None}])["x"]
    np.testing.assert_array_equal(by_values[0], by_file[0])


def test_a_category_that_was_never_seen_takes_the_place_of_the_others(job_of, flats):
    description = kept(open_data(job_of("table", flats, target="price")).description)

    row = encode_inputs(description, [{"area": 30, "zone": "new", "built": "2020-01-01", "rooms": 2}])["x"][0]

    assert row[1:5].tolist() == [0, 0, 0, 1]


def test_what_is_not_understood_in_a_row_is_named_and_what_is_left_empty_is_not(job_of, flats):
    description = kept(open_data(job_of("table", flats, target="price")).description)
    row = {"area": "many", "zone": "new", "built": "31.02.2020", "rooms": ""}
    assert unread_in(description, row) == [("area", "many"), ("zone", "new"), ("built", "31.02.2020")]
    assert unread_in(description, {"area": 30, "zone": "a", "built": "2020-01-01", "rooms": None}) == []


def test_a_number_is_a_number_also_where_the_table_writes_a_comma_and_a_category_may_be_one(job_of, tmp_path):
    lines = "".join(f"{n},5;{n % 3};{n * 2},25\n" for n in range(60))
    (tmp_path / "sizes.csv").write_text("size;kind;price\n" + lines)
    columns = {"kind": "category"}
    description = kept(open_data(job_of("table", tmp_path / "sizes.csv", target="price", columns=columns)).description)
    typed, sent = {"size": "7,5", "kind": "1"}, {"size": 7.5, "kind": 1.0}
    assert unread_in(description, typed) == unread_in(description, sent) == []
    x = encode_inputs(description, [typed, sent])["x"]
    np.testing.assert_array_equal(x[0], x[1])


def test_a_row_that_lacks_a_column_altogether_is_refused(job_of, flats):
    description = kept(open_data(job_of("table", flats, target="price")).description)

    error = refused(description, [{"area": 30, "zone": "a", "rooms": 2}])

    assert (error.id, error.facts["column"]) == ("data-column-missing", "built")


def test_prompts_are_tokens_and_only_their_end_when_they_are_too_long(job_of, tmp_path):
    (tmp_path / "tale.txt").write_text("once upon a time " * 100)
    description = kept(open_data(job_of("text", tmp_path / "tale.txt", sequence_length=8)).description)

    encoded = encode_inputs(description, ["time", "once upon a time"])

    assert encoded["x"].tolist() == [[*b"time", 0, 0, 0, 0], [*b"n a time"]]
    assert encoded["length"].tolist() == [4, 8]
    assert refused(description, [""]).id == "data-prompt-empty"


def test_probabilities_become_names_the_likeliest_first():
    description = {"task": "classification", "classes": ["cat", "dog", "bird"]}

    answer = decode_outputs(description, np.array([[0.2, 0.7, 0.1]]))[0]

    assert (answer["class"], answer["probability"]) == ("dog", 0.7)
    assert [name for name, _ in answer["top"]] == ["dog", "cat", "bird"]


def test_scores_become_probabilities():
    description = {"task": "classification", "classes": ["cat", "dog"]}

    answer = decode_outputs(description, np.array([[0.0, np.log(3)], [1000.0, 0.0]]), logits=True)

    assert answer[0]["probability"] == pytest.approx(0.75)
    assert answer[1]["probability"] == pytest.approx(1.0)


def test_a_regression_answers_in_the_targets_own_unit(job_of, flats):
    opened = open_data(job_of("table", flats, target="price"))
    y = opened.validation.batch(np.arange(5))["y"]

    answers = decode_outputs(kept(opened.description), y[:, None])

    prices = {float(line.split(",")[-1]) for line in flats.read_text().splitlines()[1:]}
    for answer in answers:
        assert answer["target"] == "price"
        assert min(abs(answer["value"] - price) for price in prices) < 0.5


def test_a_table_of_rows_without_end_is_asked_in_parts(job_of, flats, tmp_path):
    """Twenty megabytes of them took a gigabyte before the model was opened."""
    rows = open_data(job_of("table", flats, target="price")).description
    path = tmp_path / "many.csv"
    path.write_text("area,rooms\n" + "12,12\n" * 100_001)
    with pytest.raises(DataError, match="data-too-many-asked") as caught:
        inputs_in(rows, path)
    assert "Split it" in say(caught.value).action
    path.write_text("area,rooms\n" + "12,12\n" * 100_000)
    assert len(inputs_in(rows, path)) == 100_000


def test_of_a_table_the_columns_of_the_model_are_kept(job_of, flats, tmp_path):
    """Ten megabytes of empty cells under thousands of other names took 2.8 GB."""
    rows = open_data(job_of("table", flats, target="price")).description
    path = tmp_path / "wide.csv"
    path.write_text(f"area,{','.join(f'x{n}' for n in range(500))},rooms\n" + f"12,{',' * 499},3\n" * 30)
    found = inputs_in(rows, path)
    assert found == [{"area": "12", "rooms": "3"}] * 30
    path.write_text(f"area,{','.join(f'x{n}' for n in range(500))}\n" + f"12,{',' * 499}\n" * 30)
    with pytest.raises(DataError, match="data-column-missing"):
        encode_inputs(rows, inputs_in(rows, path))


def test_what_lies_at_a_path_is_listed_by_kind(job_of, picture_folder, flats, tmp_path):
    root = picture_folder({"cats": 5, "dogs": 5})
    pictures = open_data(job_of("images", root)).description
    rows = open_data(job_of("table", flats, target="price")).description

    assert len(inputs_in(pictures, root)) == 10
    assert inputs_in(pictures, root / "cats" / "0.png") == [root / "cats" / "0.png"]
    assert inputs_in(rows, flats)[0]["zone"] == "a"
    with pytest.raises(DataError) as caught:
        inputs_in(pictures, tmp_path / "nowhere")
    assert caught.value.id == "data-missing"


def test_a_broken_row_is_refused_since_every_row_needs_its_answer(job_of, flats, tmp_path):
    description = open_data(job_of("table", flats, target="price")).description
    (tmp_path / "new.csv").write_text("area,zone,built,rooms\n20,a,2020-01-01,2\n20,a\n30,b,2020-01-01,2\n")

    error = refused(description, [tmp_path / "new.csv"])

    assert (error.id, error.facts["first"]) == ("data-too-broken", [["line 3", "fields"]])


def test_a_prompt_may_come_from_a_file(job_of, tmp_path):
    (tmp_path / "tale.txt").write_text("once upon a time " * 100)
    (tmp_path / "prompt.txt").write_bytes("süß".encode("utf-16"))
    description = open_data(job_of("text", tmp_path / "tale.txt")).description

    assert inputs_in(description, tmp_path / "prompt.txt") == ["süß"]


def test_nothing_to_predict(job_of, tmp_path):
    assert refused(open_data(job_of("digits")).description, []).id == "data-empty"


def test_a_run_that_names_labels_without_end_answers_with_none():
    """A hundred thousand for each picture took gigabytes."""
    description = {"task": "multi-label", "classes": [str(number) for number in range(1001)]}
    with pytest.raises(RunError, match="result-unreadable"):
        decode_outputs(description, np.zeros((1, 1001)))


def test_a_refusal_names_some_columns_by_their_begin() -> None:
    """It stands in the answer to each row: half a megabyte of a name became gigabytes."""
    encoders = [{"name": f"{number}" + "x" * 5_000, "kind": "number", "width": 1} for number in range(50)]
    with pytest.raises(DataError) as told:
        encode_inputs({"kind": "table", "columns": encoders, "input_shape": [50]}, [{"a": "1"}])
    assert told.value.id == "data-column-missing" and told.value.facts["column"] == "0" + "x" * 99
    named = told.value.facts["columns"]
    assert isinstance(named, list) and len(named) == 21 and max(map(len, named)) == 100 and named[-1] == "…"

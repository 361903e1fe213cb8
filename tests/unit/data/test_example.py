from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.data import example

NAMES = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
VALUES = st.one_of(
    st.lists(st.binary(max_size=40), min_size=1, max_size=4),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=6).map(lambda v: np.array(v, dtype=np.float32)),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6).map(lambda v: np.array(v, dtype=np.int64)),
)


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_what_was_encoded_is_what_is_decoded(features):
    decoded = example.decode(example.encode(features))

    assert decoded.keys() == features.keys()
    for name, value in features.items():
        if isinstance(value, list):
            assert decoded[name] == value
        else:
            assert decoded[name].dtype == value.dtype
            np.testing.assert_array_equal(decoded[name], value)


def test_bytes_are_those_of_the_protocol_buffer_specification():
    # Example{1: Features{1: entry{1: "a", 2: Feature{3: Int64List{1: packed 1, 300}}}}}, worked out by hand.
    by_hand = bytes.fromhex("0a 0e 0a 0c 0a 01 61 12 07 1a 05 0a 03 01 ac 02")

    assert example.encode({"a": np.array([1, 300])}) == by_hand


def test_equal_examples_are_equal_bytes_whatever_the_order():
    assert example.encode({"a": b"1", "b": b"2"}) == example.encode({"b": b"2", "a": b"1"})


def test_numbers_that_are_not_packed_are_read_as_well():
    # Feature{3: Int64List{1: 5, 1: 6}} and Feature{2: FloatList{1: 1.0f, 1: 2.0f}}, each number with its own tag.
    whole = bytes.fromhex("0a 0d 0a 0b 0a 01 61 12 06 1a 04 08 05 08 06")
    floats = bytes.fromhex("0a 13 0a 11 0a 01 61 12 0c 12 0a 0d 00 00 80 3f 0d 00 00 00 40")

    assert example.decode(whole)["a"].tolist() == [5, 6]
    assert example.decode(floats)["a"].tolist() == [1.0, 2.0]


@given(st.binary(max_size=200))
def test_any_bytes_are_an_example_or_refused(data):
    try:
        example.decode(data)
    except example.BrokenExample:
        pass


def test_a_cut_off_example_is_refused():
    whole = example.encode({"a": b"some bytes", "b": np.array([1.0], dtype=np.float32)})
    with pytest.raises(example.BrokenExample):
        example.decode(whole[:-3])


def test_more_features_than_any_example_has_are_refused():
    """48 MB of six million names became 1.3 gigabytes."""
    many = example.encode({f"f{number}": b"x" for number in range(1_001)})
    with pytest.raises(example.BrokenExample, match="more than 1,000 features"):
        example.decode(many)
    assert len(example.decode_start(many)) == 1_000
    assert len(example.decode(example.encode({f"f{number}": b"x" for number in range(1_000)}))) == 1_000


@pytest.mark.parametrize("packed", [True, False])
def test_a_feature_of_numbers_without_end_is_refused(packed, monkeypatch):
    """58 kB, packed, became two gigabytes."""
    monkeypatch.setattr(example, "MOST", 100)
    many = example.encode({"a": np.zeros(101, np.int64)}) if packed else example.encode({"a": [b"x"] * 101})
    with pytest.raises(example.BrokenExample, match="more than 100"):
        example.decode(many)
    assert len(example.decode(example.encode({"a": np.zeros(100, np.int64)}))["a"]) == 100

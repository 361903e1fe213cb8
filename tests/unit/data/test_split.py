from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.data.split import keys_of_names, keys_of_rows, validation_count, validation_mask


@given(st.lists(st.integers(0, 4), min_size=2, max_size=200), st.floats(0.01, 0.9), st.integers(0, 2**31 - 1))
def test_the_count_is_exact_and_each_class_keeps_an_example_for_training_if_it_can(labels, share, seed):
    groups = np.array(labels)

    mask = validation_mask(keys_of_rows(len(labels), seed), share, groups)

    classes = len(set(labels))
    assert mask.sum() == validation_count(len(labels), share, classes) >= 1
    if len(labels) > classes:
        assert set(groups[~mask].tolist()) == set(labels)


def test_classes_give_their_share():
    groups = np.repeat([0, 1, 2], [100, 50, 10])

    mask = validation_mask(keys_of_rows(160, 0), 0.2, groups)

    assert np.bincount(groups[mask]).tolist() == [20, 10, 2]


def test_a_name_keeps_its_key_whatever_stands_beside_it_and_seeds_differ():
    names = ["cats/1.png", "cats/2.png", "dogs/\udcff.png"]

    assert keys_of_names(names, 7)[1] == keys_of_names(["cats/2.png"], 7)[0]
    assert (keys_of_names(names, 7) != keys_of_names(names, 8)).all()


def test_keys_are_the_same_on_every_machine():
    # They must never change, or a resumed run would test on what it was trained on. The first two numbers are the
    # published first outputs of SplitMix64 from 0; the third is blake2b's, worked out once.
    assert keys_of_rows(2, 0).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    assert keys_of_names(["cats/1.png"], 0).tolist() == [18363226845514140403]

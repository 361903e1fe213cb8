from __future__ import annotations

import numpy as np
import pytest

from tpu_studio.data.augment import augment, may_mirror
from tpu_studio.data.opened import Share


@pytest.fixture
def pictures():
    return np.random.default_rng(0).integers(0, 256, (32, 20, 24, 3), dtype=np.uint8)


def test_pictures_keep_shape_and_type_and_change_a_little(pictures):
    varied = augment(pictures, np.random.default_rng(1), 1.0)

    assert (varied.shape, varied.dtype) == (pictures.shape, np.uint8)
    assert all((one != other).any() for one, other in zip(varied, pictures, strict=True))
    flat = np.full((64, 16, 16, 1), 128, dtype=np.uint8)
    assert np.abs(augment(flat, np.random.default_rng(1)).astype(int) - 128).max() <= 0.1 * 255 + 1


def test_the_same_generator_gives_the_same_pictures(pictures):
    one, again, other = (augment(pictures, np.random.default_rng(seed)) for seed in (1, 1, 2))

    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_strength_zero_changes_nothing_and_the_batch_itself_is_never_changed(pictures):
    before = pictures.copy()

    np.testing.assert_array_equal(augment(pictures, np.random.default_rng(1), 0.0), before)
    augment(pictures, np.random.default_rng(1), 1.0)
    np.testing.assert_array_equal(pictures, before)


def test_things_move_by_a_tenth_of_the_side_and_stay_on_the_picture():
    dot = np.zeros((200, 40, 40, 1), dtype=np.uint8)
    dot[:, 18:22, 18:22] = 255

    varied = augment(dot, np.random.default_rng(3))[..., 0] > 128

    places = np.array([np.argwhere(picture).mean(axis=0) for picture in varied])
    assert np.abs(places - 19.5).max() < 6
    assert places.std(axis=0).min() > 1


def test_nothing_is_mirrored_unless_asked_for():
    left = np.zeros((100, 20, 20, 1), dtype=np.uint8)
    left[:, :, :4] = 200

    def on_the_right(varied) -> int:
        return int((varied[:, :, 10:].max(axis=(1, 2, 3)) > varied[:, :, :3].max(axis=(1, 2, 3))).sum())

    assert on_the_right(augment(left, np.random.default_rng(0))) == 0
    assert 30 < on_the_right(augment(left, np.random.default_rng(0), mirror=True)) < 70


def test_values_stay_within_the_range_of_the_data():
    digits = np.random.default_rng(0).integers(0, 17, (64, 8, 8, 1), dtype=np.uint8)

    varied = augment(digits, np.random.default_rng(1), value_max=16)

    assert varied.max() <= 16
    assert abs(float(varied.mean()) - float(digits.mean())) < 2


def test_digits_letters_and_hands_are_not_mirror_safe():
    assert may_mirror({"kind": "images", "classes": ["cats", "dogs"]})
    assert not may_mirror({"kind": "images", "classes": ["0", "1"]})
    assert not may_mirror({"kind": "images", "classes": ["turn left", "turn right"]})
    assert not may_mirror({"kind": "digits", "classes": ["zero"]})


def test_an_empty_batch_is_an_empty_batch():
    assert augment(np.zeros((0, 8, 8, 3), dtype=np.uint8), np.random.default_rng(0)).shape == (0, 8, 8, 3)


@pytest.mark.parametrize("mirror", [False, True])
def test_a_share_of_a_batch_is_varied_as_in_the_whole_one(pictures, mirror):
    whole = augment(pictures, np.random.default_rng(1), mirror=mirror)
    for places in (range(16), [2, 3, 6, 7, 30]):
        share = Share(np.array(places), 32)
        mine = augment(pictures[places], np.random.default_rng(1), mirror=mirror, share=share)
        np.testing.assert_array_equal(mine, whole[places])
